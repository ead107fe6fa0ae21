//! From the wire back to why an execution stands where it stands.

use ff_core::explain::{Explanation, Reason};
use ff_core::limits::Blocker;
use ff_core::state::{DelayReason, Worker};
use ff_core::view::{
    AttemptState, BlockingReason, EligibilityState, LifecyclePhase, OwnershipState, StateVector,
    TerminalOutcome,
};
use ff_core::{Capabilities, Refusal, ResourceKind};
use ff_store::StoreError;

use super::transport::broken;
use crate::explanation::intent;
use crate::{ExplanationView, ReasonView, ShortageView, StateVectorView};

/// What the server says of an execution.
pub(super) fn explained(view: ExplanationView) -> Result<Explanation, StoreError> {
    let reasons = view.reasons.into_iter().map(reason);
    Ok(Explanation {
        state: view.state.parse().map_err(|_| broken("an unknown state"))?,
        vector: vector(&view.state_vector)?,
        sentence: view.explanation,
        phrase: view.reason,
        reasons: reasons.collect::<Result<_, _>>()?,
    })
}

/// The value of `$kind` that this word means.
macro_rules! word {
    ($kind:ident, $word:expr) => {{
        let known = $kind::ALL.iter().find(|known| known.as_str() == $word);
        known.copied().ok_or_else(|| broken(&$word))
    }};
}

fn vector(view: &StateVectorView) -> Result<StateVector, StoreError> {
    Ok(StateVector {
        lifecycle_phase: word!(LifecyclePhase, view.lifecycle_phase)?,
        ownership_state: word!(OwnershipState, view.ownership_state)?,
        eligibility_state: word!(EligibilityState, view.eligibility_state)?,
        blocking_reason: word!(BlockingReason, view.blocking_reason)?,
        terminal_outcome: word!(TerminalOutcome, view.terminal_outcome)?,
        attempt_state: word!(AttemptState, view.attempt_state)?,
    })
}

fn reason(view: ReasonView) -> Result<Reason, StoreError> {
    Ok(match view {
        ReasonView::LanePaused { lane, said, since } => {
            Reason::LanePaused { lane, reason: said.map(Into::into), since: since.0 }
        }
        ReasonView::NoWorkerOnLane { lane } => Reason::NoWorkerOnLane { lane },
        ReasonView::NoCapableWorker { requires, nearest } => Reason::NoCapableWorker {
            requires: capabilities(&requires)?,
            nearest: match nearest {
                None => None,
                Some(near) => {
                    let worker = Worker { id: near.worker, instance: near.instance };
                    Some((worker, capabilities(&near.lacks)?))
                }
            },
        },
        ReasonView::InQueue { ahead, workers } => Reason::InQueue { ahead, workers },
        ReasonView::NotBefore { until, intent: word } => {
            let pauses = [DelayReason::Start, DelayReason::Backoff, DelayReason::Hold];
            let why = pauses.into_iter().find(|pause| intent(*pause) == word);
            Reason::NotBefore { until: until.0, why: why.ok_or_else(|| broken(&word))? }
        }
        ReasonView::Budget(shortage) => blocked(ResourceKind::Budget, shortage),
        ReasonView::Quota(shortage) => blocked(ResourceKind::Quota, shortage),
        ReasonView::LaneLimit { lane, active, max_active } => {
            Reason::LaneLimit { lane, active, max_active }
        }
        ReasonView::Reserved { worker, instance, until } => {
            Reason::Reserved { worker: Worker { id: worker, instance }, until: until.0 }
        }
        ReasonView::Held { worker, instance, until, cancel_by } => Reason::Held {
            worker: Worker { id: worker, instance },
            until: until.0,
            cancel_by: cancel_by.map(|at| at.0),
        },
        ReasonView::Finished { at } => Reason::Finished { at: at.0 },
    })
}

fn blocked(kind: ResourceKind, shortage: ShortageView) -> Reason {
    Reason::Blocked {
        on: Blocker { kind, name: shortage.name },
        detail: shortage.detail.into(),
        until: shortage.until.map(|at| at.0),
    }
}

fn capabilities(tokens: &[String]) -> Result<Capabilities, StoreError> {
    Capabilities::new(tokens).map_err(|refusal: Refusal| broken(&refusal.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn every_reason_reads_back_as_it_was_written() {
        let explanation = Explanation {
            state: ff_core::PublicState::Waiting,
            vector: sample::queued().state_vector(),
            sentence: "The execution waits.".to_owned(),
            phrase: "waits".to_owned(),
            reasons: sample::reasons(),
        };
        let view = ExplanationView::new(sample::id(), &explanation);
        let text = serde_json::to_string(&view).unwrap();
        assert_eq!(explained(serde_json::from_str(&text).unwrap()).unwrap(), explanation);
    }
}
