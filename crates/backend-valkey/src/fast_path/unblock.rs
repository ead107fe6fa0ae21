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
    answer: Value,
) -> Result<Option<Reply>, StoreError> {
    let answer = reply::list(answer)?;
    let Ok([_, namespace, lane, requires, head]) = <[Value; 5]>::try_from(answer) else {
        return Ok(None);
    };
    let queue = (Namespace::new(reply::text(namespace)?)?, Lane::new(reply::text(lane)?)?);
    let requires = Capabilities::parse(&reply::text(requires)?)?;
    store.has_joined(partition, &queue, &requires, reply::maybe_number(&head)?);
    Ok(Some(Reply::Applied(true)))
}
