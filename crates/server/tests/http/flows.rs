//! Flows over HTTP: submits, pages, listings, cancels and results of upstreams.

use ff_core::machine::Complete;
use ff_core::{Millis, Payload};
use ff_store::WorkerBackend;
use serde_json::{Value, json};

use crate::fixture::raw::{Answer, ask, get, post};
use crate::fixture::{Fixture, claim};

async fn submitted(server: &Fixture, body: &Value, status: u16) -> Value {
    let answer = ask(server.address, post("/v1/flows", body.to_string())).await;
    json_of(&answer, status)
}

fn json_of(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{}", answer.text());
    serde_json::from_str(answer.text()).unwrap()
}

async fn read(server: &Fixture, path: &str) -> Value {
    json_of(&ask(server.address, get(path)).await, 200)
}

#[tokio::test]
async fn a_flow_is_submitted_once_and_read_page_by_page() {
    let server = Fixture::start().await;
    let flow = json!({
        "idempotency_key": "nightly",
        "nodes": [{"name": "a"}, {"name": "b", "after": ["a"]}, {"name": "c", "after": ["a", "b"], "join": "any"}],
    });
    let answer = ask(server.address, post("/v1/flows", flow.to_string())).await;
    let made = json_of(&answer, 201);
    let id = made["id"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(&*format!("/v1/flows/{id}?namespace=default")));
    let again = submitted(&server, &flow, 200).await;
    assert_eq!(again, json!({"id": id, "new": false, "members": 3}));
    let first = read(&server, &format!("/v1/flows/{id}?limit=2")).await;
    assert_eq!((&first["next"], first["members"].as_array().unwrap().len()), (&json!(2), 2));
    assert_eq!(first["counts"]["left"], 3);
    let second = read(&server, &format!("/v1/flows/{id}?limit=2&cursor=2")).await;
    assert_eq!(second["members"][0]["after"], json!([0, 1]));
    assert_eq!(second["members"][0]["execution"]["state"], "waiting_children");
    let listed = read(&server, "/v1/flows").await;
    assert_eq!(listed["executions"][0]["id"], id);
    let work = read(&server, "/v1/executions").await;
    assert_eq!(work["executions"].as_array().unwrap().len(), 3, "the flow is not among its nodes");
}

#[tokio::test]
async fn a_wrong_graph_is_refused_with_the_node_at_fault() {
    let server = Fixture::start().await;
    for (nodes, says) in [
        (json!([]), "nodes is empty"),
        (json!([{"name": "a", "after": ["a"]}]), "node a"),
        (json!([{"name": "a"}, {"name": "b", "after": ["a"], "quorum": 2}]), "node b"),
        (json!([{"name": "a"}, {"name": "b", "after": ["nobody"]}]), "nobody"),
    ] {
        let body = json!({ "nodes": nodes }).to_string();
        let problem =
            ask(server.address, post("/v1/flows", body)).await.problem(400, "invalid_argument");
        assert!(problem.detail.contains(says), "{}", problem.detail);
    }
    let one_too_many = vec![json!({"name": "n"}); 10_001];
    let body = json!({ "nodes": one_too_many }).to_string();
    ask(server.address, post("/v1/flows", body)).await.problem(400, "invalid_json");
    assert_eq!(read(&server, "/v1/flows").await["executions"], json!([]));
}

#[tokio::test]
async fn a_cancel_says_what_has_not_ended_and_an_upstream_is_read_by_name() {
    let server = Fixture::start().await;
    let nodes = json!([{"name": "a"}, {"name": "b", "after": ["a"]}]);
    let made = submitted(&server, &json!({ "nodes": nodes }), 201).await;
    let id = made["id"].as_str().unwrap();
    let take = async || {
        let claimed = server.store.claim(claim(), Millis::ZERO).await.unwrap();
        claimed.assignments.into_iter().next().unwrap()
    };
    let a = take().await;
    let complete = Complete { hold: a.hold(), result: Payload::json("42") };
    server.store.complete(vec![complete]).await.unwrap().remove(0).unwrap();
    let b = take().await;
    let path = |node: &str| format!("/v1/executions/{}/upstreams/{node}", b.execution);
    let result = ask(server.address, get(&path("a"))).await;
    assert_eq!((result.text(), result.header("content-type")), ("42", Some("application/json")));
    ask(server.address, get(&path("b"))).await.problem(404, "not_found");
    let cancel = post(&format!("/v1/flows/{id}/cancel"), r#"{"held": "finish"}"#);
    let answer = json_of(&ask(server.address, cancel).await, 200);
    assert_eq!((&answer["status"], &answer["left"]), (&json!("cancelling"), &json!(1)));
    assert_eq!(answer["pending"][0]["name"], "b");
    let cancel = post(&format!("/v1/flows/{id}/cancel"), "{}");
    let answer = json_of(&ask(server.address, cancel).await, 200);
    assert_eq!((&answer["status"], &answer["left"]), (&json!("cancelled"), &json!(0)));
    let plain = server.submitted().await;
    ask(server.address, get(&format!("/v1/flows/{plain}"))).await.problem(404, "not_found");
}
