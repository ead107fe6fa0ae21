//! The runtime in one virtual time with its store: handlers, errors, drains.

use std::future::Ready;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ff_core::bounds::PAYLOAD_BYTES;
use ff_core::{Payload, PublicState};
use ff_sdk::{Bytes, Client, Json, SdkError, TaskContext, TaskError, WorkerRuntime};
use tokio::time::timeout;

use crate::fixture::Fixture;

const MINUTE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Calls(AtomicU32);

async fn double(_task: TaskContext, Json(n): Json<u32>) -> Result<Json<u32>, TaskError> {
    Ok(Json(n * 2))
}

async fn flaky(task: TaskContext, Json(()): Json<()>) -> Result<Json<u32>, TaskError> {
    let calls = task.state::<Calls>()?;
    match calls.0.fetch_add(1, Ordering::SeqCst) {
        0 => Err(TaskError::retryable("not yet")),
        1 => panic!("not yet either"),
        _ => Ok(Json(task.attempt())),
    }
}

fn early(_task: TaskContext, Json(()): Json<()>) -> Ready<Result<(), TaskError>> {
    panic!("before there is a future")
}

async fn verbose(_task: TaskContext, Json(()): Json<()>) -> Result<Bytes, TaskError> {
    Ok(Bytes(Payload::bytes(vec![b'x'; PAYLOAD_BYTES + 1])))
}

/// Fails once, then reports progress and delays itself, then describes its task.
async fn describe(task: TaskContext, Json(()): Json<()>) -> Result<Json<String>, TaskError> {
    if task.attempt() == 0 {
        return Err(TaskError::retryable(format!("last {}", task.is_last_attempt())));
    }
    let Some(progress) = task.last_progress() else {
        task.progress(50, "half").await?;
        return Err(TaskError::retry_after(Duration::from_secs(1)));
    };
    let (attempt, most, last) = (task.attempt(), task.max_attempts(), task.is_last_attempt());
    let (priority, percent) = (task.priority(), progress.percent.unwrap_or(0));
    Ok(Json(format!(
        "attempt {attempt} of {most}, last {last}, priority {priority}, progress {percent}"
    )))
}

async fn doomed(_task: TaskContext, Json(()): Json<()>) -> Result<(), TaskError> {
    Err(TaskError::permanent("no use"))
}

async fn patient(task: TaskContext, Json(()): Json<()>) -> Result<Json<u32>, TaskError> {
    let calls = task.state::<Calls>()?;
    match calls.0.fetch_add(1, Ordering::SeqCst) {
        0 => Err(TaskError::retry_after(Duration::from_secs(3_600))),
        _ => Ok(Json(task.attempt())),
    }
}

async fn endless(_task: TaskContext, Json(()): Json<()>) -> Result<(), TaskError> {
    std::future::pending().await
}

fn runtime(fixture: &Fixture) -> WorkerRuntime {
    let runtime = fixture.runtime().state(Calls::default());
    let runtime = runtime.on("double", double).unwrap().on("flaky", flaky).unwrap();
    let runtime = runtime.on("doomed", doomed).unwrap().on("patient", patient).unwrap();
    let runtime = runtime.on("early", early).unwrap().on("verbose", verbose).unwrap();
    runtime.on("describe", describe).unwrap().on("endless", endless).unwrap()
}

fn client(fixture: &Fixture) -> Client {
    Client::new(fixture.backend.clone())
}

#[tokio::test(start_paused = true)]
async fn a_typed_handler_gives_a_typed_result() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let task = client(&fixture).submit("double", &21).await.unwrap();
    let result: u32 = client(&fixture).wait(task.execution).await.unwrap();
    assert_eq!(result, 42);
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_error_and_a_panic_are_retried_and_the_runtime_keeps_running() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let task = client(&fixture).submit("flaky", &()).await.unwrap();
    let attempt: u32 = client(&fixture).wait(task.execution).await.unwrap();
    assert_eq!(attempt, 2);
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_is_not_retried_and_its_reason_is_reported() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let task = client(&fixture).submit("doomed", &()).await.unwrap();
    let error = client(&fixture).wait::<()>(task.execution).await.unwrap_err();
    let SdkError::Ended { state, reason } = error else { panic!("{error}") };
    assert_eq!((state, reason.as_str()), (PublicState::Failed, "no use"));
    assert_eq!(client(&fixture).describe(task.execution).await.unwrap().run.failures, 1);
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_await_is_a_failed_attempt() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let task = client(&fixture).submit("early", &()).await.unwrap();
    let waiting = client(&fixture);
    let error = timeout(MINUTE, waiting.wait::<()>(task.execution)).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("the handler panicked"), "{error}");
    let record = client(&fixture).describe(task.execution).await.unwrap();
    assert_eq!((record.run.failures, record.run.reclaims, record.epoch), (3, 0, 3));
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_over_the_limit_is_made_once() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let task = client(&fixture).submit("verbose", &()).await.unwrap();
    let waiting = client(&fixture);
    let error = timeout(MINUTE, waiting.wait::<()>(task.execution)).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("at most 1048576 are taken"), "{error}");
    assert_eq!(client(&fixture).describe(task.execution).await.unwrap().epoch, 1);
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_knows_its_last_attempt_and_what_came_before() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let client = client(&fixture);
    let described = client.task("describe").unwrap().input(&()).unwrap().priority(3);
    let task = described.policy(|ask| ask.max_attempts = Some(2)).send().await.unwrap();
    let described: String = timeout(MINUTE, client.wait(task.execution)).await.unwrap().unwrap();
    assert_eq!(described, "attempt 1 of 2, last true, priority 3, progress 50");
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_input_that_does_not_decode_fails_for_good() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let task = client(&fixture).submit("double", "not a number").await.unwrap();
    let error = client(&fixture).wait::<u32>(task.execution).await.unwrap_err();
    assert!(matches!(error, SdkError::Ended { state: PublicState::Failed, .. }), "{error}");
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_delayed_task_continues_its_attempt() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let task = client(&fixture).submit("patient", &()).await.unwrap();
    let attempt: u32 = client(&fixture).wait(task.execution).await.unwrap();
    assert_eq!(attempt, 0);
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_without_a_handler_is_left_to_other_workers_by_a_retry() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).start().await.unwrap();
    let task = client(&fixture).submit("unknown", &()).await.unwrap();
    let error = client(&fixture).wait::<()>(task.execution).await.unwrap_err();
    assert!(error.to_string().contains("no handler for kind unknown"), "{error}");
    running.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_hands_back_what_does_not_finish_in_time() {
    let fixture = Fixture::start();
    let running = runtime(&fixture).drain(Duration::from_secs(2)).start().await.unwrap();
    let task = client(&fixture).submit("endless", &()).await.unwrap();
    let describe = || async { client(&fixture).describe(task.execution).await.unwrap() };
    while describe().await.public_state() != PublicState::Active {
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    timeout(MINUTE, running.shutdown()).await.unwrap();
    let record = describe().await;
    assert_eq!(record.public_state(), PublicState::Resumable);
    assert_eq!((record.run.failures, record.run.reclaims), (0, 0));
}
