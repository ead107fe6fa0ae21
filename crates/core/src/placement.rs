//! Indexes are a function of state.
//!
//! [`Placement::of`] says which index entries a record has; nothing else does. A save writes the
//! difference to the placement stored in the record, so that a release that places differently
//! still removes what an earlier one wrote.

use serde::{Deserialize, Serialize};

use crate::capability::Capabilities;
use crate::digest::Digest;
use crate::id::RequestId;
use crate::limits::Blocker;
use crate::name::{IdempotencyKey, Lane, Namespace};
use crate::record::{Execution, Spec};
use crate::state::{Outcome, State};
use crate::time::Time;
use crate::timer;

/// One step of priority outweighs any difference in time: 10^12 ms are 31 years.
pub const PRIORITY_STEP: i64 = 1_000_000_000_000;

/// The last place: whole numbers up to here are exact as doubles. A clock past the year 2197 puts work
/// of the lowest priorities here.
pub const SCORE_MAX: i64 = (1 << 53) - 1;

/// The index entries of a record that change during its life.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// Its place in its lane's queue, while it is claimable.
    pub score: Option<Score>,
    /// When its timer fires.
    pub timer: Option<Time>,
    /// The claim or grant that holds it, to answer that call again.
    pub request: Option<RequestId>,
    /// Why it is also listed among those that need a person's attention.
    pub attention: Option<Attention>,
    /// Its place among those that wait for the same budget or quota and ask for the same.
    pub blocked: Option<(Blocker, AdmissionClass, Score)>,
}

/// The place in a queue: lower goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Score(i64);

impl Score {
    /// Strict priority, then first in, first out.
    pub fn of(priority: i16, queued_at: Time) -> Score {
        let score = queued_at.as_ms() as i64 - i64::from(priority) * PRIORITY_STEP;
        let score = score.min(SCORE_MAX);
        assert!(score.unsigned_abs() < 1 << 53, "a score is exact as a double");
        Score(score)
    }

    /// The score that was stored as this number.
    pub const fn from_stored(score: i64) -> Score {
        Score(score)
    }

    /// The number itself.
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// Executions that ask for the same: the same lane, the same required capabilities, the same limits
/// and estimate. What has room for one of a class has room for the next. The format is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AdmissionClass(u64);

impl AdmissionClass {
    /// Comes before every other.
    pub const FIRST: AdmissionClass = AdmissionClass(0);

    /// The class of what was submitted as `spec`.
    pub fn of(spec: &Spec) -> AdmissionClass {
        let digest = Digest::of(|fields| {
            fields.text(spec.lane.as_str());
            fields.text(spec.requires.as_str());
            spec.limits.fingerprint(fields);
        });
        AdmissionClass(digest.get())
    }

    /// The class that was stored as this number.
    pub const fn from_stored(number: u64) -> AdmissionClass {
        AdmissionClass(number)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The class after this one, if there is one.
    pub fn next(self) -> Option<AdmissionClass> {
        self.0.checked_add(1).map(AdmissionClass)
    }
}

/// Why an execution needs a person's attention. An execution is listed by one reason at a time. The
/// numbers and the words are stored formats; 0 is no reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Attention {
    /// It has failed.
    Failed = 1,
    /// It is suspended and waits for a signal.
    Signal = 2,
    /// It is suspended and waits for the decision of a person.
    Approval = 3,
    /// It is suspended and waits for the call of another system.
    Callback = 4,
    /// It is suspended and waits for the result of a tool.
    ToolResult = 5,
    /// It is a flow, listed among flows whatever its state.
    Flow = 6,
    /// It is unfinished and has [an element](crate::machine::TOY_ATTENTION) that only tests write.
    #[cfg(feature = "toy")]
    Toy = 255,
}

impl Attention {
    /// Every reason.
    pub const ALL: &[Attention] = &[
        Attention::Failed,
        Attention::Signal,
        Attention::Approval,
        Attention::Callback,
        Attention::ToolResult,
        Attention::Flow,
        #[cfg(feature = "toy")]
        Attention::Toy,
    ];

    /// Why `record` is listed, if it is.
    fn of(record: &Execution) -> Option<Attention> {
        if record.is_flow() {
            return Some(Attention::Flow);
        }
        match &record.state {
            State::Finished { outcome: Outcome::Failed { .. }, .. } => Some(Attention::Failed),
            State::Finished { .. } => None,
            State::Suspended { suspension } => Some(suspension.reason.attention()),
            #[cfg(feature = "toy")]
            _ if record.counts.of(crate::machine::TOY_ATTENTION) > 0 => Some(Attention::Toy),
            _ => None,
        }
    }

