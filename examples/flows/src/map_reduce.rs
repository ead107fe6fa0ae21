//! A hundred mappers and one reducer, which reads what they have found.

use flowfabric::prelude::*;

/// How many parts there are.
pub const PARTS: u32 = 100;

async fn count(text: String) -> Result<u32, TaskError> {
    Ok(text.split_whitespace().count() as u32)
}

async fn sum(task: TaskContext, parts: u32) -> Result<u32, TaskError> {
    let mut sum = 0;
    for part in 0..parts {
        sum += task.upstream::<u32>(&format!("part-{part}")).await?;
    }
    Ok(sum)
}

/// Counts the words of all parts.
pub async fn run(ff: &FlowFabric) -> Result<u32, Error> {
    let worker = ff.worker().lane("map-reduce").concurrency(8);
    let worker = worker.on("count", count).on("sum", sum).start().await?;
    let mut flow = ff.flow();
    for part in 0..PARTS {
        let text = "word ".repeat(part as usize);
        flow = flow.node(&format!("part-{part}"), ff.task("count", &text).lane("map-reduce"));
    }
    let parts: Vec<_> = (0..PARTS).map(|part| format!("part-{part}")).collect();
    let flow = flow.node("sum", ff.task("sum", &PARTS).lane("map-reduce")).after(parts).send();
    let sum = flow.await?.result("sum").await?;
    worker.shutdown().await;
    Ok(sum)
}
