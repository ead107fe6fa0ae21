//! Resources as they are stored: what functions read, then MessagePack.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::limits::Blocker;
use ff_core::placement::{AdmissionClass, QueueEntry, Score};
use ff_core::resource::{Body, LaneState};
use ff_core::{ExecutionId, Namespace, Partition, Resource, ResourceKey};
use ff_store::store::ORDERED_WAITERS;
use ff_store::{BlockedClass, BlockedScan, PartitionSet, ResourceScan, StoreError};
use redis::Cmd;

use crate::codec::format::{self, feed, gate};
use crate::codec::{Packer, Unpacker};
use crate::constants::RESOURCES;
use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::slow_path::entry;
use crate::store::Shared;

/// The bytes of `resource`.
pub(crate) fn encode(resource: &Resource) -> Result<Vec<u8>, StoreError> {
    let head = format::Resource {
        version: resource.version.get().to_be_bytes(),
        gate: match &resource.body {
            Body::Lane(lane) => gate(lane),
            Body::Feed(feed) if feed.on => feed::ON,
            _ => 0,
        },
        timer: resource.timer().map_or(0, |at| at.as_ms()),
    };
    let mut packer = Packer::default();
    head.pack(&mut packer);
    let mut bytes = packer.0;
    rmp_serde::encode::write(&mut bytes, resource).map_err(|error| {
        StoreError::Corrupt(format!("{:?} cannot be written: {error}", resource.key))
    })?;
    Ok(bytes)
}

/// The lane settings that functions check.
fn gate(lane: &LaneState) -> u64 {
    let flags = [
        (lane.paused, gate::PAUSED),
        (lane.draining, gate::DRAINING),
        (lane.is_limited(), gate::LIMITED),
        (lane.has_defaults(), gate::DEFAULTS),
    ];
    flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag)
}

/// What is stored for `key`.
pub(crate) fn decode(key: &ResourceKey, bytes: &[u8]) -> Result<Resource, StoreError> {
    let unreadable = |why: String| StoreError::Corrupt(format!("{key:?}: {why}"));
    let mut body = Unpacker(bytes);
    format::Resource::unpack(&mut body).map_err(|_| unreadable("is too short".into()))?;
    let found: Resource =
        rmp_serde::from_slice(body.0).map_err(|error| unreadable(error.to_string()))?;
    match found.key == *key && encode(&found)? == bytes {
        true => Ok(found),
        false => Err(unreadable("does not match its key and its head".into())),
    }
}

/// The resource of `key`.
pub(crate) async fn get(store: &Shared, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
    let bytes = reply::maybe_bytes(store.link.send(Cmd::get(store.keys.resource(key))).await?)?;
    bytes.map(|bytes| decode(key, &bytes)).transpose()
}

/// A range of the resources of a namespace, at its home.
pub(crate) async fn scan(store: &Shared, scan: &ResourceScan) -> Result<Vec<Resource>, StoreError> {
    let home = Partition::home(&scan.namespace, store.keys.partitions());
    let after = scan.after.as_ref().map_or("", |name| name.as_str());
    let limit = scan.limit.min(RESOURCES).to_string();
    let args: [Arg<'_>; 4] = [
        scan.kind.as_str().as_bytes().into(),
        scan.namespace.as_str().as_bytes().into(),
        after.as_bytes().into(),
        limit.as_bytes().into(),
    ];
    let route = store.keys.route(home.number());
    let mut values = reply::list(store.link.call("resources", &route, &args).await?)?.into_iter();
    let mut found = Vec::new();
    while let (Some(name), Some(bytes)) = (values.next(), values.next()) {
        // A resource that was removed since its name was read is left out.
        let key = keys::parse_resource(home, &reply::bytes(name)?).ok_or_else(reply::missing)?;
        found.extend(reply::maybe_bytes(bytes)?.map(|bytes| decode(&key, &bytes)).transpose()?);
    }
    Ok(found)
}

/// How many precede a place of a queue, over all partitions.
pub(crate) async fn ahead(
    store: &Shared,
    place: &QueueEntry,
    id: ExecutionId,
) -> Result<u64, StoreError> {
    let name = keys::queue(&place.namespace, &place.lane, &keys::class(&place.class));
    let args: [Arg<'_>; 3] = [
        name.into_bytes().into(),
        place.score.get().to_string().into_bytes().into(),
        keys::id(id).into_bytes().into(),
    ];
    let mut sum = 0;
    for answer in store.link.call_each("ahead", &store.keys.routes(), &args).await? {
        sum += u64::try_from(reply::number(&answer)?).unwrap_or(0);
    }
    Ok(sum)
}

/// A range of the executions that wait for a budget or a quota, over all partitions that answer.
pub(crate) async fn blocked(
    store: &Shared,
    scan: &BlockedScan,
) -> Result<Vec<BlockedClass>, StoreError> {
    let partitions = usize::from(store.keys.partitions());
    let each = match scan.each <= ORDERED_WAITERS {
        true => scan.each,
        false => ORDERED_WAITERS + scan.each / partitions,
    };
    let args: [Arg<'_>; 4] = [
        keys::limit(&scan.namespace, &scan.on).into_bytes().into(),
        keys::admission_class(scan.from).into_bytes().into(),
        scan.classes.to_string().into_bytes().into(),
        each.to_string().into_bytes().into(),
    ];
    let mut classes: BTreeMap<AdmissionClass, Vec<(Score, ExecutionId)>> = BTreeMap::new();
    for answer in store.link.call_some("blocked", &store.keys.routes(), &args).await?.values {
        for class in reply::list(answer)? {
            let mut values = reply::list(class)?.into_iter();
            let name = reply::bytes(values.next().ok_or_else(reply::missing)?)?;
            let class = keys::parse_admission_class(&name).ok_or_else(reply::missing)?;
            let places = classes.entry(class).or_default();
            while let (Some(score), Some(id)) = (values.next(), values.next()) {
                let score = Score::from_stored(reply::number(&score)?);
                places.extend(entry(&reply::bytes(id)?).map(|id| (score, id)));
            }
        }
    }
    let class = |(class, mut first): (_, Vec<_>)| {
        first.sort_unstable();
        first.truncate(scan.each);
        BlockedClass { class, first }
    };
    let found = classes.into_iter().filter(|(_, first)| !first.is_empty());
    Ok(found.take(scan.classes).map(class).collect())
}

/// A range of the budgets and quotas that executions of `share` wait for, in the order of their
/// names.
pub(crate) async fn blockers(
    store: &Shared,
    share: &PartitionSet,
    after: Option<&(Namespace, Blocker)>,
    limit: usize,
) -> Result<Vec<(Namespace, Blocker)>, StoreError> {
    let after = after.map_or_else(String::new, |(namespace, on)| keys::limit(namespace, on));
    let args: [Arg<'_>; 2] = [after.into_bytes().into(), limit.to_string().into_bytes().into()];
    let routes: Vec<_> = (0..store.keys.partitions())
        .filter(|partition| share.has(*partition))
        .map(|partition| store.keys.route(partition))
        .collect();
    let mut names = BTreeSet::new();
    for answer in store.link.call_some("blockers", &routes, &args).await?.values {
        for name in reply::list(answer)? {
            // The end of a name sorts like its terminator in the index.
            let mut name = reply::bytes(name)?.to_vec();
            name.push(b':');
            names.insert(name);
        }
    }
    let limits = names.iter().take(limit).map(|name| &name[..name.len() - 1]);
    limits.map(|name| keys::parse_limit(name).ok_or_else(reply::missing)).collect()
}
