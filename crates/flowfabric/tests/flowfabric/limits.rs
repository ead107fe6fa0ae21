//! Budgets and quotas.

use flowfabric::prelude::*;
use flowfabric::testing::Harness;

use crate::greet;

async fn spend(task: TaskContext, tokens: u64) -> Result<u64, TaskError> {
    let used = task.report_usage("answer", &[("tokens", tokens)]).await?;
    Ok(used["tokens"])
}

#[tokio::test(start_paused = true)]
async fn a_used_up_budget_keeps_tasks_waiting_until_it_is_reset() {
    let harness = Harness::start();
    let budget = harness.budget("team");
    harness.budget("team").limit("tokens", 100).set().await.unwrap();
    harness.worker().on("spend", spend).start().await.unwrap();
    let send = || harness.task("spend", &100).budget("team").estimate("tokens", 100).send();
    assert_eq!(send().await.unwrap().result::<u64>().await.unwrap(), 100);
    assert_eq!(budget.used().await.unwrap()["tokens"], 100);
    let second = send().await.unwrap();
    let longest = std::time::Duration::from_secs(60);
    assert_eq!(second.result_within::<u64>(longest).await.unwrap_err().code(), "timeout");
    assert!(second.explain().await.unwrap().contains("budget team"));
    budget.reset().await.unwrap();
    assert_eq!(second.result::<u64>().await.unwrap(), 100);
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_quota_bounds_the_starts_in_a_window() {
    let harness = Harness::start();
    let minute = std::time::Duration::from_secs(60);
    harness.quota("api").starts(1, minute).set().await.unwrap();
    harness.worker().concurrency(4).on("greet", greet).start().await.unwrap();
    let began = tokio::time::Instant::now();
    for _ in 0..3 {
        let task = harness.task("greet", "you").quota("api").send().await.unwrap();
        task.result::<String>().await.unwrap();
    }
    assert!(began.elapsed() >= 2 * minute);
    harness.close().await;
}
