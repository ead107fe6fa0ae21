//! Suspension: what a parked execution waits for, and the waitpoints at which signals arrive.
//!
//! A waitpoint that is not in the record is closed, for ever: no closed one is remembered but those of
//! the last suspension, so that a late or repeated signal is answered for what it is.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::bounds::WAITPOINTS;
use crate::condition::{Arrival, Condition, Counted};
use crate::id::WaitpointId;
use crate::name::{StepName, WaitpointKey};
use crate::placement::Attention;
use crate::state::State;
use crate::time::Time;
use crate::view::BlockingReason;
use crate::words;

/// A wait that holds no worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// Which suspension of the execution it is, from 0.
    pub number: u32,
    /// The name under which the journal keeps how it ended.
    pub step: Option<StepName>,
    /// What kind of answer it waits for.
    pub reason: SuspendReason,
    /// What is asked, for people.
    pub message: Option<Box<str>>,
    /// What ends it.
    pub condition: Condition,
    /// What has counted towards that so far.
    pub counted: Vec<Counted>,
    /// When it began.
    pub since: Time,
    /// When it ends by itself.
    pub until: Option<Time>,
    /// What happens then.
    pub on_timeout: OnTimeout,
}

impl Suspension {
    /// The numbers of the signals that have counted, in the order in which they came.
    pub fn signals(&self) -> Vec<u64> {
        let numbers: BTreeSet<_> = self.counted.iter().map(|one| one.signal).collect();
        numbers.into_iter().collect()
    }
}

words!(
    /// What kind of answer a suspended execution waits for.
    SuspendReason {
        /// A signal of any kind.
        Signal = "signal",
        /// The decision of a person.
        Approval = "approval",
        /// The call of another system.
        Callback = "callback",
        /// The result of a tool.
        ToolResult = "tool_result",
    }
);

words!(
    /// What happens to a suspended execution when its time is over.
    OnTimeout {
        /// It continues, and learns that its time was over.
        Resume = "resume",
        /// It fails, and is not tried again.
        Fail = "fail",
        /// It is cancelled.
        Cancel = "cancel",
        /// It expires.
        Expire = "expire",
    }
);

impl SuspendReason {
    /// What an execution that is suspended for it waits for.
    pub const fn blocking(self) -> BlockingReason {
        match self {
            SuspendReason::Signal => BlockingReason::WaitingForSignal,
            SuspendReason::Approval => BlockingReason::WaitingForApproval,
            SuspendReason::Callback => BlockingReason::WaitingForCallback,
            SuspendReason::ToolResult => BlockingReason::WaitingForToolResult,
        }
    }

    /// The listing in which an execution that is suspended for it is found.
    pub const fn attention(self) -> Attention {
        match self {
            SuspendReason::Signal => Attention::Signal,
            SuspendReason::Approval => Attention::Approval,
            SuspendReason::Callback => Attention::Callback,
            SuspendReason::ToolResult => Attention::ToolResult,
        }
    }
}

/// Where signals for an execution arrive, while it is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waitpoint {
    /// Its id, which a token names. A waitpoint that is opened again has another one.
    pub id: WaitpointId,
    /// The holder's name for it.
    pub key: WaitpointKey,
    /// When it closes by itself.
    pub until: Option<Time>,
    /// How many signals have arrived.
    pub signals: u32,
    /// The suspension that waits for it; `None` while it is pending.
    pub of: Option<u32>,
}

impl Waitpoint {
    /// Whether signals still arrive at `now`.
    pub fn is_open(&self, now: Time) -> bool {
        self.until.is_none_or(|until| until > now)
    }
}

/// What a record knows of its suspensions and waitpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// How many suspensions there were, the present one included.
    pub suspensions: u32,
    /// The waitpoints that are open. A finished execution has none.
    pub waitpoints: Vec<Waitpoint>,
    /// The signals at pending waitpoints, in the order in which they came: no condition has counted
    /// them yet.
    pub early: Vec<(WaitpointId, Arrival)>,
    /// The waitpoints of the last suspension that has ended.
    pub last: Option<EndedWait>,
}

/// A suspension that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedWait {
    /// Its waitpoints, which are closed.
    pub waitpoints: Vec<(WaitpointId, WaitpointKey)>,
    /// Its time was over.
    pub timed_out: bool,
}

impl Waits {
    /// Whether there is nothing to know.
    pub fn is_empty(&self) -> bool {
        *self == Waits::default()
    }

    /// The waitpoint of this key that is open at `now`.
    pub fn open(&self, key: &WaitpointKey, now: Time) -> Option<&Waitpoint> {
        self.waitpoints.iter().find(|waitpoint| waitpoint.key == *key && waitpoint.is_open(now))
    }

    /// Closes all waitpoints but those that `stay`.
    pub fn close(&mut self, stay: impl Fn(&Waitpoint) -> bool) {
        self.waitpoints.retain(stay);
        let open: Vec<_> = self.waitpoints.iter().map(|waitpoint| waitpoint.id).collect();
        self.early.retain(|(id, _)| open.contains(id));
    }

    /// What is wrong with it beside this state, if anything is.
    pub fn fault(&self, state: &State) -> Option<&'static str> {
        let present = match state {
            State::Finished { .. } if !self.waitpoints.is_empty() => {
                return Some("it has ended and has open waitpoints");
            }
            State::Suspended { suspension } => Some(suspension),
            _ => None,
        };
        let number = present.map(|suspension| suspension.number);
        let keys: BTreeSet<_> = self.waitpoints.iter().map(|waitpoint| &waitpoint.key).collect();
        let is_pending = |id: &WaitpointId| {
            self.waitpoints.iter().any(|waitpoint| waitpoint.id == *id && waitpoint.of.is_none())
        };
        if keys.len() != self.waitpoints.len() || keys.len() > WAITPOINTS {
            return Some("it has too many open waitpoints, or two of one key");
        }
        if self.waitpoints.iter().any(|waitpoint| waitpoint.of.is_some() && waitpoint.of != number)
        {
            return Some("a waitpoint belongs to a suspension that has ended");
        }
        if !self.early.iter().all(|(id, _)| is_pending(id)) {
            return Some("an early signal waits at no pending waitpoint");
        }
        let suspension = present?;
        if suspension.number.checked_add(1) != Some(self.suspensions) {
            return Some("its suspension is not the newest");
        }
        let capacity = suspension.condition.capacity();
        let counts = |node: usize| {
            suspension.counted.iter().filter(|one| usize::from(one.node) == node).count()
        };
        let fits = (0..capacity.len()).all(|node| counts(node) <= capacity[node] as usize);
        let counted: usize = (0..capacity.len()).map(counts).sum();
        if !fits || counted != suspension.counted.len() {
            return Some("its suspension has counted more than its condition can");
        }
        suspension
            .condition
            .is_satisfied(&suspension.counted)
            .then_some("its condition is satisfied and it is suspended")
    }

    /// Closes the waitpoints of a suspension and remembers them as those of the last one.
    pub fn end(&mut self, suspension: u32, timed_out: bool) {
        let of_it = self.waitpoints.iter().filter(|waitpoint| waitpoint.of == Some(suspension));
        let waitpoints = of_it.map(|waitpoint| (waitpoint.id, waitpoint.key.clone())).collect();
        self.close(|waitpoint| waitpoint.of != Some(suspension));
        self.last = Some(EndedWait { waitpoints, timed_out });
    }
}
