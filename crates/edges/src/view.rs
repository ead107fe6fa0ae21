//! Reads of the whole store through a server.

use std::time::{Duration, Instant};

use ff_testkit::wait;
use serde_json::Value;

use crate::api::{self, Request};
use crate::http::{Answer, Client};

/// Between two tries of a request that is not answered.
const PAUSE: Duration = Duration::from_millis(10);
/// How long a request is repeated until there is a final answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Sends a request until there is a final answer.
pub(crate) async fn send_until_final(client: Client, request: &Request) -> Answer {
    let (mut request, give_up) = (request.clone(), Instant::now() + TIMEOUT);
    loop {
        if let Some(answer) = client.ask(&request).await.filter(Answer::is_final) {
            return answer;
        }
        assert!(Instant::now() < give_up, "no answer to {request:?}");
        request = request.repeated();
        tokio::time::sleep(PAUSE).await;
    }
}

/// Sends a request that must succeed.
pub(crate) async fn must(client: Client, request: &Request) -> Value {
    let answer = send_until_final(client, request).await;
    assert!(answer.is_ok(), "{request:?}: {answer:?}");
    answer.body
}

/// All executions, as a listing shows them, of one state or of all.
pub(crate) async fn executions(client: Client, state: Option<&str>) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let state = state.map(|state| format!("&state={state}")).unwrap_or_default();
        let path = format!("/v1/executions?limit=1000{state}{cursor}");
        let mut page = must(client, &api::get(path)).await;
        all.append(page["executions"].as_array_mut().unwrap());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return all,
        }
    }
}

/// One execution.
pub(crate) async fn execution(client: Client, id: &str) -> Value {
    must(client, &api::get(format!("/v1/executions/{id}"))).await
}

/// One execution of a namespace.
pub(crate) async fn execution_of(client: Client, namespace: &str, id: &str) -> Value {
    must(client, &api::get(format!("/v1/executions/{id}")).within(namespace)).await
}

pub(crate) async fn quota(client: Client, name: &str) -> Value {
    must(client, &api::get(format!("/v1/quotas/{name}"))).await
}

/// The tokens of a budget: used and reserved.
pub(crate) async fn budget(client: Client, name: &str) -> (u64, u64) {
    let view = must(client, &api::get(format!("/v1/budgets/{name}"))).await;
    let tokens = &view["dimensions"]["tokens"];
    (tokens["used"].as_u64().unwrap(), tokens["reserved"].as_u64().unwrap())
}

/// The tokens that an execution has used, as a view of it says.
pub(crate) fn used(execution: &Value) -> u64 {
    execution["used"]["tokens"].as_u64().unwrap_or(0)
}

/// Whether an execution has come to an end.
pub(crate) fn has_ended(execution: &Value) -> bool {
    let state = execution["state"].as_str().unwrap_or_default();
    matches!(state, "completed" | "failed" | "cancelled" | "expired")
}

/// Whether an execution is held or reserved.
pub(crate) fn is_held(execution: &Value) -> bool {
    !execution["lease"].is_null() || !execution["grant"].is_null()
}

/// Reads until `seen` finds nothing wrong, and answers how long that took; what is wrong at the
/// end of `limit` fails the harness.
pub(crate) async fn settles(
    limit: Duration,
    what: &str,
    mut seen: impl AsyncFnMut() -> Result<(), String>,
) -> Duration {
    let began = Instant::now();
    let mut wrong = String::new();
    let settled = wait::until_async(limit, async || match seen().await {
        Ok(()) => Some(()),
        Err(why) => {
            wrong = why;
            None
        }
    });
    if settled.await.is_none() {
        panic!("{what}, after {limit:?}: {wrong}");
    }
    began.elapsed()
}
