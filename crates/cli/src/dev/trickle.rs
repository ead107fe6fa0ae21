//! A trickle of demo work, one of each kind first.

use std::time::Duration;

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::machine::Target;
use ff_core::policy::Backoff;
use ff_core::quota::QuotaLimits;
use ff_core::{Dimension, ExecutionId, Millis, Namespace, ResourceName, When};
use ff_sdk::{Client, SdkError};

/// The lane of most of the demo's work. The demo claims nothing from lane `default`, or from any
/// other lane than its own two: those are for experiments.
pub(crate) const LANE: &str = "demo";
/// The lane whose work loses a worker now and then.
pub(crate) const FRAGILE: &str = "fragile";
/// The budget of some of the demo's work, and what it counts.
pub(crate) const BUDGET: &str = "demo";
pub(crate) const TOKENS: &str = "tokens";
/// The quota of other demo work.
pub(crate) const QUOTA: &str = "web";

/// What one summary may use, and what the budget allows within its period: two of them have to wait
/// from time to time.
const ESTIMATE: u64 = 300;
const ALLOWED: u64 = 1_000;
const PERIOD: Millis = Millis::from_secs(20);

/// How many calls of the quota may start in its window, and run at once.
const REQUESTS: u32 = 20;
const WINDOW: Millis = Millis::from_secs(30);
const AT_ONCE: u32 = 2;

const NAMES: &[&str] = &["Ada", "Grace", "Edsger", "Barbara", "Alan", "Katherine", "Donald"];
const PAUSE: Duration = Duration::from_millis(700);

/// A scenario of the demo.
#[derive(Debug, Clone, Copy)]
enum Scenario {
    Success,
    Retry,
    Failure,
    Delay,
    LostWorker,
    Budget,
    Quota,
    Approval,
}

/// Submits work until it is dropped. A store that does not answer is tried again.
pub(crate) async fn run(client: &Client) {
    if let Err(error) = set_limits(client).await {
        tracing::warn!(%error, "the demo has no limits");
    }
    let mut question = None;
    let first = [
        Scenario::Success,
        Scenario::Retry,
        Scenario::Failure,
        Scenario::Delay,
        Scenario::LostWorker,
        Scenario::Budget,
        Scenario::Quota,
    ];
    for scenario in first {
        submit(client, scenario).await;
    }
    loop {
        question = keep_asking(client, question).await;
        tokio::time::sleep(PAUSE).await;
        let scenario = match fastrand::u8(..15) {
            0 => Scenario::Failure,
            1 | 2 => Scenario::Retry,
            3 => Scenario::Delay,
            4 => Scenario::LostWorker,
            5..8 => Scenario::Budget,
            8..11 => Scenario::Quota,
            _ => Scenario::Success,
        };
        submit(client, scenario).await;
    }
}

/// One question waits for an answer at any time: the next is asked once the last is answered.
async fn keep_asking(client: &Client, question: Option<ExecutionId>) -> Option<ExecutionId> {
    if let Some(execution) = question {
        let target = Target { namespace: Namespace::default(), execution };
        match client.backend().describe(&target).await {
            Ok(record) if record.public_state().is_finished() => {}
            _ => return question,
        }
    }
    submit(client, Scenario::Approval).await
}

async fn set_limits(client: &Client) -> Result<(), SdkError> {
    let tokens = DimensionLimits { hard: Some(ALLOWED), soft: None };
    let limits = BudgetLimits {
        dimensions: [(Dimension::new(TOKENS)?, tokens)].into(),
        period: Some(PERIOD),
        on_breach: OnBreach::Block,
    };
    let (namespace, name) = (Namespace::default(), ResourceName::new(BUDGET)?);
    client.backend().put_budget(&namespace, &name, limits).await?;
    let limits = QuotaLimits {
        max_requests: Some(REQUESTS),
        window: WINDOW,
        max_active: Some(AT_ONCE),
        jitter: Millis::ZERO,
    };
    client.backend().put_quota(&namespace, &ResourceName::new(QUOTA)?, limits).await?;
    Ok(())
}

async fn submit(client: &Client, scenario: Scenario) -> Option<ExecutionId> {
    let submitted = try_submit(client, scenario).await;
    submitted.inspect_err(|error| tracing::warn!(%error, "demo work was not submitted")).ok()
}

async fn try_submit(client: &Client, scenario: Scenario) -> Result<ExecutionId, SdkError> {
    let name = NAMES[fastrand::usize(..NAMES.len())];
    let kind = match scenario {
        Scenario::Success | Scenario::Delay | Scenario::LostWorker => "greet",
        Scenario::Retry => "flaky",
        Scenario::Failure => "doomed",
        Scenario::Budget => "summarize",
        Scenario::Quota => "fetch",
        Scenario::Approval => "deploy",
    };
    let mut task = client.task(kind)?.lane(LANE)?.input(name)?.tag("demo", word(scenario))?;
    task = match scenario {
        Scenario::Delay => task.start(When::After(Millis::from_secs(5))),
        Scenario::LostWorker => {
            let task = task.lane(FRAGILE)?;
            task.policy(|policy| policy.lease_ttl = Some(Millis::from_secs(2)))
        }
        Scenario::Retry => task.policy(|policy| {
            policy.backoff = Backoff::fixed(Millis::from_secs(1)).into();
        }),
        Scenario::Budget => task.budget(BUDGET)?.estimate(&[(TOKENS, ESTIMATE)])?,
        Scenario::Quota => task.quota(QUOTA)?,
        Scenario::Success | Scenario::Failure | Scenario::Approval => task,
    };
    task.send().await.map(|submitted| submitted.execution)
}

fn word(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::Success => "success",
        Scenario::Retry => "retry",
        Scenario::Failure => "failure",
        Scenario::Delay => "delay",
        Scenario::LostWorker => "lost-worker",
        Scenario::Budget => "budget",
        Scenario::Quota => "quota",
        Scenario::Approval => "approval",
    }
}
