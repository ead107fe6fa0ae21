//! Renew.

use bytes::Bytes;
use ff_core::machine::{Renew, Renewed, Reply};
use ff_store::StoreError;
use redis::Value;

use super::hold;
use crate::reply;

pub(super) fn push(renew: &Renew, entropy: u64, args: &mut Vec<Bytes>) -> Result<(), StoreError> {
    args.push(hold::pack(&renew.hold, entropy).0.into());
    Ok(())
}

pub(super) fn read(answer: Value) -> Result<Option<Reply>, StoreError> {
    let answer = reply::list(answer)?;
    let [until, cancel_by] = &answer[..] else { return Ok(None) };
    let cancel_by = reply::time(cancel_by)?;
    let cancel_by = (cancel_by.as_ms() != 0).then_some(cancel_by);
    Ok(Some(Renewed { until: reply::time(until)?, cancel_by }.into()))
}
