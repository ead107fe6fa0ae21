//! The one record of an execution.
//!
//! Payload bytes and ended attempts are stored next to it, guarded by its version; everything a
//! command decides on is here.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::act::Act;
use crate::capability::Capabilities;
use crate::collection::{Collection, Counts};
use crate::digest::Digest;
use crate::flow::{Flow, Member, Phase};
use crate::id::{AdmissionId, ExecutionId, Fence, LeaseId};
use crate::journal::Journal;
use crate::limits::{Amounts, ExecutionLimits};
use crate::name::{IdempotencyKey, Kind, Lane, Namespace, TagKey, TagValue};
use crate::payload::PayloadShape;
use crate::placement::Placement;
use crate::policy::Policy;
use crate::state::{Failure, Outcome, State, Worker};
use crate::suspension::Waits;
use crate::time::{Millis, Time};

/// Executions are removed at moments this far apart.
pub const RETIRE_STEP: Millis = Millis::from_secs(1);

/// Labels a person puts on an execution.
pub type Tags = BTreeMap<TagKey, TagValue>;

/// The record of an execution: what everybody may know of it, and what only the engine needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// Changes with every write.
    pub version: Version,
    /// The fingerprint of all that was submitted.
    pub digest: Digest,
    /// How the last lease that its holder, or an operator, ended was ended.
    pub last_exit: Option<Exit>,
    /// The index entries that were written for it.
    pub placed: Placement,
    /// The admission by budgets and quotas under which it is reserved or held, or was the last time:
    /// a ticket of another name was not used.
    pub admission: Option<AdmissionId>,
    /// The newest usage reports, by key and fingerprint: the same report again changes nothing.
    pub reports: Vec<(u64, u64)>,
    /// What everybody may know of it.
    pub description: Description,
    /// How many elements are stored beside it.
    #[serde(default)]
    pub counts: Counts,
    /// What of its journal is visible.
    #[serde(default)]
    pub journal: Journal,
    /// Its suspensions and waitpoints.
    #[serde(default)]
    pub waits: Waits,
}

impl Execution {
    /// The admission under which it is reserved or held.
    pub fn admitted_under(&self) -> Option<AdmissionId> {
        let holds = matches!(self.state, State::Granted { .. } | State::Active { .. });
        self.admission.filter(|_| holds)
    }

    /// How many elements it has in each collection, attempts included.
    pub fn collections(&self) -> impl Iterator<Item = (Collection, u64)> + '_ {
        let earlier = self.attempt.as_ref().map_or(0, |newest| newest.number.into());
        let attempts = (earlier > 0).then_some((Collection::Attempts, earlier));
        attempts.into_iter().chain(self.counts.iter())
    }
}

impl Deref for Execution {
    type Target = Description;

    fn deref(&self) -> &Description {
        &self.description
    }
}

impl DerefMut for Execution {
    fn deref_mut(&mut self) -> &mut Description {
        &mut self.description
    }
}

/// One unit of work, as everybody may know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Its id.
    pub id: ExecutionId,
    /// What was submitted and never changes.
    pub spec: Spec,
    /// When it was accepted.
    pub created: Time,
    /// Higher goes first.
    pub priority: i16,
    /// Its labels.
    pub tags: Tags,
    /// Its place in the queue among equals.
    pub queued_at: Time,
    /// Its state.
    pub state: State,
    /// How many leases it has had.
    pub epoch: u64,
    /// The current run.
    pub run: Run,
    /// Earlier runs, oldest first.
    pub past_runs: Vec<PastRun>,
    /// The newest attempt; earlier ones are stored next to the record.
    pub attempt: Option<Attempt>,
    /// What it has used over its whole life, as its holders reported.
    pub used: Amounts,
    /// What people did to it, oldest first: the newest [`ACTS`](crate::bounds::ACTS).
    #[serde(default)]
    pub acts: Vec<Act>,
    /// Its members, if it is a flow or has children.
    #[serde(default)]
    pub flow: Option<Box<Flow>>,
    /// Its place in a flow, if it is a member of one. It stays last, so that a record without one is stored
    /// as short as one that cannot have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<Box<Member>>,
}

/// What was submitted and never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The tenant.
    pub namespace: Namespace,
    /// The queue.
    pub lane: Lane,
    /// The kind of work.
    pub kind: Kind,
    /// What a worker must offer.
    pub requires: Capabilities,
    /// What the input is; its bytes are stored next to the record.
    pub input: PayloadShape,
    /// What it asks of the engine.
    pub policy: Policy,
    /// The submitter's own name for it.
    pub key: Option<IdempotencyKey>,
    /// What it spends from and counts against.
    pub limits: ExecutionLimits,
}

