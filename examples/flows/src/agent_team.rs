//! An agent that spawns helpers, gives up its worker while they work, and sums up what they found.

use flowfabric::prelude::*;

/// A helper: it looks one thing up.
async fn look_up(topic: String) -> Result<u32, TaskError> {
    Ok(topic.len() as u32)
}

/// The lead: one helper for each topic, and two that race for the title. When the helpers have ended, it is
/// called again from its beginning, and finds the children that it has spawned before.
async fn lead(task: TaskContext, topics: Vec<String>) -> Result<String, TaskError> {
    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
    for topic in &topics {
        task.spawn(topic, Child::new("look-up", topic)?.lane("team")?).await?;
    }
    let found: Vec<u32> = task.all(&topics).await?;
    for author in ["poet", "editor"] {
        task.spawn(author, Child::new("look-up", author)?.lane("team")?).await?;
    }
    let (_, title) = task.race::<u32>("title", &["poet", "editor"]).await?;
    let total: u32 = found.iter().sum();
    Ok(format!("{} topics, {total} facts, title of {} letters or more", topics.len(), title.min(4)))
}

/// Runs the team, and answers what it says.
pub async fn run(ff: &FlowFabric) -> Result<String, Error> {
    // One worker with one place: the lead does not keep it while it waits.
    let worker = ff.worker().lane("team").concurrency(1);
    let worker = worker.on("lead", lead).on("look-up", look_up).start().await?;
    let topics = ["rust", "queues", "leases"];
    let team = ff.task("lead", &topics).lane("team").send().await?;
    let report: String = team.result().await?;
    worker.shutdown().await;
    Ok(report)
}
