//! Explanations over HTTP.

use ff_core::machine::{Admissions, Complete, GrantNext, Submit};
use ff_core::state::Worker;
use ff_core::{Capabilities, ExecutionId, Lane, Millis, Namespace, Payload, When};
use ff_store::roles::{LaneUpdate, Registering};
use ff_store::{ClientBackend, WorkerBackend, mint};
use serde_json::{Value, json};

use crate::fixture::raw::{ask, get};
use crate::fixture::{Fixture, claim, target};

async fn explained(server: &Fixture, id: ExecutionId) -> Value {
    let answer = ask(server.address, get(&format!("/v1/executions/{id}/explain"))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    // The client reads the very same out of it.
    let explanation = server.client().explain(&target(id)).await.unwrap();
    assert_eq!(explanation, server.store.explain(&target(id)).await.unwrap());
    serde_json::from_slice(&answer.body).unwrap()
}

async fn submitted(server: &Fixture, change: impl FnOnce(&mut Submit)) -> ExecutionId {
    let mut submit = Submit::new(server.store.new_id(&Namespace::default(), None));
    change(&mut submit);
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap().execution
}

async fn worker(server: &Fixture, instance: &str, offers: &[&str]) {
    let registering = Registering {
        namespace: Namespace::default(),
        worker: Worker { id: "ada".parse().unwrap(), instance: instance.parse().unwrap() },
        session: mint::request_id(),
        lanes: vec![Lane::default()],
        capabilities: Capabilities::new(offers).unwrap(),
        ttl: Millis::from_secs(60),
    };
    server.store.register(registering).await.unwrap();
}

fn words(view: &Value) -> Vec<&str> {
    let reasons = view["reasons"].as_array().unwrap().iter();
    reasons.map(|reason| reason["reason"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn queued_work_that_no_worker_serves_says_so() {
    let server = Fixture::start().await;
    let id = server.submitted().await;
    let view = explained(&server, id).await;
    assert_eq!((&view["id"], &view["state"]), (&json!(id.to_string()), &json!("waiting")));
    assert_eq!(view["state_vector"].as_object().unwrap().len(), 6);
    assert_eq!(words(&view), ["no_worker_on_lane", "in_queue"]);
    assert_eq!(view["reasons"][0]["lane"], "default");
    let sentence = view["explanation"].as_str().unwrap();
    assert!(sentence.contains("no live worker serves lane default"), "{sentence}");
}

#[tokio::test]
async fn queued_work_that_no_worker_can_run_names_the_nearest_worker() {
    let server = Fixture::start().await;
    let needs = Capabilities::new(["gpu", "python", "cuda"]).unwrap();
    let id = submitted(&server, |submit| submit.requires = needs).await;
    worker(&server, "far", &["python"]).await;
    worker(&server, "near", &["cuda", "python"]).await;
    let view = explained(&server, id).await;
    assert_eq!(words(&view), ["no_capable_worker", "in_queue"]);
    assert_eq!(
        view["reasons"][0],
        json!({
            "reason": "no_capable_worker", "requires": ["cuda", "gpu", "python"],
            "nearest": {"worker": "ada", "instance": "near", "lacks": ["gpu"]},
        })
    );
    assert_eq!(view["state_vector"]["blocking_reason"], "waiting_for_capable_worker");
    worker(&server, "able", &["cuda", "gpu", "python"]).await;
    let view = explained(&server, id).await;
    assert_eq!(view["reasons"], json!([{"reason": "in_queue", "ahead": 0, "workers": 1}]));
    server.clock.advance(Millis::from_secs(60));
    assert_eq!(words(&explained(&server, id).await), ["no_worker_on_lane", "in_queue"]);
}

#[tokio::test]
async fn queued_work_says_how_much_comes_before_it() {
    let server = Fixture::start().await;
    worker(&server, "able", &[]).await;
    server.submitted().await;
    server.submitted().await;
    let last = server.submitted().await;
    let view = explained(&server, last).await;
    assert_eq!(view["reasons"], json!([{"reason": "in_queue", "ahead": 2, "workers": 1}]));
}

#[tokio::test]
async fn work_of_a_paused_lane_has_the_reason_of_the_operator() {
    let server = Fixture::start().await;
    worker(&server, "able", &[]).await;
    let id = server.submitted().await;
    let order = LaneUpdate {
        paused: Some(true),
        reason: Some("database upgrade".into()),
        ..LaneUpdate::default()
    };
    server.store.update_lane(order).await.unwrap();
    let view = explained(&server, id).await;
    assert_eq!(words(&view), ["lane_paused", "in_queue"]);
    assert_eq!(view["reasons"][0]["said"], "database upgrade");
    assert_eq!(view["state_vector"]["blocking_reason"], "paused_by_operator");
    let sentence = view["explanation"].as_str().unwrap();
    assert!(sentence.contains("lane default is paused (database upgrade)"), "{sentence}");
}

#[tokio::test]
async fn delayed_reserved_held_and_finished_work_says_so() {
    let server = Fixture::start().await;
    let start = When::After(Millis::from_secs(90));
    let delayed = submitted(&server, |submit| submit.start = start).await;
    let view = explained(&server, delayed).await;
    assert_eq!(
        (words(&view), &view["reasons"][0]["intent"]),
        (vec!["not_before"], &json!("start"))
    );
    assert!(view["explanation"].as_str().unwrap().ends_with("to start in 1m 30s."), "{view}");

    let id = server.submitted().await;
    let grant = GrantNext {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: claim().worker,
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        ttl: Millis::from_secs(1),
        retry: false,
        at: None,
        admissions: Admissions::Any,
    };
    server.store.grant(grant).await.unwrap().offer.unwrap();
    let view = explained(&server, id).await;
    assert_eq!(
        (words(&view), &view["reasons"][0]["instance"]),
        (vec!["reserved"], &json!("ada-1"))
    );

    let held = server.held().await;
    let view = explained(&server, held.execution).await;
    assert_eq!((words(&view), &view["reasons"][0]["instance"]), (vec!["held"], &json!("ada-1")));
    assert_eq!(view["reasons"][0]["cancel_by"], Value::Null);
    let complete = Complete { hold: held.hold(), result: Payload::default() };
    server.store.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    let view = explained(&server, held.execution).await;
    assert_eq!((words(&view), &view["state"]), (vec!["finished"], &json!("completed")));
}

#[tokio::test]
async fn an_execution_that_no_worker_can_run_says_so() {
    let server = Fixture::start().await;
    let id = submitted(&server, |submit| {
        submit.requires = Capabilities::new(["gpu"]).unwrap();
    })
    .await;
    let described = async || {
        let answer = ask(server.address, get(&format!("/v1/executions/{id}"))).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        serde_json::from_slice::<Value>(&answer.body).unwrap()
    };
    worker(&server, "ada-1", &["tpu"]).await;
    let view = described().await;
    assert_eq!(view["state_vector"]["blocking_reason"], "waiting_for_capable_worker");
    let reason = view["reason"].as_str().unwrap();
    assert!(reason.starts_with("waits because no live worker offers gpu"), "{reason}");
    server.client().describe(&target(id)).await.unwrap();
    worker(&server, "ada-2", &["gpu"]).await;
    let view = described().await;
    assert_eq!(view["state_vector"]["blocking_reason"], "waiting_for_worker");
    assert_eq!(view["reason"], "waits for a worker that offers gpu");
}

#[tokio::test]
async fn a_listing_marks_what_no_worker_can_run_and_can_list_only_that() {
    let server = Fixture::start().await;
    let listed = async |query: &str| {
        let answer = ask(server.address, get(&format!("/v1/executions{query}"))).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let mut page: Value = serde_json::from_slice(&answer.body).unwrap();
        page["executions"].take()
    };
    server.submitted().await;
    let needs = Capabilities::new(["gpu"]).unwrap();
    let id = submitted(&server, |submit| submit.requires = needs).await;
    let all = listed("").await;
    let lacking = all.as_array().unwrap().iter().find(|view| view["id"] == id.to_string()).unwrap();
    assert_eq!(lacking["state_vector"]["eligibility_state"], "blocked_by_route");
    assert_eq!(lacking["state_vector"]["blocking_reason"], "waiting_for_capable_worker");
    assert_eq!(lacking["reason"], "waits because no live worker offers gpu");
    let only = listed("?state=waiting_for_capable_worker").await;
    assert_eq!((only.as_array().unwrap().len(), &only[0]["id"]), (1, &json!(id.to_string())));
    worker(&server, "able", &["gpu"]).await;
    assert_eq!(listed("?state=waiting_for_capable_worker").await, json!([]));
}
