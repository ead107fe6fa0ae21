//! Complete.

use std::borrow::Cow;

use ff_core::machine::{Complete, Reply, Settlement};
use ff_core::record::Exited;
use ff_store::StoreError;
use redis::Value;

use super::hold;
use crate::codec::{self, Inline};
use crate::link::Arg;
use crate::reply;
use crate::slow_path::{decode, unwritable};
use crate::store::Shared;

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

pub(super) fn read(
    store: &Shared,
    complete: &Complete,
    answer: Value,
) -> Result<Option<Reply>, StoreError> {
    if let Value::Int(number) = answer {
        return Ok((number == 1).then(|| Exited::Completed.into()));
    }
    let record = decode(complete.hold.target.execution, &reply::bytes(answer)?)?.record;
    let stopped = record.admitted_under().map(|admission| Settlement::stopped(&record, admission));
    store.settlements.push(stopped);
    Ok(Some(Exited::Completed.into()))
}
