//! How the world sees a state: six dimensions and one public word, derived in one place.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::record::{Attempt, Description, EndReason, Exited};
use crate::refusal::Refusal;
use crate::resource::ResourceKind;
use crate::state::{DelayReason, Intent, Outcome, State};
use crate::words;

words!(
    /// The public state of an execution, in one word.
    PublicState {
        /// In its queue.
        Waiting = "waiting",
        /// Not claimable before a moment.
        Delayed = "delayed",
        /// Not claimable before a budget or a quota has room.
        RateLimited = "rate_limited",
        /// Parked until signals have come or its time is over.
        Suspended = "suspended",
        /// Not claimable before others have ended: what it depends on, or its own members.
        WaitingChildren = "waiting_children",
        /// Held by a worker.
        Active = "active",
        /// In its queue, to continue an attempt.
        Resumable = "resumable",
        /// Ended with a result.
        Completed = "completed",
        /// Ended by a failure.
        Failed = "failed",
        /// Ended by a cancel.
        Cancelled = "cancelled",
        /// Ended by its deadline.
        Expired = "expired",
        /// Ended without having run, because too much of what it depends on did not succeed.
        Skipped = "skipped",
    }
);

words!(
    /// Which part of its life an execution is in.
    LifecyclePhase {
        /// Could run.
        Runnable = "runnable",
        /// Parked until signals have come or its time is over.
        Suspended = "suspended",
        /// Runs.
        Active = "active",
        /// Has ended.
        Terminal = "terminal",
    }
);

words!(
    /// Who owns it.
    OwnershipState {
        /// Nobody.
        Unowned = "unowned",
        /// The holder of a lease.
        Leased = "leased",
        /// Nobody: its lease ran out.
        LeaseExpiredReclaimable = "lease_expired_reclaimable",
        /// Nobody: its lease was revoked.
        LeaseRevoked = "lease_revoked",
    }
);

words!(
    /// Whether it could be claimed.
    EligibilityState {
        /// Yes.
        EligibleNow = "eligible_now",
        /// Not before a moment.
        NotEligibleUntilTime = "not_eligible_until_time",
        /// Others have not ended.
        BlockedByDependencies = "blocked_by_dependencies",
        /// A budget has no room.
        BlockedByBudget = "blocked_by_budget",
        /// A quota has no room.
        BlockedByQuota = "blocked_by_quota",
        /// No live worker could run it.
        BlockedByRoute = "blocked_by_route",
        /// Its lane is paused.
        BlockedByLaneState = "blocked_by_lane_state",
        /// The question has no meaning.
        NotApplicable = "not_applicable",
    }
);

words!(
    /// What it waits for.
    BlockingReason {
        /// Nothing.
        None = "none",
        /// A worker.
        WaitingForWorker = "waiting_for_worker",
        /// The end of a retry's backoff.
        WaitingForRetryBackoff = "waiting_for_retry_backoff",
        /// The end of the delay its holder asked for.
        WaitingForResumeDelay = "waiting_for_resume_delay",
        /// The start its submitter asked for.
        WaitingForDelay = "waiting_for_delay",
        /// Room in a budget.
        WaitingForBudget = "waiting_for_budget",
        /// Room in a quota.
        WaitingForQuota = "waiting_for_quota",
        /// A signal.
        WaitingForSignal = "waiting_for_signal",
        /// The decision of a person.
        WaitingForApproval = "waiting_for_approval",
        /// The call of another system.
        WaitingForCallback = "waiting_for_callback",
        /// The result of a tool.
        WaitingForToolResult = "waiting_for_tool_result",
        /// The end of others.
        WaitingForChildren = "waiting_for_children",
        /// A worker that offers all that it requires.
        WaitingForCapableWorker = "waiting_for_capable_worker",
        /// An operator, who has paused its lane.
        PausedByOperator = "paused_by_operator",
    }
);

words!(
    /// How it ended.
    TerminalOutcome {
        /// It has not.
        None = "none",
        /// With a result.
        Success = "success",
        /// By a failure.
        Failed = "failed",
        /// By a cancel.
        Cancelled = "cancelled",
        /// By its deadline.
        Expired = "expired",
        /// Without having run.
        Skipped = "skipped",
    }
);

