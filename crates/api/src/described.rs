//! From the wire back to the description of an execution.

use ff_core::act::Act;
use ff_core::id::{LeaseId, RequestId};
use ff_core::limits::ExecutionLimits;
use ff_core::payload::{ContentType, PayloadShape};
use ff_core::record::{Attempt, AttemptEnd, Description, EndReason, PastRun, Progress, Run, Spec};
use ff_core::state::{CancelRequest, DelayReason, Failure, Grant, Lease, Outcome, State, Worker};
use ff_core::view::AttemptStatus;
use ff_core::{Capabilities, NodeName, PublicState};

use crate::attempt::AttemptView;
use crate::execution::{ExecutionView, FailureView, RunView};
use crate::flow::FlowStateView;
use crate::payload::PayloadShapeView;

/// The view is not one that this release's servers write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUnderstood(pub(crate) String);

pub(crate) type Understood<T> = Result<T, NotUnderstood>;

pub(crate) fn missing<T>(value: Option<T>, what: &str) -> Understood<T> {
    value.ok_or_else(|| NotUnderstood(format!("{what} is missing")))
}

fn refused<T>(value: Result<T, ff_core::Refusal>) -> Understood<T> {
    value.map_err(|refusal| NotUnderstood(refusal.to_string()))
}

impl TryFrom<ExecutionView> for Description {
    type Error = NotUnderstood;

    fn try_from(view: ExecutionView) -> Understood<Description> {
        Ok(Description {
            state: state(&view)?,
            id: view.id,
            spec: Spec {
                namespace: view.namespace,
                lane: view.lane,
                kind: view.kind,
                requires: refused(Capabilities::new(&view.requires))?,
                input: shape(&view.input)?,
                policy: view.policy.into(),
                key: view.idempotency_key,
                limits: ExecutionLimits {
                    budgets: view.limits.budgets,
                    quotas: view.limits.quotas,
                    estimate: view.limits.estimate,
                },
            },
            created: view.created.0,
            priority: view.priority,
            tags: view.tags,
            queued_at: view.queued_at.0,
            epoch: view.epoch,
            run: Run {
                number: view.run,
                started: view.run_started.0,
                deadline: view.deadline.map(|at| at.0),
                failures: view.failures,
                reclaims: view.reclaims,
            },
            past_runs: view.past_runs.into_iter().map(past_run).collect::<Understood<_>>()?,
            attempt: view.newest_attempt.map(Attempt::try_from).transpose()?,
            used: view.used,
            acts: view.acts.into_iter().map(Act::from).collect(),
            flow: view.flow.map(FlowStateView::flow).transpose()?.map(Box::new),
            member: view.member.map(|member| Box::new(member.into())),
        })
    }
}

fn state(view: &ExecutionView) -> Understood<State> {
    let why = missing(view.intent, "intent");
    Ok(match view.state {
        PublicState::Waiting | PublicState::Resumable => match &view.grant {
            None => State::Queued { why: why? },
            Some(grant) => State::Granted {
                grant: Grant {
                    request: refused(grant.request.parse::<RequestId>())?,
                    to: Worker {
                        id: grant.worker.clone(),
                        instance: grant.worker_instance.clone(),
                    },
                    until: grant.until.0,
                },
                why: why?,
            },
        },
        PublicState::Delayed => State::Delayed {
            until: missing(view.delayed_until, "delayed_until")?.0,
            why: missing(DelayReason::before(why?), "the reason of a delay")?,
            step: view.step.clone(),
        },
        PublicState::RateLimited => {
            let blocked = missing(view.blocked.as_ref(), "blocked")?;
            let detail = blocked.detail.as_str().into();
            State::Blocked { on: blocked.blocker(), why: why?, detail }
        }
        PublicState::Suspended => {
            let suspension = missing(view.suspension.clone(), "suspension")?.suspension();
            State::Suspended { suspension: Box::new(missing(suspension, "a fingerprint")?) }
        }
        PublicState::WaitingChildren => State::Awaiting { why: why? },
        PublicState::Active => {
            let lease = missing(view.lease.as_ref(), "lease")?;
            State::Active {
                lease: Lease {
                    id: refused(lease.id.parse::<LeaseId>())?,
                    epoch: lease.epoch,
                    worker: Worker {
                        id: lease.worker.clone(),
                        instance: lease.worker_instance.clone(),
                    },
                    until: lease.until.0,
                    timeout_at: lease.timeout.map(|at| at.0),
                },
                cancel: view.cancel.as_ref().map(|cancel| CancelRequest {
                    by: cancel.by.0,
                    reason: cancel.reason.as_deref().map(Into::into),
                }),
            }
        }
        ended => State::Finished {
            outcome: outcome(
                ended,
                view.result.as_ref(),
                view.failure.clone(),
                view.cancel_reason.as_deref(),
                view.skipped_because.as_ref(),
            )?,
            at: missing(view.ended, "ended")?.0,
        },
    })
}

fn outcome(
    state: PublicState,
    result: Option<&PayloadShapeView>,
    failure: Option<FailureView>,
    cancel_reason: Option<&str>,
    skipped_because: Option<&NodeName>,
) -> Understood<Outcome> {
    Ok(match state {
        PublicState::Completed => Outcome::Success { result: shape(missing(result, "result")?)? },
        PublicState::Failed => Outcome::Failed { failure: missing(failure, "failure")?.into() },
        PublicState::Cancelled => Outcome::Cancelled { reason: cancel_reason.map(Into::into) },
        PublicState::Expired => Outcome::Expired,
        PublicState::Skipped => {
            Outcome::Skipped { because: missing(skipped_because, "skipped_because")?.clone() }
        }
        other => return Err(NotUnderstood(format!("a run that ended {other}"))),
    })
}

