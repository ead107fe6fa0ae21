//! Stops: executions that were taken from their holder, or are being cancelled, while a worker runs them.
//!
//! A stop is a hint for the worker to renew that lease now; what has happened it learns from the answer.
//! Losing every hint costs up to the next renewal. The process remembers its latest hints, so that a worker
//! that asks again from where it was misses none; one that comes from another process, or too late, is
//! asked to renew all that it holds. While nothing is stopped, nothing is read or written.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use ff_core::event::EventKind;
use ff_core::machine::WriteSet;
use ff_core::{ExecutionId, Millis, Namespace, Refusal, WorkerInstanceId};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use crate::lock::lock;

/// How many stops a process remembers.
const REMEMBERED: usize = 4_096;

/// How many stops may be on their way to other processes. Of more, their workers learn when they renew.
const OUTGOING: usize = 1_024;

/// An execution that its holder should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The tenant.
    pub namespace: Namespace,
    /// The process of the worker that holds it, or did.
    pub instance: WorkerInstanceId,
    /// The execution.
    pub execution: ExecutionId,
}

impl Stop {
    /// What `write` stops: what is cancelled, revoked or expires. A worker that has ended its hold by one
    /// of these itself has nothing left to look at.
    pub(crate) fn all(write: &WriteSet) -> impl Iterator<Item = Stop> {
        let stops = |what| {
            use EventKind::{Cancelled, Cancelling, Expired, Revoked};
            matches!(what, Cancelling | Cancelled | Revoked | Expired)
        };
        write.events.iter().filter(move |event| stops(event.what)).filter_map(|event| {
            let change = write.changes.iter().find(|change| change.id == event.execution())?;
            let attempt = change.after.as_ref()?.attempt.as_ref()?;
            Some(Stop {
                namespace: event.namespace.clone(),
                instance: attempt.worker.instance.clone(),
                execution: event.execution(),
            })
        })
    }
}

/// Up to where a worker knows what was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopCursor {
    /// The process that answered it.
    process: u64,
    known: u64,
}

impl fmt::Display for StopCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.process, self.known)
    }
}

impl FromStr for StopCursor {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<StopCursor, Refusal> {
        let number = |part: Option<&str>| u64::from_str_radix(part?, 16).ok();
        let plain = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let parts = (number(text.get(..16)), number(text.get(16..)));
        match (plain, parts) {
            (true, (Some(process), Some(known))) => Ok(StopCursor { process, known }),
            _ => Err(Refusal::invalid(
                "after",
                "is not the cursor of an earlier answer; leave it out to begin anew",
            )),
        }
    }
}

/// What was stopped of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopNews {
    /// Where to continue.
    pub cursor: StopCursor,
    /// What the worker should look at; `None` is everything that it holds.
    pub stopped: Option<Vec<ExecutionId>>,
}

/// The stops that a process knows of.
#[derive(Debug)]
pub struct Stops {
    process: u64,
    recent: Mutex<Recent>,
    /// How many there have been.
    count: watch::Sender<u64>,
    /// Where a store that tells other processes takes them from.
    outgoing: OnceLock<mpsc::Sender<Stop>>,
}

#[derive(Debug, Default)]
struct Recent {
    /// How many are forgotten.
    forgotten: u64,
    stops: VecDeque<Stop>,
}

impl Default for Stops {
    fn default() -> Self {
        Stops {
            process: fastrand::u64(..),
            recent: Mutex::default(),
            count: watch::Sender::new(0),
            outgoing: OnceLock::new(),
        }
    }
}

impl Stops {
    /// Something was stopped by this process.
    pub(crate) fn announce(&self, stop: Stop) {
        if let Some(outgoing) = self.outgoing.get() {
            // One that does not fit costs latency.
            let _ = outgoing.try_send(stop.clone());
        }
        self.note(stop);
    }

    /// Something was stopped, here or in another process.
    pub fn note(&self, stop: Stop) {
        let mut recent = lock(&self.recent);
        recent.stops.push_back(stop);
        if recent.stops.len() > REMEMBERED {
            recent.stops.pop_front();
            recent.forgotten += 1;
        }
        self.count.send_replace(recent.count());
    }

    /// Anything may have been stopped in other processes: every worker looks at all that it holds.
    pub fn note_gap(&self) {
        let mut recent = lock(&self.recent);
        recent.forgotten += recent.stops.len() as u64 + 1;
        recent.stops.clear();
        self.count.send_replace(recent.count());
    }

    /// How many workers wait for stops.
    pub fn waiting(&self) -> usize {
        self.count.receiver_count()
    }

    /// What this process stops from now on, for a store that tells others. There is one such store.
    pub fn outgoing(&self) -> mpsc::Receiver<Stop> {
        let (sender, stops) = mpsc::channel(OUTGOING);
        let _ = self.outgoing.set(sender);
        stops
    }

