//! Waits for the end of an execution over HTTP.

use ff_core::bounds::END_WAIT_MAX;
use ff_core::machine::Complete;
use ff_core::{Millis, Payload, PublicState};
use ff_server::Config;
use ff_store::roles::until_ended;
use ff_store::{ClientBackend, WorkerBackend};

use serde_json::Value;

use crate::fixture::raw::{Answer, Wire, ask, get};
use crate::fixture::{Fixture, config, target, within};

fn waiting_get(id: impl std::fmt::Display, wait_ms: u64) -> String {
    get(&format!("/v1/executions/{id}?wait_ms={wait_ms}"))
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(answer.text()).unwrap()
}

#[tokio::test]
async fn the_answer_comes_with_the_end() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let mut wire = Wire::open(server.address).await;
    wire.send(waiting_get(held.execution, 30_000)).await;
    server.until_waiting_for(held.execution, 1).await;
    let done = Complete { hold: held.hold(), result: Payload::default() };
    server.store.complete(vec![done]).await.unwrap().remove(0).unwrap();
    let answer = wire.answer().await.unwrap();
    assert_eq!((answer.status, &json(&answer)["state"]), (200, &"completed".into()));
    server.until_waiting_for(held.execution, 0).await;
}

#[tokio::test]
async fn the_answer_is_the_execution_as_it_is_when_the_wait_is_over() {
    let server = Fixture::start().await;
    let id = server.submitted().await;
    let answer = ask(server.address, waiting_get(id, 5)).await;
    assert_eq!((answer.status, &json(&answer)["state"]), (200, &"waiting".into()));
    assert!(json(&answer)["state_vector"]["blocking_reason"].is_string(), "it is explained too");
}

#[tokio::test]
async fn what_does_not_exist_is_not_waited_for() {
    let server = Fixture::start().await;
    let id = server.store.new_id(&Default::default(), None);
    ask(server.address, waiting_get(id, 30_000)).await.problem(404, "not_found");
}

#[tokio::test]
async fn a_wait_that_is_too_long_or_no_number_is_refused() {
    let server = Fixture::start().await;
    let id = server.submitted().await;
    let problem = ask(server.address, waiting_get(id, END_WAIT_MAX.get() + 1)).await;
    assert_eq!(problem.problem(400, "invalid_argument").field.as_deref(), Some("wait_ms"));
    let text = get(&format!("/v1/executions/{id}?wait_ms=soon"));
    let problem = ask(server.address, text).await.problem(400, "invalid_query");
    assert_eq!(problem.field.as_deref(), Some("wait_ms"));
}

#[tokio::test]
async fn a_client_that_goes_away_waits_no_more() {
    let server = Fixture::with(Config { waiting_clients: 1, ..config() }).await;
    let id = server.submitted().await;
    for _ in 0..20 {
        let mut wire = Wire::open(server.address).await;
        wire.send(waiting_get(id, 30_000)).await;
        server.until_waiting_for(id, 1).await;
        drop(wire);
        // Its place is free for the next.
        server.until_waiting_for(id, 0).await;
    }
}

#[tokio::test]
async fn more_than_may_wait_are_told_to_come_again() {
    let server = Fixture::with(Config { waiting_clients: 1, ..config() }).await;
    let id = server.submitted().await;
    let mut wire = Wire::open(server.address).await;
    wire.send(waiting_get(id, 30_000)).await;
    server.until_waiting_for(id, 1).await;
    let problem = ask(server.address, waiting_get(id, 30_000)).await.problem(429, "overloaded");
    assert!(problem.retryable);
    let answer = ask(server.address, waiting_get(id, 0)).await;
    assert_eq!(answer.status, 200, "one that does not wait is answered");
}

#[tokio::test]
async fn a_server_that_stops_answers_with_the_execution_as_it_is() {
    let mut server = Fixture::start().await;
    let id = server.submitted().await;
    let client = server.client();
    let waiting = tokio::spawn(async move { client.wait(&target(id), END_WAIT_MAX).await });
    server.until_waiting_for(id, 1).await;
    server.shutdown.cancel();
    let record = within(waiting).await.unwrap().unwrap();
    assert_eq!(record.public_state(), PublicState::Waiting);
    within(server.running.take().unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_client_waits_again_until_the_end() {
    let longest_wait = Millis::new(1);
    let server = Fixture::with(Config { longest_wait, ..config() }).await;
    let held = server.held().await;
    let (client, id) = (server.client(), held.execution);
    let waiting = tokio::spawn(async move { until_ended(&client, &target(id)).await });
    for _ in 0..3 {
        server.until_waiting_for(id, 1).await;
        server.until_waiting_for(id, 0).await;
    }
    let done = Complete { hold: held.hold(), result: Payload::default() };
    server.store.complete(vec![done]).await.unwrap().remove(0).unwrap();
    let record = within(waiting).await.unwrap().unwrap();
    assert_eq!(record.public_state(), PublicState::Completed);
}
