//! Stopping: running requests may finish, waiting ones are answered, new ones are not accepted.

use std::time::{Duration, Instant};

use ff_core::Millis;
use ff_core::machine::Claimed;
use ff_server::Config;
use ff_store::WorkerBackend;
use tokio::net::TcpStream;

use crate::fixture::raw::{Wire, ask, get};
use crate::fixture::{Fixture, claim, config, within};

/// Stops the server; how long it took.
async fn stopped(server: &mut Fixture) -> Duration {
    let since = Instant::now();
    server.shutdown.cancel();
    within(server.running.take().unwrap()).await.unwrap();
    since.elapsed()
}

const SOON: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_waiting_claim_is_answered_at_once() {
    let mut server = Fixture::start().await;
    let client = server.client();
    let waiting = tokio::spawn(async move { client.claim(claim(), Millis::from_secs(50)).await });
    server.until_waiting(1).await;
    let took = stopped(&mut server).await;
    assert_eq!(waiting.await.unwrap().unwrap(), Claimed::default());
    assert!(took < SOON, "{took:?}");
}

#[tokio::test]
async fn a_request_that_has_begun_is_finished() {
    let mut server = Fixture::start().await;
    let mut wire = Wire::open(server.address).await;
    let head = "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                expect: 100-continue\r\ncontent-length: 2\r\n\r\n";
    wire.send(head).await;
    assert_eq!(wire.answer().await.unwrap().status, 100, "its handler runs");
    server.shutdown.cancel();
    wire.send("{}").await;
    let answer = wire.answer().await.unwrap();
    assert_eq!(answer.status, 201);
    wire.closed().await;
    assert!(stopped(&mut server).await < SOON);
}

#[tokio::test]
async fn idle_and_silent_connections_are_ended_at_once() {
    let mut server = Fixture::start().await;
    let mut silent = Wire::open(server.address).await;
    let mut idle = Wire::open(server.address).await;
    idle.send(get("/healthz")).await;
    assert_eq!(idle.answer().await.unwrap().status, 200);
    let took = stopped(&mut server).await;
    assert!(took < SOON, "{took:?}");
    idle.closed().await;
    silent.closed().await;
}

#[tokio::test]
async fn the_listener_is_closed_while_requests_finish() {
    let mut server = Fixture::start().await;
    let mut wire = Wire::open(server.address).await;
    wire.send("POST /v1/executions HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n").await;
    wire.send("content-type: application/json\r\ncontent-length: 2\r\n\r\n").await;
    assert_eq!(wire.answer().await.unwrap().status, 100);
    server.shutdown.cancel();
    within(async {
        while TcpStream::connect(server.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    wire.send("{}").await;
    assert_eq!(wire.answer().await.unwrap().status, 201);
    stopped(&mut server).await;
}

#[tokio::test]
async fn a_request_that_does_not_finish_in_time_is_cut_off() {
    let drain = Duration::from_millis(200);
    let mut server = Fixture::with(Config { drain, ..config() }).await;
    let mut wire = Wire::open(server.address).await;
    wire.send("POST /v1/executions HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n").await;
    wire.send("content-type: application/json\r\ncontent-length: 2\r\n\r\n").await;
    assert_eq!(wire.answer().await.unwrap().status, 100);
    let took = stopped(&mut server).await;
    assert!(took >= drain && took < drain + SOON, "{took:?}");
    wire.closed().await;
}

#[tokio::test]
async fn a_server_at_its_connection_cap_stops_too() {
    let mut server = Fixture::with(Config { connections: 1, ..config() }).await;
    assert_eq!(ask(server.address, get("/healthz")).await.status, 200);
    let _silent = Wire::open(server.address).await;
    assert!(stopped(&mut server).await < SOON);
}
