//! A trickle of demo work, one of each sort first.

use std::time::Duration;

use ff_core::policy::Backoff;
use ff_core::{Millis, When};
use ff_sdk::{Client, SdkError};

/// The lane whose work loses a worker now and then.
pub(crate) const FRAGILE: &str = "fragile";

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
}

/// Submits work until it is dropped. A store that does not answer is tried again.
pub(crate) async fn run(client: &Client) {
    let first = [Sort::Success, Sort::Retry, Sort::Failure, Sort::Delay, Sort::LostWorker];
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
            _ => Sort::Success,
        };
        submit(client, sort).await;
    }
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
    };
    let mut task = client.task(kind)?.input(name)?.tag("demo", word(sort))?;
    task = match sort {
        Sort::Delay => task.start(When::After(Millis::from_secs(5))),
        Sort::LostWorker => {
            let task = task.lane(FRAGILE)?;
            task.policy(|policy| policy.lease_ttl = Some(Millis::from_secs(2)))
        }
        Sort::Retry => task.policy(|policy| {
            policy.backoff = Backoff::fixed(Millis::from_secs(1)).into();
        }),
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
    }
}
