//! Schedules over HTTP: made, read, paused, run, refused, removed.

use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::fixture::raw::{Answer, ask, get, send};

const PATH: &str = "/v1/schedules/nightly";

fn read(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

async fn made(server: &Fixture, body: Value) -> Answer {
    ask(server.address, send("PUT", PATH, body.to_string())).await
}

#[tokio::test]
async fn a_schedule_is_made_read_paused_run_and_removed() {
    let server = Fixture::start().await;
    let body = json!({"cron": "30 2 * * *", "zone": "europe/berlin", "overlap": "queue",
        "work": {"kind": "report", "input": {"n": 1}, "tags": {"team": "a"}}});
    for _ in 0..2 {
        let answer = made(&server, body.clone()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let view = read(&answer);
        assert_eq!(view["spec"]["zone"], "Europe/Berlin");
        assert_eq!(view["spec"]["work"]["input"], json!({"n": 1}));
        assert_eq!(view["next"].as_array().unwrap().len(), 10);
        assert_eq!((&view["paused"], &view["runs"]), (&Value::Null, &json!([])));
    }
    let pause = send("POST", &format!("{PATH}/pause"), r#"{"reason":"rest"}"#);
    assert_eq!(read(&ask(server.address, pause).await)["paused"]["reason"], "rest");
    let request = r#"{"request":"00000000-0000-4000-8000-000000000007"}"#;
    let run = |new: bool| {
        let (address, run) = (server.address, send("POST", &format!("{PATH}/run"), request));
        async move {
            let view = read(&ask(address, run).await);
            assert_eq!(view["new"], new);
            view["id"].as_str().unwrap().to_owned()
        }
    };
    let id = run(true).await;
    assert_eq!(run(false).await, id, "the same request is the same run");
    let explained = ask(server.address, get(&format!("/v1/executions/{id}/explain"))).await;
    assert_eq!(read(&explained)["schedule"]["schedule"], "nightly");
    let resumed = ask(server.address, send("POST", &format!("{PATH}/resume"), "{}")).await;
    assert_eq!(read(&resumed)["paused"], Value::Null);
    let page = read(&ask(server.address, get("/v1/schedules")).await);
    assert_eq!(page["schedules"][0]["made"], 1);
    assert_eq!(ask(server.address, send("DELETE", PATH, "")).await.status, 204);
    assert_eq!(ask(server.address, get(PATH)).await.status, 404);
}

#[tokio::test]
async fn what_is_no_schedule_is_refused_by_name() {
    let server = Fixture::start().await;
    for (body, field) in [
        (json!({}), "cron"),
        (json!({"cron": "0 0 31 2 *"}), "cron"),
        (json!({"cron": "* * * *"}), "cron"),
        (json!({"cron": "* * * * *", "every_ms": 1000}), "cron"),
        (json!({"cron": "* * * * *", "zone": "Europe/Atlantis"}), "zone"),
        (json!({"at": "2001-01-01T00:00:00Z"}), "at"),
        (json!({"every_ms": 5}), "every_ms"),
        (json!({"every_ms": 1000, "end": "2001-01-01T00:00:00Z"}), "end"),
        (json!({"every_ms": 1000, "catch_up": 1001}), "catch_up"),
        (json!({"every_ms": 1000, "work": {"tags": {"scheduled_for": "x"}}}), "tags"),
    ] {
        let answer = made(&server, body.clone()).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        let problem = read(&answer);
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("invalid_argument"), &json!(field)),
            "{body}"
        );
    }
    assert_eq!(read(&ask(server.address, get("/v1/schedules")).await)["schedules"], json!([]));
}
