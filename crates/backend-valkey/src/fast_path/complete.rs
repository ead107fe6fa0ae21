//! Complete.

use bytes::Bytes;
use ff_core::machine::{Complete, Reply, Settlement};
use ff_core::record::Exited;
use ff_store::StoreError;
use ff_store::metrics::{self, Counted};
use ff_store::wakeups::Announcement;
use redis::Value;

use super::hold;
use crate::codec::{self, Glance, Inline, format};
use crate::reply;
use crate::slow_path::{decode, unwritable};
use crate::store::Shared;

pub(super) fn push(
    complete: &Complete,
    entropy: u64,
    args: &mut Vec<Bytes>,
) -> Result<(), StoreError> {
    let detail = codec::outcome_detail(&complete.result.shape());
    let detail = detail.map_err(|error| unwritable(complete.hold.target.execution, &error))?;
    let completion = format::Completion {
        exited: codec::completed(complete.hold.fence.lease, complete.digest()),
        place: Inline::of(&complete.result.bytes).place(),
        said: &detail,
    };
    let mut packer = hold::pack(&complete.hold, entropy);
    completion.pack(&mut packer);
    args.push(packer.0.into());
    args.push(complete.result.bytes.clone());
    Ok(())
}

pub(super) fn read(
    store: &Shared,
    complete: &Complete,
    shared: &[Value],
    answer: Value,
) -> Result<Option<Reply>, StoreError> {
    if let Value::Int(_) = answer {
        return Ok(None);
    }
    let now = reply::time(shared.first().ok_or_else(reply::missing)?)?;
    let bytes = reply::bytes(answer)?;
    store.wakeups.announce([Announcement::Ended(complete.hold.target.execution)]);
    match Glance::at(&bytes) {
        Ok(Glance { lane, kind, started, is_admitted }) => {
            metrics::count(&[Counted::completed(lane, kind, now.since(started))]);
            if is_admitted {
                let record = decode(complete.hold.target.execution, &bytes)?.record;
                let admission = record.admitted_under();
                let stopped = admission.map(|admission| Settlement::stopped(&record, admission));
                store.settlements.push(stopped);
            }
        }
        // It is completed, whatever else it says.
        Err(error) => tracing::warn!(%error, "a completed record cannot be read"),
    }
    Ok(Some(Exited::Completed.into()))
}
