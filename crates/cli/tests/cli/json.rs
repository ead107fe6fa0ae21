//! What scripts read.

use crate::fixture::Ff;
use serde_json::Value;

/// The fields that scripts may rely on.
const PROMISED: &str = "
    id namespace lane kind state state_vector reason priority tags requires idempotency_key created
    queued_at delayed_until deadline ended expires next_timer run past_runs attempt attempts
    failures reclaims progress lease cancel input result failure policy blocked limits used";

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn an_execution_has_every_field_whatever_its_state() {
    let ff = Ff::new();
    let waiting = ff.submit(&["--lane", "quiet", "--delay", "1h"]);
    let completed = ff.submit(&["--input", "1"]);
    let failed = ff.submit(&["--kind", "bad"]);
    ff.work("test $FF_KIND != bad");
    let views = [&waiting, &completed, &failed].map(|id| ff.show(id));
    let states = views.each_ref().map(|view| view["state"].as_str().unwrap());
    assert_eq!(states, ["delayed", "completed", "failed"]);
    for view in &views {
        assert_eq!(keys(view), keys(&views[0]));
        assert_eq!(keys(&view["state_vector"]).len(), 6);
        for field in PROMISED.split_whitespace() {
            assert!(view.get(field).is_some(), "{field} is missing");
        }
    }
    let failure = &ff.show(&failed)["failure"];
    assert_eq!(
        failure,
        &serde_json::json!({
            "category": "error",
            "retryable": false,
            "message": "exit 1",
        })
    );
}

#[test]
fn times_are_rfc_3339_with_milliseconds() {
    let ff = Ff::new();
    let id = ff.submit(&["--delay", "1h"]);
    let view = ff.show(&id);
    for field in ["created", "queued_at", "delayed_until"] {
        let text = view[field].as_str().unwrap();
        assert_eq!((text.len(), &text[10..11], &text[23..]), (24, "T", "Z"), "{field}: {text}");
    }
    assert_eq!(view["next_timer"]["at"], view["delayed_until"]);
    assert_eq!(view["next_timer"]["what"], "delay_over");
    assert_eq!(view["policy"]["retention_ms"], 604_800_000);
}

#[test]
fn payloads_are_text_or_base64() {
    let ff = Ff::new();
    let text = ff.submit(&["--input", "\"ö\""]);
    let view = ff.json(&["input", &text]);
    assert_eq!(
        view,
        serde_json::json!({
            "content_type": "application/json", "length": 4, "text": "\"ö\"", "base64": null,
        })
    );
    let done = ff.run_with_stdin(&["submit", "--input-raw", "-"], b"\xff\x00");
    let view = ff.json(&["input", std::str::from_utf8(&done.stdout).unwrap().trim()]);
    assert_eq!((&view["text"], &view["base64"]), (&Value::Null, &"/wA=".into()));
}

#[test]
fn an_error_is_one_object_on_stderr() {
    let ff = Ff::new();
    let unknown = "01890000-0000-7000-8000-000000000001";
    let done = ff.run(&["show", unknown, "--json"]);
    assert_eq!((done.code, done.stdout.len()), (Some(1), 0));
    let view: Value = serde_json::from_str(&done.stderr).unwrap();
    assert_eq!(keys(&view).len(), 4);
    assert_eq!((&view["code"], &view["field"]), (&"not_found".into(), &Value::Null));
    assert_eq!(view["retryable"], false);

    let done = ff.run(&["submit", "--deadline", "0s", "--json"]);
    let view: Value = serde_json::from_str(&done.stderr).unwrap();
    assert_eq!((done.code, &view["field"]), (Some(1), &"deadline".into()));

    let done = ff.run(&["ls", "--state", "asleep", "--json"]);
    let view: Value = serde_json::from_str(&done.stderr).unwrap();
    assert_eq!((done.code, &view["field"]), (Some(2), &"--state".into()));
    assert_eq!(view["code"], "invalid_argument");
}

#[test]
fn a_worker_reports_what_it_did() {
    let ff = Ff::new();
    ff.submit(&[]);
    ff.submit(&["--kind", "bad"]);
    let report = ff.work("test $FF_KIND != bad");
    assert_eq!(
        report,
        serde_json::json!({
            "claimed": 2, "completed": 1, "retrying": 0, "failed": 1, "cancelled": 0, "lost": 0,
            "handed_back": 0,
        })
    );
}
