//! A server, called over HTTP.
#![cfg(feature = "http")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ff_server::{Config, Server};
use ff_store::SystemClock;
use flowfabric::prelude::*;

use crate::greet;

#[tokio::test]
async fn a_server_runs_tasks_for_workers_and_producers() {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let store = ff_backends::memory(Arc::new(SystemClock));
    let server = Server::bind(store, Config { listen, ..Config::default() }).await.unwrap();
    let (url, stop) = (format!("http://{}", server.address()), CancellationToken::new());
    let serving = tokio::spawn(server.run(stop.clone()));

    let ff = FlowFabric::open(url).await.unwrap();
    ff.worker().on("greet", greet).start().await.unwrap();
    let task: TaskHandle<String> = ff.task("greet", "world").send().await.unwrap().typed();
    assert_eq!(task.result().await.unwrap(), "hello, world");
    ff.close().await;
    stop.cancel();
    serving.await.unwrap();
}

#[tokio::test]
async fn an_unreachable_server_is_a_retryable_error() {
    let ff = FlowFabric::open("http://127.0.0.1:9").await.unwrap();
    let error = ff.task("greet", "nobody").send().await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("server_unreachable", true));
}
