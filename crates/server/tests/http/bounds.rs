//! Bounds: sizes, numbers of headers, connections and waiting claims.

use std::time::Duration;

use ff_core::Millis;
use ff_server::Config;
use ff_store::WorkerBackend;

use crate::fixture::raw::{LONG, Wire, ask, get, post, post_with};
use crate::fixture::{Fixture, claim, config, within};

/// Ten mebibytes of a JSON string.
fn huge() -> Vec<u8> {
    let mut body = b"{\"input\":\"".to_vec();
    body.resize(10 << 20, b'x');
    body.extend(b"\"}");
    body
}

#[tokio::test]
async fn a_body_of_ten_mebibytes_is_refused_and_the_connection_ended() {
    let server = Fixture::start().await;
    for path in ["/v1/executions", "/v1/executions/batch", "/v1/workers/w/claim"] {
        let mut wire = Wire::open(server.address).await;
        // A client that sends before it reads may finish sending, or it would never see the answer.
        assert!(wire.send(post(path, huge())).await);
        let answer = wire.answer().await.unwrap();
        answer.problem(413, "too_large");
        assert_eq!(answer.header("connection"), Some("close"));
        wire.closed().await;
    }
}

#[tokio::test]
async fn a_body_that_grows_past_its_limit_is_refused_while_it_arrives() {
    let server = Fixture::start().await;
    let mut wire = Wire::open(server.address).await;
    let head = "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                transfer-encoding: chunked\r\n\r\n";
    wire.send(head).await;
    let chunk = [b"100000\r\n", &vec![b' '; 1 << 20][..], b"\r\n"].concat();
    for _ in 0..10 {
        if !wire.send(&chunk).await {
            break;
        }
    }
    wire.answer().await.unwrap().problem(413, "too_large");
    wire.closed().await;
}

#[tokio::test]
async fn a_client_that_expects_100_is_refused_before_it_sends() {
    let server = Fixture::start().await;
    let mut wire = Wire::open(server.address).await;
    let head = "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                expect: 100-continue\r\n";
    wire.send(format!("{head}content-length: 10485760\r\n\r\n")).await;
    wire.answer().await.unwrap().problem(413, "too_large");
    let mut wire = Wire::open(server.address).await;
    wire.send(format!("{head}content-length: 2\r\n\r\n")).await;
    assert_eq!(wire.answer().await.unwrap().status, 100);
    wire.send("{}").await;
    assert_eq!(wire.answer().await.unwrap().status, 201);
}

