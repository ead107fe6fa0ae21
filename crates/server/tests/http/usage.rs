//! Usage reports of holders, over HTTP.

use ff_core::Millis;
use ff_core::machine::{Assignment, Complete};
use ff_core::{ExecutionId, Payload};
use ff_store::{WorkerBackend, mint};
use serde_json::{Value, json};

use crate::fixture::raw::{Answer, ask, get, post, send};
use crate::fixture::{Fixture, claim};

/// Claimed work that spends from budget `team`, which has a hard limit of 100 tokens.
async fn spending(server: &Fixture) -> Assignment {
    let budget = r#"{"dimensions":{"tokens":{"hard":100}}}"#;
    let made = ask(server.address, send("PUT", "/v1/budgets/team", budget)).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let work = r#"{"limits":{"budgets":["team"]}}"#;
    assert_eq!(ask(server.address, post("/v1/executions", work)).await.status, 201);
    server.client().claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0)
}

fn report(held: &Assignment, key: &str, amounts: &Value) -> Value {
    let fence = &held.fence;
    json!({
        "fence": {"lease": fence.lease.to_string(), "epoch": fence.epoch, "attempt": fence.attempt},
        "key": key, "amounts": amounts,
    })
}

async fn send_usage(server: &Fixture, id: ExecutionId, body: &Value) -> Answer {
    ask(server.address, post(&format!("/v1/executions/{id}/usage"), body.to_string())).await
}

/// The usage after a report that must be accepted.
async fn used(server: &Fixture, held: &Assignment, body: &Value) -> Value {
    let answer = send_usage(server, held.execution, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice::<Value>(&answer.body).unwrap()["used"].take()
}

/// What the budget has counted.
async fn counted(server: &Fixture) -> u64 {
    let answer = ask(server.address, get("/v1/budgets/team")).await;
    let view: Value = serde_json::from_slice(&answer.body).unwrap();
    view["dimensions"]["tokens"]["used"].as_u64().unwrap()
}

#[tokio::test]
async fn usage_is_counted_once_for_each_key() {
    let server = Fixture::start().await;
    let held = spending(&server).await;
    let first = report(&held, "call-1", &json!({"tokens": 30}));
    assert_eq!(used(&server, &held, &first).await, json!({"tokens": 30}));
    assert_eq!(used(&server, &held, &first).await, json!({"tokens": 30}), "the same again");
    let other = report(&held, "call-1", &json!({"tokens": 31}));
    send_usage(&server, held.execution, &other).await.problem(409, "idempotency_conflict");
    let second = report(&held, "call-2", &json!({"tokens": 12}));
    assert_eq!(used(&server, &held, &second).await, json!({"tokens": 42}));
    assert_eq!(counted(&server).await, 42);
    let path = format!("/v1/executions/{}", held.execution);
    let view: Value = serde_json::from_slice(&ask(server.address, get(&path)).await.body).unwrap();
    assert_eq!(view["used"], json!({"tokens": 42}));
}

#[tokio::test]
async fn usage_past_the_limit_is_counted() {
    let server = Fixture::start().await;
    let held = spending(&server).await;
    let much = report(&held, "much", &json!({"tokens": 9_007_199_254_740_992u64}));
    assert_eq!(used(&server, &held, &much).await, json!({"tokens": 9_007_199_254_740_992u64}));
    assert_eq!(counted(&server).await, 9_007_199_254_740_992);
    let more = report(&held, "more", &json!({"tokens": 1}));
    used(&server, &held, &more).await;
    let complete = Complete { hold: held.hold(), result: Payload::default() };
    server.client().complete(vec![complete]).await.unwrap().remove(0).unwrap();
}

#[tokio::test]
async fn what_was_reported_is_taken_back_and_not_more() {
    let server = Fixture::start().await;
    let held = spending(&server).await;
    used(&server, &held, &report(&held, "all", &json!({"tokens": 100}))).await;
    let back = |key: &str, amount: u64| {
        let mut body = report(&held, key, &json!({"tokens": amount}));
        body["release"] = json!(true);
        body
    };
    let refused = send_usage(&server, held.execution, &back("much", 101)).await;
    assert_eq!(refused.problem(400, "invalid_argument").field.as_deref(), Some("amounts"));
    assert_eq!(counted(&server).await, 100);
    assert_eq!(used(&server, &held, &back("some", 60)).await, json!({"tokens": 40}));
    assert_eq!(used(&server, &held, &back("some", 60)).await, json!({"tokens": 40}), "again");
    assert_eq!(counted(&server).await, 40);
    // The same key for the opposite is another report.
    let opposite = report(&held, "some", &json!({"tokens": 60}));
    send_usage(&server, held.execution, &opposite).await.problem(409, "idempotency_conflict");
}

#[tokio::test]
async fn only_the_holder_can_report_usage() {
    let server = Fixture::start().await;
    let held = spending(&server).await;
    let good = report(&held, "k", &json!({"tokens": 1}));
    for (field, value) in [
        ("lease", json!(format!("{}.0", mint::request_id()))),
        ("epoch", json!(held.fence.epoch + 1)),
        ("attempt", json!(held.fence.attempt + 1)),
    ] {
        let mut forged = good.clone();
        forged["fence"][field] = value;
        send_usage(&server, held.execution, &forged).await.problem(409, "stale_lease");
    }
    let complete = Complete { hold: held.hold(), result: Payload::default() };
    server.client().complete(vec![complete]).await.unwrap().remove(0).unwrap();
    send_usage(&server, held.execution, &good).await.problem(409, "stale_lease");
    assert_eq!(counted(&server).await, 0);
}

#[tokio::test]
async fn a_report_that_breaks_the_rules_is_refused() {
    let server = Fixture::start().await;
    let held = spending(&server).await;
    let good = report(&held, "k", &json!({"tokens": 1}));
    let change = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    for (field, value) in [
        ("amounts", json!({"euros": 1})),
        ("amounts", json!({"tokens": 1, "euros": 1})),
        ("amounts", json!({})),
        ("amounts", json!({"tokens": 9_007_199_254_740_993u64})),
    ] {
        let refused = send_usage(&server, held.execution, &change(field, value.clone())).await;
        let problem = refused.problem(400, "invalid_argument");
        assert_eq!(problem.field.as_deref(), Some("amounts"), "{value}");
    }
    for (field, value) in [
        ("amounts", json!([1])),
        ("amounts", json!({"tokens": -1})),
        ("amounts", json!({"tokens": 0.5})),
        ("amounts", json!({"tokens": "1"})),
        ("amounts", json!({"a b": 1})),
        ("key", json!("")),
        ("key", json!("a b")),
        ("key", json!(7)),
        ("fence", json!(["x", 1, 0])),
        ("release", json!("yes")),
        ("amount", json!({"tokens": 1})),
    ] {
        let refused = send_usage(&server, held.execution, &change(field, value)).await;
        refused.problem(400, "invalid_json");
    }
    let mut keyless = good.clone();
    keyless.as_object_mut().unwrap().remove("key");
    send_usage(&server, held.execution, &keyless).await.problem(400, "invalid_json");
    assert_eq!(counted(&server).await, 0, "a refused report has changed nothing");
    used(&server, &held, &good).await;
}
