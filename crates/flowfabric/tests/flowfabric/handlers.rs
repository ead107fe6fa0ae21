//! The shapes of handlers, and how they end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use flowfabric::prelude::*;
use flowfabric::testing::Harness;
use serde::{Deserialize, Serialize};

#[derive(Default)]
struct Calls(AtomicU32);

struct Greeting(&'static str);

#[derive(Serialize, Deserialize)]
struct Order {
    item: String,
    count: u32,
}

async fn plain(order: Order) -> Result<Order, TaskError> {
    Ok(Order { count: order.count + 1, ..order })
}

async fn with_task(task: TaskContext, name: String) -> Result<String, TaskError> {
    Ok(format!("{} {name} {}", task.kind(), task.tag("color").unwrap_or("none")))
}

async fn with_state(State(calls): State<Calls>, by: u32) -> Result<u32, TaskError> {
    Ok(calls.0.fetch_add(by, Ordering::SeqCst) + by)
}

async fn with_both(
    task: TaskContext,
    greeting: State<Greeting>,
    name: String,
) -> Result<String, TaskError> {
    Ok(format!("{}, {name} on {}", greeting.0.0, task.lane()))
}

async fn with_two_states(
    greeting: State<Greeting>,
    calls: State<Calls>,
    (): (),
) -> Result<String, TaskError> {
    Ok(format!("{} {}", greeting.0.0, calls.0.0.load(Ordering::SeqCst)))
}

async fn with_bytes(Bytes(input): Bytes) -> Result<Bytes, TaskError> {
    Ok(Bytes(Payload::bytes(input.bytes.iter().rev().copied().collect::<Vec<u8>>())))
}

#[tokio::test(start_paused = true)]
async fn every_shape_of_handler_runs() {
    let harness = Harness::start();
    let worker = harness.worker().state(Calls::default()).state(Greeting("hi"));
    let worker = worker.on("plain", plain).on("task", with_task).on("state", with_state);
    let worker = worker.on("both", with_both).on("two", with_two_states).on("bytes", with_bytes);
    let worker = worker.on("closure", async |n: u32| Ok::<u32, TaskError>(n * 2));
    worker.start().await.unwrap();
    let order = Order { item: "tea".into(), count: 1 };
    let order: Order = result(harness.task("plain", &order)).await;
    assert_eq!((order.item.as_str(), order.count), ("tea", 2));
    let text: String = result(harness.task("task", "ada").tag("color", "red")).await;
    assert_eq!(text, "task ada red");
    assert_eq!(result::<u32>(harness.task("state", &3)).await, 3);
    assert_eq!(result::<String>(harness.task("both", "ada")).await, "hi, ada on default");
    assert_eq!(result::<String>(harness.task("two", &())).await, "hi 3");
    assert_eq!(result::<u32>(harness.task("closure", &21)).await, 42);
    let bytes = Bytes(Payload::bytes(vec![1, 2, 255]));
    let Bytes(reversed) = result(harness.task("bytes", &bytes)).await;
    assert_eq!(&reversed.bytes[..], [255, 2, 1]);
    harness.close().await;
}

async fn result<R: FromPayload>(task: TaskBuilder) -> R {
    task.send().await.unwrap().result().await.unwrap()
}

async fn why(task: TaskBuilder) -> Error {
    task.max_attempts(1).send().await.unwrap().result::<()>().await.unwrap_err()
}

async fn by_anyhow(text: String) -> anyhow::Result<u32> {
    use anyhow::Context;
    text.parse().context("cannot read the number")
}

async fn by_std(text: String) -> Result<u32, std::num::ParseIntError> {
    text.parse()
}

async fn by_question_mark(text: String) -> Result<u32, TaskError> {
    let number: u32 = text.parse()?;
    let checked: anyhow::Result<u32> = match number {
        0 => Err(anyhow::anyhow!("zero is no number here")),
        number => Ok(number),
    };
    Ok(checked?)
}

#[tokio::test(start_paused = true)]
async fn errors_of_any_kind_fail_the_task_with_their_causes() {
    let harness = Harness::start();
    let worker = harness.worker().on("anyhow", by_anyhow).on("std", by_std);
    worker.on("question", by_question_mark).start().await.unwrap();
    for (kind, input, message) in [
        ("anyhow", "x", "cannot read the number: invalid digit found in string"),
        ("std", "x", "invalid digit found in string"),
        ("question", "x", "invalid digit found in string"),
        ("question", "0", "zero is no number here"),
    ] {
        let error = why(harness.task(kind, input)).await;
        assert_eq!(error.code(), "failed");
        assert!(error.to_string().ends_with(message), "{error}");
    }
    assert_eq!(result::<u32>(harness.task("question", "7")).await, 7);
    harness.close().await;
}

async fn panics((): ()) -> Result<(), TaskError> {
    panic!("out of cheese")
}

async fn gives_up(calls: State<Calls>, (): ()) -> Result<(), TaskError> {
    calls.0.0.fetch_add(1, Ordering::SeqCst);
    Err(TaskError::permanent("no use").category("hopeless"))
}

async fn waits(calls: State<Calls>, task: TaskContext, (): ()) -> Result<u32, TaskError> {
    match calls.0.0.fetch_add(1, Ordering::SeqCst) {
        0 => Err(TaskError::retry_after(Duration::from_secs(3_600))),
        _ => Ok(task.attempt()),
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_fails_the_task_and_the_worker_keeps_running() {
    let harness = Harness::start();
    let worker = harness.worker().on("panics", panics).on("plain", plain);
    worker.start().await.unwrap();
    let error = why(harness.task("panics", &())).await;
    assert!(error.to_string().contains("the handler panicked"), "{error}");
    let order = Order { item: "tea".into(), count: 1 };
    assert_eq!(result::<Order>(harness.task("plain", &order)).await.count, 2);
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_is_not_tried_again() {
    let harness = Harness::start();
    let worker = harness.worker().state(Calls::default()).on("count", with_state);
    worker.on("gives_up", gives_up).start().await.unwrap();
    let task = harness.task("gives_up", &()).max_attempts(5).send().await.unwrap();
    assert!(task.result::<()>().await.unwrap_err().to_string().ends_with("no use"));
    assert_eq!(result::<u32>(harness.task("count", &0)).await, 1);
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_delayed_task_continues_its_attempt() {
    let harness = Harness::start();
    let began = tokio::time::Instant::now();
    harness.worker().state(Calls::default()).on("waits", waits).start().await.unwrap();
    assert_eq!(result::<u32>(harness.task("waits", &())).await, 0);
    assert!(began.elapsed() >= Duration::from_secs(3_600));
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn an_input_of_another_shape_fails_for_good() {
    let harness = Harness::start();
    harness.worker().on("plain", plain).start().await.unwrap();
    let error = why(harness.task("plain", "no order")).await;
    assert!(error.to_string().contains("not what the handler takes"), "{error}");
    harness.close().await;
}
