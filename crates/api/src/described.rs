//! From the wire back to what the engine says of an execution.

use ff_core::id::{LeaseId, RequestId};
use ff_core::limits::{Blocker, ExecutionLimits};
use ff_core::payload::{ContentType, PayloadShape};
use ff_core::policy::{Backoff, Growth, Policy, Retry};
use ff_core::record::{Attempt, AttemptEnd, Description, EndReason, PastRun, Progress, Run, Spec};
use ff_core::state::{
    CancelRequest, DelayReason, Failure, Grant, Intent, Lease, Outcome, State, Worker,
};
use ff_core::{Capabilities, Millis, ResourceKind, ResourceName, Time};

use crate::attempt::AttemptView;
use crate::execution::{ExecutionView, FailureView, RunView};
use crate::payload::PayloadShapeView;
use crate::policy::PolicyView;

/// The view is not one that this release's servers write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUnderstood(pub(crate) String);

type Understood<T> = Result<T, NotUnderstood>;

fn unknown<T>(what: &str) -> Understood<T> {
    Err(NotUnderstood(what.to_owned()))
}

fn missing<T>(value: Option<T>, what: &str) -> Understood<T> {
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
                policy: policy(view.policy)?,
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
        })
    }
}

fn state(view: &ExecutionView) -> Understood<State> {
    Ok(match view.state.as_str() {
        "waiting" | "resumable" => {
            let why = why(missing(view.intent.as_deref(), "intent")?)?;
            match &view.grant {
                None => State::Queued { why },
                Some(grant) => State::Granted {
                    grant: Grant {
                        request: refused(grant.request.parse::<RequestId>())?,
                        to: Worker {
                            id: grant.worker.clone(),
                            instance: grant.worker_instance.clone(),
                        },
                        until: grant.until.0,
                    },
                    why,
                },
            }
        }
        "delayed" => State::Delayed {
            until: missing(view.delayed_until, "delayed_until")?.0,
            why: match view.state_vector.blocking_reason.as_str() {
                "waiting_for_delay" => DelayReason::Start,
                "waiting_for_retry_backoff" => DelayReason::Backoff,
                "waiting_for_resume_delay" => DelayReason::Hold,
                other => return unknown(other),
            },
        },
        "rate_limited" => {
            let blocked = missing(view.blocked.as_ref(), "blocked")?;
            let name = blocked.name.clone();
            let on = match ResourceKind::parse(&blocked.on) {
                Some(ResourceKind::Lane) => {
                    let name = ResourceName::of_lane(&(&name).into());
                    Blocker { kind: ResourceKind::Quota, name }
                }
                Some(kind @ (ResourceKind::Budget | ResourceKind::Quota)) => Blocker { kind, name },
                _ => return unknown(&blocked.on),
            };
            State::Blocked {
                on,
                why: why(missing(view.intent.as_deref(), "intent")?)?,
                detail: blocked.detail.as_str().into(),
            }
        }
        "active" => {
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
            )?,
            at: missing(view.ended, "ended")?.0,
        },
    })
}

fn why(word: &str) -> Understood<Intent> {
    Ok(match word {
        "start" => Intent::Fresh,
        "retry" => Intent::Retry,
        "reclaim" => Intent::Reclaim,
        "replay" => Intent::Replay,
        "resume" => Intent::Resume,
        "hand_back" => Intent::HandBack,
        "revoke" => Intent::Revoke,
        other => return unknown(other),
    })
}

fn outcome(
    word: &str,
    result: Option<&PayloadShapeView>,
    failure: Option<FailureView>,
    cancel_reason: Option<&str>,
) -> Understood<Outcome> {
    Ok(match word {
        "completed" => Outcome::Success { result: shape(missing(result, "result")?)? },
        "failed" => Outcome::Failed { failure: missing(failure, "failure")?.into() },
        "cancelled" => Outcome::Cancelled { reason: cancel_reason.map(Into::into) },
        "expired" => Outcome::Expired,
        other => return unknown(other),
    })
}

