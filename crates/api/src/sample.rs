//! Records for the tests of this crate.

use ff_core::condition::{Condition, CountOf, Counted};
use ff_core::explain::Reason;
use ff_core::limits::Blocker;
use ff_core::machine::{Action, Command, Loaded, Step, Submit, apply};
use ff_core::record::Attempt;
use ff_core::resource::Registration;
use ff_core::state::{DelayReason, Failure, Lease, Outcome, State, Worker};
use ff_core::suspension::{OnTimeout, SuspendReason, Suspension};
use ff_core::{
    Capabilities, Category, Description, ExecutionId, Lane, LeaseId, Millis, Partition, Payload,
    RequestId, ResourceKind, ResourceName, SignalName, StepName, Time, WaitpointKey, WorkerId,
    WorkerInstanceId,
};

pub(crate) const NOW: Time = Time::from_ms(1_700_000_000_000);

pub(crate) fn id() -> ExecutionId {
    ExecutionId::mint(NOW, Partition::ONLY, 1, 2)
}

pub(crate) fn lease() -> LeaseId {
    LeaseId { request: RequestId::new(7), index: 0 }
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure { category: Category::error(), retryable: true, message: message.into() }
}

/// What a submit makes.
pub(crate) fn queued() -> Description {
    let submit = Submit { input: Payload::json("{}"), ..Submit::new(id()) };
    let command = Command { entropy: 0, by: None, action: Action::from(submit) };
    let Step::Done(transition) = apply(&command, &Loaded::at(NOW)).unwrap() else {
        panic!("a submit decides at once");
    };
    let write = transition.items.into_iter().next().unwrap().write.unwrap();
    write.changes.into_iter().next().unwrap().after.unwrap().description
}

pub(crate) fn attempt(number: u32) -> Attempt {
    Attempt {
        number,
        run: 0,
        started: NOW,
        lease: lease(),
        worker: worker(),
        progress: None,
        end: None,
    }
}

/// An execution whose attempt `number` runs.
pub(crate) fn held(number: u32) -> Description {
    let epoch = u64::from(number) + 1;
    let until = NOW + queued().spec.policy.lease_ttl;
    let lease = Lease { id: lease(), epoch, worker: worker(), until, timeout_at: None };
    Description {
        state: State::Active { lease, cancel: None },
        attempt: Some(attempt(number)),
        epoch,
        ..queued()
    }
}

pub(crate) fn ended(outcome: Outcome) -> Description {
    Description { state: State::Finished { outcome, at: NOW }, ..held(0) }
}

pub(crate) fn worker() -> Worker {
    Worker { id: WorkerId::new("w").unwrap(), instance: WorkerInstanceId::new("w-1").unwrap() }
}

pub(crate) fn registration() -> Registration {
    Registration {
        worker: worker(),
        session: RequestId::new(7),
        lanes: vec![Lane::default()],
        capabilities: Capabilities::new(["gpu", "python"]).unwrap(),
        ttl: Millis::from_secs(60),
        registered_at: NOW,
        last_seen: NOW + Millis::new(5),
    }
}

/// A suspension with every part.
pub(crate) fn suspension() -> Suspension {
    let key = |key: &str| WaitpointKey::new(key).unwrap();
    let name = SignalName::new("approve").ok();
    let condition = Condition::All(vec![
        Condition::Signal { waitpoint: key("a"), name: name.clone() },
        Condition::Any(vec![
            Condition::Signal { waitpoint: key("b"), name: None },
            Condition::Count { n: 2, of: CountOf::Sources, waitpoints: vec![key("a")], name },
        ]),
    ]);
    Suspension {
        number: 3,
        step: StepName::new("ask").ok(),
        reason: SuspendReason::Approval,
        message: Some("may it?".into()),
        condition,
        counted: vec![Counted { node: 4, digest: u64::MAX - 1, signal: 7 }],
        since: NOW,
        until: Some(NOW + Millis::new(5)),
        on_timeout: OnTimeout::Fail,
    }
}

/// One reason of each kind, with and without optional parts.
pub(crate) fn reasons() -> Vec<Reason> {
    let (lane, worker, until) = (Lane::default(), worker(), NOW);
    let requires = Capabilities::new(["gpu"]).unwrap();
    let nearest = Some((worker.clone(), requires.clone()));
    let blocked = |kind, until| {
        let on = Blocker { kind, name: ResourceName::new("x").unwrap() };
        Reason::Blocked { on, detail: "full".into(), until }
    };
    let mut reasons = vec![
        Reason::LanePaused { lane: lane.clone(), reason: None, since: NOW },
        Reason::LanePaused { lane: lane.clone(), reason: Some("why".into()), since: NOW },
        Reason::LaneLimit { lane: lane.clone(), active: 2, max_active: Some(2) },
        Reason::LaneLimit { lane: lane.clone(), active: 2, max_active: None },
        Reason::NoWorkerOnLane { lane },
        Reason::NoCapableWorker { requires: requires.clone(), nearest: None },
        Reason::NoCapableWorker { requires, nearest },
        Reason::InQueue { ahead: 2, workers: 1 },
        blocked(ResourceKind::Budget, None),
        blocked(ResourceKind::Quota, Some(NOW)),
        Reason::Suspended {
            reason: SuspendReason::Approval,
            message: Some("may it?".into()),
            until: Some(NOW),
            on_timeout: OnTimeout::Fail,
        },
        Reason::Suspended {
            reason: SuspendReason::Signal,
            message: None,
            until: None,
            on_timeout: OnTimeout::Resume,
        },
        Reason::Reserved { worker: worker.clone(), until },
        Reason::Held { worker: worker.clone(), until, cancel_by: None },
        Reason::Held { worker, until, cancel_by: Some(NOW) },
        Reason::Finished { at: NOW },
    ];
    let pauses = [DelayReason::Start, DelayReason::Backoff, DelayReason::Hold];
    reasons.extend(pauses.map(|why| Reason::NotBefore { until, why }));
    reasons
}
