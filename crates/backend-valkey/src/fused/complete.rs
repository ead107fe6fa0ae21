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
    let here = matches!(Inline::of(&complete.result.bytes), Inline::Here(_));
    hold::push(&complete.hold, args);
    let lease = complete.hold.fence.lease;
    args.push(Cow::Owned(codec::completed(lease, complete.digest())));
    args.push(hold::salt(entropy));
    args.push(Cow::Owned(detail));
    args.push(Cow::Borrowed(if here { b"1" } else { b"2" }));
    args.push(Cow::Borrowed(&complete.result.bytes));
    Ok(())
}

pub(super) fn read(answer: &Value) -> Result<Option<Reply>, StoreError> {
    Ok((reply::number(answer)? == 1).then(|| Exited::Completed.into()))
}
