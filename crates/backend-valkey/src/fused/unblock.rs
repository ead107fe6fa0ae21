//! Unblock: what waits for a budget or a quota is put back into its queue.

use std::borrow::Cow;

use ff_core::machine::{Reply, Unblock};
use ff_core::{Capabilities, Lane, Namespace};
use ff_store::StoreError;
use redis::Value;

use crate::codec::{self, Packer};
use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::store::Shared;

pub(super) fn push(
    unblock: &Unblock,
    entropy: u64,
    args: &mut Vec<Arg<'_>>,
) -> Result<(), StoreError> {
    let on = unblock.on.as_ref().map_or_else(String::new, keys::blocker);
    let mut packer = Packer(Vec::with_capacity(96));
    packer.raw(keys::id(unblock.execution).as_bytes());
    packer.number::<4>((entropy as u32).into());
    packer.bytes::<1>(on.as_bytes());
    packer.bytes::<1>(&unblock.admission.map(codec::holder).unwrap_or_default());
    args.push(Cow::Owned(packer.0));
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
    Ok(Some(Reply::Unblocked(true)))
}
