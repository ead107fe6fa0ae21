//! Reads: one record or what is beside it, and what lies over all partitions.

use bytes::Bytes;
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::record::Attempt;
use ff_core::{Execution, ExecutionId, Millis, Time};
use ff_store::share::ENGINE_TTL;
use ff_store::{DueTimers, EngineId, ListScan, Position, Share, StoreError, Which};
use futures_util::future::try_join_all;
use redis::{Cmd, cmd};

use crate::codec::{self, Inline, Stored};
use crate::general::{decode, named};
use crate::keys;
use crate::link::Arg;
use crate::reply;
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

/// Bytes beside a record, or in it.
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

/// Attempts that ended before the newest one.
pub(crate) async fn past_attempts(
    store: &Shared,
    id: ExecutionId,
    from: u32,
    limit: usize,
) -> Result<Vec<Attempt>, StoreError> {
    let mut command = cmd("HMGET");
    command.arg(store.keys.attempts(id));
    let last = u64::from(from) + limit as u64;
    for number in u64::from(from)..last {
        command.arg(number);
    }
    let mut attempts = Vec::new();
    for value in reply::list(store.link.send(command).await?)? {
        let Some(bytes) = reply::maybe_bytes(value)? else { break };
        let attempt = codec::attempt(&bytes);
        let unreadable = |error| StoreError::Corrupt(format!("an attempt of {id}: {error}"));
        attempts.push(attempt.map_err(unreadable)?);
    }
    Ok(attempts)
}

/// A stretch of a listing over all partitions.
pub(crate) async fn list(store: &Shared, scan: &ListScan) -> Result<Vec<Execution>, StoreError> {
    let owned = |text: String| -> Arg<'static> { text.into_bytes().into() };
    let which: &[u8] = match scan.which {
        Which::All => b"list",
        Which::Attention(_) => b"attention",
    };
    let after = scan.after.map(|place| (place.created.as_ms().to_string(), place.id));
    let (created, id) =
        after.map_or_else(Default::default, |(created, id)| (created, keys::encode(&id)));
    let namespace = scan.namespace.as_str().as_bytes();
    let limit = scan.limit.to_string();
    let args = [namespace.into(), which.into(), owned(created), owned(id), owned(limit)];
    let mut places = Vec::new();
    for answer in store.link.call_each("list", &store.keys.routes(), &args).await? {
        let mut values = reply::list(answer)?.into_iter();
        while let (Some(created), Some(id)) = (values.next(), values.next()) {
            let id = named(&reply::bytes(id)?)?;
            places.push(Position { created: reply::time(&created)?, id: *id.as_bytes() });
        }
    }
    places.sort_unstable_by(|a, b| b.cmp(a));
    places.truncate(scan.limit);
    let ids = places.iter().filter_map(|place| ExecutionId::from_bytes(&place.id).ok());
    let records = try_join_all(ids.map(|id| record(store, id))).await?;
    Ok(records.into_iter().flatten().collect())
}

/// The store's time.
pub(crate) async fn now(store: &Shared) -> Result<Time, StoreError> {
    reply::time(&store.link.call("now", &store.keys.route(0), &[]).await?)
}

/// Takes note that `engine` is alive, and answers all that are.
pub(crate) async fn alive(store: &Shared, engine: EngineId) -> Result<Vec<EngineId>, StoreError> {
    let ttl = ENGINE_TTL.as_millis().to_string();
    let name = engine.to_bytes();
    let args: [Arg<'_>; 2] = [name[..].into(), ttl.as_bytes().into()];
    let alive = reply::list(store.link.call("alive", &store.keys.engines(), &args).await?)?;
    let name = |value| {
        let bytes: [u8; 16] = reply::bytes(value)?[..].try_into().map_err(|_| reply::missing())?;
        Ok(EngineId::new(u128::from_be_bytes(bytes)))
    };
    alive.into_iter().map(name).collect()
}

/// How many timers each partition is asked for at least.
const LEAST_PART: usize = 8;

/// Timers of `share` that are due, over all its partitions.
pub(crate) async fn due(
    store: &Shared,
    share: &Share,
    after: Option<(Time, ExecutionId)>,
    limit: usize,
) -> Result<DueTimers, StoreError> {
    let owned = |text: String| -> Arg<'static> { text.into_bytes().into() };
    let (time, id) = after.map_or((0, String::new()), |(time, id)| (time.as_ms(), keys::id(id)));
    // All that is due is seldom in one partition, so each is asked for its part.
    let part = match store.keys.partitions() {
        1 => limit,
        partitions => {
            (2 * limit / usize::from(partitions)).clamp(LEAST_PART, limit.max(LEAST_PART))
        }
    };
    let args = [owned(time.to_string()), owned(id), owned(part.to_string())];
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
    for answer in store.link.call_each("due", &routes, &args).await? {
        let mut values = reply::list(answer)?.into_iter();
        let now = reply::time(&values.next().ok_or_else(reply::missing)?)?;
        timers.now = timers.now.max(now);
        for partition in values {
            let mut values = reply::list(partition)?.into_iter();
            let next = values.next().ok_or_else(reply::missing)?;
            let names = reply::list(values.next().ok_or_else(reply::missing)?)?;
            for name in names.into_iter().filter(|_| after.is_none()) {
                let name = reply::bytes(name)?;
                let key = keys::resource_at_home(&name, store.keys.partitions());
                timers.resources.push(key.ok_or_else(reply::missing)?);
            }
            if reply::maybe_number(&next)?.is_some() {
                let next = reply::time(&next)?;
                timers.next = Some(timers.next.map_or(next, |earlier| earlier.min(next)));
            }
            let before = timers.due.len();
            while let (Some(due), Some(id)) = (values.next(), values.next()) {
                timers.due.push((reply::time(&due)?, named(&reply::bytes(id)?)?));
            }
            // Behind a whole part there may be more.
            if let Some(end) = timers.due[before..].get(part - 1) {
                timers.more = Some(timers.more.map_or(*end, |earlier| earlier.min(*end)));
            }
        }
    }
    timers.due.sort_unstable();
    Ok(timers)
}
