//! Two providers with limits of their own, and workers that can ask one of them or both.
//!
//! Provider A takes so many calls at once, provider B so many in any stretch of time. A task names
//! the quota it counts against and the capability its worker needs; nothing else has to know.
//!
//! ```sh
//! cargo run -p ff-example-limits --bin provider-limits
//! ```
#![allow(clippy::print_stdout, reason = "it tells what happens")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ff_core::quota::QuotaLimits;
use ff_core::{Capabilities, ExecutionId, Millis, Time};
use ff_example_limits::{Error, Place, check};
use ff_sdk::{Client, Json, TaskContext, TaskError};

const AT_ONCE: u32 = 3;
const PER_WINDOW: usize = 5;
const WINDOW: Millis = Millis::new(1_500);
/// A quota counts when it lets a task through, and a worker has it a moment later: starts may be
/// nearer to each other by that moment.
const WINDOW_SEEN: Millis = Millis::new(1_000);

/// How many calls of provider A run, and how many did at most.
#[derive(Default)]
struct Gauge {
    now: AtomicU32,
    most: AtomicU32,
}

async fn ask_a(task: TaskContext, Json(prompt): Json<String>) -> Result<Json<String>, TaskError> {
    let gauge = task.state::<Arc<Gauge>>()?;
    let running = gauge.now.fetch_add(1, Ordering::SeqCst) + 1;
    gauge.most.fetch_max(running, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(60)).await; // the call
    gauge.now.fetch_sub(1, Ordering::SeqCst);
    Ok(Json(format!("A says: {prompt}!")))
}

async fn ask_b(_task: TaskContext, Json(prompt): Json<String>) -> Result<Json<String>, TaskError> {
    Ok(Json(format!("B says: {prompt}?")))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let place = Place::open().await?;
    let client = place.client();
    let unlimited =
        QuotaLimits { max_requests: None, window: WINDOW, max_active: None, jitter: Millis::ZERO };
    let at_once = QuotaLimits { max_active: Some(AT_ONCE), ..unlimited.clone() };
    let in_a_window = QuotaLimits { max_requests: Some(PER_WINDOW as u32), ..unlimited };
    client.put_quota("provider-a", at_once).await?;
    client.put_quota("provider-b", in_a_window).await?;

    let gauge = Arc::new(Gauge::default());
    let mut workers = Vec::new();
    for offers in [&["provider-a"][..], &["provider-b"], &["provider-a", "provider-b"]] {
        let worker = place.worker().capabilities(Capabilities::new(offers)?).concurrency(8);
        let worker = worker.state(gauge.clone()).on("ask-a", ask_a)?.on("ask-b", ask_b)?;
        workers.push(worker.start().await?);
    }
    println!("three workers, with room for 24 tasks: one asks A, one asks B, one asks both");

    let to_a = submit(&client, "ask-a", "provider-a", 24).await?;
    let to_b = submit(&client, "ask-b", "provider-b", 12).await?;
    for task in to_a.iter().chain(&to_b) {
        client.wait::<String>(*task).await?;
    }

    let most = gauge.most.load(Ordering::SeqCst);
    println!("A was asked {} times, at most {most} at once (limit {AT_ONCE})", to_a.len());
    check(most <= AT_ONCE, "A is asked no more than so often at once")?;

    let mut starts = Vec::new();
    for task in &to_b {
        let attempt = client.describe(*task).await?.attempt;
        starts.push(attempt.ok_or("what has ended has started")?.started);
    }
    let most = most_within(WINDOW_SEEN, &starts);
    println!(
        "B was asked {} times, at most {most} within {WINDOW_SEEN} (limit {PER_WINDOW} in any {WINDOW})",
        to_b.len()
    );
    check(most <= PER_WINDOW, "B is asked no more than so often in any window")?;

    for worker in workers {
        worker.shutdown().await;
    }
    place.close().await;
    Ok(())
}

/// Tasks that need a worker with a capability, under the quota of the same name.
async fn submit(
    client: &Client,
    kind: &str,
    provider: &str,
    count: usize,
) -> Result<Vec<ExecutionId>, Error> {
    let mut tasks = Vec::new();
    for number in 1..=count {
        let task = client.task(kind)?.requires(Capabilities::new([provider])?).quota(provider)?;
        tasks.push(task.input(&format!("prompt {number}"))?.send().await?.execution);
    }
    Ok(tasks)
}

/// The largest number of `starts` in any stretch of time this long.
fn most_within(span: Millis, starts: &[Time]) -> usize {
    let from = |first: Time| starts.iter().filter(|at| (first..first + span).contains(*at)).count();
    starts.iter().map(|first| from(*first)).max().unwrap_or(0)
}
