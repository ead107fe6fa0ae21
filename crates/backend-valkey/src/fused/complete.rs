//! Complete.

use std::borrow::Cow;

use ff_core::machine::{Complete, Reply};
use ff_core::record::Exited;
use ff_store::StoreError;
use redis::Value;

use super::hold;
use crate::codec::{self, Inline};
use crate::general::unwritable;
use crate::link::Arg;
use crate::reply;

pub(super) fn push<'a>(
    complete: &'a Complete,
    entropy: u64,
    args: &mut Vec<Arg<'a>>,
) -> Result<(), StoreError> {
    let detail = codec::outcome_detail(&complete.result.shape());
    let detail = detail.map_err(|error| unwritable(complete.hold.target.execution, &error))?;
    let mut packer = hold::pack(&complete.hold, entropy);
    packer.raw(&codec::completed(complete.hold.fence.lease, complete.digest()));
    packer.number::<1>(Inline::of(&complete.result.bytes).place());
    packer.bytes::<2>(&detail);
    args.push(Cow::Owned(packer.0));
    args.push(Cow::Borrowed(&complete.result.bytes));
    Ok(())
}

pub(super) fn read(answer: &Value) -> Result<Option<Reply>, StoreError> {
    Ok((reply::number(answer)? == 1).then(|| Exited::Completed.into()))
}
