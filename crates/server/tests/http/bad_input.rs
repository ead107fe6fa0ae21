//! Requests that are wrong in other ways than their JSON. Nothing is a server error.

use ff_core::ExecutionId;
use ff_store::{ClientBackend, mint};

use crate::fixture::Fixture;
use crate::fixture::raw::{Answer, LONG, Wire, ask, get, post, send};

#[tokio::test]
async fn an_unknown_id_and_one_of_another_tenant_get_the_same_answer() {
    let server = Fixture::start().await;
    let anothers = server.submitted().await;
    let unknown = mint::execution_id(anothers.partition());
    let fence = format!(r#"{{"lease":"{}.0","epoch":1,"attempt":0}}"#, mint::request_id());
    let held = format!(r#"{{"fence":{fence}}}"#);
    let usage = format!(r#"{{"fence":{fence},"key":"k","amounts":{{"tokens":1}}}}"#);
    let lease = format!(r#"{{"lease":"{}.0"}}"#, mint::request_id());
    let calls: &[(&str, Option<&str>)] = &[
        ("", None),
        ("/input", None),
        ("/result", None),
        ("/attempts", None),
        ("/explain", None),
        ("/cancel", Some("{}")),
        ("/replay", Some(r#"{"run":0}"#)),
        ("/priority", Some(r#"{"priority":1}"#)),
        ("/tags", Some("{}")),
        ("/revoke", Some(&lease)),
        ("/complete", Some(&held)),
        ("/fail", Some(&held)),
        ("/delay", Some(&held)),
        ("/progress", Some(&held)),
        ("/usage", Some(&usage)),
        ("/cancel-held", Some(&held)),
    ];
    for (call, body) in calls {
        let ask = async |id: ExecutionId| {
            let path = format!("/v1/executions/{id}{call}?namespace=rival");
            let answer = match body {
                Some(body) => ask(server.address, post(&path, body)).await,
                None => ask(server.address, get(&path)).await,
            };
            let problem = answer.problem(404, "not_found");
            answer.text().replace(&problem.request_id, "")
        };
        assert_eq!(ask(anothers).await, ask(unknown).await, "{call}");
    }
}

#[tokio::test]
async fn ids_and_names_that_break_the_rules_are_refused() {
    let server = Fixture::start().await;
    let long = LONG.repeat(50);
    for id in ["7", "%00", "..%2f..", "%F0%9F%A6%80", &long, "018f0000-0000-7000-0000-000000000000"]
    {
        let answer = ask(server.address, get(&format!("/v1/executions/{id}"))).await;
        answer.problem(400, "invalid_argument");
    }
    for id in ["%ff", "%c3%28"] {
        for call in ["", "/result", "/attempts"] {
            let answer = ask(server.address, get(&format!("/v1/executions/{id}{call}"))).await;
            answer.problem(400, "invalid_argument");
        }
        ask(server.address, get(&format!("/errors/{id}"))).await.problem(400, "invalid_argument");
    }
    for worker in ["a%20b", "%2e%2e", "-a"] {
        let answer = ask(server.address, post(&format!("/v1/workers/{worker}/claim"), "{}")).await;
        assert_eq!(answer.problem(400, "invalid_argument").field.as_deref(), Some("worker"));
    }
    let long_name = format!("/v1/workers/{}/claim", "a".repeat(65));
    ask(server.address, post(&long_name, "{}")).await.problem(413, "too_large");
}

#[tokio::test]
async fn a_query_that_is_not_understood_is_refused() {
    let server = Fixture::start().await;
    let long = LONG.repeat(50);
    for query in [
        "namespaces=a",
        "namespace=a&namespace=b",
        "namespace=",
        "namespace=a%20b",
        "namespace=%ff",
        "limit=-1",
        "limit=x",
        "limit=99999999999999999999",
        "from=yesterday",
        &format!("{long}=1"),
        &format!("namespace={long}"),
        &format!("limit={long}"),
    ] {
        let answer = ask(server.address, get(&format!("/v1/executions?{query}"))).await;
        answer.problem(400, "invalid_query");
    }
    for (query, field) in
        [("limit=x", "limit"), ("from=yesterday", "from"), ("namespaces=a", "namespaces")]
    {
        let answer = ask(server.address, get(&format!("/v1/executions?{query}"))).await;
        assert_eq!(answer.problem(400, "invalid_query").field.as_deref(), Some(field));
    }
    for query in [
        "limit=0",
        "limit=1001",
        "state=asleep",
        "state=active&state=",
        "state=active&state=asleep",
        "tags=a",
        "tags=a%20b=1",
        "tags=",
    ] {
        let answer = ask(server.address, get(&format!("/v1/executions?{query}"))).await;
        answer.problem(400, "invalid_argument");
    }
}

#[tokio::test]
async fn of_a_query_only_the_state_may_be_given_twice() {
    let server = Fixture::start().await;
    let id = server.submitted().await.to_string();
    for (query, found) in [
        ("state=waiting&state=active", true),
        ("state=active&limit=5&state=completed,waiting", true),
        ("state=active&state=completed", false),
    ] {
        let answer = ask(server.address, get(&format!("/v1/executions?{query}"))).await;
        assert_eq!((answer.status, answer.text().contains(&id)), (200, found), "{query}");
    }
    for query in ["state=active&limit=1&limit=2", "lane=a&state=active&state=failed&lane=a"] {
        let answer = ask(server.address, get(&format!("/v1/executions?{query}"))).await;
        answer.problem(400, "invalid_query");
    }
}

#[tokio::test]
async fn a_cursor_that_no_page_gave_is_refused() {
    let server = Fixture::start().await;
    let good = "1018bcfe56800018bcfe5680070008000000000000002";
    for cursor in [
        "x",
        "",
        &good[1..],
        &good[..44],
        &format!("{good}0"),
        &good.to_uppercase(),
        &good.replacen('1', "2", 1),
        &LONG.repeat(20),
        "1ffffffffffff018bcfe5680070008000000000000002",
    ] {
        let answer = ask(server.address, get(&format!("/v1/executions?cursor={cursor}"))).await;
        assert_eq!(answer.problem(400, "invalid_argument").field.as_deref(), Some("cursor"));
    }
    assert_eq!(
        ask(server.address, get(&format!("/v1/executions?cursor={good}"))).await.status,
        200
    );
}

#[tokio::test]
async fn a_body_that_names_another_execution_than_the_path_is_refused() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let (id, other) = (held.execution, server.store.new_id(&held.namespace, None));
    let fence = format!(
        r#"{{"lease":"{}","epoch":{},"attempt":{}}}"#,
        held.fence.lease, held.fence.epoch, held.fence.attempt
    );
    let complete = |named| format!(r#"{{"execution":"{named}","fence":{fence}}}"#);
    let path = format!("/v1/executions/{id}/complete");
    let refused = ask(server.address, post(&path, complete(other))).await;
    assert_eq!(refused.problem(400, "invalid_argument").field.as_deref(), Some("execution"));
    let unnamed = format!(r#"{{"completions":[{{"fence":{fence}}}]}}"#);
    let refused = ask(server.address, post("/v1/workers/w/complete", unnamed)).await;
    refused.problem(400, "invalid_argument");
    assert_eq!(ask(server.address, post(&path, complete(id))).await.status, 200);
}

#[tokio::test]
async fn an_empty_batch_and_one_that_is_too_long_are_refused() {
    let server = Fixture::start().await;
    let hold = format!(
        r#"{{"execution":"{}","fence":{{"lease":"{}.0","epoch":1,"attempt":0}}}}"#,
        server.submitted().await,
        mint::request_id()
    );
    for (path, list, entry) in [
        ("/v1/executions/batch", "executions", "{}"),
        ("/v1/workers/w/complete", "completions", &hold),
        ("/v1/workers/w/heartbeat", "leases", &hold),
        ("/v1/workers/w/disconnect", "leases", &hold),
    ] {
        let body = |len| format!(r#"{{"{list}":[{}]}}"#, vec![entry; len].join(","));
        let long = ask(server.address, post(path, body(1_001))).await;
        assert_eq!(long.problem(400, "invalid_json").field.as_deref(), Some(list));
        assert_eq!(ask(server.address, post(path, body(1_000))).await.status, 200, "{path}");
        let empty = ask(server.address, post(path, body(0))).await;
        match list {
            // A worker without work has no leases to keep or to hand back.
            "leases" => assert_eq!(empty.status, 200),
            _ => drop(empty.problem(400, "invalid_argument")),
        }
    }
    let many = format!(r#"{{"executions":[{}]}}"#, vec!["{}"; 1_000_000].join(","));
    ask(server.address, post("/v1/executions/batch", many)).await.problem(400, "invalid_json");
}

#[tokio::test]
async fn an_unknown_path_is_not_found() {
    let server = Fixture::start().await;
    for path in [
        "/nowhere",
        "/v1",
        "/v1/executions/",
        "/v2/executions",
        "//",
        "/v1/executions/a/b/c",
        "/%00",
    ] {
        for request in [get(path).into_bytes(), post(path, "{}")] {
            ask(server.address, request).await.problem(404, "no_such_route");
        }
    }
    ask(server.address, get("/errors/nonsense")).await.problem(404, "no_such_route");
}

#[tokio::test]
async fn an_unknown_method_gets_the_known_ones() {
    let server = Fixture::start().await;
    for (method, path, allow) in [
        ("DELETE", "/v1/executions", "POST,GET,HEAD"),
        ("PUT", "/healthz", "GET,HEAD"),
        ("OPTIONS", "/v1/executions/batch", "POST"),
        ("TRACE", "/v1/workers/w/claim", "POST"),
        ("MADEUP", "/metrics", "GET,HEAD"),
        ("GET", "/v1/workers/w/claim", "POST"),
        ("POST", "/v1/workers", "GET,HEAD"),
        ("PUT", "/v1/lanes/l", "PATCH,GET,HEAD"),
        ("POST", "/v1/budgets/b", "PUT,DELETE,GET,HEAD"),
        ("GET", "/v1/budgets/b/reset", "POST"),
        ("PATCH", "/v1/quotas/q", "PUT,DELETE,GET,HEAD"),
    ] {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let answer = ask(server.address, request).await;
        answer.problem(405, "method_not_allowed");
        let mut allowed: Vec<_> =
            answer.header("allow").unwrap().split(',').map(str::trim).collect();
        let mut known: Vec<_> = allow.split(',').collect();
        allowed.sort_unstable();
        known.sort_unstable();
        assert_eq!(allowed, known, "{method} {path}");
    }
}

#[tokio::test]
async fn a_head_request_gets_the_headers_of_a_get() {
    let server = Fixture::start().await;
    let missing = format!("/v1/executions/{}", mint::execution_id(ff_core::Partition::ONLY));
    for (path, status) in [("/healthz", 200), ("/v1/executions", 200), (&missing, 404), ("/x", 404)]
    {
        let mut wire = Wire::open(server.address).await;
        for _ in 0..2 {
            wire.send(format!("HEAD {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
            let answer: Answer = wire.answer_to("HEAD").await.unwrap();
            assert_eq!(answer.status, status, "{path}");
            assert!(answer.header("x-request-id").is_some());
        }
    }
}

/// Whatever a body is, no route answers with a server error.
#[tokio::test]
async fn no_body_makes_any_route_fail() {
    let server = Fixture::start().await;
    let id = server.submitted().await.to_string();
    let deep = "[".repeat(10_000);
    for (path, item) in ff_server::openapi().paths.paths {
        let path = path.replace("{id}", if path.contains("workers") { "w" } else { &id });
        let path = path.replace("{lane}", "l").replace("{name}", "n").replace("{key}", "k");
        let methods = [("POST", item.post), ("PUT", item.put), ("PATCH", item.patch)];
        for (method, operation) in methods {
            if operation.is_none_or(|operation| operation.request_body.is_none()) {
                continue;
            }
            for body in ["", "{", "null", "7", "[]", "\"x\"", "\0", &deep, r#"{"a":{"b":[{}]}}"#] {
                let answer = ask(server.address, send(method, &path, body)).await;
                answer.problem(400, "invalid_json");
            }
        }
    }
}
