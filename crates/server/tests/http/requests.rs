//! A claim or grant that is sent again is recognised as the same call.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::fixture::raw::{ask, post};

async fn send(server: &Fixture, path: &str, body: &Value) -> Value {
    let answer = ask(server.address, post(path, body.to_string())).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn a_claim_sent_twice_gives_the_same_lease_and_takes_nothing_more() {
    let server = Fixture::start().await;
    for _ in 0..3 {
        server.submitted().await;
    }
    let request = ff_store::mint::request_id().to_string();
    let body = json!({"instance": "ada-1", "request": request, "max": 2});
    let first = send(&server, "/v1/workers/ada/claim", &body).await;
    let fences = |claimed: &Value| {
        let assignments = claimed["assignments"].as_array().unwrap();
        assignments.iter().map(|one| one["fence"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(fences(&first).len(), 2);
    let again = send(&server, "/v1/workers/ada/claim", &body).await;
    assert_eq!(fences(&again), fences(&first));
    let other = ff_store::mint::request_id().to_string();
    let body = json!({"instance": "ada-1", "request": other, "max": 8});
    let rest = send(&server, "/v1/workers/ada/claim", &body).await;
    assert_eq!(fences(&rest).len(), 1, "the other two are held once");
}

#[tokio::test]
async fn a_grant_sent_twice_reserves_one_execution() {
    let server = Fixture::start().await;
    for _ in 0..2 {
        server.submitted().await;
    }
    let request = ff_store::mint::request_id().to_string();
    let body = json!({"instance": "ada-1", "request": request, "ttl_ms": 10_000});
    let first = send(&server, "/v1/workers/ada/grant", &body).await;
    assert!(first["offer"]["execution"].is_string(), "{first}");
    let again = send(&server, "/v1/workers/ada/grant", &body).await;
    assert_eq!(again["offer"]["execution"], first["offer"]["execution"]);
}
