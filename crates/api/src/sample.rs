//! Records for the tests of this crate.

use ff_core::machine::{Action, Command, Loaded, Step, Submit, apply};
use ff_core::record::Attempt;
use ff_core::state::{Failure, Lease, Outcome, State, Worker};
use ff_core::{
    Category, Description, ExecutionId, LeaseId, Partition, Payload, RequestId, Time, WorkerId,
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
    let command = Command { entropy: 0, action: Action::from(submit) };
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

fn worker() -> Worker {
    Worker { id: WorkerId::new("w").unwrap(), instance: WorkerInstanceId::new("w-1").unwrap() }
}
