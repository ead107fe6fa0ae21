//! Three providers are asked, the first answer counts, and the others are cancelled. They share a budget.

use std::time::Duration;

use flowfabric::prelude::*;

/// What one question costs, in cents.
const COST: u64 = 5;

/// A provider that takes this many milliseconds.
async fn ask(task: TaskContext, ms: u64) -> Result<String, TaskError> {
    task.report_usage("question", &[("cents", COST)]).await?;
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(ms)) => {}
        () = task.stop().cancelled() => return Err(TaskError::permanent("somebody was faster")),
    }
    Ok(format!("{} says 42", task.node().unwrap_or("somebody")))
}

/// The first answer is the first that is there.
async fn first(task: TaskContext, providers: Vec<String>) -> Result<String, TaskError> {
    for provider in &providers {
        if let Ok(answer) = task.upstream::<String>(provider).await {
            return Ok(answer);
        }
    }
    Err(TaskError::permanent("no provider has answered"))
}

/// Asks all three, and answers what the fastest says.
pub async fn run(ff: &FlowFabric) -> Result<String, Error> {
    ff.budget("race-questions").limit("cents", 100).set().await?;
    let worker = ff.worker().lane("race").concurrency(4);
    let worker = worker.on("ask", ask).on("first", first).start().await?;
    let providers = [("fast", 10_u64), ("slow", 60_000), ("slower", 90_000)];
    let mut flow = ff.flow().budget("race-questions");
    for (name, ms) in &providers {
        flow = flow.node(name, ff.task("ask", ms).lane("race"));
    }
    let names = providers.map(|(name, _)| name);
    let flow = flow.node("first", ff.task("first", &names).lane("race"));
    let flow = flow.after(names).any().cancel_rest().send().await?;
    let answer: String = flow.result("first").await?;
    let ended = flow.ended().await?;
    let losers = flow.show().await?.counts.cancelled;
    worker.shutdown().await;
    Ok(format!("{answer}; {losers} were cancelled, and the flow is {ended}"))
}
