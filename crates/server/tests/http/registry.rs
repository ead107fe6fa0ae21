//! Workers register, send heartbeats and leave; clients list them.

use ff_core::Millis;
use ff_store::mint;
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::fixture::raw::{Answer, ask, get, post};

/// A registration of `instance`, in words.
fn register(instance: &str, session: &str) -> Value {
    json!({
        "instance": instance, "session": session, "lanes": ["b", "a"],
        "capabilities": ["python", "gpu"], "ttl_ms": 5_000,
    })
}

async fn call(server: &Fixture, path: &str, body: &Value) -> Answer {
    ask(server.address, post(&format!("/v1/workers/ada/{path}"), body.to_string())).await
}

async fn workers(server: &Fixture, query: &str) -> Value {
    let answer = ask(server.address, get(&format!("/v1/workers{query}"))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

fn read(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn a_worker_registers_sends_heartbeats_and_leaves() {
    let server = Fixture::start().await;
    let session = mint::request_id().to_string();
    let named = json!({"instance": "ada-1", "session": session});
    let answer = call(&server, "register", &register("ada-1", &session)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let first = read(&answer);
    let page = workers(&server, "").await;
    let worker = &page["workers"][0];
    assert_eq!((&worker["instance"], &worker["worker"]), (&json!("ada-1"), &json!("ada")));
    assert_eq!(worker["lanes"], json!(["a", "b"]));
    assert_eq!(worker["capabilities"], json!(["gpu", "python"]));
    assert_eq!(worker["registered"], worker["last_seen"]);
    assert_eq!((&worker["until"], &page["next"]), (&first["until"], &Value::Null));

    server.clock.advance(Millis::from_secs(3));
    let answer = call(&server, "heartbeat", &named).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let worker = &workers(&server, "").await["workers"][0];
    assert_eq!(worker["until"], read(&answer)["until"]);
    assert_ne!(worker["registered"], worker["last_seen"]);

    assert_eq!(call(&server, "disconnect", &named).await.status, 204);
    assert_eq!(workers(&server, "").await, json!({"workers": [], "next": null}));
    assert_eq!(call(&server, "disconnect", &named).await.status, 204, "it has left already");
    call(&server, "heartbeat", &named).await.problem(409, "not_registered");
}

#[tokio::test]
async fn a_live_instance_id_is_refused_to_others_and_a_silent_one_taken_over() {
    let server = Fixture::start().await;
    let [first, second] = [(); 2].map(|()| mint::request_id().to_string());
    assert_eq!(call(&server, "register", &register("ada-1", &first)).await.status, 200);
    assert_eq!(call(&server, "register", &register("ada-1", &first)).await.status, 200, "again");
    server.clock.advance(Millis::new(4_999));
    let refused = call(&server, "register", &register("ada-1", &second)).await;
    let problem = refused.problem(409, "worker_alive");
    assert!(problem.detail.contains("in 1ms"), "{}", problem.detail);
    server.clock.advance(Millis::new(1));
    assert_eq!(call(&server, "register", &register("ada-1", &second)).await.status, 200);
    let lapsed = json!({"instance": "ada-1", "session": first});
    call(&server, "heartbeat", &lapsed).await.problem(409, "not_registered");
    assert_eq!(call(&server, "disconnect", &lapsed).await.status, 204);
    assert_eq!(workers(&server, "").await["workers"][0]["session"], second, "it stays");
}

#[tokio::test]
async fn workers_are_listed_page_by_page_and_by_namespace() {
    let server = Fixture::start().await;
    for instance in ["c", "a", "b"] {
        let session = mint::request_id().to_string();
        assert_eq!(call(&server, "register", &register(instance, &session)).await.status, 200);
    }
    let page = workers(&server, "?limit=2").await;
    assert_eq!((&page["workers"][0]["instance"], &page["next"]), (&json!("a"), &json!("b")));
    let page = workers(&server, "?limit=2&cursor=b").await;
    assert_eq!((&page["workers"][0]["instance"], &page["next"]), (&json!("c"), &Value::Null));
    assert_eq!(workers(&server, "?namespace=rival").await["workers"], json!([]));
    for query in ["limit=x", "cursor=a%20b", "after=a"] {
        let answer = ask(server.address, get(&format!("/v1/workers?{query}"))).await;
        answer.problem(400, "invalid_query");
    }
    let answer = ask(server.address, get("/v1/workers?limit=0")).await;
    assert_eq!(answer.problem(400, "invalid_argument").field.as_deref(), Some("limit"));
}

#[tokio::test]
async fn a_registration_that_breaks_the_rules_is_refused() {
    let server = Fixture::start().await;
    let session = mint::request_id().to_string();
    let change = |field: &str, value: Value| {
        let mut body = register("ada-1", &session);
        body[field] = value;
        body
    };
    for (field, value) in [
        ("ttl_ms", json!(999)),
        ("ttl_ms", json!(86_400_001)),
        ("lanes", json!([])),
        ("session", json!("x")),
        ("capabilities", json!(["a,b"])),
    ] {
        let answer = call(&server, "register", &change(field, value)).await;
        answer.problem(400, "invalid_argument");
    }
    let many: Vec<_> = (0..65).map(|lane| format!("lane-{lane}")).collect();
    call(&server, "register", &change("lanes", json!(many))).await.problem(413, "too_large");
    for (field, value) in [("lanes", json!(["a b"])), ("ttl", json!(5)), ("instance", json!("-"))] {
        call(&server, "register", &change(field, value)).await.problem(400, "invalid_json");
    }
    let both = json!({"leases": [], "instance": "ada-1", "session": session});
    for body in [both, json!({}), json!({"instance": "ada-1"}), json!({"session": session})] {
        for path in ["heartbeat", "disconnect"] {
            let problem = call(&server, path, &body).await.problem(400, "invalid_json");
            assert!(problem.detail.contains("give leases, or instance and session"), "{problem:?}");
        }
    }
}
