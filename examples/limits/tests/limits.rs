//! The examples as their reader runs them: by themselves, and against a server.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_server::{Config, Server};
use tokio::process::Command;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long an example may take before the test gives up on it.
const TIMEOUT: Duration = Duration::from_secs(60);

const TOKEN_BUDGET: &str = env!("CARGO_BIN_EXE_token-budget");
const PROVIDER_LIMITS: &str = env!("CARGO_BIN_EXE_provider-limits");

/// What an example says when it runs to its good end.
async fn said(program: &str, url: Option<&str>) -> String {
    let mut command = Command::new(program);
    command.env_remove("FF_URL").env_remove("FF_TOKEN").kill_on_drop(true);
    command.envs(url.map(|url| ("FF_URL", url)));
    let output = timeout(TIMEOUT, command.output()).await.unwrap().unwrap();
    let (out, errors) = (String::from_utf8(output.stdout).unwrap(), output.stderr);
    assert!(output.status.success(), "{out}{}", String::from_utf8_lossy(&errors));
    out
}

/// A server over a store in memory, and the services beside it.
async fn serve() -> (String, Supervisor) {
    let store = ff_backends::open("memory:").await.unwrap();
    let config = Config { listen: "127.0.0.1:0".parse().unwrap(), ..Config::default() };
    let server = Server::bind(store.clone(), config).await.unwrap();
    let url = format!("http://{}", server.address());
    tokio::spawn(server.run(CancellationToken::new()));
    (url, Services::new(store).start())
}

fn tells_of_the_budget(said: &str) {
    assert!(said.contains("The execution waits for budget llm: "), "{said}");
    assert!(said.contains("in all: 1200 tokens"), "{said}");
}

fn tells_of_both_providers(said: &str) {
    assert!(
        said.contains("A was asked 24 times") && said.contains("B was asked 12 times"),
        "{said}"
    );
}

#[tokio::test]
async fn a_token_budget_blocks_and_is_reset() {
    tells_of_the_budget(&said(TOKEN_BUDGET, None).await);
}

#[tokio::test]
async fn the_limits_of_two_providers_hold() {
    tells_of_both_providers(&said(PROVIDER_LIMITS, None).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn both_run_against_a_server() {
    let (url, services) = serve().await;
    let (budget, providers) =
        tokio::join!(said(TOKEN_BUDGET, Some(&url)), said(PROVIDER_LIMITS, Some(&url)));
    services.stop().await;
    tells_of_the_budget(&budget);
    tells_of_both_providers(&providers);
}
