//! Retire: the tick of a finished execution whose retention is over.

use bytes::Bytes;
use ff_core::machine::{Reply, Tick, Ticked};
use ff_core::timer::DueAction;
use ff_store::StoreError;
use ff_store::wakeups::Announcement;
use redis::Value;

use crate::keys;
use crate::reply;
use crate::store::Shared;

pub(super) fn push(tick: &Tick, args: &mut Vec<Bytes>) -> Result<(), StoreError> {
    args.push(keys::id(tick.execution).into());
    Ok(())
}

pub(super) fn read(
    store: &Shared,
    tick: &Tick,
    answer: &Value,
) -> Result<Option<Reply>, StoreError> {
    Ok(match reply::number(answer)? {
        0 => None,
        1 => {
            store.wakeups.announce([Announcement::Ended(tick.execution)]);
            Some(Ticked { did: Some(DueAction::Retention), next: None }.into())
        }
        _ => Some(Ticked { did: None, next: None }.into()),
    })
}