/// Changes with every write: a counter and 32 random bits, because a failover that loses writes
/// repeats numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Version(u64);

impl Version {
    /// The version of a new record.
    pub const fn first(salt: u32) -> Version {
        Version((1 << 32) | salt as u64)
    }

    /// The version after this one.
    pub const fn next(self, salt: u32) -> Version {
        Version((((self.0 >> 32) + 1) << 32) | salt as u64)
    }

    /// The version that was stored as this number.
    pub const fn from_stored(number: u64) -> Version {
        Version(number)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The random bits.
    pub const fn salt(self) -> u32 {
        self.0 as u32
    }

    /// How many writes the record has had.
    pub const fn counter(self) -> u64 {
        self.0 >> 32
    }
}

/// The counters of the current run. A replay resets them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// 0 for the first.
    pub number: u32,
    /// When it started.
    pub started: Time,
    /// When it expires.
    pub deadline: Option<Time>,
    /// How many of its attempts ended by failure or timeout.
    pub failures: u32,
    /// How many of its leases were lost.
    pub reclaims: u32,
}

/// A run that was replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastRun {
    /// When it started.
    pub started: Time,
    /// When it ended.
    pub ended: Time,
    /// How it ended.
    pub outcome: Outcome,
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// 0 for the first; numbering continues across runs.
    pub number: u32,
    /// The run it belongs to.
    pub run: u32,
    /// When it was first claimed.
    pub started: Time,
    /// The newest lease that ran it.
    pub lease: LeaseId,
    /// The newest worker that ran it.
    pub worker: Worker,
    /// The holder's last progress report.
    pub progress: Option<Progress>,
    /// How it ended; `None` while it runs or is paused.
    pub end: Option<AttemptEnd>,
}

/// How far an attempt is, in its holder's words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 100.
    pub percent: Option<u8>,
    /// For people.
    pub message: Option<Box<str>>,
}

/// The end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptEnd {
    /// When.
    pub at: Time,
    /// How.
    pub reason: EndReason,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndReason {
    /// Its holder completed the execution.
    Completed,
    /// Its holder reported a failure.
    Failed(Failure),
    /// It ran past the attempt timeout.
    TimedOut,
    /// Its lease ran out.
    LeaseLost,
    /// The execution was cancelled.
    Cancelled,
    /// The execution's deadline passed.
    Expired,
}

/// What the last lease-ending call did, so that repeating it gives the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The lease that ended.
    pub lease: LeaseId,
    /// The fingerprint of the call.
    pub digest: Digest,
    /// What it was answered.
    pub answer: Exited,
}

/// The answer to a call that ends a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Exited {
    /// The execution is completed.
    Completed,
    /// Another attempt will be made, from this moment on.
    Retrying {
        /// When the next attempt may start.
        from: Time,
    },
    /// The execution has failed.
    Failed,
    /// The execution continues its attempt, from this moment on.
    Delayed {
        /// When it may continue.
        until: Time,
    },
    /// The execution is suspended.
    Suspended {
        /// When its time is over.
        until: Option<Time>,
    },
    /// The execution is cancelled.
    Cancelled,
    /// The execution is back in its queue.
    HandedBack,
    /// The lease is revoked and the execution is back in its queue.
    Revoked,
}

impl Description {
    /// The lease that holds it, if one does.
    pub fn lease(&self) -> Option<&crate::state::Lease> {
        match &self.state {
            State::Active { lease, .. } => Some(lease),
            _ => None,
        }
    }

    /// What the holder of the present lease shows with its calls.
    pub fn fence(&self) -> Option<Fence> {
        let lease = self.lease()?;
        let attempt = self.attempt.as_ref()?.number;
        Some(Fence { lease: lease.id, epoch: lease.epoch, attempt })
    }

    /// How it ended and when, if it has.
    pub fn outcome(&self) -> Option<(&Outcome, Time)> {
        match &self.state {
            State::Finished { outcome, at } => Some((outcome, *at)),
            _ => None,
        }
    }

    /// When it is removed, if it has ended: at a whole second, so that what ended close together
    /// goes together. A retention of less than a second is kept to the millisecond. A member is removed
    /// with its flow.
    pub fn retired_at(&self) -> Option<Time> {
        let (_, at) = self.outcome()?;
        let is_retiring = self.flow.as_ref().is_some_and(|flow| flow.phase == Phase::Retiring);
        if self.member.is_some() || is_retiring {
            return None;
        }
        let due = at + self.retention();
        if self.retention() < RETIRE_STEP {
            return Some(due);
        }
        Some(Time::from_ms(due.as_ms().next_multiple_of(RETIRE_STEP.get())))
    }

    /// How long it stays readable after its end.
    pub fn retention(&self) -> Millis {
        self.spec.policy.retention
    }
}