words!(
    /// The state of its newest attempt.
    AttemptState {
        /// There was none.
        None = "none",
        /// The first is still to come.
        PendingFirstAttempt = "pending_first_attempt",
        /// It runs.
        RunningAttempt = "running_attempt",
        /// It is paused and will continue.
        AttemptInterrupted = "attempt_interrupted",
        /// Another follows a failure or a lost lease.
        PendingRetryAttempt = "pending_retry_attempt",
        /// Another follows a replay.
        PendingReplayAttempt = "pending_replay_attempt",
        /// It has ended, and the execution with it.
        AttemptTerminal = "attempt_terminal",
    }
);

words!(
    /// The state of an attempt.
    AttemptStatus {
        /// It runs or is paused.
        Open = "open",
        /// Its holder completed the execution.
        Completed = "completed",
        /// Its holder reported a failure.
        Failed = "failed",
        /// It ran past the attempt timeout.
        TimedOut = "timed_out",
        /// Its lease ran out.
        LeaseLost = "lease_lost",
        /// The execution was cancelled.
        Cancelled = "cancelled",
        /// The execution's deadline passed.
        Expired = "expired",
    }
);

impl Attempt {
    /// Its state.
    pub fn status(&self) -> AttemptStatus {
        match self.end.as_ref().map(|end| &end.reason) {
            None => AttemptStatus::Open,
            Some(EndReason::Completed) => AttemptStatus::Completed,
            Some(EndReason::Failed(_)) => AttemptStatus::Failed,
            Some(EndReason::TimedOut) => AttemptStatus::TimedOut,
            Some(EndReason::LeaseLost) => AttemptStatus::LeaseLost,
            Some(EndReason::Cancelled) => AttemptStatus::Cancelled,
            Some(EndReason::Expired) => AttemptStatus::Expired,
        }
    }
}

words!(
    /// What became of an execution whose lease was ended by a call.
    ExitOutcome {
        /// It is completed.
        Completed = "completed",
        /// Another attempt will be made.
        Retrying = "retrying",
        /// It has failed.
        Failed = "failed",
        /// It continues its attempt later.
        Delayed = "delayed",
        /// It is suspended.
        Suspended = "suspended",
        /// It is cancelled.
        Cancelled = "cancelled",
        /// It is back in its queue.
        HandedBack = "handed_back",
        /// Its lease is revoked, and it is back in its queue.
        Revoked = "revoked",
    }
);

impl Exited {
    /// The word for it.
    pub const fn outcome(self) -> ExitOutcome {
        match self {
            Exited::Completed => ExitOutcome::Completed,
            Exited::Retrying { .. } => ExitOutcome::Retrying,
            Exited::Failed => ExitOutcome::Failed,
            Exited::Delayed { .. } => ExitOutcome::Delayed,
            Exited::Suspended { .. } => ExitOutcome::Suspended,
            Exited::Cancelled => ExitOutcome::Cancelled,
            Exited::HandedBack => ExitOutcome::HandedBack,
            Exited::Revoked => ExitOutcome::Revoked,
        }
    }
}

/// Six views of one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StateVector {
    /// Which part of its life.
    pub lifecycle_phase: LifecyclePhase,
    /// Who owns it.
    pub ownership_state: OwnershipState,
    /// Whether it could be claimed.
    pub eligibility_state: EligibilityState,
    /// What it waits for.
    pub blocking_reason: BlockingReason,
    /// How it ended.
    pub terminal_outcome: TerminalOutcome,
    /// The state of its newest attempt.
    pub attempt_state: AttemptState,
}

impl Description {
    /// The public state.
    pub fn public_state(&self) -> PublicState {
        self.state.public()
    }

