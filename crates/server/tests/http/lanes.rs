//! Lanes are paused, drained, limited, resumed and given defaults; waiting claims get the work of a lane that is resumed.

use ff_core::Millis;
use ff_store::{ClientBackend, WorkerBackend};
use serde_json::{Value, json};

use crate::fixture::raw::{Answer, ask, get, patch, post};
use crate::fixture::{Fixture, claim};

async fn order(server: &Fixture, lane: &str, body: &Value) -> Value {
    let answer = send(server, lane, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

async fn send(server: &Fixture, lane: &str, body: &Value) -> Answer {
    ask(server.address, patch(&format!("/v1/lanes/{lane}"), body.to_string())).await
}

async fn see(server: &Fixture, path: &str) -> Value {
    let answer = ask(server.address, get(path)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn the_settings_of_a_lane_are_shown() {
    let server = Fixture::start().await;
    let untouched = see(&server, "/v1/lanes/default").await;
    assert_eq!((&untouched["paused"], &untouched["since"]), (&json!(false), &Value::Null));
    assert_eq!(see(&server, "/v1/lanes").await, json!({"lanes": [], "next": null}));

    let paused = order(&server, "b", &json!({"paused": true, "reason": "upgrade"})).await;
    assert_eq!((&paused["lane"], &paused["paused"]), (&json!("b"), &json!(true)));
    assert_eq!((&paused["draining"], &paused["reason"]), (&json!(false), &json!("upgrade")));
    assert_eq!(see(&server, "/v1/lanes/b").await, paused);
    server.clock.advance(Millis::from_secs(1));
    let both = order(&server, "b", &json!({"draining": true, "reason": "for good"})).await;
    assert_eq!((&both["paused"], &both["draining"]), (&json!(true), &json!(true)));
    assert_ne!(both["since"], paused["since"]);

    order(&server, "a", &json!({"draining": true})).await;
    let page = see(&server, "/v1/lanes?limit=1").await;
    assert_eq!((&page["lanes"][0]["lane"], &page["next"]), (&json!("a"), &json!("a")));
    let page = see(&server, "/v1/lanes?limit=2&cursor=a&configured=true").await;
    assert_eq!((&page["lanes"], &page["next"]), (&json!([both]), &Value::Null));
    assert_eq!(see(&server, "/v1/lanes?namespace=rival").await["lanes"], json!([]));

    let open = order(&server, "b", &json!({"paused": false, "draining": false})).await;
    assert_eq!((&open["paused"], &open["reason"]), (&json!(false), &Value::Null));
}

#[tokio::test]
async fn a_limit_is_set_kept_and_removed() {
    let server = Fixture::start().await;
    let limited = order(&server, "default", &json!({"max_active": 1})).await;
    assert_eq!((&limited["max_active"], &limited["paused"]), (&json!(1), &json!(false)));
    let (first, second) = (server.submitted().await, server.submitted().await);
    let client = server.client();
    let claimed = client.claim(claim(), Millis::ZERO).await.unwrap();
    assert_eq!(claimed.assignments[0].execution, first);
    assert_eq!(client.claim(claim(), Millis::ZERO).await.unwrap().assignments.len(), 0);
    let explained = see(&server, &format!("/v1/executions/{second}/explain")).await;
    let reason = json!({"reason": "lane_limit", "lane": "default", "active": 1, "max_active": 1});
    assert_eq!(explained["reasons"], json!([reason]));
    assert_eq!(see(&server, "/v1/quotas").await["quotas"], json!([]));
    let kept = order(&server, "default", &json!({"draining": true})).await;
    assert_eq!(kept["max_active"], 1);
    let open = order(&server, "default", &json!({"max_active": null, "draining": false})).await;
    assert_eq!(open["max_active"], Value::Null);
    let claimed = client.claim(claim(), Millis::ZERO).await.unwrap();
    assert_eq!(claimed.assignments[0].execution, second);
    for bad in [json!(0), json!(1_000_001)] {
        let answer = send(&server, "default", &json!({"max_active": bad})).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
}

async fn policy_of(server: &Fixture, body: &Value) -> Value {
    let made = ask(server.address, post("/v1/executions", body.to_string())).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let made: Value = serde_json::from_slice(&made.body).unwrap();
    let path = format!("/v1/executions/{}", made["id"].as_str().unwrap());
    see(server, &path).await["policy"].clone()
}

#[tokio::test]
async fn defaults_are_set_kept_and_removed() {
    let server = Fixture::start().await;
    let built_in = policy_of(&server, &json!({})).await;
    let defaults =
        json!({"max_attempts": 5, "backoff": {"growth": "fixed"}, "deadline_ms": 60_000});
    let set = order(&server, "default", &json!({"policy": defaults})).await;
    assert_eq!(set["policy"], defaults);
    assert_eq!(see(&server, "/v1/lanes/default").await, set);
    assert_eq!(see(&server, "/v1/lanes?configured=true").await["lanes"], json!([set]));
    let silent = policy_of(&server, &json!({})).await;
    assert_eq!((&silent["max_attempts"], &silent["deadline_ms"]), (&json!(5), &json!(60_000)));
    assert_eq!(silent["backoff"]["growth"], "fixed");
    let own = json!({"policy": {"max_attempts": 1, "deadline_ms": null}});
    let own = policy_of(&server, &own).await;
    assert_eq!((&own["max_attempts"], &own["deadline_ms"]), (&json!(1), &Value::Null));
    let kept = order(&server, "default", &json!({"paused": true})).await;
    assert_eq!(kept["policy"], defaults);
    let none = json!({"retry_on": null, "attempt_timeout_ms": null});
    assert_eq!(order(&server, "default", &json!({"policy": none})).await["policy"], none);
    let gone = order(&server, "default", &json!({"policy": null})).await;
    assert_eq!(gone["policy"], Value::Null);
    assert_eq!(policy_of(&server, &json!({})).await, built_in);
}

#[tokio::test]
async fn bad_defaults_are_refused_by_name() {
    let server = Fixture::start().await;
    for (policy, field) in [
        (json!({"max_attempts": 0}), "max_attempts"),
        (json!({"lease_ttl_ms": 99}), "lease_ttl"),
        (json!({"deadline_ms": 0}), "deadline"),
    ] {
        let refused = send(&server, "default", &json!({"policy": policy})).await;
        assert_eq!(refused.problem(400, "invalid_argument").field.as_deref(), Some(field));
    }
    let linear = json!({"backoff": {"growth": "linear"}});
    for policy in [json!([3]), json!({"x": 1}), json!({"backoff": null}), json!(1), linear] {
        let refused = send(&server, "default", &json!({"policy": policy})).await;
        refused.problem(400, "invalid_json");
    }
    assert_eq!(see(&server, "/v1/lanes").await["lanes"], json!([]));
}

#[tokio::test]
async fn a_claim_and_a_grant_say_why_nothing_is_dispatched() {
    let server = Fixture::start().await;
    server.submitted().await;
    order(&server, "default", &json!({"paused": true})).await;
    let request = ff_store::mint::request_id();
    let body = json!({"instance": "ada-1", "request": request.to_string()});
    let claimed = ask(server.address, post("/v1/workers/ada/claim", body.to_string())).await;
    assert_eq!(
        serde_json::from_slice::<Value>(&claimed.body).unwrap(),
        json!({"assignments": [], "again": false, "withheld": "lane_paused"})
    );
    let body = json!({"instance": "ada-1", "request": request.to_string(), "ttl_ms": 1_000});
    let granted = ask(server.address, post("/v1/workers/ada/grant", body.to_string())).await;
    assert_eq!(
        serde_json::from_slice::<Value>(&granted.body).unwrap(),
        json!({"offer": null, "again": false, "withheld": "lane_paused"})
    );
}

#[tokio::test]
async fn a_draining_lane_accepts_no_new_work_and_dispatches_what_it_has() {
    let server = Fixture::start().await;
    let id = server.submitted().await;
    order(&server, "default", &json!({"draining": true})).await;
    let refused = ask(server.address, post("/v1/executions", "{}")).await;
    refused.problem(409, "lane_draining");
    let elsewhere = ask(server.address, post("/v1/executions", r#"{"lane":"other"}"#)).await;
    assert_eq!(elsewhere.status, 201);
    let claimed = server.client().claim(claim(), Millis::ZERO).await.unwrap();
    assert_eq!(claimed.assignments[0].execution, id);
    order(&server, "default", &json!({"draining": false})).await;
    assert_eq!(ask(server.address, post("/v1/executions", "{}")).await.status, 201);
}

#[tokio::test]
async fn an_order_that_is_not_understood_is_refused() {
    let server = Fixture::start().await;
    for body in [json!({"pause": true}), json!({"paused": "yes"}), json!([true])] {
        send(&server, "default", &body).await.problem(400, "invalid_json");
    }
    let long = json!({"paused": true, "reason": "x".repeat(4_097)});
    send(&server, "default", &long).await.problem(413, "too_large");
    let refused = send(&server, "a%20b", &json!({"paused": true})).await;
    assert_eq!(refused.problem(400, "invalid_argument").field.as_deref(), Some("lane"));
    ask(server.address, get("/v1/lanes/-")).await.problem(400, "invalid_argument");
    let lanes = server.store.lanes(&ff_core::Namespace::default(), None, 10).await.unwrap();
    assert_eq!(lanes, [], "a refused order has changed nothing");
}
