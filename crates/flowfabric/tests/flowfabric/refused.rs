//! What is wrong is refused in the last call of a builder, with a code and the field.

use flowfabric::prelude::*;
use flowfabric::testing::Harness;

use crate::{endless, greet};

struct Database;

async fn with_state(_db: State<Database>, (): ()) -> Result<(), TaskError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_handler_without_its_state_is_refused_at_start() {
    let harness = Harness::start();
    let error = harness.worker().on("query", with_state).start().await.unwrap_err();
    assert_eq!((error.code(), error.field()), ("invalid_argument", Some("state")));
    assert!(error.to_string().contains("Database"), "{error}");
    assert!(error.to_string().contains("query"), "{error}");
    let worker = harness.worker().on("query", with_state).state(Database);
    worker.start().await.unwrap();
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_cannot_work_is_refused_at_start() {
    let harness = Harness::start();
    let greeter = || harness.worker().on("greet", greet);
    for (worker, field) in [
        (greeter().lane("not a lane"), "lane"),
        (greeter().on("not a kind", endless), "kind"),
        (greeter().on("greet", greet), "kind"),
        (greeter().concurrency(0), "concurrency"),
        (greeter().name("not a name"), "worker"),
        (greeter().instance("not a name"), "worker_instance"),
        (greeter().lane_weighted("fine", 0), "lanes"),
        (harness.worker(), "handlers"),
    ] {
        let error = worker.start().await.unwrap_err();
        assert_eq!((error.code(), error.field()), ("invalid_argument", Some(field)), "{error}");
        assert!(!error.is_retryable());
    }
    harness.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_cannot_be_is_refused_when_it_is_sent() {
    let harness = Harness::start();
    let task = || harness.task("greet", "world");
    for (task, field) in [
        (harness.task("not a kind", "world"), "kind"),
        (task().lane("not a lane"), "lane"),
        (task().key("not a key"), "idempotency_key"),
        (task().tag("not a key", ""), "tag key"),
        (task().budget("not a name"), "name"),
        (task().max_attempts(0), "max_attempts"),
        (task().estimate("tokens", 5), "estimate"),
        (task().priority(i16::MAX), "priority"),
    ] {
        let error = task.send().await.unwrap_err();
        assert_eq!((error.code(), error.field()), ("invalid_argument", Some(field)), "{error}");
    }
    harness.close().await;
}

#[tokio::test]
async fn a_url_that_names_nothing_is_refused_with_an_example() {
    for (opening, field) in [
        (FlowFabric::builder(), "url"),
        (FlowFabric::builder().url("work.ff"), "store"),
        (FlowFabric::builder().url("memory:").namespace("not a name"), "namespace"),
        (FlowFabric::builder().url("memory:").token("secret"), "token"),
        (FlowFabric::builder().url("http://"), "url"),
    ] {
        let error = opening.open().await.unwrap_err();
        assert_eq!((error.code(), error.field()), ("invalid_argument", Some(field)), "{error}");
    }
}
