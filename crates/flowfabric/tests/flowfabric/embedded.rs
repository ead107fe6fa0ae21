//! Stores of this process.

use std::time::Duration;

use flowfabric::prelude::*;
use flowfabric::testing::Harness;

use crate::{endless, greet};

async fn greets(ff: FlowFabric) {
    let worker = ff.worker().on("greet", greet).start().await.unwrap();
    let task = ff.task("greet", "world").send().await.unwrap();
    assert_eq!(task.result::<String>().await.unwrap(), "hello, world");
    assert_eq!(task.state().await.unwrap(), PublicState::Completed);
    worker.shutdown().await;
    ff.close().await;
}

#[tokio::test]
async fn a_store_in_memory_runs_tasks() {
    greets(FlowFabric::open("memory:").await.unwrap()).await;
}

#[tokio::test]
async fn a_store_in_a_file_runs_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.ff");
    greets(FlowFabric::open(format!("sqlite:{}", file.display())).await.unwrap()).await;
}

#[tokio::test]
async fn a_task_outlives_the_handle_that_submitted_it() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("work.ff").display());
    let ff = FlowFabric::open(&url).await.unwrap();
    let id = ff.task("greet", "again").send().await.unwrap().id();
    ff.close().await;
    let ff = FlowFabric::open(&url).await.unwrap();
    ff.worker().on("greet", greet).start().await.unwrap();
    let task: TaskHandle<String> = ff.handle(id).typed();
    assert_eq!(task.result().await.unwrap(), "hello, again");
    ff.close().await;
}

#[tokio::test]
async fn namespaces_do_not_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("work.ff").display());
    let ours = FlowFabric::builder().url(&url).namespace("ours").open().await.unwrap();
    let theirs = FlowFabric::builder().url(&url).namespace("theirs").open().await.unwrap();
    let task = ours.task("greet", "you").send().await.unwrap();
    let unknown = theirs.handle(task.id()).state().await.unwrap_err();
    assert_eq!(unknown.code(), "not_found");
    ours.close().await;
    theirs.close().await;
}

#[tokio::test(start_paused = true)]
async fn the_same_key_is_the_same_task() {
    let harness = Harness::start();
    let send = || harness.task("greet", "once").key("order-7").send();
    assert_eq!(send().await.unwrap().id(), send().await.unwrap().id());
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_too_short_times_out_and_the_task_keeps_running() {
    let harness = Harness::start();
    let task = harness.task("greet", "later").send().await.unwrap();
    let late = task.result_within::<String>(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((late.code(), late.is_retryable()), ("timeout", true));
    harness.worker().on("greet", greet).start().await.unwrap();
    assert_eq!(task.result::<String>().await.unwrap(), "hello, later");
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_has_no_result() {
    let harness = Harness::start();
    let task = harness.task("greet", "nobody").send().await.unwrap();
    task.cancel().await.unwrap();
    let ended = task.result::<String>().await.unwrap_err();
    assert_eq!((ended.code(), ended.is_retryable()), ("cancelled", false));
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn closing_ends_workers_and_hands_back_what_they_run() {
    let harness = Harness::start();
    let worker = harness.worker().drain(Duration::from_secs(1)).on("endless", endless);
    worker.start().await.unwrap();
    let task = harness.task("endless", &()).send().await.unwrap();
    while task.state().await.unwrap() != PublicState::Active {
        harness.pass(Duration::from_millis(1)).await;
    }
    let again = (*harness).clone();
    harness.close().await;
    assert_eq!(again.handle(task.id()).state().await.unwrap(), PublicState::Resumable);
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_that_is_dropped_ends_workers() {
    let harness = Harness::start();
    drop(harness.worker().on("greet", greet).start().await.unwrap());
    let tasks = tokio::runtime::Handle::current().metrics();
    assert!(tasks.num_alive_tasks() > 0);
    drop(harness);
    while tasks.num_alive_tasks() > 0 {
        tokio::time::advance(Duration::from_secs(1)).await;
    }
}
