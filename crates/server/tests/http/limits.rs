//! Budgets and quotas over HTTP: created, read, changed, reset, removed.

use ff_core::Millis;
use ff_core::machine::Withheld;
use ff_store::WorkerBackend;
use serde_json::{Value, json};

use crate::fixture::raw::{Answer, ask, get, post, send};
use crate::fixture::{Fixture, claim, within};

async fn put(server: &Fixture, path: &str, body: &Value) -> Answer {
    ask(server.address, send("PUT", &format!("/v1/{path}"), body.to_string())).await
}

async fn set(server: &Fixture, path: &str, body: &Value) -> Value {
    let answer = put(server, path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

async fn see(server: &Fixture, path: &str) -> Value {
    let answer = ask(server.address, get(&format!("/v1/{path}"))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

async fn call(server: &Fixture, method: &str, path: &str) -> Answer {
    let request = format!("{method} /v1/{path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    ask(server.address, request).await
}

async fn reset(server: &Fixture, path: &str) -> Answer {
    ask(server.address, post(&format!("/v1/{path}"), "{}")).await
}

/// Submits work that is limited like this.
async fn submit(server: &Fixture, limits: &Value) -> String {
    let body = json!({"limits": limits}).to_string();
    let answer = ask(server.address, post("/v1/executions", body)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let view: Value = serde_json::from_slice(&answer.body).unwrap();
    view["id"].as_str().unwrap().to_owned()
}

fn tokens(hard: u64) -> Value {
    json!({"dimensions": {"tokens": {"hard": hard}}})
}

#[tokio::test]
async fn a_budget_is_made_changed_reset_and_removed() {
    let server = Fixture::start().await;
    for method in ["GET", "DELETE"] {
        call(&server, method, "budgets/team").await.problem(404, "not_found");
    }
    let missing = reset(&server, "budgets/team/reset").await.problem(404, "not_found");
    assert!(missing.detail.contains("no such budget"), "{}", missing.detail);
    let body = json!({
        "dimensions": {"tokens": {"hard": 100, "soft": 80}, "usd": {"soft": 5}},
        "period_ms": 60_000, "on_breach": "cancel",
    });
    let made = set(&server, "budgets/team", &body).await;
    assert_eq!((&made["budget"], &made["on_breach"]), (&json!("team"), &json!("cancel")));
    assert_eq!(
        made["dimensions"],
        json!({
            "tokens": {"soft": 80, "hard": 100, "used": 0, "reserved": 0, "state": "open"},
            "usd": {"soft": 5, "hard": null, "used": 0, "reserved": 0, "state": "open"},
        })
    );
    assert_eq!(see(&server, "budgets/team").await, made);
    assert_eq!(set(&server, "budgets/team", &body).await, made, "the same again");

    server.clock.advance(Millis::from_secs(1));
    let changed = set(&server, "budgets/team", &tokens(7)).await;
    assert_eq!((&changed["on_breach"], &changed["resets"]), (&json!("block"), &Value::Null));
    assert_eq!(changed["dimensions"].as_object().unwrap().len(), 1);
    assert_eq!(changed["since"], made["since"]);
    let reset = reset(&server, "budgets/team/reset").await;
    assert_eq!(reset.status, 200, "{}", reset.text());
    let reset: Value = serde_json::from_slice(&reset.body).unwrap();
    assert_ne!(reset["since"], made["since"]);

    let gone = call(&server, "DELETE", "budgets/team").await;
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    call(&server, "GET", "budgets/team").await.problem(404, "not_found");
}

#[tokio::test]
async fn a_quota_is_made_changed_and_removed() {
    let server = Fixture::start().await;
    for method in ["GET", "DELETE"] {
        let problem = call(&server, method, "quotas/api").await.problem(404, "not_found");
        assert!(problem.detail.contains("no such quota"), "{}", problem.detail);
    }
    let made = set(&server, "quotas/api", &json!({"max_requests": 3})).await;
    assert_eq!((&made["quota"], &made["window_ms"]), (&json!("api"), &json!(60_000)));
    assert_eq!((&made["max_active"], &made["jitter_ms"]), (&Value::Null, &json!(0)));
    assert_eq!(see(&server, "quotas/api").await, made);
    let body = json!({"max_requests": 5, "window_ms": 1_000, "max_active": 2, "jitter_ms": 50});
    let changed = set(&server, "quotas/api", &body).await;
    for (field, value) in body.as_object().unwrap() {
        assert_eq!(changed[field], *value, "{field}");
    }
    let counts = ["active", "admitted"].map(|field| changed[field].as_u64());
    assert_eq!(counts, [Some(0); 2]);
    assert_eq!(call(&server, "DELETE", "quotas/api").await.status, 204);
    call(&server, "DELETE", "quotas/api").await.problem(404, "not_found");
}

#[tokio::test]
async fn both_are_listed_page_by_page_and_by_namespace() {
    let server = Fixture::start().await;
    for (what, body) in [("budgets", tokens(1)), ("quotas", json!({"max_active": 1}))] {
        let word = what.strip_suffix('s').unwrap();
        assert_eq!(see(&server, what).await, json!({what: [], "next": null}));
        for name in ["c", "a", "b"] {
            set(&server, &format!("{what}/{name}"), &body).await;
        }
        let page = see(&server, &format!("{what}?limit=2")).await;
        assert_eq!((&page[what][0][word], &page["next"]), (&json!("a"), &json!("b")));
        let page = see(&server, &format!("{what}?limit=2&cursor=b")).await;
        assert_eq!((&page[what][0][word], &page["next"]), (&json!("c"), &Value::Null));
        assert_eq!(see(&server, &format!("{what}?namespace=rival")).await[what], json!([]));
        let elsewhere = format!("{what}/a?namespace=rival");
        for method in ["GET", "DELETE"] {
            call(&server, method, &elsewhere).await.problem(404, "not_found");
        }
        for query in ["limit=x", "limit=-1", "cursor=a%20b", "after=a", "cursor=a&cursor=b"] {
            let answer = ask(server.address, get(&format!("/v1/{what}?{query}"))).await;
            answer.problem(400, "invalid_query");
        }
        for query in ["limit=0", "limit=1001"] {
            let answer = ask(server.address, get(&format!("/v1/{what}?{query}"))).await;
            let problem = answer.problem(400, "invalid_argument");
            assert_eq!(problem.field.as_deref(), Some("limit"));
        }
    }
    reset(&server, "budgets/a/reset?namespace=rival").await.problem(404, "not_found");
}

#[tokio::test]
async fn limits_that_are_not_understood_are_refused() {
    let server = Fixture::start().await;
    for bad in [
        json!({}),
        json!({"dimensions": []}),
        json!({"dimensions": {"tokens": 5}}),
        json!({"dimensions": {"tokens": null}}),
        json!({"dimensions": {"tokens": [5, 7]}}),
        json!({"dimensions": {"tokens": {"limit": 5}}}),
        json!({"dimensions": {"tokens": {"hard": -1}}}),
        json!({"dimensions": {"tokens": {"hard": 1.5}}}),
        json!({"dimensions": {"tokens": {"hard": "5"}}}),
        json!({"dimensions": {"a b": {"hard": 5}}}),
        json!({"dimensions": {"": {"hard": 5}}}),
        json!({"dimensions": {"tokens": {}}, "period": 5}),
        json!({"dimensions": {"tokens": {}}, "period_ms": -1}),
        json!({"dimensions": {"tokens": {}}, "on_breach": 7}),
        json!({"dimensions": {"tokens": {}}, "on_breach": "explode"}),
    ] {
        put(&server, "budgets/b", &bad).await.problem(400, "invalid_json");
    }
    for text in [
        r#"{"dimensions":{"t":{"hard":18446744073709551616}}}"#,
        r#"{"dimensions":{"t":{"hard":1e400}}}"#,
        r#"{"dimensions":{"t":{},"t":{}}}"#,
        r#"{"dimensions":{"t":{}},"dimensions":{"t":{}}}"#,
    ] {
        let answer = ask(server.address, send("PUT", "/v1/budgets/b", text)).await;
        answer.problem(400, "invalid_json");
    }
    for bad in [
        json!({"max_requests": -1}),
        json!({"max_requests": 4_294_967_296u64}),
        json!({"max_requests": "3"}),
        json!({"max_requests": 1.5}),
        json!({"requests": 3}),
        json!([3]),
    ] {
        put(&server, "quotas/q", &bad).await.problem(400, "invalid_json");
    }
    for name in ["a%20b", "-", "%2e%2e"] {
        for (what, body) in [("budgets", tokens(1)), ("quotas", json!({"max_active": 1}))] {
            let refused = put(&server, &format!("{what}/{name}"), &body).await;
            let problem = refused.problem(400, "invalid_argument");
            assert_eq!(problem.field.as_deref(), Some("name"));
        }
    }
    put(&server, &format!("quotas/{}", "q".repeat(65)), &json!({"max_active": 1}))
        .await
        .problem(413, "too_large");
    assert_eq!(see(&server, "budgets").await["budgets"], json!([]), "nothing has changed");
    assert_eq!(see(&server, "quotas").await["quotas"], json!([]), "nothing has changed");
}

#[tokio::test]
async fn limits_out_of_bounds_are_refused_by_name() {
    let server = Fixture::start().await;
    let huge = 9_007_199_254_740_993u64;
    for (bad, field) in [
        (json!({"dimensions": {}}), "dimensions"),
        (tokens(huge), "dimensions"),
        (tokens(u64::MAX), "dimensions"),
        (json!({"dimensions": {"tokens": {"soft": huge}}}), "dimensions"),
        (json!({"dimensions": {"tokens": {}}, "period_ms": 0}), "period"),
        (json!({"dimensions": {"tokens": {}}, "period_ms": 315_360_000_001u64}), "period"),
    ] {
        let problem = put(&server, "budgets/b", &bad).await.problem(400, "invalid_argument");
        assert_eq!(problem.field.as_deref(), Some(field), "{bad}");
    }
    let many: serde_json::Map<_, _> =
        (0..17).map(|n| (format!("d{n}"), json!({"hard": 1}))).collect();
    let refused = put(&server, "budgets/b", &json!({"dimensions": many})).await;
    assert_eq!(refused.problem(413, "too_large").field.as_deref(), Some("dimensions"));
    set(&server, "budgets/b", &tokens(9_007_199_254_740_992)).await;
    for (bad, field) in [
        (json!({}), "max_requests"),
        (json!({"window_ms": 5}), "max_requests"),
        (json!({"max_requests": 0}), "max_requests"),
        (json!({"max_requests": 1_000_001}), "max_requests"),
        (json!({"max_active": 0}), "max_active"),
        (json!({"max_requests": 1, "window_ms": 0}), "window"),
        (json!({"max_requests": 1, "window_ms": 315_360_000_001u64}), "window"),
        (json!({"max_requests": 1, "jitter_ms": 60_001}), "jitter"),
    ] {
        let problem = put(&server, "quotas/q", &bad).await.problem(400, "invalid_argument");
        assert_eq!(problem.field.as_deref(), Some(field), "{bad}");
    }
}

#[tokio::test]
async fn work_with_limits_that_break_the_rules_is_refused() {
    let server = Fixture::start().await;
    let nine: Vec<_> = (0..9).map(|n| format!("n{n}")).collect();
    let many: serde_json::Map<_, _> = (0..17).map(|n| (format!("d{n}"), json!(1))).collect();
    for (limits, status, code) in [
        (json!({"budgets": "team"}), 400, "invalid_json"),
        (json!({"budgets": ["a b"]}), 400, "invalid_json"),
        (json!({"budget": ["team"]}), 400, "invalid_json"),
        (json!([["team"]]), 400, "invalid_json"),
        (json!({"budgets": ["b"], "estimate": {"tokens": -1}}), 400, "invalid_json"),
        (json!({"budgets": ["b"], "estimate": {"a b": 1}}), 400, "invalid_json"),
        (json!({"estimate": {"tokens": 1}}), 400, "invalid_argument"),
        (json!({"budgets": ["b"], "estimate": {"tokens": u64::MAX}}), 400, "invalid_argument"),
        (json!({"budgets": ["b"], "estimate": many}), 413, "too_large"),
        (json!({"budgets": nine}), 413, "too_large"),
        (json!({"quotas": vec!["q"; 9]}), 413, "too_large"),
    ] {
        let body = json!({"limits": limits}).to_string();
        let answer = ask(server.address, post("/v1/executions", body)).await;
        answer.problem(status, code);
    }
    let id = submit(&server, &json!({"budgets": ["b", "b"], "quotas": ["q"]})).await;
    let view = see(&server, &format!("executions/{id}")).await;
    assert_eq!(view["limits"], json!({"budgets": ["b"], "quotas": ["q"], "estimate": {}}));
}

#[tokio::test]
async fn work_waits_for_a_budget_and_a_waiting_claim_gets_it_when_there_is_capacity() {
    let server = Fixture::start().await;
    set(&server, "budgets/team", &tokens(100)).await;
    let limits = json!({"budgets": ["team"], "estimate": {"tokens": 60}});
    let [first, second] = [submit(&server, &limits).await, submit(&server, &limits).await];
    let held = server.client().claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
    assert_eq!(held.execution.to_string(), first);
    let budget = see(&server, "budgets/team").await;
    assert_eq!(budget["dimensions"]["tokens"]["reserved"], 60);

    let client = server.client();
    let waiting = tokio::spawn(async move { client.claim(claim(), Millis::from_secs(50)).await });
    server.until_waiting(1).await;
    let view = see(&server, &format!("executions/{second}")).await;
    assert_eq!(view["state"], "rate_limited");
    assert_eq!(
        (&view["blocked"]["on"], &view["blocked"]["name"]),
        (&json!("budget"), &json!("team"))
    );
    let listed = see(&server, "executions?state=rate_limited").await;
    assert_eq!(listed["executions"][0]["id"], *second);
    let explained = see(&server, &format!("executions/{second}/explain")).await;
    assert_eq!(explained["reasons"][0]["reason"], "budget");
    let sentence = explained["explanation"].as_str().unwrap();
    assert!(sentence.contains("budget team: 60 of 100 tokens"), "{sentence}");

    set(&server, "budgets/team", &tokens(120)).await;
    let claimed = within(waiting).await.unwrap().unwrap();
    assert_eq!(claimed.assignments[0].execution.to_string(), second);
}

#[tokio::test]
async fn a_quota_says_what_it_has_admitted_and_when_the_next_one_may_start() {
    let server = Fixture::start().await;
    set(&server, "quotas/api", &json!({"max_requests": 1, "window_ms": 10_000})).await;
    let limits = json!({"quotas": ["api"]});
    let [first, second] = [submit(&server, &limits).await, submit(&server, &limits).await];
    let mut both = claim();
    both.max = 2;
    let claimed = server.client().claim(both, Millis::ZERO).await.unwrap();
    assert_eq!(claimed.assignments.len(), 1);
    assert_eq!(claimed.assignments[0].execution.to_string(), first);
    assert_ne!(claimed.withheld, Some(Withheld::LanePaused));
    let view = see(&server, &format!("executions/{second}")).await;
    assert_eq!(view["blocked"]["on"], json!("quota"));
    let quota = see(&server, "quotas/api").await;
    let counts = ["active", "admitted"].map(|field| quota[field].as_u64());
    assert_eq!(counts, [Some(1); 2]);
    let explained = see(&server, &format!("executions/{second}/explain")).await;
    let sentence = explained["explanation"].as_str().unwrap();
    assert!(sentence.contains("quota api: at most 1 start in any"), "{sentence}");
}

#[tokio::test]
async fn work_that_names_a_removed_limit_waits_until_it_exists_again() {
    let server = Fixture::start().await;
    set(&server, "budgets/team", &tokens(100)).await;
    assert_eq!(call(&server, "DELETE", "budgets/team").await.status, 204);
    let id = submit(&server, &json!({"budgets": ["team"]})).await;
    let nothing = server.client().claim(claim(), Millis::ZERO).await.unwrap();
    assert_eq!(nothing.assignments.len(), 0);
    let explained = see(&server, &format!("executions/{id}/explain")).await;
    let sentence = explained["explanation"].as_str().unwrap();
    assert!(sentence.contains("there is no such budget"), "{sentence}");
    // A budget of the same name in another namespace is another one.
    set(&server, "budgets/team?namespace=rival", &tokens(100)).await;
    assert_eq!(see(&server, &format!("executions/{id}")).await["state"], "rate_limited");
    set(&server, "budgets/team", &tokens(100)).await;
    let claimed = server.client().claim(claim(), Millis::ZERO).await.unwrap();
    assert_eq!(claimed.assignments[0].execution.to_string(), id);
}
