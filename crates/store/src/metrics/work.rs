//! What becomes of executions, counted by lane and kind.
//!
//! All times are the store's, from the record. The series of a lane and of a kind are made once and
//! kept, so that counting is a search of a small map and an addition. They are bounded: the lanes by
//! [`NAMES`](super::NAMES), the pairs of a lane and a kind by [`KINDS`]; all others share the series
//! [`OTHER`].

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use ff_core::event::EventKind;
use ff_core::record::{Description, EndReason};
use ff_core::{Kind, Lane, Millis, Time};
use metrics::{Counter, Histogram};

use super::names::{Names, OTHER};

/// How many pairs of a lane and a kind have series of their own in one process.
pub(crate) const KINDS: usize = 500;

/// A change of one execution, as far as it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    lane: Lane,
    kind: Kind,
    step: Step,
    /// How long the attempt took that ended with it.
    took: Option<Millis>,
    /// That attempt ended because its lease ran out.
    lost: bool,
}

/// What happened, by the words of its labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Submitted,
    Replayed,
    Claimed {
        /// How long it could have been claimed before, where this starts an attempt.
        waited: Option<Millis>,
    },
    Finished(&'static str),
    Retried(&'static str),
    Returned(&'static str),
}

const FINISHED: [&str; 4] = ["completed", "failed", "cancelled", "expired"];
const RETRIED: [&str; 3] = ["failed", "timed_out", "lease_lost"];
const RETURNED: [&str; 4] = ["delayed", "suspended", "handed_back", "revoked"];

impl Counted {
    /// What happened to the execution that `record` describes after it, if that is counted.
    pub fn of(record: &Description, what: EventKind, at: Time) -> Option<Counted> {
        let attempt = record.attempt.as_ref();
        let ended = attempt.and_then(|attempt| attempt.end.as_ref()).filter(|end| end.at == at);
        let reason = ended.map(|end| &end.reason);
        let step = match what {
            // A task that waits for its children was submitted before.
            EventKind::Awaiting if attempt.is_some() => Step::Returned("awaiting"),
            EventKind::Submitted { .. } | EventKind::Awaiting => Step::Submitted,
            EventKind::Skipped => Step::Finished("skipped"),
            EventKind::Replayed => Step::Replayed,
            EventKind::Claimed { .. } => {
                // An execution that was handed back is in its old place, from before it was claimed.
                let starts = attempt.is_some_and(|attempt| attempt.started == at);
                Step::Claimed { waited: starts.then(|| at.since(record.queued_at)) }
            }
            EventKind::Completed => Step::Finished("completed"),
            EventKind::Failed => Step::Finished("failed"),
            EventKind::Cancelled => Step::Finished("cancelled"),
            EventKind::Expired => Step::Finished("expired"),
            EventKind::Retrying { .. } => Step::Retried(match reason {
                Some(EndReason::TimedOut) => "timed_out",
                _ => "failed",
            }),
            EventKind::Reclaimed => Step::Retried("lease_lost"),
            EventKind::Delayed { .. } => Step::Returned("delayed"),
            EventKind::Suspended { .. } => Step::Returned("suspended"),
            EventKind::HandedBack => Step::Returned("handed_back"),
            EventKind::Revoked => Step::Returned("revoked"),
            EventKind::Woken { .. }
            | EventKind::Signalled
            | EventKind::Released { .. }
            | EventKind::Resumed { .. }
            | EventKind::Granted
            | EventKind::GrantExpired
            | EventKind::Cancelling
            | EventKind::Blocked
            | EventKind::Unblocked { .. }
            | EventKind::Retired => return None,
        };
        Some(Counted {
            lane: record.spec.lane.clone(),
            kind: record.spec.kind.clone(),
            step,
            took: ended.and(attempt).map(|attempt| at.since(attempt.started)),
            lost: reason == Some(&EndReason::LeaseLost),
        })
    }

    /// An execution was accepted.
    pub fn submitted(lane: &Lane, kind: &Kind) -> Counted {
        let (lane, kind) = (lane.clone(), kind.clone());
        Counted { lane, kind, step: Step::Submitted, took: None, lost: false }
    }

    /// An execution was completed, by an attempt that took so long.
    pub fn completed(lane: Lane, kind: Kind, took: Millis) -> Counted {
        let step = Step::Finished("completed");
        Counted { lane, kind, step, took: Some(took), lost: false }
    }
}

/// All series of a process.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) lanes: Names,
    series: RwLock<Series>,
}

impl Work {
    pub(super) const fn new() -> Work {
        let series = Series { lanes: BTreeMap::new(), pairs: 0 };
        Work { lanes: Names::new(), series: RwLock::new(series) }
    }

    pub(super) fn count(&self, changes: &[Counted]) {
        if changes.is_empty() {
            return;
        }
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        let new = |change: &&Counted| !series.count(change, &self.lanes);
        let new: Vec<_> = changes.iter().filter(new).collect();
        drop(series);
        if new.is_empty() {
            return;
        }
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        for change in new {
            series.make(change, &self.lanes);
            series.count(change, &self.lanes);
        }
    }

    pub(super) fn resolve_again(&self) {
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        *series = Series::default();
    }
}

#[derive(Debug, Default)]
struct Series {
    /// By label.
    lanes: BTreeMap<Arc<str>, OfLane>,
    /// How many kinds of all lanes have series of their own.
    pairs: usize,
}

impl Series {
    /// Counts, if the series are there.
    fn count(&self, change: &Counted, names: &Names) -> bool {
        let lane = self.lanes.get(change.lane.as_str());
        let lane = lane.or_else(|| self.lanes.get(&names.label(change.lane.as_str())));
        let Some(lane) = lane else { return false };
        let kind = lane.kinds.get(change.kind.as_str());
        let is_other = || self.pairs >= KINDS || &*lane.label == OTHER;
        let kind = kind.or_else(|| lane.kinds.get(OTHER).filter(|_| is_other()));
        let Some(kind) = kind else { return false };
        match change.step {
            Step::Submitted => kind.submitted.increment(1),
            Step::Replayed => kind.replayed.increment(1),
            Step::Claimed { waited } => {
                kind.claimed.increment(1);
                waited.into_iter().for_each(|waited| lane.waited.record(seconds(waited)));
            }
            Step::Finished(outcome) => kind.finished.increment(outcome),
            Step::Retried(reason) => kind.retried.increment(reason),
            Step::Returned(reason) => lane.returned.increment(reason),
        }
        change.took.into_iter().for_each(|took| lane.took.record(seconds(took)));
        lane.lost.increment(change.lost.into());
        true
    }

    /// Makes the series of `change`.
    fn make(&mut self, change: &Counted, names: &Names) {
        let label = names.label(change.lane.as_str());
        let lane = self.lanes.entry(label.clone()).or_insert_with(|| OfLane::new(label));
        let is_other = self.pairs >= KINDS || &*lane.label == OTHER;
        let kind = if is_other { OTHER } else { change.kind.as_str() };
        if !lane.kinds.contains_key(kind) {
            let kind: Arc<str> = kind.into();
            lane.kinds.insert(kind.clone(), OfKind::new(&lane.label, &kind));
            self.pairs += usize::from(!is_other);
        }
    }
}

/// The series of one lane.
#[derive(Debug)]
struct OfLane {
    label: Arc<str>,
    waited: Histogram,
    took: Histogram,
    lost: Counter,
    returned: ByWord<4>,
    /// By label.
    kinds: BTreeMap<Arc<str>, OfKind>,
}

impl OfLane {
    fn new(label: Arc<str>) -> OfLane {
        let lane = || label.clone();
        OfLane {
            waited: metrics::histogram!("ff_queue_wait_seconds", "lane" => lane()),
            took: metrics::histogram!("ff_attempt_seconds", "lane" => lane()),
            lost: metrics::counter!("ff_leases_lost_total", "lane" => lane()),
            returned: ByWord::of(
                RETURNED,
                |reason| metrics::counter!("ff_returned_total", "lane" => lane(), "reason" => reason),
            ),
            kinds: BTreeMap::new(),
            label,
        }
    }
}

/// The series of one kind in one lane.
#[derive(Debug)]
struct OfKind {
    submitted: Counter,
    replayed: Counter,
    claimed: Counter,
    finished: ByWord<4>,
    retried: ByWord<3>,
}

impl OfKind {
    fn new(lane: &Arc<str>, kind: &Arc<str>) -> OfKind {
        let labels = || [("lane", lane.clone()), ("kind", kind.clone())];
        let with = |key, word| {
            let [lane, kind] = labels();
            [lane, kind, (key, Arc::from(word))]
        };
        OfKind {
            submitted: metrics::counter!("ff_submitted_total", &labels()),
            replayed: metrics::counter!("ff_replayed_total", &labels()),
            claimed: metrics::counter!("ff_claimed_total", &labels()),
            finished: ByWord::of(FINISHED, |word| {
                metrics::counter!("ff_finished_total", &with("outcome", word))
            }),
            retried: ByWord::of(RETRIED, |word| {
                metrics::counter!("ff_retries_total", &with("reason", word))
            }),
        }
    }
}

/// One counter for each word of a label.
#[derive(Debug)]
struct ByWord<const N: usize>([(&'static str, Counter); N]);

impl<const N: usize> ByWord<N> {
    fn of(words: [&'static str; N], counter: impl Fn(&'static str) -> Counter) -> ByWord<N> {
        ByWord(words.map(|word| (word, counter(word))))
    }

    fn increment(&self, word: &str) {
        let of = self.0.iter().find(|(known, _)| *known == word);
        of.into_iter().for_each(|(_, counter)| counter.increment(1));
    }
}

fn seconds(span: Millis) -> f64 {
    span.get() as f64 / 1_000.0
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
