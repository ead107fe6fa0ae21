//! Waits of handlers for signals and approvals, in one virtual time with the store.

use std::time::Duration;

use ff_core::machine::{Signal, Target, WaitpointRef};
use ff_core::signal::SignalEffect;
use ff_core::{ExecutionId, Payload, PublicState};
use ff_sdk::{
    Approval, Client, Decided, TaskContext, TaskError, TaskSignal, TestTask, Wait, Waited,
};
use tokio::task::yield_now;

use crate::fixture::Fixture;

const HOUR: Duration = Duration::from_secs(3_600);

async fn payment(task: TaskContext, (): ()) -> Result<String, TaskError> {
    match task.wait_for_signal("paid", Wait::at("payment").named("paid").within(HOUR)).await? {
        Waited::Signals(signals) => {
            let amount: u32 = signals[0].decode()?;
            Ok(format!("{amount} from {}", signals[0].source))
        }
        Waited::TimedOut => Ok("never".to_owned()),
        Waited::Resumed => Ok("by hand".to_owned()),
    }
}

async fn deploy(task: TaskContext, (): ()) -> Result<String, TaskError> {
    let gate = Approval::ask("Deploy 4.2?").by(2).within(HOUR);
    let said = |vote: &ff_sdk::Vote| match &vote.comment {
        Some(comment) => format!("{} ({comment})", vote.by),
        None => vote.by.clone(),
    };
    Ok(match task.wait_for_approval("gate", gate).await? {
        Decided::Approved(votes) => {
            format!("yes by {}", votes.iter().map(said).collect::<Vec<_>>().join(" and "))
        }
        Decided::Rejected(vote) => format!("no by {}", said(&vote)),
        Decided::TimedOut => "nothing".to_owned(),
        Decided::Resumed => "by hand".to_owned(),
    })
}

/// Opens its waitpoint first, and waits once a signal has come.
async fn early(task: TaskContext, (): ()) -> Result<usize, TaskError> {
    task.open_waitpoint("callback").await?;
    while task.signals().await?.is_empty() {
        yield_now().await;
    }
    let waited = task.wait_for_signal("called", Wait::at("callback")).await?;
    let came = waited.signal().map(|signal| signal.payload.bytes.len());
    came.ok_or_else(|| TaskError::permanent("there was a signal"))
}

struct Work {
    fixture: Fixture,
    client: Client,
    execution: ExecutionId,
}

impl Work {
    /// A task of this kind, with a worker that runs until the test ends.
    async fn start(kind: &str) -> Work {
        let fixture = Fixture::start();
        let runtime = fixture.runtime().on("payment", payment).unwrap();
        let runtime = runtime.on("deploy", deploy).unwrap().on("early", early).unwrap();
        drop(runtime.start().await.unwrap());
        let client = Client::new(fixture.backend.clone());
        let execution = client.submit(kind, &()).await.unwrap().execution;
        Work { fixture, client, execution }
    }

    fn target(&self) -> Target {
        Target { namespace: Default::default(), execution: self.execution }
    }

    /// Waits until the task is parked.
    async fn parked(&self) {
        for turn in 0.. {
            if self.fixture.state(&self.target()).await == PublicState::Suspended {
                return;
            }
            assert!(turn < 10_000, "the handler is not parked");
            yield_now().await;
        }
    }

    async fn signal(&self, at: &str, name: &str, source: &str, body: &'static str) -> SignalEffect {
        let signal = Signal {
            target: self.target(),
            waitpoint: WaitpointRef::ByKey(at.parse().unwrap()),
            key: None,
            name: name.parse().ok(),
            category: None,
            source: source.parse().unwrap(),
            payload: Payload::json(body),
        };
        self.fixture.backend.signal(signal).await.unwrap().effect
    }

    async fn result(&self) -> String {
        self.client.wait::<String>(self.execution).await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_waits_for_a_signal_without_its_worker() {
    let work = Work::start("payment").await;
    work.parked().await;
    assert_eq!(work.signal("payment", "other", "bank", "1").await, SignalEffect::Recorded);
    assert_eq!(work.signal("payment", "paid", "bank", "500").await, SignalEffect::Resumed);
    assert_eq!(work.result().await, "500 from bank");
    let record = work.fixture.record(&work.target()).await;
    assert_eq!((record.epoch, record.run.failures), (2, 0), "the wait cost no attempt");
}

#[tokio::test(start_paused = true)]
async fn a_wait_whose_time_is_over_says_so() {
    let work = Work::start("payment").await;
    assert_eq!(work.result().await, "never");
    let work = Work::start("deploy").await;
    assert_eq!(work.result().await, "nothing");
}

#[tokio::test(start_paused = true)]
async fn two_different_people_approve() {
    let work = Work::start("deploy").await;
    work.parked().await;
    let yes = r#"{"approved":true,"comment":"fine"}"#;
    assert_eq!(work.signal("approval", "approve", "ann", yes).await, SignalEffect::Recorded);
    let again = r#"{"approved":true}"#;
    assert_eq!(work.signal("approval", "approve", "ann", again).await, SignalEffect::Recorded);
    assert_eq!(work.signal("approval", "approve", "bob", again).await, SignalEffect::Resumed);
    assert_eq!(work.result().await, "yes by ann (fine) and bob");
}

#[tokio::test(start_paused = true)]
async fn one_no_is_enough() {
    let work = Work::start("deploy").await;
    work.parked().await;
    assert_eq!(work.signal("approval", "approve", "ann", "{}").await, SignalEffect::Recorded);
    let no = r#"{"approved":false,"comment":"not on a Friday"}"#;
    assert_eq!(work.signal("approval", "reject", "bob", no).await, SignalEffect::Resumed);
    assert_eq!(work.result().await, "no by bob (not on a Friday)");
}

#[tokio::test(start_paused = true)]
async fn a_signal_that_came_early_ends_the_wait_without_leaving_the_worker() {
    let work = Work::start("early").await;
    for turn in 0.. {
        if !work.fixture.backend.waitpoints(&work.target()).await.unwrap().is_empty() {
            break;
        }
        assert!(turn < 10_000, "the waitpoint is not open");
        yield_now().await;
    }
    assert_eq!(work.signal("callback", "done", "other", "true").await, SignalEffect::Recorded);
    assert_eq!(work.client.wait::<usize>(work.execution).await.unwrap(), 4);
    assert_eq!(work.fixture.record(&work.target()).await.epoch, 1);
}

#[tokio::test]
async fn a_test_task_is_given_its_signals() {
    let signal = |name: &str, source: &str| TaskSignal {
        waitpoint: String::new(),
        name: Some(name.to_owned()),
        source: source.to_owned(),
        payload: Payload::json("7"),
    };
    let task = TestTask::new().signal("payment", signal("paid", "bank"));
    assert_eq!(task.run::<String, _>(payment, &()).await.unwrap(), "7 from bank");
    assert_eq!(TestTask::new().run::<String, _>(payment, &()).await.unwrap(), "never");
    let votes = TestTask::new()
        .signal("approval", signal("approve", "ann"))
        .signal("approval", signal("approve", "bob"));
    assert_eq!(votes.run::<String, _>(deploy, &()).await.unwrap(), "yes by ann and bob");
}
