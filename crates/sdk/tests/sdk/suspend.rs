//! Claimed tasks that suspend, in one virtual time with the store.

use std::time::Duration;

use ff_core::machine::Target;
use ff_core::record::Exited;
use ff_core::signal::SignalEffect;
use ff_core::{Code, Millis, Payload, PublicState};
use ff_sdk::{ClaimedTask, Client, FlowFabricWorker, OnTimeout, SuspendReason, TrySuspend, Wait};

use crate::fixture::Fixture;
use crate::grants::granted;

const HOUR: Duration = Duration::from_secs(3_600);

struct Work {
    fixture: Fixture,
    worker: FlowFabricWorker,
    client: Client,
    target: Target,
}

impl Work {
    async fn start() -> Work {
        let fixture = Fixture::start();
        let (worker, client) = (fixture.worker().await, Client::new(fixture.backend.clone()));
        let target = fixture.submit().await;
        Work { fixture, worker, client, target }
    }

    async fn claim(&self) -> ClaimedTask {
        self.worker.claim_next().await.unwrap().unwrap()
    }

    async fn signal(&self, at: &str, name: &str) -> SignalEffect {
        let id = self.target.execution;
        self.client.signal(id, at, name, &name).await.unwrap().effect
    }

    async fn state(&self) -> PublicState {
        self.fixture.state(&self.target).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_task_frees_its_permit_and_continues_the_same_attempt() {
    let work = Work::start().await;
    let task = work.claim().await;
    let before = task.assignment().fence;
    let wait = Wait::all([Wait::at("left"), Wait::at("right").named("go")]);
    let wait = wait.reason(SuspendReason::Callback).message("both sides?").within(HOUR);
    let suspended = task.suspend(wait).await.unwrap();
    assert!(matches!(suspended.exited, Exited::Suspended { until: Some(_) }));
    let keys: Vec<_> = suspended.waitpoints.iter().map(|one| one.key()).collect();
    assert_eq!(keys, ["left", "right"]);
    work.worker.ready().await;
    assert_eq!(work.signal("left", "go").await, SignalEffect::Recorded);
    assert_eq!(work.signal("right", "stop").await, SignalEffect::Recorded);
    assert_eq!(work.signal("right", "go").await, SignalEffect::Resumed);
    let task = work.claim().await;
    let after = task.assignment().fence;
    assert_eq!((after.attempt, after.epoch), (before.attempt, before.epoch + 1));
    let came = task.signals().await.unwrap();
    let came: Vec<_> = came.iter().map(|one| (one.waitpoint.as_str(), &one.source)).collect();
    assert_eq!(came.iter().map(|(at, _)| *at).collect::<Vec<_>>(), ["left", "right", "right"]);
    assert!(came.iter().all(|(_, source)| *source == "local"));
    task.complete(Payload::json("1")).await.unwrap();
    assert_eq!(work.state().await, PublicState::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_handed_out_first_and_an_early_signal_keeps_the_lease() {
    let work = Work::start().await;
    let task = work.claim().await;
    let open = task.open_waitpoint("gate").await.unwrap();
    assert_eq!((open.key(), open.signals()), ("gate", 0));
    let token = open.token().unwrap();
    assert_eq!(task.open_waitpoint("gate").await.unwrap().token().unwrap(), token);
    let signalled = work.client.deliver_signal(token, "go", &7).await.unwrap();
    assert_eq!(signalled.effect, SignalEffect::Recorded);
    let two = || Wait::at("gate").sources(2);
    let TrySuspend::Satisfied(task) = task.try_suspend(Wait::at("gate")).await.unwrap() else {
        panic!("the signal has come");
    };
    assert_eq!(task.signals().await.unwrap()[0].decode::<u32>().unwrap(), 7);
    let ann = task.token_for("gate", "ann").await.unwrap();
    let TrySuspend::Suspended(suspended) = task.try_suspend(two()).await.unwrap() else {
        panic!("one source is not two");
    };
    assert_eq!(suspended.waitpoints[0].signals(), 1);
    let signalled = work.client.deliver_signal(&ann, "go", &7).await.unwrap();
    assert_eq!(signalled.effect, SignalEffect::Resumed);
    let task = work.claim().await;
    assert_eq!(task.signals().await.unwrap()[1].source, "ann");
    // What waited there is over; the same key is another waitpoint now.
    assert_ne!(task.open_waitpoint("gate").await.unwrap().token().unwrap(), token);
}

#[tokio::test(start_paused = true)]
async fn a_task_whose_signals_have_come_returns_to_its_queue_at_once() {
    let work = Work::start().await;
    let task = work.claim().await;
    task.open_waitpoint("gate").await.unwrap();
    assert_eq!(work.signal("gate", "go").await, SignalEffect::Recorded);
    let suspended = task.suspend(Wait::at("gate")).await.unwrap();
    assert_eq!(suspended.waitpoints, []);
    assert_eq!(work.claim().await.assignment().fence.epoch, 2);
}

#[tokio::test(start_paused = true)]
async fn a_closed_waitpoint_takes_no_signal() {
    let work = Work::start().await;
    let task = work.claim().await;
    let open = task.open_waitpoint("gate").await.unwrap();
    for _ in 0..2 {
        task.close_waitpoint("gate").await.unwrap();
    }
    let late = work.client.deliver_signal(open.token().unwrap(), "go", &()).await.unwrap_err();
    assert_eq!(late.refused(), Some(Code::WaitpointClosed));
    assert_eq!(task.token_for("gate", "ann").await.unwrap_err().code(), "waitpoint_closed");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_does_what_the_wait_says() {
    let ends = [
        (OnTimeout::Resume, PublicState::Completed),
        (OnTimeout::Fail, PublicState::Failed),
        (OnTimeout::Cancel, PublicState::Cancelled),
        (OnTimeout::Expire, PublicState::Expired),
    ];
    for (then, end) in ends {
        let work = Work::start().await;
        let wait = Wait::at("gate").within(HOUR).on_timeout(then);
        work.claim().await.suspend(wait).await.unwrap();
        assert_eq!(work.state().await, PublicState::Suspended);
        if then == OnTimeout::Resume {
            let task = loop {
                if let Some(task) = work.worker.claim_next().await.unwrap() {
                    break task;
                }
            };
            assert!(task.signals().await.unwrap().is_empty());
            task.complete(Payload::json("1")).await.unwrap();
        }
        let _ = work.client.wait::<u32>(work.target.execution).await;
        assert_eq!(work.state().await, end);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_refused_fails_the_task_for_good() {
    let work = Work::start().await;
    let error = work.claim().await.suspend(Wait::at("gate").signals(0)).await.unwrap_err();
    assert_eq!((error.code(), error.field()), ("invalid_argument", Some("condition")));
    assert_eq!(work.state().await, PublicState::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_task_is_claimed_by_every_route_and_by_name() {
    let work = Work::start().await;
    let mut task = work.claim().await;
    let attempt = task.assignment().fence.attempt;
    let ttl = Millis::from_secs(10);
    for route in 0..3 {
        task.suspend(Wait::at("gate")).await.unwrap();
        assert_eq!(work.signal("gate", "go").await, SignalEffect::Resumed);
        task = match route {
            0 => work.claim().await,
            1 => work.worker.claim_via_server(None, ttl).await.unwrap().unwrap(),
            _ => {
                let grant = granted(&work.fixture, &work.worker).await.unwrap();
                work.worker.claim_resumed(&grant).await.unwrap().unwrap()
            }
        };
        assert_eq!(task.assignment().fence.attempt, attempt, "it continues");
    }
}
