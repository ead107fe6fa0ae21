//! Reads: one record or what is stored next to it, and reads over all partitions.

use bytes::Bytes;
use ff_core::collection::{Element, ElementRange};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::{Execution, ExecutionId, Time};
use ff_store::partition_set::ENGINE_TTL;
use ff_store::{EngineId, ListIndex, ListScan, Listed, Position, StoreError};
use futures_util::future::try_join_all;
use redis::{Cmd, cmd};

use crate::codec::{Inline, Stored, format};
use crate::constants::{PAGE_ENTRIES, PAGE_LEAST};
use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::slow_path::{self, ask_range, decode, entry};
use crate::store::Shared;

async fn stored(store: &Shared, id: ExecutionId) -> Result<Option<Stored>, StoreError> {
    let bytes = get(store, store.keys.record(id)).await?;
    bytes.map(|bytes| decode(id, &bytes)).transpose()
}

async fn get(store: &Shared, key: String) -> Result<Option<Bytes>, StoreError> {
    reply::maybe_bytes(store.link.send(Cmd::get(key)).await?)
}

/// The record of an execution.
pub(crate) async fn record(
    store: &Shared,
    id: ExecutionId,
) -> Result<Option<Execution>, StoreError> {
    Ok(stored(store, id).await?.map(|stored| stored.record))
}

/// A payload, next to a record or in it.
pub(crate) async fn blob(store: &Shared, key: BlobKey) -> Result<Option<Bytes>, StoreError> {
    let Some(stored) = stored(store, key.execution).await? else { return Ok(None) };
    let here = match key.part {
        BlobPart::Input => stored.input,
        BlobPart::Result(run) if run == stored.record.run.number => stored.result,
        BlobPart::Result(_) => Inline::OwnKey,
    };
    match here {
        Inline::Here(bytes) => Ok(Some(bytes)),
        Inline::None => Ok(None),
        Inline::OwnKey => get(store, store.keys.blob(key.execution, key.part)).await,
    }
}

/// Elements beside a record.
pub(crate) async fn elements(
    store: &Shared,
    range: &ElementRange,
) -> Result<Vec<Element>, StoreError> {
    let route = store.keys.route(store.keys.partition(range.owner));
    let mut answer = reply::list(store.link.call("load", &route, &ask_range(range)).await?)?;
    slow_path::elements(range.owner, range.collection, answer.pop().ok_or_else(reply::missing)?)
}

/// How many of `limit` entries over all partitions are requested of each: they are seldom all in one.
pub(crate) fn part(store: &Shared, limit: usize) -> usize {
    let limit = limit.clamp(1, PAGE_ENTRIES);
    let partitions = usize::from(store.keys.partitions());
    if partitions == 1 {
        limit
    } else {
        (2 * limit / partitions).clamp(PAGE_LEAST, limit.max(PAGE_LEAST))
    }
}

/// A range of a listing over all partitions.
pub(crate) async fn list(store: &Shared, scan: &ListScan) -> Result<Vec<Listed>, StoreError> {
    let mut places = Vec::new();
    let mut after = scan.after;
    while places.len() < scan.limit {
        let left = scan.limit - places.len();
        let (page, next) = page(store, scan, after, left).await?;
        places.extend(page);
        after = next;
        if after.is_none() {
            break;
        }
    }
    places.truncate(scan.limit);
    try_join_all(places.into_iter().map(|place| listed(store, place))).await
}

async fn listed(store: &Shared, place: Position) -> Result<Listed, StoreError> {
    let Ok(id) = ExecutionId::from_bytes(&place.id) else { return Ok(Listed::Unreadable(place)) };
    match record(store, id).await {
        Ok(Some(record)) => Ok(Listed::Record(Box::new(record))),
        Ok(None) => Ok(Listed::Removed(place)),
        Err(error @ StoreError::Corrupt(_)) => {
            tracing::warn!(%error, "a listed execution cannot be read");
            Ok(Listed::Unreadable(place))
        }
        Err(error) => Err(error),
    }
}

/// The entries after a place, about as many as are left, and where to continue; `None` at the end.
async fn page(
    store: &Shared,
    scan: &ListScan,
    after: Option<Position>,
    left: usize,
) -> Result<(Vec<Position>, Option<Position>), StoreError> {
    let owned = |text: String| -> Arg<'static> { text.into_bytes().into() };
    let reason = match scan.which {
        ListIndex::All => format::attention::NONE,
        ListIndex::Attention(reason) => reason.number().into(),
    };
    let after = after.map(|place| (place.created.as_ms().to_string(), place.id));
    let (created, id) =
        after.map_or_else(Default::default, |(created, id)| (created, keys::encode(&id)));
    let namespace = scan.namespace.as_str().as_bytes();
    let part = part(store, left);
    let [reason, part_of_each] = [reason.to_string(), part.to_string()].map(owned);
    let args = [namespace.into(), reason, owned(created), owned(id), part_of_each];
    let (mut places, mut more) = (Vec::new(), None);
    for answer in store.link.call_each("list", &store.keys.routes(), &args).await? {
        for partition in reply::list(answer)? {
            let mut values = reply::list(partition)?.into_iter();
            let (before, mut seen) = (places.len(), 0);
            while let (Some(created), Some(id)) = (values.next(), values.next()) {
                seen += 1;
                let Some(id) = entry(&reply::bytes(id)?) else { continue };
                places.push(Position { created: reply::moment(&created)?, id: *id.as_bytes() });
            }
            // After a full part there may be more, and what other partitions have beyond its end
            // comes later.
            if seen == part {
                more = more.max(places[before..].last().copied());
            }
        }
    }
    places.retain(|place| more.is_none_or(|more| *place >= more));
    places.sort_unstable_by(|a, b| b.cmp(a));
    Ok((places, more))
}

/// The store's time, from the first primary that answers calls.
pub(crate) async fn now(store: &Shared) -> Result<Time, StoreError> {
    let mut routes = (0..store.keys.partitions()).map(|partition| store.keys.route(partition));
    let route = routes.find(|route| !store.link.is_away(route));
    let route = route.unwrap_or_else(|| store.keys.route(0));
    reply::time(&store.link.call("now", &route, &[]).await?)
}

/// Records that `engine` is alive, and answers all live ones.
pub(crate) async fn engine_heartbeat(
    store: &Shared,
    engine: EngineId,
) -> Result<Vec<EngineId>, StoreError> {
    let ttl = ENGINE_TTL.as_millis().to_string();
    let name = engine.to_bytes();
    let args: [Arg<'_>; 2] = [name[..].into(), ttl.as_bytes().into()];
    let alive =
        reply::list(store.link.call("engine_heartbeat", &store.keys.engines(), &args).await?)?;
    let name = |value| {
        let bytes: [u8; 16] = reply::bytes(value)?[..].try_into().map_err(|_| reply::missing())?;
        Ok(EngineId::new(u128::from_be_bytes(bytes)))
    };
    alive.into_iter().map(name).collect()
}

/// Removes `engine`, and announces that to the others.
pub(crate) async fn leave(store: &Shared, engine: EngineId) -> Result<(), StoreError> {
    let mut remove = cmd("ZREM");
    remove.arg(store.keys.engines()).arg(&engine.to_bytes()[..]);
    store.link.send(remove).await?;
    // All processes listen to the channels of all partitions.
    let mut publish = cmd("SPUBLISH");
    publish.arg(store.keys.channel(0)).arg("E");
    store.link.send(publish).await.map(drop)
}
