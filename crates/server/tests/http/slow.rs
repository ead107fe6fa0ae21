//! Clients that drip, stay silent, do not read or disconnect cost only themselves.

use std::time::{Duration, Instant};

use bytes::Bytes;
use ff_core::machine::Submit;
use ff_core::{Millis, Payload};
use ff_server::Config;
use ff_store::{ClientBackend, WorkerBackend};

use crate::fixture::raw::{Wire, ask, get};
use crate::fixture::{Fixture, claim, config, within};

/// The timeouts of the server here.
const TIMEOUT: Duration = Duration::from_millis(400);

async fn impatient() -> Fixture {
    Fixture::with(Config { header_timeout: TIMEOUT, body_timeout: TIMEOUT, ..config() }).await
}

/// Sends `bytes` one at a time until they are sent or the server ends the connection.
async fn drip(wire: &mut Wire, bytes: &[u8]) {
    let mut beat = tokio::time::interval(TIMEOUT / 20);
    for byte in bytes {
        beat.tick().await;
        if !wire.send([*byte]).await {
            return;
        }
    }
}

/// The server ends the connection when its timeout has passed, and serves others until then.
async fn ends_while_others_are_served(server: &Fixture, slow: impl Future<Output = ()>) {
    let started = Instant::now();
    let mut served = 0;
    let others = async {
        loop {
            assert_eq!(ask(server.address, get("/healthz")).await.status, 200);
            served += 1;
        }
    };
    tokio::select! {
        () = within(slow) => {}
        () = others => {}
    }
    let took = started.elapsed();
    assert!(took >= TIMEOUT && took < TIMEOUT * 20, "it took {took:?}");
    assert!(served > 5, "{served} others were served");
}

#[tokio::test]
async fn a_silent_client_is_dropped() {
    let server = impatient().await;
    ends_while_others_are_served(&server, async {
        Wire::open(server.address).await.closed().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_falls_silent_after_a_request_is_dropped() {
    let server = impatient().await;
    ends_while_others_are_served(&server, async {
        let mut wire = Wire::open(server.address).await;
        wire.send(get("/healthz")).await;
        assert_eq!(wire.answer().await.unwrap().status, 200);
        wire.closed().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_drips_its_headers_is_dropped() {
    let server = impatient().await;
    ends_while_others_are_served(&server, async {
        let mut wire = Wire::open(server.address).await;
        drip(&mut wire, format!("GET /healthz HTTP/1.1\r\nhost: {}", "x".repeat(100)).as_bytes())
            .await;
        wire.closed().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_drips_its_next_request_is_dropped() {
    let server = impatient().await;
    ends_while_others_are_served(&server, async {
        let mut wire = Wire::open(server.address).await;
        wire.send(get("/healthz")).await;
        assert_eq!(wire.answer().await.unwrap().status, 200);
        drip(&mut wire, &[b'x'; 100]).await;
        wire.closed().await;
    })
    .await;
}

#[tokio::test]
async fn a_client_that_drips_its_body_gets_an_error_and_is_dropped() {
    let server = impatient().await;
    let head =
        "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    for framing in ["content-length: 1000\r\n\r\n", "transfer-encoding: chunked\r\n\r\n3e8\r\n"] {
        ends_while_others_are_served(&server, async {
            let mut wire = Wire::open(server.address).await;
            wire.send(format!("{head}{framing}")).await;
            drip(&mut wire, &[b' '; 25]).await;
            let answer = wire.answer().await.unwrap();
            assert!(answer.problem(408, "request_timeout").retryable);
            assert_eq!(answer.header("connection"), Some("close"));
            wire.closed().await;
        })
        .await;
    }
}

#[tokio::test]
async fn a_client_that_reads_no_answers_is_dropped() {
    let config = Config { body_timeout: TIMEOUT, connections: 1, ..config() };
    let server = Fixture::with(config).await;
    let id = server.store.new_id(&Default::default(), None);
    let input = Payload::bytes(Bytes::from(vec![7; 1 << 20]));
    server.store.submit(vec![Submit { input, ..Submit::new(id) }]).await.unwrap();
    let mut deaf = Wire::open(server.address).await;
    // More than any buffer in between holds.
    deaf.send(get(&format!("/v1/executions/{id}/input")).repeat(100)).await;
    assert_eq!(ask(server.address, get("/healthz")).await.status, 200, "its slot is free again");
}

#[tokio::test]
async fn a_client_that_disconnects_while_it_waits_is_not_given_work() {
    let server = Fixture::start().await;
    for _ in 0..50 {
        let mut wire = Wire::open(server.address).await;
        let request = ff_store::mint::request_id();
        let body = format!(r#"{{"instance":"a","request":"{request}","wait_ms":50000}}"#);
        wire.send(crate::fixture::raw::post("/v1/workers/a/claim", body)).await;
        server.until_waiting(1).await;
        drop(wire);
        server.until_waiting(0).await;
        let held = server.held().await;
        assert_eq!((held.fence.attempt, held.fence.epoch), (0, 1), "no other claim had it");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_disconnects_as_work_appears_burns_no_attempt() {
    let server = Fixture::start().await;
    for round in 0..200 {
        let client = server.client();
        let leaving =
            tokio::spawn(async move { client.claim(claim(), Millis::from_secs(50)).await });
        server.until_waiting(1).await;
        let id = server.submitted().await;
        for _ in 0..round % 20 {
            tokio::task::yield_now().await;
        }
        leaving.abort();
        let claimed = match leaving.await {
            Ok(claimed) => claimed.unwrap(),
            Err(_) => within(server.store.claim(claim(), Millis::from_secs(50))).await.unwrap(),
        };
        assert_eq!(
            (claimed.assignments[0].execution, claimed.assignments[0].fence.attempt),
            (id, 0)
        );
        let described = server.described(id).await;
        assert_eq!((described.run.failures, described.run.reclaims), (0, 0));
        server.until_waiting(0).await;
    }
}

#[tokio::test]
async fn a_request_that_the_store_does_not_answer_times_out() {
    let config = Config { request_timeout: TIMEOUT, ..config() };
    let server = Fixture::with(config).await;
    let request = ff_store::mint::request_id();
    // A wait longer than a request may take stands for a store that hangs.
    let body = format!(r#"{{"instance":"a","request":"{request}","wait_ms":50000}}"#);
    let answer = ask(server.address, crate::fixture::raw::post("/v1/workers/a/claim", body)).await;
    assert!(answer.problem(503, "store_unavailable").retryable);
    assert_eq!(server.waiting(), 0);
}
