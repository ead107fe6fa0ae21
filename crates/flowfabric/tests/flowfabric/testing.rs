//! What tests of tasks use: virtual time and made tasks.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use flowfabric::prelude::*;
use flowfabric::testing::{Harness, TestTask};

const HOUR: Duration = Duration::from_secs(3_600);

async fn last_time(task: TaskContext, (): ()) -> Result<u32, TaskError> {
    match task.is_last_attempt() {
        true => Ok(task.attempt()),
        false => Err(TaskError::retryable("not yet")),
    }
}

#[tokio::test(start_paused = true)]
async fn hours_of_backoff_pass_at_once() {
    let (harness, real) = (Harness::start(), Instant::now());
    let virtually = tokio::time::Instant::now();
    harness.worker().on("last_time", last_time).start().await.unwrap();
    let task = harness.task("last_time", &()).max_attempts(4).backoff(HOUR, 8 * HOUR);
    assert_eq!(task.send().await.unwrap().result::<u32>().await.unwrap(), 3);
    assert!(virtually.elapsed() > 5 * HOUR, "{:?}", virtually.elapsed());
    assert!(real.elapsed() < Duration::from_secs(60));
    harness.close().await;
}

/// When a task ended.
type Ended = Arc<OnceLock<tokio::time::Instant>>;

async fn ends(ended: State<Ended>, _task: TaskContext, (): ()) -> Result<(), TaskError> {
    let _ = ended.set(tokio::time::Instant::now());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_result_is_there_the_moment_its_task_ends() {
    let harness = Harness::start();
    let ended = Ended::default();
    harness.worker().state(ended.clone()).on("ends", ends).start().await.unwrap();
    let task = harness.task("ends", &()).delay(Duration::from_millis(7_777)).send().await.unwrap();
    tokio::try_join!(task.result::<()>(), task.result::<()>()).unwrap();
    assert_eq!(ended.get(), Some(&tokio::time::Instant::now()), "in the same virtual moment");
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn time_that_passes_starts_what_was_delayed() {
    let harness = Harness::start();
    let task = harness.task("later", &()).delay(HOUR).send().await.unwrap();
    assert_eq!(task.state().await.unwrap(), PublicState::Delayed);
    harness.pass(HOUR + Duration::from_secs(1)).await;
    assert_ne!(task.state().await.unwrap(), PublicState::Delayed);
    harness.close().await;
}

async fn summarize(task: TaskContext, text: String) -> Result<usize, TaskError> {
    if task.stop().is_cancelled() {
        return Err(TaskError::cancel("asked to stop"));
    }
    task.progress(10, "reading").await?;
    let words = text.split_whitespace().count();
    task.report_usage("words", &[("words", words as u64)]).await?;
    task.progress(100, "done").await?;
    Ok(words)
}

#[tokio::test]
async fn a_made_task_records_what_its_handler_reports() {
    let task = TestTask::new().kind("summarize").attempt(1);
    assert_eq!(summarize(task.context(), "three short words".into()).await, Ok(3));
    assert_eq!(task.progress(), [(10, "reading".to_owned()), (100, "done".to_owned())]);
    assert_eq!(task.used()["words"], 3);
}

#[tokio::test]
async fn a_test_task_can_ask_its_handler_to_stop() {
    let task = TestTask::new();
    task.request_stop();
    let error = summarize(task.context(), String::new()).await.unwrap_err();
    assert_eq!((error.message(), error.is_retryable()), ("asked to stop", false));
    assert_eq!(task.context().stop_reason(), Some(StopReason::CancelRequested));
}

#[tokio::test]
async fn a_made_task_runs_a_handler_as_a_worker_does() {
    struct Greeting(&'static str);
    async fn greet(greeting: State<Greeting>, name: String) -> Result<String, TaskError> {
        Ok(format!("{}, {name}", greeting.0.0))
    }
    let task = TestTask::new().state(Greeting("hi"));
    assert_eq!(task.run::<String, _>(greet, "ada").await.unwrap(), "hi, ada");
    let wrong = task.run::<String, _>(greet, &7).await.unwrap_err();
    assert_eq!(wrong.failure_category(), Some("bad_input"));
    let missing = TestTask::new().run::<String, _>(greet, "ada").await.unwrap_err();
    assert!(!missing.is_retryable());
}

#[tokio::test]
async fn a_made_task_refuses_what_the_engine_would() {
    let task = TestTask::new();
    assert_eq!(task.context().progress(101, "").await.unwrap_err().field(), Some("percent"));
    let context = task.context();
    context.report_usage("once", &[("tokens", 5)]).await.unwrap();
    context.report_usage("once", &[("tokens", 5)]).await.unwrap();
    assert_eq!(task.used()["tokens"], 5);
    assert!(context.report_usage("once", &[("tokens", 6)]).await.is_err());
}
