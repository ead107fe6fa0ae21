//! A diamond one arm of which fails: what depends on it is skipped, and a replay runs that arm again.

use std::sync::atomic::{AtomicBool, Ordering};

use flowfabric::prelude::*;

async fn extract(rows: u32) -> Result<u32, TaskError> {
    Ok(rows)
}

/// The service that cleans is away at first.
async fn clean(task: TaskContext, is_away: State<AtomicBool>, (): ()) -> Result<u32, TaskError> {
    if is_away.swap(false, Ordering::Relaxed) {
        return Err(TaskError::permanent("the service is away"));
    }
    Ok(task.upstream::<u32>("extract").await? - 1)
}

async fn enrich(task: TaskContext, (): ()) -> Result<u32, TaskError> {
    Ok(task.upstream::<u32>("extract").await? * 10)
}

async fn load(task: TaskContext, (): ()) -> Result<u32, TaskError> {
    Ok(task.upstream::<u32>("clean").await? + task.upstream::<u32>("enrich").await?)
}

/// Runs it, replays it, and tells both.
pub async fn run(ff: &FlowFabric) -> Result<String, Error> {
    let worker = ff.worker().lane("pipeline").state(AtomicBool::new(true));
    let worker = worker.on("extract", extract).on("clean", clean).on("enrich", enrich);
    let worker = worker.on("load", load).start().await?;
    let task = |kind: &str| ff.task(kind, &()).lane("pipeline");
    let flow = ff
        .flow()
        .node("extract", ff.task("extract", &7).lane("pipeline"))
        .node("clean", task("clean"))
        .after(["extract"])
        .node("enrich", task("enrich"))
        .after(["extract"])
        .node("load", task("load"))
        .after(["clean", "enrich"])
        .send()
        .await?;
    let first = flow.ended().await?;
    let skipped = flow.show().await?.counts.skipped;
    flow.replay().await?;
    let loaded: u32 = flow.result("load").await?;
    let second = flow.ended().await?;
    worker.shutdown().await;
    Ok(format!("first {first}, {skipped} skipped; then {second} with {loaded}"))
}