    /// The stored number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The stored word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Attention::Failed => "failed",
            Attention::Signal => "signal",
            Attention::Approval => "approval",
            Attention::Callback => "callback",
            Attention::ToolResult => "tool_result",
            Attention::Flow => "flow",
            #[cfg(feature = "toy")]
            Attention::Toy => "toy",
        }
    }

    /// The reason that was stored as this number.
    pub fn from_number(number: u8) -> Option<Attention> {
        Attention::ALL.iter().copied().find(|reason| reason.number() == number)
    }

    /// The reason that was stored as this word.
    pub fn from_word(word: &str) -> Option<Attention> {
        Attention::ALL.iter().copied().find(|reason| reason.as_str() == word)
    }
}

impl Placement {
    /// The entries that `record` should have.
    pub fn of(record: &Execution) -> Placement {
        let (score, request) = match &record.state {
            State::Queued { .. } => (Some(Score::of(record.priority, record.queued_at)), None),
            State::Delayed { .. }
            | State::Blocked { .. }
            | State::Suspended { .. }
            | State::Awaiting { .. }
            | State::Finished { .. } => (None, None),
            State::Granted { grant, .. } => (None, Some(grant.request)),
            State::Active { lease, .. } => (None, Some(lease.id.request)),
        };
        let attention = Attention::of(record);
        let blocked = match &record.state {
            State::Blocked { on, .. } => {
                let score = Score::of(record.priority, record.queued_at);
                Some((on.clone(), AdmissionClass::of(&record.spec), score))
            }
            _ => None,
        };
        let timer = timer::next(record).map(|(at, _)| at);
        Placement { score, request, attention, blocked, timer }
    }
}

/// One index entry, complete: every index of every store is made of these.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// A place in a lane's queue, in the class of what the execution requires.
    Queue(QueueEntry),
    /// A moment at which time does something.
    Timer(Time),
    /// A claim or grant that holds the execution.
    Request(RequestId),
    /// The execution's place in the listing, newest first. Written once.
    List(Namespace, Time),
    /// The execution's place among those that need attention.
    Attention(Namespace, Attention, Time),
    /// A place among those that wait for the same budget or quota and ask for the same, lowest score
    /// first.
    Blocked(Namespace, Blocker, AdmissionClass, Score),
    /// The submitter's own name for the execution. Written once.
    Key(Namespace, IdempotencyKey),
}

/// A place in a queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueEntry {
    /// The tenant.
    pub namespace: Namespace,
    /// The queue.
    pub lane: Lane,
    /// The class: what a worker must offer.
    pub class: Capabilities,
    /// The place; equal scores go by id.
    pub score: Score,
}

/// The index entries to remove and to add with a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryDiff {
    /// Entries that are there and must go.
    pub remove: Vec<Entry>,
    /// Entries that must be there.
    pub add: Vec<Entry>,
}

impl EntryDiff {
    /// What changes from the entries written for `before` to the entries of `after`. The spec of a
    /// record never changes, so both sides name the same namespace, lane, class and key.
    pub fn between(before: Option<&Execution>, after: Option<&Execution>) -> EntryDiff {
        let mut diff = EntryDiff::default();
        let old = before.map(|r| &r.placed);
        let new = after.map(|r| &r.placed);
        if let Some(record) = after.or(before) {
            moved(&mut diff, old.and_then(|p| p.score), new.and_then(|p| p.score), |score| {
                Entry::Queue(QueueEntry {
                    namespace: record.spec.namespace.clone(),
                    lane: record.spec.lane.clone(),
                    class: record.spec.requires.clone(),
                    score,
                })
            });
            moved(&mut diff, old.and_then(|p| p.timer), new.and_then(|p| p.timer), Entry::Timer);
            moved(
                &mut diff,
                old.and_then(|p| p.request),
                new.and_then(|p| p.request),
                Entry::Request,
            );
            moved(
                &mut diff,
                old.and_then(|p| p.attention),
                new.and_then(|p| p.attention),
                |attention| {
                    Entry::Attention(record.spec.namespace.clone(), attention, record.created)
                },
            );
            moved(
                &mut diff,
                old.and_then(|p| p.blocked.clone()),
                new.and_then(|p| p.blocked.clone()),
                |(on, class, score)| {
                    Entry::Blocked(record.spec.namespace.clone(), on, class, score)
                },
            );
            moved(&mut diff, before.map(|_| ()), after.map(|_| ()), |()| {
                Entry::List(record.spec.namespace.clone(), record.created)
            });
            let key = record.spec.key.as_ref();
            moved(&mut diff, before.and(key), after.and(key), |key| {
                Entry::Key(record.spec.namespace.clone(), key.clone())
            });
        }
        diff
    }

    /// Every entry that `record` has, as written in it.
    pub fn all(record: &Execution) -> Vec<Entry> {
        EntryDiff::between(None, Some(record)).add
    }
}

fn moved<T: PartialEq>(
    diff: &mut EntryDiff,
    old: Option<T>,
    new: Option<T>,
    entry: impl Fn(T) -> Entry,
) {
    if old != new {
        diff.remove.extend(old.map(&entry));
        diff.add.extend(new.map(&entry));
    }
}
