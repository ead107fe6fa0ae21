//! The ways an attempt or an execution ends, shared by holders, operators and time.

use super::Context;
use super::guard::Leave;
use crate::event::EventKind;
use crate::name::Category;
use crate::record::{AttemptEnd, EndReason, Execution, Exited};
use crate::state::{DelayReason, Failure, Intent, Outcome, State};

impl Context<'_> {
    /// `before`, finished with `outcome`; its open attempt, if any, ends with `reason`.
    pub(super) fn finished(
        &self,
        before: &Execution,
        outcome: Outcome,
        reason: EndReason,
    ) -> Execution {
        let mut after = self.attempt_ended(before, reason);
        after.state = State::Finished { outcome, at: self.now };
        after
    }

    /// `before`, cancelled.
    pub(super) fn cancelled(&self, before: &Execution, reason: Option<Box<str>>) -> Leave {
        Leave {
            after: self.finished(before, Outcome::Cancelled { reason }, EndReason::Cancelled),
            what: EventKind::Cancelled,
            answer: Exited::Cancelled,
            result: None,
            entry: None,
        }
    }

    /// `before` after its attempt failed: tried again if it asks and the policy allows, else failed.
    pub(super) fn failed(&self, before: &Execution, failure: Failure, reason: EndReason) -> Leave {
        let mut after = self.attempt_ended(before, reason);
        after.run.failures += 1;
        let retry = &before.spec.policy.retry;
        let asked = failure.retryable
            && retry.categories.as_ref().is_none_or(|set| set.contains(&failure.category));
        if !asked || after.run.failures >= retry.max_attempts {
            return self.failed_for_good(after, failure);
        }
        let from = self.now + retry.backoff.wait(after.run.failures, self.jitter);
        let later = from > self.now;
        if later {
            after.state = State::Delayed { until: from, why: DelayReason::Backoff, step: None };
        } else {
            after.queued_at = self.now;
            after.state = State::Queued { why: Intent::Retry };
        }
        Leave {
            after,
            what: EventKind::Retrying { from: later.then_some(from) },
            answer: Exited::Retrying { from },
            result: None,
            entry: None,
        }
    }

    /// `before` after its lease ran out: tried again, unless that happened too often.
    pub(super) fn reclaimed(&self, before: &Execution) -> Leave {
        let mut after = self.attempt_ended(before, EndReason::LeaseLost);
        after.run.reclaims += 1;
        if after.run.reclaims > before.spec.policy.max_reclaims {
            let failure = Failure {
                category: Category::lease_lost(),
                retryable: false,
                message: format!("lost its lease {} times", after.run.reclaims).into(),
            };
            return self.failed_for_good(after, failure);
        }
        after.queued_at = self.now;
        after.state = State::Queued { why: Intent::Reclaim };
        Leave {
            after,
            what: EventKind::Reclaimed,
            answer: Exited::Retrying { from: self.now },
            result: None,
            entry: None,
        }
    }

    fn failed_for_good(&self, mut after: Execution, failure: Failure) -> Leave {
        after.state = State::Finished { outcome: Outcome::Failed { failure }, at: self.now };
        Leave { after, what: EventKind::Failed, answer: Exited::Failed, result: None, entry: None }
    }

    fn attempt_ended(&self, before: &Execution, reason: EndReason) -> Execution {
        let mut after = before.clone();
        if let Some(attempt) = after.attempt.as_mut().filter(|attempt| attempt.end.is_none()) {
            attempt.end = Some(AttemptEnd { at: self.now, reason });
        }
        after
    }
}