fn past_run(view: RunView) -> Understood<PastRun> {
    let reason = view.cancel_reason.as_deref();
    Ok(PastRun {
        outcome: outcome(
            view.state,
            view.result.as_ref(),
            view.failure,
            reason,
            view.skipped_because.as_ref(),
        )?,
        started: view.started.0,
        ended: view.ended.0,
    })
}

fn shape(view: &PayloadShapeView) -> Understood<PayloadShape> {
    let len = missing(view.length.try_into().ok(), "a length below 4 GiB")?;
    Ok(PayloadShape { content_type: refused(ContentType::new(&view.content_type))?, len })
}

impl TryFrom<AttemptView> for Attempt {
    type Error = NotUnderstood;

    fn try_from(view: AttemptView) -> Understood<Attempt> {
        let reason = match view.status {
            AttemptStatus::Open => None,
            AttemptStatus::Completed => Some(EndReason::Completed),
            AttemptStatus::Failed => {
                Some(EndReason::Failed(missing(view.failure, "failure")?.into()))
            }
            AttemptStatus::TimedOut => Some(EndReason::TimedOut),
            AttemptStatus::LeaseLost => Some(EndReason::LeaseLost),
            AttemptStatus::Cancelled => Some(EndReason::Cancelled),
            AttemptStatus::Expired => Some(EndReason::Expired),
        };
        Ok(Attempt {
            number: view.attempt,
            run: view.run,
            started: view.started.0,
            lease: refused(view.lease.parse())?,
            worker: Worker { id: view.worker, instance: view.worker_instance },
            progress: view.progress.map(Progress::from),
            end: match reason {
                None => None,
                Some(reason) => Some(AttemptEnd { at: missing(view.ended, "ended")?.0, reason }),
            },
        })
    }
}

impl From<FailureView> for Failure {
    fn from(view: FailureView) -> Failure {
        Failure { category: view.category, retryable: view.retryable, message: view.message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use ff_core::act::Deed;
    use ff_core::limits::Blocker;
    use ff_core::state::Intent;
    use ff_core::{Actor, ResourceKind};

    fn round_trip(described: &Description) {
        let text = serde_json::to_string(&ExecutionView::from(described)).unwrap();
        let view: ExecutionView = serde_json::from_str(&text).unwrap();
        assert_eq!(Description::try_from(view).as_ref(), Ok(described));
    }

    #[test]
    fn every_state_reads_back_as_it_was_written() {
        let base = sample::held(2);
        let worker = Worker { id: "w".parse().unwrap(), instance: "w-1".parse().unwrap() };
        let grant = Grant { request: RequestId::new(5), to: worker, until: sample::NOW };
        let cancel = Some(CancelRequest { by: sample::NOW, reason: Some("why".into()) });
        let State::Active { lease, .. } = &base.state else { panic!("it is held") };
        let whys = || Intent::ALL.iter().copied();
        let mut states = vec![base.state.clone()];
        states.extend(whys().map(|why| State::Queued { why }));
        states.extend(whys().map(|why| State::Granted { grant: grant.clone(), why }));
        states.extend(
            [DelayReason::Start, DelayReason::Backoff, DelayReason::Hold]
                .map(|why| State::Delayed { until: sample::NOW, why, step: None }),
        );
        for (kind, name) in
            [(ResourceKind::Budget, "x"), (ResourceKind::Quota, "x"), (ResourceKind::Quota, "@x")]
        {
            let on = Blocker { kind, name: name.parse().unwrap() };
            states.extend(whys().map(|why| State::Blocked {
                on: on.clone(),
                why,
                detail: "full".into(),
            }));
        }
        states.push(State::Suspended { suspension: Box::new(sample::suspension()) });
        states.push(State::Active { lease: lease.clone(), cancel });
        for outcome in [
            Outcome::Success { result: PayloadShape::default() },
            Outcome::Failed { failure: sample::failure("boom") },
            Outcome::Cancelled { reason: None },
            Outcome::Cancelled { reason: Some("stop".into()) },
            Outcome::Expired,
            Outcome::Skipped { because: "fetch".parse().unwrap() },
        ] {
            let past =
                PastRun { started: sample::NOW, ended: sample::NOW, outcome: outcome.clone() };
            round_trip(&Description { past_runs: vec![past], ..base.clone() });
            states.push(State::Finished { outcome, at: sample::NOW });
        }
        let by = Actor::root();
        let acts =
            Deed::ALL.iter().map(|what| Act { what: *what, by: by.clone(), at: sample::NOW });
        round_trip(&Description { acts: acts.collect(), ..base.clone() });
        states.extend(whys().map(|why| State::Awaiting { why }));
        for state in states {
            round_trip(&Description { state, ..base.clone() });
        }
    }

    #[test]
    fn every_end_of_an_attempt_reads_back_as_it_was_written() {
        for reason in [
            EndReason::Completed,
            EndReason::Failed(sample::failure("boom")),
            EndReason::TimedOut,
            EndReason::LeaseLost,
            EndReason::Cancelled,
            EndReason::Expired,
        ] {
            let end = Some(AttemptEnd { at: sample::NOW, reason });
            let attempt = Attempt { end, ..sample::attempt(3) };
            let view = AttemptView::from(&attempt);
            assert_eq!(Attempt::try_from(view), Ok(attempt));
        }
    }
}
