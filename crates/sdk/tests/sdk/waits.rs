//! Waits of handlers for signals and approvals, in one virtual time with the store.

use std::time::Duration;

use ff_core::machine::{Signal, Target, WaitpointRef};
use ff_core::signal::SignalEffect;
use ff_core::{ExecutionId, Payload, PublicState};
use ff_sdk::{
    Approval, Client, Decided, OnTimeout, TaskContext, TaskError, TestTask, Wait, Waited,
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
    let task = TestTask::new().signal("payment", "paid", "bank", &7);
    for _ in 0..2 {
        // The second time as a later attempt, from the journal.
        assert_eq!(task.run::<String, _>(payment, &()).await.unwrap(), "7 from bank");
    }
    assert_eq!(TestTask::new().run::<String, _>(payment, &()).await.unwrap(), "never");
    let one = TestTask::new().signal("approval", "approve", "ann", &());
    let twice = one.signal("approval", "approve", "ann", &"again");
    assert_eq!(twice.run::<String, _>(deploy, &()).await.unwrap(), "nothing");
    let one = TestTask::new().signal("approval", "approve", "ann", &());
    let both = one.signal("approval", "approve", "bob", &());
    assert_eq!(both.run::<String, _>(deploy, &()).await.unwrap(), "yes by ann and bob");
}

#[tokio::test]
async fn a_test_task_shows_its_waitpoints_and_what_a_timeout_does_to_it() {
    async fn handler(task: TaskContext, then: String) -> Result<usize, TaskError> {
        let first = task.open_waitpoint("first").await?;
        assert_ne!(first.token()?, &task.token_for("first", "ann").await?);
        task.open_waitpoint("second").await?;
        let early = task.signals().await?.len();
        task.close_waitpoint("second").await?;
        assert!(task.token_for("second", "ann").await.is_err());
        let then = OnTimeout::ALL.iter().find(|one| one.as_str() == then).copied();
        let then = then.ok_or("an unknown end")?;
        let wait = Wait::all([Wait::at("second"), Wait::at("third")]).on_timeout(then);
        task.wait_for_signal("both", wait).await?;
        Ok(early)
    }
    let task = || {
        let task = TestTask::new().signal("second", "go", "ann", &());
        task.signal("third", "go", "ann", &())
    };
    let resumed = task();
    assert_eq!(resumed.run::<usize, _>(handler, "resume").await.unwrap(), 2);
    assert_eq!(resumed.waitpoints(), ["first"]);
    for (then, category) in [("fail", Some("suspension_timeout")), ("cancel", None)] {
        let end = task().run::<usize, _>(handler, then).await.unwrap_err();
        assert_eq!((end.is_retryable(), end.failure_category()), (false, category));
    }
}

#[tokio::test]
async fn a_wait_that_makes_no_sense_is_refused_and_names_what_is_wrong() {
    async fn refused(wait: Wait) -> String {
        let context = TestTask::new().context();
        let error = context.wait_for_signal("w", wait).await.unwrap_err();
        assert!(!error.is_retryable());
        error.message().to_owned()
    }
    let part = Wait::at("a").within(HOUR);
    assert!(refused(Wait::all([part])).await.contains("in one of its parts"));
    let both = Wait::any([Wait::at("a"), Wait::at("b")]);
    assert!(refused(both.named("go")).await.contains("describe the signals of each part"));
    assert!(refused(Wait::at("a").waitpoints(2)).await.contains("counts to 2; give 1 to 1"));
    assert!(refused(Wait::at("no spaces")).await.contains("waitpoint"));
    assert!(refused(Wait::all([])).await.contains("empty"));
}
