//! Waits for stops over HTTP.

use ff_core::bounds::END_WAIT_MAX;
use ff_core::machine::Cancel;
use ff_server::Config;
use ff_store::{ClientBackend, MaintenanceBackend};
use serde_json::Value;

use crate::fixture::raw::{Answer, Wire, ask, get};
use crate::fixture::{Fixture, claim, config, target, within};

fn stops(more: &str) -> String {
    get(&format!("/v1/stops?instance={}{more}", claim().worker.instance))
}

fn json(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_str(answer.text()).unwrap()
}

/// Where a worker begins to listen.
async fn cursor(server: &Fixture) -> String {
    let first = json(&ask(server.address, stops("&wait_ms=30000")).await);
    assert_eq!((&first["all"], &first["executions"]), (&true.into(), &Value::Array(vec![])));
    first["cursor"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_answer_comes_with_a_cancel() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let after = cursor(&server).await;
    let mut wire = Wire::open(server.address).await;
    wire.send(stops(&format!("&after={after}&wait_ms=30000"))).await;
    let cancel = Cancel { target: target(held.execution), grace: None, reason: None };
    server.store.cancel(cancel).await.unwrap();
    let news = json(&wire.answer().await.unwrap());
    assert_eq!(news["all"], false);
    assert_eq!(news["executions"], Value::from(vec![held.execution.to_string()]));
    assert_ne!(news["cursor"], after.as_str());
}

#[tokio::test]
async fn a_server_that_stops_answers_those_who_wait() {
    let mut server = Fixture::start().await;
    let after = cursor(&server).await;
    let mut wire = Wire::open(server.address).await;
    wire.send(stops(&format!("&after={after}&wait_ms=30000"))).await;
    within(async {
        while server.store.wakeups().stops().waiting() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    server.shutdown.cancel();
    let news = json(&wire.answer().await.unwrap());
    assert_eq!((&news["all"], &news["cursor"]), (&false.into(), &after.into()));
    within(server.running.take().unwrap()).await.unwrap();
}

#[tokio::test]
async fn what_no_worker_would_send_is_refused() {
    let server = Fixture::start().await;
    for (more, field) in
        [(format!("&wait_ms={}", END_WAIT_MAX.get() + 1), "wait_ms"), ("&after=7".into(), "after")]
    {
        let problem = ask(server.address, stops(&more)).await;
        assert_eq!(problem.problem(400, "invalid_argument").field.as_deref(), Some(field));
    }
    let nobody = get("/v1/stops?wait_ms=5");
    ask(server.address, nobody).await.problem(400, "invalid_query");
    let problem = ask(server.address, get("/v1/stops?instance=a:b")).await;
    problem.problem(400, "invalid_query");
}

#[tokio::test]
async fn more_workers_than_may_wait_are_refused() {
    let server = Fixture::with(Config { waiting_claims: 0, ..config() }).await;
    ask(server.address, stops("&wait_ms=5")).await.problem(429, "overloaded");
    json(&ask(server.address, stops("")).await);
}
