//! A trickle of demo work, one of each sort first.

use std::time::Duration;

use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::policy::Backoff;
use ff_core::{Dimension, Millis, Namespace, ResourceName, When};
use ff_sdk::{Client, SdkError};

/// The lane of most of the demo's work. The demo takes nothing of lane `default`, or of any other lane
/// than its own two: those are for whoever tries things out.
pub(crate) const LANE: &str = "demo";
/// The lane whose work loses a worker now and then.
pub(crate) const FRAGILE: &str = "fragile";
/// The budget of some of the demo's work, and what it counts.
pub(crate) const BUDGET: &str = "demo";
pub(crate) const TOKENS: &str = "tokens";

/// What one summary may use, and what the budget allows within its period: two of them wait from time
/// to time.
const ESTIMATE: u64 = 300;
const ALLOWED: u64 = 1_000;
const PERIOD: Millis = Millis::from_secs(20);

const NAMES: &[&str] = &["Ada", "Grace", "Edsger", "Barbara", "Alan", "Katherine", "Donald"];
const PAUSE: Duration = Duration::from_millis(700);

/// A sort of demo work.
#[derive(Debug, Clone, Copy)]
enum Sort {
    Success,
    Retry,
    Failure,
    Delay,
    LostWorker,
    Budget,
}

/// Submits work until it is dropped. A store that does not answer is tried again.
pub(crate) async fn run(client: &Client) {
    if let Err(error) = set_budget(client).await {
        tracing::warn!(%error, "the demo has no budget");
    }
    let first =
        [Sort::Success, Sort::Retry, Sort::Failure, Sort::Delay, Sort::LostWorker, Sort::Budget];
    for sort in first {
        submit(client, sort).await;
    }
    loop {
        tokio::time::sleep(PAUSE).await;
        let sort = match fastrand::u8(..12) {
            0 => Sort::Failure,
            1 | 2 => Sort::Retry,
            3 => Sort::Delay,
            4 => Sort::LostWorker,
            5..8 => Sort::Budget,
            _ => Sort::Success,
        };
        submit(client, sort).await;
    }
}

async fn set_budget(client: &Client) -> Result<(), SdkError> {
    let tokens = DimensionLimits { hard: Some(ALLOWED), soft: None };
    let limits = BudgetLimits {
        dimensions: [(Dimension::new(TOKENS)?, tokens)].into(),
        period: Some(PERIOD),
        on_breach: OnBreach::Block,
    };
    let (namespace, name) = (Namespace::default(), ResourceName::new(BUDGET)?);
    client.backend().put_budget(&namespace, &name, limits).await?;
    Ok(())
}

async fn submit(client: &Client, sort: Sort) {
    if let Err(error) = try_submit(client, sort).await {
        tracing::warn!(%error, "demo work was not submitted");
    }
}

async fn try_submit(client: &Client, sort: Sort) -> Result<(), SdkError> {
    let name = NAMES[fastrand::usize(..NAMES.len())];
    let kind = match sort {
        Sort::Success | Sort::Delay | Sort::LostWorker => "greet",
        Sort::Retry => "flaky",
        Sort::Failure => "doomed",
        Sort::Budget => "summarize",
    };
    let mut task = client.task(kind)?.lane(LANE)?.input(name)?.tag("demo", word(sort))?;
    task = match sort {
        Sort::Delay => task.start(When::After(Millis::from_secs(5))),
        Sort::LostWorker => {
            let task = task.lane(FRAGILE)?;
            task.policy(|policy| policy.lease_ttl = Some(Millis::from_secs(2)))
        }
        Sort::Retry => task.policy(|policy| {
            policy.backoff = Backoff::fixed(Millis::from_secs(1)).into();
        }),
        Sort::Budget => task.budget(BUDGET)?.estimate(&[(TOKENS, ESTIMATE)])?,
        Sort::Success | Sort::Failure => task,
    };
    task.send().await.map(drop)
}

fn word(sort: Sort) -> &'static str {
    match sort {
        Sort::Success => "success",
        Sort::Retry => "retry",
        Sort::Failure => "failure",
        Sort::Delay => "delay",
        Sort::LostWorker => "lost-worker",
        Sort::Budget => "budget",
    }
}