#[tokio::test]
async fn a_payload_of_a_mebibyte_is_accepted_and_one_byte_more_is_not() {
    let server = Fixture::start().await;
    let body = |len: usize| format!(r#"{{"input":"{}"}}"#, "x".repeat(len - 2));
    assert_eq!(ask(server.address, post("/v1/executions", body(1 << 20))).await.status, 201);
    let refused = ask(server.address, post("/v1/executions", body((1 << 20) + 1))).await;
    assert_eq!(refused.problem(413, "too_large").field.as_deref(), Some("input"));
}

#[tokio::test]
async fn huge_headers_are_refused() {
    let server = Fixture::start().await;
    let with = |header: String| post_with("/v1/executions", &header, "{}");
    let long = |len: usize| format!("x: {}\r\n", LONG.repeat(len / LONG.len()));
    let answer = ask(server.address, with(long(40 << 10))).await;
    answer.problem(431, "headers_too_large");
    let many: String = (0..100).map(|n| format!("x-{n}: 1\r\n")).collect();
    ask(server.address, with(many)).await.problem(431, "headers_too_large");
    // Past the bounds of the HTTP reader there is no request to answer: a bare status, and the end.
    for header in [long(100 << 10), (0..1_000).map(|n| format!("x-{n}: 1\r\n")).collect()] {
        let mut wire = Wire::open(server.address).await;
        wire.send(with(header)).await;
        assert_eq!(wire.answer().await.unwrap().status, 431);
        wire.closed().await;
    }
    assert_eq!(ask(server.address, get("/healthz")).await.status, 200);
}

#[tokio::test]
async fn a_long_path_is_refused() {
    let server = Fixture::start().await;
    let answer =
        ask(server.address, get(&format!("/v1/executions?cursor={}", LONG.repeat(300)))).await;
    answer.problem(414, "uri_too_long");
    let answer = ask(server.address, get(&format!("/{}", LONG.repeat(2_000)))).await;
    assert!([414, 431].contains(&answer.status), "{answer:?}");
}

#[tokio::test]
async fn bytes_that_are_not_http_are_refused_and_the_connection_ended() {
    let server = Fixture::start().await;
    for request in [
        "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}x",
        "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2x\r\n\r\n{}",
        "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nhost : ff\r\n\r\n",
        "GET /healthz HTTP/9.9\r\n\r\n",
        "GET  /healthz\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}TLS\r\n\r\n",
        "hello\r\n\r\n",
    ] {
        let mut wire = Wire::open(server.address).await;
        wire.send(request).await;
        assert_eq!(wire.answer().await.unwrap().status, 400, "{request}");
        wire.closed().await;
    }
    assert_eq!(ask(server.address, get("/healthz")).await.status, 200);
}

#[tokio::test]
async fn a_body_with_bad_chunks_is_refused_and_the_connection_ended() {
    let server = Fixture::start().await;
    let head = "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                transfer-encoding: chunked\r\n\r\n";
    for chunks in ["zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}0\r\n\r\n", "fffffffffffffffff\r\n{}"] {
        let mut wire = Wire::open(server.address).await;
        wire.send(format!("{head}{chunks}")).await;
        wire.answer().await.unwrap().problem(400, "invalid_json");
        wire.closed().await;
    }
}

#[tokio::test]
async fn a_length_next_to_chunks_hides_no_second_request() {
    let server = Fixture::start().await;
    for lengths in [
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
    ] {
        let mut wire = Wire::open(server.address).await;
        let head =
            "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        wire.send(format!("{head}{lengths}\r\n2\r\n{{}}\r\n0\r\n\r\n{}", get("/healthz"))).await;
        assert_eq!(wire.answer().await.unwrap().status, 201, "the chunks are the body");
        // What follows the chunks is the next request, or the connection is ended.
        assert!(wire.answer().await.is_none_or(|next| next.text() == "ok\n"));
    }
}

#[tokio::test]
async fn clients_past_the_cap_wait_until_another_leaves() {
    let server = Fixture::with(Config { connections: 2, ..config() }).await;
    let mut first = Wire::open(server.address).await;
    let mut second = Wire::open(server.address).await;
    for wire in [&mut first, &mut second] {
        wire.send(get("/healthz")).await;
        assert_eq!(wire.answer().await.unwrap().status, 200);
    }
    let mut third = Wire::open(server.address).await;
    third.send(get("/healthz")).await;
    let early = tokio::time::timeout(Duration::from_millis(100), third.answer()).await;
    assert!(early.is_err(), "it is past the cap");
    drop(first);
    assert_eq!(third.answer().await.unwrap().status, 200);
}

#[tokio::test]
async fn claims_past_the_cap_are_refused_with_retry_after() {
    let server = Fixture::with(Config { waiting_claims: 1, ..config() }).await;
    let client = server.client();
    let waiting = tokio::spawn(async move { client.claim(claim(), Millis::from_secs(50)).await });
    server.until_waiting(1).await;
    let body = |wait| {
        let request = ff_store::mint::request_id();
        format!(r#"{{"instance":"b","request":"{request}","wait_ms":{wait}}}"#)
    };
    let refused = ask(server.address, post("/v1/workers/b/claim", body(1_000))).await;
    assert!(refused.problem(429, "overloaded").retryable);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let at_once = ask(server.address, post("/v1/workers/b/claim", body(0))).await;
    assert_eq!(at_once.status, 204, "one that does not wait is not counted");
    let id = server.submitted().await;
    let claimed = within(waiting).await.unwrap().unwrap();
    assert_eq!(claimed.assignments[0].execution, id);
    let refused = server.client().claim(claim(), Millis::new(60_001)).await.unwrap_err();
    assert_eq!(refused.code(), "invalid_argument");
}
