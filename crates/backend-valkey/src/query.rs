//! Reads: one record or what is stored next to it, and reads over all partitions.

use bytes::Bytes;
use ff_core::collection::{Element, ElementRange};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::{Execution, ExecutionId, Millis, Partition, Time};
use ff_store::partition_set::ENGINE_TTL;
use ff_store::{
    DueCursor, DueTimers, EngineId, ListIndex, ListScan, Listed, PartitionSet, Position, StoreError,
};
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
fn part(store: &Shared, limit: usize) -> usize {
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

/// Due timers of `share`, over all its partitions.
pub(crate) async fn due(
    store: &Shared,
    share: &PartitionSet,
    after: DueCursor,
    limit: usize,
) -> Result<DueTimers, StoreError> {
    let owned = |text: String| -> Arg<'static> { text.into_bytes().into() };
    let place = |place: Option<(Time, String)>| {
        let (time, name) = place.unwrap_or((Time::EPOCH, String::new()));
        [owned(time.as_ms().to_string()), owned(name)]
    };
    let resource = after.resource.as_ref().map(|(time, key)| (*time, keys::resource(key)));
    let part = part(store, limit);
    let [time, id] = place(after.execution.map(|(time, id)| (time, keys::id(id))));
    let [resource_time, resource] = place(resource);
    let args = [time, id, resource_time, resource, owned(part.to_string())];
    let mut reached = Reached::default();
    let mut timers = DueTimers {
        now: Time::EPOCH,
        due: Vec::new(),
        more: None,
        resources: Vec::new(),
        next: None,
        offset: Millis::ZERO,
    };
    let routes: Vec<_> = (0..store.keys.partitions())
        .filter(|partition| share.has(*partition))
        .map(|partition| store.keys.route(partition))
        .collect();
    for answer in store.link.call_some("due", &routes, &args).await?.values {
        let mut values = reply::list(answer)?.into_iter();
        let now = reply::time(&values.next().ok_or_else(reply::missing)?)?;
        timers.now = timers.now.max(now);
        for partition in values {
            let mut values = reply::list(partition)?.into_iter();
            let route = reply::bytes(values.next().ok_or_else(reply::missing)?)?;
            let at = store.keys.routed(&route).ok_or_else(reply::missing)?;
            let at = Partition::new(at).map_err(StoreError::from)?;
            let next = values.next().ok_or_else(reply::missing)?;
            let names = reply::list(values.next().ok_or_else(reply::missing)?)?;
            let (seen, mut last) = (names.len() / 2, None);
            let mut names = names.into_iter();
            while let (Some(due), Some(name)) = (names.next(), names.next()) {
                let name = reply::bytes(name)?;
                match keys::parse_resource(at, &name) {
                    Some(key) => {
                        last = Some((reply::moment(&due)?, name));
                        timers.resources.push(key);
                    }
                    None => tracing::warn!(
                        entry = %name.escape_ascii(),
                        "a timer that names no resource is skipped",
                    ),
                }
            }
            reached.resources.page(last, seen >= part);
            if reply::maybe_number(&next)?.is_some() {
                let next = reply::moment(&next)?;
                timers.next = Some(timers.next.map_or(next, |earlier| earlier.min(next)));
            }
            let (mut seen, mut last) = (0, None);
            while let (Some(due), Some(id)) = (values.next(), values.next()) {
                let is_finished = reply::number(&values.next().ok_or_else(reply::missing)?)? == 1;
                seen += 1;
                let Some(id) = entry(&reply::bytes(id)?) else { continue };
                if !is_finished {
                    store.unfinished.note(id);
                }
                last = Some((reply::moment(&due)?, id));
                timers.due.extend(last);
            }
            reached.executions.page(last, seen >= part);
        }
    }
    timers.due.sort_unstable();
    timers.more = reached.cursor(after);
    Ok(timers)
}

/// Up to where the timers of all partitions were read.
#[derive(Default)]
struct Reached {
    executions: Reach<ExecutionId>,
    /// By their names in the index, in whose order they come, wherever they lie.
    resources: Reach<Bytes>,
}

impl Reached {
    /// Where the next page begins, if there may be more of either kind.
    fn cursor(self, after: DueCursor) -> Option<DueCursor> {
        if self.executions.cut.is_none() && self.resources.cut.is_none() {
            return None;
        }
        let resource = self
            .resources
            .end()
            .and_then(|(time, name)| Some((time, keys::parse_resource(Partition::ONLY, &name)?)));
        Some(DueCursor {
            execution: self.executions.end().or(after.execution),
            resource: resource.or(after.resource),
        })
    }
}

/// Up to where the timers of one kind were read.
struct Reach<T> {
    /// The earliest end of a part after which there may be more.
    cut: Option<(Time, T)>,
    /// The last timer that was read.
    last: Option<(Time, T)>,
}

impl<T: Ord + Clone> Reach<T> {
    /// Records a part that ends here; after a full one there may be more.
    fn page(&mut self, end: Option<(Time, T)>, whole: bool) {
        let Some(end) = end else { return };
        if whole && self.cut.as_ref().is_none_or(|cut| end < *cut) {
            self.cut = Some(end.clone());
        }
        if self.last.as_ref().is_none_or(|last| end > *last) {
            self.last = Some(end);
        }
    }

    fn end(self) -> Option<(Time, T)> {
        self.cut.or(self.last)
    }
}

impl<T> Default for Reach<T> {
    fn default() -> Self {
        Reach { cut: None, last: None }
    }
}
