//! How many requests of one token a server serves at once: those it works on, and those that wait.

use std::num::NonZeroU32;

use ff_core::credential::Role;
use ff_server::{Config, Token};

use crate::fixture::raw::{Answer, Wire, ask};
use crate::fixture::{Fixture, TOKEN, config, within};

/// A server that works on one request of a token, while one more waits.
async fn server() -> Fixture {
    let (one, token) = (NonZeroU32::new(1), Some(Token::new(TOKEN).unwrap()));
    Fixture::with(Config { token, token_requests: one, token_waits: one, ..config() }).await
}

fn get(token: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
}

/// The first answer to a request that has this status.
async fn until(server: &Fixture, request: &str, status: u16) -> Answer {
    within(async {
        loop {
            let answer = ask(server.address, request).await;
            if answer.status == status {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

const LIST: &str = "/v1/executions";

/// The body of the first request never comes, so that the server works on it until its client goes away.
#[tokio::test]
async fn a_token_with_as_many_requests_as_it_may_have_is_turned_away() {
    let server = server().await;
    let busy = server.issued("busy", Role::Producer, &["default"]).await;
    let other = server.issued("other", Role::Producer, &["default"]).await;
    let unsent = format!(
        "POST {LIST} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {busy}\r\n\
         content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    );
    let mut first = Wire::open(server.address).await;
    first.send(&unsent).await;
    let answer = until(&server, &get(&busy, LIST), 429).await;
    let problem = answer.problem(429, "rate_limited");
    assert!(problem.retryable);
    assert!(problem.detail.contains("the token busy has 1 requests at once"), "{problem:?}");
    assert_eq!(answer.header("retry-after"), Some("1"));
    ask(server.address, &unsent).await.problem(429, "rate_limited");
    assert_eq!(server.call_as(&other, "GET", LIST).await.status, 200);
    assert_eq!(server.call_as(TOKEN, "GET", LIST).await.status, 200, "root has no limit");
    drop(first);
    until(&server, &get(&busy, LIST), 200).await;
}

#[tokio::test]
async fn a_request_that_waits_is_counted_among_those_that_wait() {
    let server = server().await;
    let patient = server.issued("patient", Role::Producer, &["default"]).await;
    let other = server.issued("other", Role::Producer, &["default"]).await;
    let id = server.submitted().await;
    let waiting = format!("{LIST}/{id}?wait_ms=30000");
    let mut first = Wire::open(server.address).await;
    first.send(get(&patient, &waiting)).await;
    server.until_waiting_for(id, 1).await;
    for _ in 0..2 {
        assert_eq!(server.call_as(&patient, "GET", LIST).await.status, 200, "it may do more");
    }
    let answer = ask(server.address, get(&patient, &waiting)).await;
    let problem = answer.problem(429, "rate_limited");
    assert!(problem.detail.contains("1 requests of the token patient wait at once"), "{problem:?}");
    assert_eq!(answer.header("retry-after"), Some("1"));
    let mut second = Wire::open(server.address).await;
    second.send(get(&other, &waiting)).await;
    server.until_waiting_for(id, 2).await;
    drop((first, second));
    server.until_waiting_for(id, 0).await;
    let mut again = Wire::open(server.address).await;
    again.send(get(&patient, &waiting)).await;
    server.until_waiting_for(id, 1).await;
}

#[tokio::test]
async fn a_claim_that_waits_and_a_worker_that_waits_for_stops_count_together() {
    let server = server().await;
    let worker = server.issued("worker", Role::Worker, &["default"]).await;
    let request = "00000000-0000-4000-8000-000000000001";
    let body = format!(r#"{{"instance":"ada-1","wait_ms":30000,"request":"{request}"}}"#);
    let claim = format!(
        "POST /v1/workers/ada/claim HTTP/1.1\r\nhost: localhost\r\n\
         authorization: Bearer {worker}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut first = Wire::open(server.address).await;
    first.send(&claim).await;
    server.until_waiting(1).await;
    let stops = get(&worker, "/v1/stops?instance=ada-1&wait_ms=30000");
    ask(server.address, &stops).await.problem(429, "rate_limited");
    drop(first);
    server.until_waiting(0).await;
    until(&server, &get(&worker, "/v1/stops?instance=ada-1&wait_ms=1"), 200).await;
}

#[tokio::test]
async fn a_stream_is_counted_as_long_as_its_client_reads_it() {
    let server = server().await;
    let viewer = server.issued("viewer", Role::Reader, &["default"]).await;
    let held = server.held().await;
    let path = format!("{LIST}/{}/stream", held.execution);
    let events = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\
         authorization: Bearer {viewer}\r\n\r\n"
    );
    let mut first = Wire::open(server.address).await;
    first.send(&events).await;
    first.until("text/event-stream").await;
    ask(server.address, &events).await.problem(429, "rate_limited");
    assert_eq!(server.call_as(&viewer, "GET", &path).await.status, 200, "a page does not wait");
    drop(first);
    until(&server, &get(&viewer, &format!("{path}?wait_ms=1")), 200).await;
}
