//! The state of an execution: one enum, so that an illegal combination cannot be written.

use serde::{Deserialize, Serialize};

use crate::id::{LeaseId, RequestId};
use crate::limits::Blocker;
use crate::name::{Category, NodeName, StepName, WorkerId, WorkerInstanceId};
use crate::payload::PayloadShape;
use crate::suspension::Suspension;
use crate::time::Time;
use crate::words;

/// The state of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// In its lane's queue, claimable by any worker that covers its requirements.
    Queued {
        /// What it waits to do.
        why: Intent,
    },
    /// Not claimable before a moment.
    Delayed {
        /// When it becomes claimable.
        until: Time,
        /// What it waits for.
        why: DelayReason,
        /// The sleep of its journal that this is.
        #[serde(default)]
        step: Option<StepName>,
    },
    /// Out of the queue until a budget or a quota has room for it.
    Blocked {
        /// What has no room.
        on: Blocker,
        /// What it waits to do; it returns to its queue with this.
        why: Intent,
        /// More about it, for people.
        detail: Box<str>,
    },
    /// Out of the queue, reserved for one worker.
    Granted {
        /// The reservation.
        grant: Grant,
        /// What it waits to do; an expired grant puts it back with this.
        why: Intent,
    },
    /// Held by a worker.
    Active {
        /// The hold.
        lease: Lease,
        /// The holder is asked to stop.
        cancel: Option<CancelRequest>,
    },
    /// Parked without a worker until signals have come or its time is over.
    Suspended {
        /// What it waits for.
        suspension: Box<Suspension>,
    },
    /// Out of the queue until others have ended: what it depends on, or its own members.
    Awaiting {
        /// What it waits to do; a flow itself does nothing more.
        why: Intent,
    },
    /// Ended.
    Finished {
        /// How.
        outcome: Outcome,
        /// When.
        at: Time,
    },
}

words!(
    /// Why an execution is queued, which decides whether its next lease starts an attempt.
    Intent {
        /// Start its first attempt.
        Fresh = "start",
        /// Try again after a failure.
        Retry = "retry",
        /// Try again after a lost lease.
        Reclaim = "reclaim",
        /// Start a new run.
        Replay = "replay",
        /// Continue its attempt after the delay or the suspension its holder asked for.
        Resume = "resume",
        /// Continue its attempt, which its holder handed back.
        HandBack = "hand_back",
        /// Continue its attempt, whose lease an operator revoked.
        Revoke = "revoke",
    }
);

impl Intent {
    /// Whether the next lease starts a new attempt instead of continuing the last one.
    pub const fn starts_attempt(self) -> bool {
        matches!(self, Intent::Fresh | Intent::Retry | Intent::Reclaim | Intent::Replay)
    }
}

impl State {
    /// What an execution in it waits to do; `None` when it runs or has ended.
    pub const fn intent(&self) -> Option<Intent> {
        match self {
            State::Queued { why }
            | State::Granted { why, .. }
            | State::Blocked { why, .. }
            | State::Awaiting { why } => Some(*why),
            State::Delayed { why, .. } => Some(why.then()),
            State::Suspended { .. } => Some(Intent::Resume),
            State::Active { .. } | State::Finished { .. } => None,
        }
    }
}

/// What a delayed execution waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DelayReason {
    /// The start its submitter asked for.
    Start,
    /// The end of a retry's backoff.
    Backoff,
    /// The end of the delay its holder asked for.
    Hold,
}

impl DelayReason {
    /// What it waits to do once the pause is over.
    pub const fn then(self) -> Intent {
        match self {
            DelayReason::Start => Intent::Fresh,
            DelayReason::Backoff => Intent::Retry,
            DelayReason::Hold => Intent::Resume,
        }
    }

    /// What an execution waits for that will do this once the pause is over.
    pub fn before(intent: Intent) -> Option<DelayReason> {
        let pauses = [DelayReason::Start, DelayReason::Backoff, DelayReason::Hold];
        pauses.into_iter().find(|pause| pause.then() == intent)
    }
}

/// A worker, as a lease or grant names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Worker {
    /// The name shared by its instances.
    pub id: WorkerId,
    /// The running process.
    pub instance: WorkerInstanceId,
}

/// A short-lived reservation for one worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The call that made it; the worker shows it to claim.
    pub request: RequestId,
    /// For whom.
    pub to: Worker,
    /// Until when.
    pub until: Time,
}

/// A time-limited hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its random name.
    pub id: LeaseId,
    /// How many leases the execution has had, this one included.
    pub epoch: u64,
    /// The holder.
    pub worker: Worker,
    /// When it ends unless renewed.
    pub until: Time,
    /// When the attempt's time is over, whatever is renewed.
    pub timeout_at: Option<Time>,
}

/// A cancel that leaves the holder time to stop by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// When the hold ends, whatever the holder does.
    pub by: Time,
    /// What the operator said.
    pub reason: Option<Box<str>>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// A holder completed it.
    Success {
        /// What the result is; its bytes are stored next to the record.
        result: PayloadShape,
    },
    /// It was tried as often as allowed, or failed for good.
    Failed {
        /// The failure that ended it.
        failure: Failure,
    },
    /// A holder or an operator cancelled it.
    Cancelled {
        /// What they said.
        reason: Option<Box<str>>,
    },
    /// Its deadline passed.
    Expired,
    /// It never ran, because too much of what it depends on did not succeed.
    Skipped {
        /// The node whose end decided it.
        because: NodeName,
    },
}

impl Outcome {
    /// Whether it ended with a result.
    pub const fn is_success(&self) -> bool {
        matches!(self, Outcome::Success { .. })
    }
}

/// What went wrong in an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub category: Category,
    /// Whether trying again can help, as far as the reporter knows.
    pub retryable: bool,
    /// What happened, for people.
    pub message: Box<str>,
}
