//! The worker as its reader runs it, in a process of its own, against a server.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use ff_api::client::{HttpClient, HttpOptions};
use ff_sdk::{Client, SdkError};
use ff_server::{Config, Server};
use rustix::process::{Pid, Signal, kill_process};
use std::sync::Arc;
use tokio::process::Command;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long anything may take before the test gives up on it.
const TIMEOUT: Duration = Duration::from_secs(60);

async fn greeting(client: &Client, name: &str) -> Result<String, SdkError> {
    let task = client.task("greet")?.lane("hello")?.input(name)?.send().await?;
    timeout(TIMEOUT, client.wait(task.execution)).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_greets_and_stops_when_told_so() {
    let store = ff_backends::open("memory:").await.unwrap();
    let config = Config { listen: "127.0.0.1:0".parse().unwrap(), ..Config::default() };
    let server = Server::bind(store, config).await.unwrap();
    let url = format!("http://{}", server.address());
    tokio::spawn(server.run(CancellationToken::new()));

    let mut worker = Command::new(env!("CARGO_BIN_EXE_ff-example-hello"));
    let worker = worker.env("FF_URL", &url).env_remove("FF_TOKEN").kill_on_drop(true);
    let mut worker = worker.spawn().unwrap();
    let client = Client::new(Arc::new(HttpClient::new(HttpOptions::new(&*url)).unwrap()));
    assert_eq!(greeting(&client, "world").await.unwrap(), "hello, world");
    match greeting(&client, "").await {
        Err(SdkError::Ended { reason, .. }) => assert_eq!(reason, "nobody to greet"),
        other => panic!("{other:?}"),
    }

    let pid = Pid::from_raw(worker.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let ended = timeout(TIMEOUT, worker.wait()).await.unwrap().unwrap();
    assert!(ended.success(), "{ended}");
}
