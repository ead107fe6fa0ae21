//! The requests that harnesses send, as any program could write them.
//!
//! This is the one place that knows paths and fields of the HTTP interface.

use std::time::{SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use serde_json::{Value, json};

/// A request, which may be sent any number of times.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// What it is for, in a word.
    pub(crate) route: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Null without a body.
    pub(crate) body: Value,
}

/// The limits that work names.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Limits<'a> {
    pub(crate) budgets: &'a [&'a str],
    pub(crate) quotas: &'a [&'a str],
    /// The tokens that it is expected to use.
    pub(crate) tokens: u64,
}

/// A claimed execution.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) execution: String,
    pub(crate) kind: String,
    pub(crate) lane: String,
    pub(crate) fence: Value,
    /// The store's time of the claim, in milliseconds.
    pub(crate) claimed: u64,
    /// The store's time at which the lease ends unless it is renewed.
    pub(crate) until: u64,
}

impl Request {
    fn new(
        route: &'static str,
        method: &'static str,
        path: impl Into<String>,
        body: Value,
    ) -> Request {
        Request { route, method, path: path.into(), body }
    }

    fn post(route: &'static str, path: impl Into<String>, body: Value) -> Request {
        Request::new(route, "POST", path, body)
    }

    /// The same request in a namespace.
    pub(crate) fn within(mut self, namespace: &str) -> Request {
        let join = if self.path.contains('?') { '&' } else { '?' };
        self.path = format!("{}{join}namespace={namespace}", self.path);
        self
    }

    /// The same request, marked as a repetition.
    pub(crate) fn repeated(mut self) -> Request {
        if matches!(self.route, "claim" | "grant") {
            self.body["retry"] = true.into();
        }
        self
    }
}

/// The id of a call: a random UUID.
fn call_name(rng: &mut Rng) -> String {
    let text = format!("{:032x}", rng.u128(..));
    let (a, b, c, d) = (&text[..8], &text[8..12], &text[13..16], &text[17..20]);
    format!("{a}-{b}-4{c}-8{d}-{}", &text[20..])
}

pub(crate) fn get(path: impl Into<String>) -> Request {
    Request::new("get", "GET", path, Value::Null)
}

/// Work under a unique key, so that it can be submitted again.
pub(crate) fn submit(
    key: &str,
    lane: &str,
    kind: &str,
    limits: Limits<'_>,
    policy: Value,
) -> Request {
    let mut named = json!({"budgets": limits.budgets, "quotas": limits.quotas});
    if limits.tokens > 0 {
        named["estimate"] = json!({"tokens": limits.tokens});
    }
    let body = json!({
        "idempotency_key": key, "lane": lane, "kind": kind, "input": key,
        "limits": named, "policy": policy,
    });
    Request::post("submit", "/v1/executions", body)
}

/// Several submits at once.
pub(crate) fn submit_batch(submits: impl IntoIterator<Item = Request>) -> Request {
    let executions: Vec<_> = submits.into_iter().map(|submit| submit.body).collect();
    Request::post("submit-batch", "/v1/executions/batch", json!({"executions": executions}))
}

pub(crate) fn claim(rng: &mut Rng, worker: &str, lane: &str, max: u16, wait_ms: u64) -> Request {
    let request = call_name(rng);
    let body = json!({
        "instance": worker, "lane": lane, "max": max, "wait_ms": wait_ms, "request": request,
    });
    Request::post("claim", format!("/v1/workers/{worker}/claim"), body)
}

pub(crate) fn grant(rng: &mut Rng, worker: &str, lane: &str, ttl_ms: u64) -> Request {
    let request = call_name(rng);
    let body = json!({"instance": worker, "lane": lane, "ttl_ms": ttl_ms, "request": request});
    Request::post("grant", format!("/v1/workers/{worker}/grant"), body)
}

/// Registers a worker that serves a lane.
pub(crate) fn register(rng: &mut Rng, worker: &str, lane: &str) -> Request {
    let session = call_name(rng);
    let body = json!({"instance": worker, "session": session, "lanes": [lane], "ttl_ms": 60_000});
    Request::post("register", format!("/v1/workers/{worker}/register"), body)
}

/// Claims what a grant has reserved; `offer` is the answer to the grant.
pub(crate) fn claim_granted(worker: &str, offer: &Value) -> Request {
    let body = json!({
        "instance": worker, "execution": offer["execution"], "request": offer["request"],
    });
    Request::post("claim-granted", format!("/v1/workers/{worker}/claim-granted"), body)
}

/// A call of the holder of `held`.
fn of_holder(route: &'static str, held: &Held, mut body: Value) -> Request {
    body["fence"] = held.fence.clone();
    Request::post(route, format!("/v1/executions/{}/{route}", held.execution), body)
}

pub(crate) fn complete(held: &Held) -> Request {
    of_holder("complete", held, json!({"result": 1}))
}

