//! Retire: the tick of a finished execution whose retention is over.

use std::borrow::Cow;

use ff_core::machine::{Reply, Tick, Ticked};
use ff_core::timer::DueAction;
use ff_store::StoreError;
use ff_store::wakeups::Announcement;
use redis::Value;

use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::store::Shared;

pub(super) fn push(tick: &Tick, args: &mut Vec<Arg<'_>>) -> Result<(), StoreError> {
    args.push(Cow::Owned(keys::id(tick.execution).into_bytes()));
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
