//! From the wire back to an explanation.

use ff_core::explain::{Explanation, Reason};
use ff_core::limits::Blocker;
use ff_core::state::{DelayReason, Worker};
use ff_core::{Capabilities, ResourceKind, ResourceName};
use ff_store::StoreError;

use super::answers::understood;
use super::transport::broken;
use crate::{ExplanationView, ReasonView, Timestamp};

/// The explanation of an execution.
pub(super) fn explained(view: ExplanationView) -> Result<Explanation, StoreError> {
    let reasons = view.reasons.into_iter().map(reason);
    Ok(Explanation {
        state: view.state,
        vector: view.state_vector,
        sentence: view.explanation,
        phrase: view.reason,
        reasons: reasons.collect::<Result<_, _>>()?,
        schedule: view.schedule.map(|run| (run.schedule, run.scheduled_for.0)),
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
        ReasonView::NotBefore { until, intent } => {
            let why = DelayReason::before(intent).ok_or_else(|| broken(intent.as_str()))?;
            Reason::NotBefore { until: until.0, why }
        }
        ReasonView::Budget { name, detail, until } => {
            blocked(ResourceKind::Budget, name, detail, until)
        }
        ReasonView::Quota { name, detail, until } => {
            blocked(ResourceKind::Quota, name, detail, until)
        }
        ReasonView::LaneLimit { lane, active, max_active } => {
            Reason::LaneLimit { lane, active, max_active }
        }
        ReasonView::Suspended { waits_for, message, until, on_timeout } => Reason::Suspended {
            reason: waits_for,
            message: message.map(Into::into),
            until: until.map(|at| at.0),
            on_timeout,
        },
        ReasonView::Awaiting { needs, upstreams } => Reason::Awaiting {
            needs,
            upstreams: upstreams.into_iter().map(|one| (one.name, one.state)).collect(),
        },
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

fn blocked(
    kind: ResourceKind,
    name: ResourceName,
    detail: String,
    until: Option<Timestamp>,
) -> Reason {
    let on = Blocker { kind, name };
    Reason::Blocked { on, detail: detail.into(), until: until.map(|at| at.0) }
}

fn capabilities(tokens: &[String]) -> Result<Capabilities, StoreError> {
    understood(Capabilities::new(tokens))
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
            schedule: Some(("nightly".parse().unwrap(), ff_core::Time::from_ms(5))),
        };
        let view = ExplanationView::new(sample::id(), &explanation);
        let text = serde_json::to_string(&view).unwrap();
        assert_eq!(explained(serde_json::from_str(&text).unwrap()).unwrap(), explanation);
    }
}
