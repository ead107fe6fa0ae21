//! Work is submitted, run, and its result read.

use crate::fixture::{Ff, bare, finish};

#[test]
fn submitted_work_is_shown_listed_run_and_read_back() {
    let ff = Ff::new();
    let id = ff.submit(&["--input", "{\"b\": 1,  \"a\": [2]}", "--tag", "team=core"]);
    let view = ff.show(&id);
    assert_eq!(view["state"], "waiting");
    assert_eq!(view["reason"], "waits for a worker");
    assert_eq!(view["tags"]["team"], "core");
    assert_eq!(ff.json(&["ls", "--state", "waiting"])["executions"][0]["id"], *id);

    let report = ff.work("cat");
    assert_eq!((&report["claimed"], &report["completed"]), (&1.into(), &1.into()));
    assert_eq!(ff.ok(&["result", &id]), b"{\"b\": 1,  \"a\": [2]}");
    let view = ff.show(&id);
    assert_eq!((&view["state"], &view["reason"]), (&"completed".into(), &().into()));
    assert_eq!(view["result"]["content_type"], "application/json");
    let attempts = ff.attempts(&id);
    assert_eq!((attempts.len(), &attempts[0]["status"]), (1, &"completed".into()));
    assert_eq!(ff.json(&["ls", "--state", "waiting"])["executions"], serde_json::json!([]));
    ff.check();
}

#[test]
fn bytes_that_go_in_come_out() {
    let ff = Ff::new();
    let all: Vec<u8> = (0..=255).collect();
    for bytes in [&b""[..], b"\0", b"\xff\xfe\0\n", &all] {
        let done = ff.run_with_stdin(&["submit", "--input-raw", "-"], bytes);
        let id = String::from_utf8(done.stdout).unwrap().trim().to_owned();
        assert_eq!(ff.ok(&["input", &id]), bytes);
        ff.work("cat");
        assert_eq!(ff.ok(&["result", &id]), bytes, "{}", done.stderr);
    }
}

#[test]
fn an_input_and_a_result_may_be_exactly_as_large_as_the_limit() {
    let ff = Ff::new();
    let bytes = vec![0xa5; 1 << 20];
    std::fs::write(ff.path("input"), &bytes).unwrap();
    let id = ff.submit(&["--input-raw", "@input", "--content-type", "image/png"]);
    assert_eq!(ff.show(&id)["input"]["content_type"], "image/png");
    ff.work("cat");
    assert!(ff.ok(&["result", &id]) == bytes);
}

#[test]
fn input_is_read_from_a_file_or_stdin() {
    let ff = Ff::new();
    std::fs::write(ff.path("in.json"), " [1] \n").unwrap();
    let from_file = ff.submit(&["--input", "@in.json"]);
    assert_eq!(ff.ok(&["input", &from_file]), b" [1] \n");
    let done = ff.run_with_stdin(&["submit", "--input", "-"], b"\"x\"");
    let from_stdin = String::from_utf8(done.stdout).unwrap();
    assert_eq!(ff.ok(&["input", from_stdin.trim()]), b"\"x\"");
}

#[test]
fn a_submit_with_the_same_key_or_id_is_the_same_execution() {
    let ff = Ff::new();
    let first = ff.submit(&["--idempotency-key", "order-1", "--input", "1"]);
    let again = ff.json(&["submit", "--idempotency-key", "order-1", "--input", "1"]);
    assert_eq!((&again["id"], &again["new"]), (&first.as_str().into(), &false.into()));
    let other = ff.run(&["submit", "--idempotency-key", "order-1", "--input", "2"]);
    assert_eq!(other.code, Some(1));
    assert!(other.stderr.contains("(idempotency_conflict)"), "{}", other.stderr);

    let id = "01890000-0000-7000-8000-000000000001";
    assert_eq!(ff.submit(&["--id", id, "--input", "1"]), id);
    assert_eq!(ff.submit(&["--id", id, "--input", "1"]), id);
    let other = ff.run(&["submit", "--id", id, "--input", "2"]);
    assert!(other.stderr.contains("(id_conflict)"), "{}", other.stderr);
}

#[test]
fn delayed_work_starts_when_its_time_has_come() {
    let ff = Ff::new();
    let later = ff.submit(&["--delay", "1h"]);
    assert_eq!(ff.show(&later)["state"], "delayed");
    let past = ff.submit(&["--at", "2020-01-01T00:00:00Z"]);
    assert_eq!(ff.show(&past)["state"], "waiting");
    let soon = ff.submit(&["--delay", "300ms"]);
    let _worker = ff.worker(&["--exec", "true"]);
    ff.wait_for_state(&soon, "completed");
    assert_eq!(ff.show(&later)["state"], "delayed");
}

#[test]
fn submit_waits_for_the_end_and_prints_the_result() {
    let ff = Ff::new();
    let _worker = ff.worker(&["--exec", "cat; exit $FF_KIND"]);
    let done = ff.run(&["submit", "--kind", "0", "--input", "{\"n\":1}", "--wait"]);
    assert_eq!((done.code, done.stdout), (Some(0), b"{\"n\":1}".to_vec()), "{}", done.stderr);
    let done = ff.run(&["submit", "--kind", "3", "--wait"]);
    assert_eq!((done.code, done.stdout), (Some(1), Vec::new()));
    assert!(done.stderr.contains("failed: exit 3"), "{}", done.stderr);
    let done = ff.run(&["submit", "--kind", "3", "--wait", "--json"]);
    assert_eq!(done.code, Some(1));
    let view: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(view["state"], "failed");
}

#[test]
fn submit_waits_no_longer_than_its_timeout() {
    let ff = Ff::new();
    let done = ff.run(&["submit", "--wait", "--timeout", "50ms"]);
    assert_eq!((done.code, done.stdout.len()), (Some(1), 0));
    assert!(done.stderr.contains("has not ended after 50ms; it keeps running (wait_timeout)"));
}

#[test]
fn another_namespace_sees_nothing() {
    let ff = Ff::new();
    let id = ff.submit(&["--namespace", "a"]);
    assert_eq!(ff.json(&["show", &id, "--namespace", "a"])["namespace"], "a");
    for args in [&["show", &id][..], &["cancel", &id], &["input", &id], &["attempts", &id]] {
        let done = ff.run(args);
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.contains("(not_found)"), "{}", done.stderr);
    }
    assert_eq!(ff.json(&["ls"])["executions"], serde_json::json!([]));
}

#[test]
fn the_store_may_come_from_the_environment() {
    let ff = Ff::new();
    let mut command = bare(&["submit"]);
    let done = finish(command.env("FF_STORE", ff.store()), b"");
    let id = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.stderr, format!("next: ff show {}\n", id.trim()));
    assert_eq!(ff.show(id.trim())["state"], "waiting");
}
