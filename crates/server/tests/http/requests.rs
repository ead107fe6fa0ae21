//! A claim or grant that is sent again is recognised as the same call. A path names the worker that calls.

use ff_core::machine::{ClaimGranted, Complete};
use ff_core::{Capabilities, Millis, Payload};
use ff_store::WorkerBackend;
use ff_store::roles::Registering;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use crate::fixture::raw::{ask, post};
use crate::fixture::{Fixture, claim, client_of, within};

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

/// The path of the request that a call sends; it gets no answer.
async fn sent<T>(listener: &TcpListener, call: impl Future<Output = T>) -> String {
    let first_line = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut text = String::new();
        while !text.contains("\r\n") {
            text.push(char::from(socket.read_u8().await.unwrap()));
        }
        text
    };
    let (line, _) = within(async { tokio::join!(first_line, call) }).await;
    line.split(['?', ' ']).nth(1).unwrap().to_owned()
}

/// A client may act for several workers.
#[tokio::test]
async fn a_path_names_the_worker_that_calls() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client_of(listener.local_addr().unwrap());
    let asked = claim();
    let (target, request) = (held.hold().target, held.fence.lease.request);
    let granted = ClaimGranted { target, request, worker: asked.worker.clone() };
    sent(&listener, client.claim_granted(granted)).await;
    let mut other = asked.worker.clone();
    other.id = "other".parse().unwrap();
    let registering = Registering {
        namespace: asked.namespace.clone(),
        worker: other,
        session: ff_store::mint::request_id(),
        lanes: vec![asked.lane],
        capabilities: Capabilities::NONE,
        ttl: Millis::from_secs(10),
    };
    let session = registering.session();
    sent(&listener, client.register(registering)).await;
    let complete = Complete { hold: held.hold(), result: Payload::default() };
    let own = &asked.worker.id;
    let path = sent(&listener, client.complete(vec![complete])).await;
    assert_eq!(path, format!("/v1/workers/{own}/complete"));
    let path = sent(&listener, client.on_own_connections().renew(vec![held.hold()])).await;
    assert_eq!(path, format!("/v1/workers/{own}/heartbeat"));
    assert_eq!(
        sent(&listener, client.hand_back(vec![held.hold()])).await,
        format!("/v1/workers/{own}/disconnect")
    );
    assert_eq!(sent(&listener, client.heartbeat(&session)).await, "/v1/workers/other/heartbeat");
    assert_eq!(sent(&listener, client.disconnect(&session)).await, "/v1/workers/other/disconnect");
}
