//! How many executions wait, for what, and how many run, counted a slice at a time.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use ff_core::Capabilities;
use ff_core::placement::Score;
use ff_store::StoreError;
use ff_store::backlog::Backlog;
use redis::Value;
use tokio::time::{Instant, sleep};

use crate::constants::{BACKLOG_SLICE, SWEEP_QUEUES};
use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::store::Shared;

/// How long a count runs without a pause.
const BURST: Duration = Duration::from_millis(5);

/// After that it takes one part in this many of the server's time,
const PAUSE_PARTS: u32 = 16;

/// with pauses of at most this: how long a call takes also shows how busy the server is.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// A queue of one partition, by name.
type Name = (u16, String);

/// The queues that the last count found empty. One that two in a row find empty is unregistered.
#[derive(Debug, Default)]
pub(crate) struct Emptied(std::sync::Mutex<HashSet<Name>>);

/// Partitions that are still to be counted, and the place in the first.
struct Part {
    routes: Vec<String>,
    place: Bytes,
}

/// The counts so far.
#[derive(Default)]
struct Count {
    backlog: Backlog,
    /// The queues that were counted of the current partitions: a slice may name one again.
    seen: HashSet<(u16, Bytes)>,
    empty: Vec<Name>,
}

pub(crate) async fn count(store: &Shared) -> Result<Backlog, StoreError> {
    let mut count = Count::default();
    let mut spent = Duration::ZERO;
    let mut parts = vec![Part { routes: store.keys.routes(), place: Bytes::new() }];
    while let Some(part) = parts.pop() {
        let began = Instant::now();
        let from = part.routes.first().map_or("", String::as_str);
        let limit = BACKLOG_SLICE.to_string();
        let args: [Arg<'_>; 3] =
            [from.as_bytes().into(), part.place[..].into(), limit.as_bytes().into()];
        let before = parts.len();
        for answer in store.link.call_each("backlog", &part.routes, &args).await? {
            parts.extend(count.slice(store, answer, &part.routes)?);
        }
        let took = began.elapsed();
        spent += took;
        if parts.len() > before && spent > BURST {
            // Lets other calls go first.
            sleep((took * (PAUSE_PARTS - 1)).min(LONGEST_PAUSE)).await;
        }
    }
    sweep(store, count.empty).await?;
    Ok(count.backlog)
}

impl Count {
    /// Adds one slice. Answers the rest.
    fn slice(
        &mut self,
        store: &Shared,
        answer: Value,
        routes: &[String],
    ) -> Result<Option<Part>, StoreError> {
        let mut values = reply::list(answer)?.into_iter();
        let mut next = || values.next().ok_or_else(reply::missing);
        self.backlog.now = self.backlog.now.max(reply::time(&next()?)?);
        let (from, place) = (reply::text(next()?)?, reply::bytes(next()?)?);
        for row in values {
            self.row(store, row)?;
        }
        if from.is_empty() {
            return Ok(None);
        }
        if let Some(under_way) = store.keys.routed(from.as_bytes()) {
            self.seen.retain(|(partition, _)| *partition == under_way);
        }
        let rest = store.link.together(&from, routes);
        Ok(Some(Part { routes: rest, place }))
    }

    fn row(&mut self, store: &Shared, row: Value) -> Result<(), StoreError> {
        let mut fields = reply::list(row)?.into_iter();
        let mut next = || fields.next().ok_or_else(reply::missing);
        let kind = reply::text(next()?)?;
        if kind == "w" {
            self.backlog.workers += reply::number(&next()?)?.unsigned_abs();
            return Ok(());
        }
        let partition = store.keys.routed(&reply::bytes(next()?)?).ok_or_else(reply::missing)?;
        let name = reply::bytes(next()?)?;
        let count = reply::number(&next()?)?.unsigned_abs();
        if kind == "b" {
            let limit = keys::parse_limit(&name).ok_or_else(reply::missing)?;
            let lane = keys::parse_queue(&reply::text(next()?)?).map(|(_, lane)| lane);
            self.backlog.add_blocked(limit, lane, count);
            return Ok(());
        }
        if kind == "q" && !self.seen.insert((partition, name.clone())) {
            return Ok(());
        }
        let name = std::str::from_utf8(&name).map_err(|_| reply::missing())?;
        if kind == "a" {
            let queue = keys::parse_queue(name).ok_or_else(reply::missing)?;
            *self.backlog.active.entry(queue).or_default() += count;
            return Ok(());
        }
        match reply::maybe_number(&next()?)? {
            Some(head) => {
                let queue = keys::parse_queue(name).ok_or_else(reply::missing)?;
                let requires = Capabilities::parse(&reply::text(next()?)?);
                let requires = requires.unwrap_or_else(|error| {
                    tracing::warn!(%error, queue = name, "the class of a queue cannot be read");
                    Capabilities::NONE
                });
                self.backlog.add_queue(queue, requires, count, Score::from_stored(head));
            }
            None if self.empty.len() < SWEEP_QUEUES => {
                self.empty.push((partition, name.to_owned()));
            }
            None => {}
        }
        Ok(())
    }
}

/// Unregisters queues that were empty in the last count too.
async fn sweep(store: &Shared, empty: Vec<Name>) -> Result<(), StoreError> {
    let twice = {
        let mut last = store.emptied.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now: HashSet<_> = empty.into_iter().collect();
        let before = std::mem::replace(&mut *last, now);
        let mut twice: Vec<_> = last.intersection(&before).cloned().collect();
        twice.sort_unstable();
        twice
    };
    for queues in twice.chunk_by(|(one, _), (other, _)| one == other) {
        let route = store.keys.route(queues[0].0);
        let args: Vec<_> = queues.iter().map(|(_, name)| name.as_bytes().into()).collect();
        store.link.call("sweep", &route, &args).await?;
    }
    Ok(())
}