pub(crate) fn fail(held: &Held, retryable: bool) -> Request {
    of_holder("fail", held, json!({"retryable": retryable, "message": "as asked"}))
}

pub(crate) fn delay(held: &Held, delay_ms: u64) -> Request {
    of_holder("delay", held, json!({"delay_ms": delay_ms}))
}

pub(crate) fn cancel_held(held: &Held) -> Request {
    of_holder("cancel-held", held, json!({}))
}

pub(crate) fn progress(held: &Held, percent: u8) -> Request {
    of_holder("progress", held, json!({"percent": percent}))
}

pub(crate) fn usage(held: &Held, key: &str, tokens: u64) -> Request {
    of_holder("usage", held, json!({"key": key, "amounts": {"tokens": tokens}}))
}

fn of_leases(route: &'static str, path: &str, worker: &str, held: &Held) -> Request {
    let lease = json!({"execution": held.execution, "fence": held.fence});
    let body = json!({"leases": [lease]});
    Request::post(route, format!("/v1/workers/{worker}/{path}"), body)
}

pub(crate) fn heartbeat(worker: &str, held: &Held) -> Request {
    of_leases("heartbeat", "heartbeat", worker, held)
}

pub(crate) fn hand_back(worker: &str, held: &Held) -> Request {
    of_leases("hand-back", "disconnect", worker, held)
}

/// A call of an operator on an execution.
fn of_operator(route: &'static str, execution: &str, body: Value) -> Request {
    Request::post(route, format!("/v1/executions/{execution}/{route}"), body)
}

pub(crate) fn cancel(execution: &str) -> Request {
    of_operator("cancel", execution, json!({"grace_ms": 0}))
}

pub(crate) fn replay(execution: &str, run: u64) -> Request {
    of_operator("replay", execution, json!({"run": run}))
}

pub(crate) fn priority(execution: &str, priority: u16) -> Request {
    of_operator("priority", execution, json!({"priority": priority}))
}

pub(crate) fn tags(execution: &str, value: &str) -> Request {
    of_operator("tags", execution, json!({"set": {"edge": value}}))
}

pub(crate) fn revoke(execution: &str, lease: &str) -> Request {
    of_operator("revoke", execution, json!({"lease": lease}))
}

/// A quota of `starts` in a window of milliseconds, of `active` at once, or both.
pub(crate) fn put_quota(name: &str, starts: Option<(u32, u64)>, active: Option<u32>) -> Request {
    let mut body = json!({});
    if let Some((requests, window)) = starts {
        body["max_requests"] = requests.into();
        body["window_ms"] = window.into();
    }
    if let Some(active) = active {
        body["max_active"] = active.into();
    }
    Request::new("put-quota", "PUT", format!("/v1/quotas/{name}"), body)
}

pub(crate) fn put_budget(name: &str, tokens: u64) -> Request {
    let body = json!({"dimensions": {"tokens": {"hard": tokens}}});
    Request::new("put-budget", "PUT", format!("/v1/budgets/{name}"), body)
}

pub(crate) fn reset_budget(name: &str) -> Request {
    Request::post("reset-budget", format!("/v1/budgets/{name}/reset"), json!({}))
}

/// Changes a lane; `body` has the changes.
pub(crate) fn patch_lane(lane: &str, body: Value) -> Request {
    Request::new("lane", "PATCH", format!("/v1/lanes/{lane}"), body)
}

/// The executions that a claim was given.
pub(crate) fn assignments(body: &Value) -> Vec<Held> {
    let listed = body["assignments"].as_array().map(Vec::as_slice).unwrap_or_default();
    listed.iter().map(Held::read).collect()
}

impl Held {
    fn read(assignment: &Value) -> Held {
        let text = |name: &str| assignment[name].as_str().unwrap_or_default().to_owned();
        let until = moment(&assignment["until"]);
        let lease_ms = assignment["lease_ttl_ms"].as_u64().expect("an assignment has a lease");
        Held {
            execution: text("execution"),
            kind: text("kind"),
            lane: text("lane"),
            fence: assignment["fence"].clone(),
            // A repeated claim is answered with its current time; its lease began before that.
            claimed: moment(&assignment["claimed"]).min(until - lease_ms),
            until,
        }
    }
}

/// A timestamp of the store, in milliseconds.
pub(crate) fn moment(text: &Value) -> u64 {
    let parsed = text.as_str().and_then(|text| text.parse::<jiff::Timestamp>().ok());
    let parsed = parsed.unwrap_or_else(|| panic!("not a moment: {text}"));
    u64::try_from(parsed.as_millisecond()).unwrap_or(0)
}

/// The time of this machine, whose clock the stores on it use, in milliseconds.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_call_is_a_random_uuid() {
        let mut rng = Rng::with_seed(1);
        let (one, other) = (call_name(&mut rng), call_name(&mut rng));
        assert_ne!(one, other);
        let parts: Vec<_> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{one}");
    }
}
