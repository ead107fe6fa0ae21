//! Unblock: executions that wait for a budget or a quota return to their queue.

use bytes::Bytes;
use ff_core::machine::{Reply, Unblock};
use ff_core::{Capabilities, Lane, Namespace};
use ff_store::StoreError;
use redis::Value;

use crate::codec::{self, Packer, format};
use crate::keys;
use crate::reply;
use crate::store::Shared;

pub(super) fn push(
    unblock: &Unblock,
    entropy: u64,
    args: &mut Vec<Bytes>,
) -> Result<(), StoreError> {
    let mut packer = Packer(Vec::with_capacity(96));
    let on = keys::blocker(&unblock.on);
    let release = format::Release {
        id: keys::id_bytes(unblock.execution),
        new_salt: codec::salt(entropy),
        on: on.as_bytes(),
    };
    release.pack(&mut packer);
    args.push(packer.0.into());
    Ok(())
}

pub(super) fn read(
    store: &Shared,
    partition: u16,
    shared: &[Value],
    answer: &Value,
) -> Result<Option<Reply>, StoreError> {
    let number = reply::number(answer)?;
    let Some(place) = number.unsigned_abs().checked_sub(1) else { return Ok(None) };
    let Some(Value::Array(queues)) = shared.first() else { return Err(reply::missing()) };
    let queue = queues.get(place as usize).cloned().ok_or_else(reply::missing)?;
    let Ok([namespace, lane, requires, head]) = <[Value; 4]>::try_from(reply::list(queue)?) else {
        return Err(reply::missing());
    };
    let queue = (Namespace::new(reply::text(namespace)?)?, Lane::new(reply::text(lane)?)?);
    let requires = Capabilities::parse(&reply::text(requires)?)?;
    let head = if number < 0 { reply::maybe_number(&head)? } else { None };
    store.has_joined(partition, &queue, &requires, head);
    Ok(Some(Reply::Applied(true)))
}
