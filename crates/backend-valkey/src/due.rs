//! Due timers of executions, of resources and of continuations, over all partitions.

use bytes::Bytes;
use ff_core::continuation::Continuation;
use ff_core::{ExecutionId, Millis, Partition, Time};
use ff_store::{DueCursor, DueTimers, PartitionSet, StoreError};
use redis::Value;

use crate::keys;
use crate::link::Arg;
use crate::query::part;
use crate::reply;
use crate::slow_path::entry;
use crate::store::Shared;

/// Due timers of `share`, over all its partitions.
pub(crate) async fn read(
    store: &Shared,
    share: &PartitionSet,
    after: DueCursor,
    limit: usize,
) -> Result<DueTimers, StoreError> {
    let part = part(store, limit);
    let args = arguments(&after, part);
    let mut reached = Reached::default();
    let mut timers = DueTimers {
        now: Time::EPOCH,
        due: Vec::new(),
        more: None,
        resources: Vec::new(),
        continuations: Vec::new(),
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
            reached.partition(store, partition, part, &mut timers)?;
        }
    }
    timers.due.sort_unstable();
    timers.more = reached.cursor(after);
    Ok(timers)
}

/// After which timers of each kind to begin, and how many of each.
fn arguments(after: &DueCursor, part: usize) -> [Arg<'static>; 7] {
    let owned = |text: String| -> Arg<'static> { text.into_bytes().into() };
    let place = |place: Option<(Time, Vec<u8>)>| {
        let (time, name) = place.unwrap_or((Time::EPOCH, Vec::new()));
        [owned(time.as_ms().to_string()), name.into()]
    };
    let execution = after.execution.map(|(time, id)| (time, keys::id(id).into_bytes()));
    let resource = after.resource.as_ref();
    let resource = resource.map(|(time, key)| (*time, keys::resource(key).into_bytes()));
    let continuation = after.continuation.map(|(time, last)| (time, last.to_bytes().to_vec()));
    let [execution, id] = place(execution);
    let [resource, name] = place(resource);
    let [continuation, member] = place(continuation);
    [execution, id, resource, name, continuation, member, owned(part.to_string())]
}

/// Up to where the timers of all partitions were read. Resources and continuations are known by their
/// names in the index, in whose order they come, wherever they lie.
#[derive(Default)]
struct Reached {
    executions: Reach<ExecutionId>,
    resources: Reach<Bytes>,
    continuations: Reach<Bytes>,
}

impl Reached {
    /// Records the answer of one partition.
    fn partition(
        &mut self,
        store: &Shared,
        answer: Value,
        part: usize,
        timers: &mut DueTimers,
    ) -> Result<(), StoreError> {
        let mut values = reply::list(answer)?.into_iter();
        let mut next = || values.next().ok_or_else(reply::missing);
        let at = store.keys.routed(&reply::bytes(next()?)?).ok_or_else(reply::missing)?;
        let at = Partition::new(at).map_err(StoreError::from)?;
        let coming = next()?;
        if reply::maybe_number(&coming)?.is_some() {
            let coming = reply::moment(&coming)?;
            timers.next = Some(timers.next.map_or(coming, |earlier| earlier.min(coming)));
        }
        let resource = |name: &[u8]| keys::parse_resource(at, name);
        timers.resources.extend(self.resources.named(next()?, part, resource)?);
        let continuations = self.continuations.named(next()?, part, Continuation::from_bytes)?;
        timers.continuations.extend(continuations);
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
        self.executions.page(last, seen >= part);
        Ok(())
    }

    /// Where the next page begins, if there may be more of any kind.
    fn cursor(self, after: DueCursor) -> Option<DueCursor> {
        let Reached { executions, resources, continuations } = self;
        let is_cut = executions.cut.is_some() || resources.cut.is_some();
        if !is_cut && continuations.cut.is_none() {
            return None;
        }
        let resource = |(time, name): (Time, Bytes)| {
            Some((time, keys::parse_resource(Partition::ONLY, &name)?))
        };
        let continuation =
            |(time, name): (Time, Bytes)| Some((time, Continuation::from_bytes(&name)?));
        Some(DueCursor {
            execution: executions.end().or(after.execution),
            resource: resources.end().and_then(resource).or(after.resource),
            continuation: continuations.end().and_then(continuation).or(after.continuation),
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

impl Reach<Bytes> {
    /// Records a part of timers, each a time and a name, and answers those whose names can be read.
    fn named<T>(
        &mut self,
        answer: Value,
        part: usize,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, StoreError> {
        let values = reply::list(answer)?;
        let (seen, mut last, mut found) = (values.len() / 2, None, Vec::new());
        let mut values = values.into_iter();
        while let (Some(due), Some(name)) = (values.next(), values.next()) {
            let name = reply::bytes(name)?;
            match read(&name) {
                Some(one) => {
                    last = Some((reply::moment(&due)?, name));
                    found.push(one);
                }
                None => tracing::warn!(
                    entry = %name.escape_ascii(),
                    "a timer that names nothing is skipped",
                ),
            }
        }
        self.page(last, seen >= part);
        Ok(found)
    }
}

impl<T> Default for Reach<T> {
    fn default() -> Self {
        Reach { cut: None, last: None }
    }
}