    /// The six dimensions of its state.
    pub fn state_vector(&self) -> StateVector {
        let waiting = StateVector {
            lifecycle_phase: LifecyclePhase::Runnable,
            ownership_state: OwnershipState::Unowned,
            eligibility_state: EligibilityState::EligibleNow,
            blocking_reason: BlockingReason::WaitingForWorker,
            terminal_outcome: TerminalOutcome::None,
            attempt_state: AttemptState::PendingFirstAttempt,
        };
        match &self.state {
            State::Queued { why } | State::Granted { why, .. } => StateVector {
                ownership_state: match why {
                    Intent::Reclaim => OwnershipState::LeaseExpiredReclaimable,
                    Intent::Revoke => OwnershipState::LeaseRevoked,
                    _ => OwnershipState::Unowned,
                },
                attempt_state: pending(*why),
                ..waiting
            },
            State::Delayed { why, .. } => StateVector {
                eligibility_state: EligibilityState::NotEligibleUntilTime,
                blocking_reason: match why {
                    DelayReason::Start => BlockingReason::WaitingForDelay,
                    DelayReason::Backoff => BlockingReason::WaitingForRetryBackoff,
                    DelayReason::Hold => BlockingReason::WaitingForResumeDelay,
                },
                attempt_state: pending(why.then()),
                ..waiting
            },
            State::Blocked { on, why, .. } => StateVector {
                eligibility_state: match on.kind {
                    ResourceKind::Budget => EligibilityState::BlockedByBudget,
                    _ => EligibilityState::BlockedByQuota,
                },
                blocking_reason: match on.kind {
                    ResourceKind::Budget => BlockingReason::WaitingForBudget,
                    _ => BlockingReason::WaitingForQuota,
                },
                attempt_state: pending(*why),
                ..waiting
            },
            State::Suspended { suspension } => StateVector {
                lifecycle_phase: LifecyclePhase::Suspended,
                eligibility_state: EligibilityState::NotApplicable,
                blocking_reason: suspension.reason.blocking(),
                attempt_state: AttemptState::AttemptInterrupted,
                ..waiting
            },
            State::Awaiting { why } => StateVector {
                eligibility_state: EligibilityState::BlockedByDependencies,
                blocking_reason: BlockingReason::WaitingForChildren,
                attempt_state: match self.is_flow() {
                    true => AttemptState::None,
                    false => pending(*why),
                },
                ..waiting
            },
            State::Active { .. } => StateVector {
                lifecycle_phase: LifecyclePhase::Active,
                ownership_state: OwnershipState::Leased,
                eligibility_state: EligibilityState::NotApplicable,
                blocking_reason: BlockingReason::None,
                attempt_state: AttemptState::RunningAttempt,
                ..waiting
            },
            State::Finished { outcome, .. } => StateVector {
                lifecycle_phase: LifecyclePhase::Terminal,
                eligibility_state: EligibilityState::NotApplicable,
                blocking_reason: BlockingReason::None,
                terminal_outcome: match outcome {
                    Outcome::Success { .. } => TerminalOutcome::Success,
                    Outcome::Failed { .. } => TerminalOutcome::Failed,
                    Outcome::Cancelled { .. } => TerminalOutcome::Cancelled,
                    Outcome::Expired => TerminalOutcome::Expired,
                    Outcome::Skipped { .. } => TerminalOutcome::Skipped,
                },
                attempt_state: match self.attempt {
                    Some(_) => AttemptState::AttemptTerminal,
                    None => AttemptState::None,
                },
                ..waiting
            },
        }
    }
}

fn pending(why: Intent) -> AttemptState {
    match why {
        Intent::Fresh => AttemptState::PendingFirstAttempt,
        Intent::Retry | Intent::Reclaim => AttemptState::PendingRetryAttempt,
        Intent::Replay => AttemptState::PendingReplayAttempt,
        Intent::Resume | Intent::HandBack | Intent::Revoke => AttemptState::AttemptInterrupted,
    }
}

impl PublicState {
    /// Whether nothing more happens to such an execution by itself but its removal.
    pub const fn is_finished(self) -> bool {
        matches!(
            self,
            PublicState::Completed
                | PublicState::Failed
                | PublicState::Cancelled
                | PublicState::Expired
                | PublicState::Skipped
        )
    }
}

impl FromStr for PublicState {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        PublicState::parse(text).ok_or_else(|| {
            let words: Vec<_> = PublicState::ALL.iter().map(|s| s.as_str()).collect();
            Refusal::invalid("state", format!("is not a state; give one of {}", words.join(", ")))
        })
    }
}

impl State {
    /// The one word for it.
    pub fn public(&self) -> PublicState {
        match self {
            State::Queued { why } | State::Granted { why, .. } => match why.starts_attempt() {
                true => PublicState::Waiting,
                false => PublicState::Resumable,
            },
            State::Delayed { .. } => PublicState::Delayed,
            State::Blocked { .. } => PublicState::RateLimited,
            State::Suspended { .. } => PublicState::Suspended,
            State::Awaiting { .. } => PublicState::WaitingChildren,
            State::Active { .. } => PublicState::Active,
            State::Finished { outcome, .. } => outcome.public(),
        }
    }
}

impl Outcome {
    /// The one word for how a run ended.
    pub const fn public(&self) -> PublicState {
        match self {
            Outcome::Success { .. } => PublicState::Completed,
            Outcome::Failed { .. } => PublicState::Failed,
            Outcome::Cancelled { .. } => PublicState::Cancelled,
            Outcome::Expired => PublicState::Expired,
            Outcome::Skipped { .. } => PublicState::Skipped,
        }
    }
}