fn past_run(view: RunView) -> Understood<PastRun> {
    let reason = view.cancel_reason.as_deref();
    Ok(PastRun {
        outcome: outcome(&view.state, view.result.as_ref(), view.failure, reason)?,
        started: view.started.0,
        ended: view.ended.0,
    })
}

fn shape(view: &PayloadShapeView) -> Understood<PayloadShape> {
    let Ok(len) = view.length.try_into() else { return unknown("a length") };
    Ok(PayloadShape { content_type: refused(ContentType::new(&view.content_type))?, len })
}

fn policy(view: PolicyView) -> Understood<Policy> {
    let growth = match view.backoff.growth.as_str() {
        "fixed" => Growth::Fixed,
        "exponential" => Growth::Exponential,
        other => return unknown(other),
    };
    Ok(Policy {
        retry: Retry {
            max_attempts: view.max_attempts,
            backoff: Backoff {
                growth,
                base: Millis::new(view.backoff.base_ms),
                cap: Millis::new(view.backoff.cap_ms),
                jitter_percent: view.backoff.jitter_percent,
            },
            categories: view.retry_on.map(|list| list.into_iter().collect()),
        },
        attempt_timeout: view.attempt_timeout_ms.map(Millis::new),
        deadline: view.deadline_ms.map(Millis::new),
        lease_ttl: Millis::new(view.lease_ttl_ms),
        max_reclaims: view.max_reclaims,
        retention: Millis::new(view.retention_ms),
    })
}

impl TryFrom<AttemptView> for Attempt {
    type Error = NotUnderstood;

    fn try_from(view: AttemptView) -> Understood<Attempt> {
        let reason = match (view.status.as_str(), view.failure) {
            ("open", _) => None,
            ("completed", _) => Some(EndReason::Completed),
            ("failed", Some(failure)) => Some(EndReason::Failed(failure.into())),
            ("timed_out", _) => Some(EndReason::TimedOut),
            ("lease_lost", _) => Some(EndReason::LeaseLost),
            ("cancelled", _) => Some(EndReason::Cancelled),
            ("expired", _) => Some(EndReason::Expired),
            (other, _) => return unknown(other),
        };
        let at: Option<Time> = view.ended.map(|at| at.0);
        Ok(Attempt {
            number: view.attempt,
            run: view.run,
            started: view.started.0,
            lease: refused(view.lease.parse())?,
            worker: Worker { id: view.worker, instance: view.worker_instance },
            progress: view.progress.map(Progress::from),
            end: match reason {
                None => None,
                Some(reason) => Some(AttemptEnd { at: missing(at, "ended")?, reason }),
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
        let whys = [
            Intent::Fresh,
            Intent::Retry,
            Intent::Reclaim,
            Intent::Replay,
            Intent::Resume,
            Intent::HandBack,
            Intent::Revoke,
        ];
        let mut states = vec![base.state.clone()];
        states.extend(whys.map(|why| State::Queued { why }));
        states.extend(whys.map(|why| State::Granted { grant: grant.clone(), why }));
        states.extend(
            [DelayReason::Start, DelayReason::Backoff, DelayReason::Hold]
                .map(|why| State::Delayed { until: sample::NOW, why }),
        );
        for (kind, name) in
            [(ResourceKind::Budget, "x"), (ResourceKind::Quota, "x"), (ResourceKind::Quota, "@x")]
        {
            let on = Blocker { kind, name: name.parse().unwrap() };
            states.extend(whys.map(|why| State::Blocked {
                on: on.clone(),
                why,
                detail: "full".into(),
            }));
        }
        states.push(State::Active { lease: lease.clone(), cancel });
        for outcome in [
            Outcome::Success { result: PayloadShape::default() },
            Outcome::Failed { failure: sample::failure("boom") },
            Outcome::Cancelled { reason: None },
            Outcome::Cancelled { reason: Some("stop".into()) },
            Outcome::Expired,
        ] {
            let past =
                PastRun { started: sample::NOW, ended: sample::NOW, outcome: outcome.clone() };
            round_trip(&Description { past_runs: vec![past], ..base.clone() });
            states.push(State::Finished { outcome, at: sample::NOW });
        }
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