    /// What was stopped of the worker at `instance` after `cursor`; waits up to `longest` for something.
    pub async fn after(
        &self,
        namespace: &Namespace,
        instance: &WorkerInstanceId,
        cursor: Option<StopCursor>,
        longest: Millis,
    ) -> StopNews {
        let give_up = Instant::now() + Duration::from_millis(longest.get());
        let mut counted = self.count.subscribe();
        let mut cursor = cursor;
        loop {
            counted.mark_unchanged();
            let news = self.known(namespace, instance, cursor);
            if news.stopped.as_ref().is_none_or(|stopped| !stopped.is_empty()) {
                return news;
            }
            // Stops of other workers need not be read again.
            cursor = Some(news.cursor);
            if timeout_at(give_up, counted.changed()).await.is_err() {
                return news;
            }
        }
    }

    fn known(
        &self,
        namespace: &Namespace,
        instance: &WorkerInstanceId,
        cursor: Option<StopCursor>,
    ) -> StopNews {
        let recent = lock(&self.recent);
        let now = StopCursor { process: self.process, known: recent.count() };
        let from = cursor.filter(|cursor| cursor.process == self.process).and_then(|cursor| {
            let known = cursor.known.checked_sub(recent.forgotten)?;
            usize::try_from(known).ok().filter(|known| *known <= recent.stops.len())
        });
        let mine = |stop: &&Stop| stop.namespace == *namespace && stop.instance == *instance;
        let stopped = from.map(|from| {
            let later = recent.stops.range(from..).filter(mine);
            later.map(|stop| stop.execution).collect()
        });
        StopNews { cursor: now, stopped }
    }
}

impl Recent {
    fn count(&self) -> u64 {
        self.forgotten + self.stops.len() as u64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ff_core::Partition;

    use super::*;
    use crate::mint;

    fn stop(instance: &str) -> Stop {
        Stop {
            namespace: Namespace::default(),
            instance: instance.parse().unwrap(),
            execution: mint::execution_id(Partition::ONLY),
        }
    }

    async fn after(stops: &Stops, cursor: Option<StopCursor>) -> StopNews {
        let (namespace, ada) = (Namespace::default(), "ada-1".parse().unwrap());
        stops.after(&namespace, &ada, cursor, Millis::ZERO).await
    }

    #[tokio::test]
    async fn who_asks_again_misses_nothing_that_came_in_between() {
        let stops = Stops::default();
        let first = after(&stops, None).await;
        assert_eq!(first.stopped, None, "nothing is known of what was before");
        let (mine, other, also) = (stop("ada-1"), stop("bob-1"), stop("ada-1"));
        for stop in [&mine, &other, &also] {
            stops.note(stop.clone());
        }
        let news = after(&stops, Some(first.cursor)).await;
        assert_eq!(news.stopped, Some(vec![mine.execution, also.execution]));
        assert_eq!(after(&stops, Some(news.cursor)).await.stopped, Some(vec![]));
        assert_eq!(after(&stops, Some(first.cursor)).await, news);
    }

    #[tokio::test]
    async fn who_knows_too_little_looks_at_everything() {
        let (stops, other) = (Stops::default(), Stops::default());
        let first = after(&stops, None).await.cursor;
        assert_eq!(after(&other, Some(first)).await.stopped, None, "another process");
        for _ in 0..=REMEMBERED {
            stops.note(stop("bob-1"));
        }
        assert_eq!(after(&stops, Some(first)).await.stopped, None, "too late");
        let now = after(&stops, None).await.cursor;
        stops.note_gap();
        assert_eq!(after(&stops, Some(now)).await.stopped, None, "a gap");
        let ahead = StopCursor { known: u64::MAX, ..now };
        assert_eq!(after(&stops, Some(ahead)).await.stopped, None, "made up");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_with_a_stop_of_its_own_worker() {
        let stops = std::sync::Arc::new(Stops::default());
        let cursor = after(&stops, None).await.cursor;
        let waiting = tokio::spawn({
            let stops = stops.clone();
            async move {
                let (namespace, ada) = (Namespace::default(), "ada-1".parse().unwrap());
                stops.after(&namespace, &ada, Some(cursor), Millis::from_secs(30)).await
            }
        });
        tokio::task::yield_now().await;
        stops.note(stop("bob-1"));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        let mine = stop("ada-1");
        stops.note(mine.clone());
        assert_eq!(waiting.await.unwrap().stopped, Some(vec![mine.execution]));
    }

    #[test]
    fn a_cursor_reads_back_and_nothing_else_does() {
        let cursor = StopCursor { process: u64::MAX, known: 7 };
        assert_eq!(cursor.to_string().parse::<StopCursor>().unwrap(), cursor);
        for bad in ["", "7", "+000000000000000000000000000000f", &"g".repeat(32), &"0".repeat(33)] {
            assert!(bad.parse::<StopCursor>().is_err(), "{bad}");
        }
    }
}
