//! Over HTTP a command answers what it answers on the store itself.

use crate::fixture::{Ff, Server};
use serde_json::{Value, json};

/// One store, reached both ways.
struct Both {
    http: Ff,
    store: Ff,
    _server: Server,
}

impl Both {
    fn new() -> Both {
        let store = Ff::new();
        let server = store.serve();
        Both { http: server.ff(), store, _server: server }
    }

    /// The answer of both, which must be the same.
    fn json(&self, args: &[&str]) -> Value {
        let answer = self.http.json(args);
        assert_eq!(answer, self.store.json(args), "ff {args:?}");
        answer
    }

    /// The refusal of both, which must be the same.
    fn refusal(&self, args: &[&str]) -> Value {
        let answer = self.http.refusal(args);
        assert_eq!(answer, self.store.refusal(args), "ff {args:?}");
        answer
    }

    /// Submits once each way.
    fn pair(&self, args: &[&str]) -> [String; 2] {
        [self.http.submit(args), self.store.submit(args)]
    }

    /// Does the same to one execution over HTTP and to another on the store. The answers differ in
    /// ids and times only.
    fn change(&self, [over_http, on_store]: &[String; 2], args: &[&str]) -> Value {
        let with = |id| [&args[..1], &[id], &args[1..]].concat();
        let answer = self.http.json(&with(over_http));
        let other = self.store.json(&with(on_store));
        assert_eq!(shape(&answer), shape(&other), "ff {args:?}");
        answer
    }
}

/// What is left of a view without ids and times.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), shape(value))).collect()
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        Value::String(text) if is_id(text) => "an id".into(),
        Value::String(text) if is_time(text) => "a time".into(),
        other => other.clone(),
    }
}

fn is_id(text: &str) -> bool {
    text.len() >= 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b"-:.".contains(&b))
}

fn is_time(text: &str) -> bool {
    text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T'
}

#[test]
fn every_flag_of_submit_means_the_same() {
    let both = Both::new();
    let args = [
        "--lane",
        "l",
        "--kind",
        "k",
        "--input",
        "{\"b\": 1,  \"a\": []}",
        "--priority",
        "7",
        "--delay",
        "1h",
        "--tag",
        "a=x y",
        "--tag",
        "b=ö",
        "--require",
        "gpu",
        "--max-attempts",
        "5",
        "--backoff",
        "2s",
        "--backoff-cap",
        "9s",
        "--jitter",
        "3",
        "--attempt-timeout",
        "4s",
        "--deadline",
        "2h",
        "--lease-ttl",
        "10s",
        "--max-reclaims",
        "2",
        "--retention",
        "3d",
        "--retry-on",
        "signal",
        "--budget",
        "team",
        "--budget",
        "all",
        "--quota",
        "api",
        "--estimate",
        "tokens=2000",
    ];
    let command = [&["submit"], &args[..]].concat();
    assert_eq!(shape(&both.http.json(&command)), shape(&both.store.json(&command)));
    let [over_http, on_store] = both.pair(&args);
    let view = both.json(&["show", &over_http]);
    assert_eq!(shape(&view), shape(&both.json(&["show", &on_store])));
    assert_eq!((&view["state"], &view["tags"]["b"]), (&"delayed".into(), &"ö".into()));
    let limits =
        json!({"budgets": ["all", "team"], "quotas": ["api"], "estimate": {"tokens": 2_000}});
    assert_eq!(view["limits"], limits);
    assert_eq!(both.http.ok(&["input", &over_http]), b"{\"b\": 1,  \"a\": []}");
}

#[test]
fn a_repeated_submit_is_answered_the_same() {
    let both = Both::new();
    let args = ["submit", "--idempotency-key", "order", "--input", "1"];
    let first = both.http.json(&args);
    assert_eq!(first["new"], true);
    let again = both.json(&args);
    assert_eq!((&again["id"], &again["new"]), (&first["id"], &false.into()));
    let other = both.refusal(&["submit", "--idempotency-key", "order", "--input", "2"]);
    assert_eq!(other["code"], "idempotency_conflict");
    let id = "01890000-0000-7000-8000-000000000001";
    assert_eq!(both.http.submit(&["--id", id]), id);
    assert_eq!(both.refusal(&["submit", "--id", id, "--input", "2"])["code"], "id_conflict");
}

#[test]
fn submit_waits_for_the_end() {
    let both = Both::new();
    let _worker = both.http.worker(&["--exec", "cat; exit $FF_KIND"]);
    let done = both.http.run(&["submit", "--kind", "0", "--input", "[1]", "--wait"]);
    assert_eq!((done.code, done.stdout), (Some(0), b"[1]".to_vec()), "{}", done.stderr);
    let done = both.http.run(&["submit", "--kind", "3", "--wait"]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("failed: exit 3"), "{}", done.stderr);
    assert!(done.stderr.contains(" --url http://127.0.0.1:"), "{}", done.stderr);
}

#[test]
fn every_state_is_shown_the_same() {
    let both = Both::new();
    let ids = [
        both.http.submit(&["--lane", "quiet"]),
        both.http.submit(&["--lane", "quiet", "--delay", "1h"]),
        both.http.submit(&["--kind", "good", "--input", "\"x\"", "--attempt-timeout", "1h"]),
        both.http.submit(&["--kind", "bad", "--max-attempts", "2", "--backoff", "0s"]),
    ];
    let report = both.http.work("echo no >&2; test $FF_KIND = good || exit 75");
    assert_eq!((&report["completed"], &report["failed"]), (&1.into(), &1.into()));
    for (id, state) in ids.iter().zip(["waiting", "delayed", "completed", "failed"]) {
        assert_eq!(both.json(&["show", id])["state"], state);
        both.json(&["attempts", id]);
        both.json(&["input", id]);
    }
    assert_eq!(both.json(&["attempts", &ids[3]])["attempts"].as_array().unwrap().len(), 2);
    let unknown = "01890000-0000-7000-8000-000000000001";
    for command in ["show", "attempts", "input", "result", "cancel", "replay", "revoke", "explain"]
    {
        assert_eq!(both.refusal(&[command, unknown])["code"], "not_found");
    }
    both.store.check();
}

#[test]
fn active_work_is_shown_with_its_lease() {
    let both = Both::new();
    let id = both.http.submit(&[]);
    let go = both.http.path("go");
    let _worker = both.http.worker(&["--exec", "while ! test -e go; do sleep 0.05; done"]);
    both.http.wait_for_state(&id, "active");
    let view = both.json(&["show", &id]);
    assert_eq!((&view["lease"]["worker"], &view["attempt"]), (&"ff-worker".into(), &0.into()));
    assert_eq!(both.json(&["attempts", &id])["attempts"][0]["ended"], Value::Null);
    std::fs::write(go, "").unwrap();
    both.http.wait_for_state(&id, "completed");
}

#[test]
fn listings_are_the_same_whatever_narrows_them() {
    let both = Both::new();
    both.http.submit(&["--lane", "a", "--kind", "k", "--tag", "t=x, y", "--tag", "u=1"]);
    for _ in 0..4 {
        both.pair(&["--lane", "b"]);
    }
    let created = both.json(&["ls"])["executions"][0]["created"].as_str().unwrap().to_owned();
    for (args, found) in [
        (&[][..], 9),
        (&["--lane", "b"], 8),
        (&["--lane", "a", "--kind", "k", "--state", "waiting"], 1),
        (&["--tag", "u=1"], 1),
        (&["--tag", "t=x, y"], 1),
        (&["--tag", "t=x, y", "--tag", "u=1"], 1),
        (&["--state", "failed"], 0),
        (&["--to", "2020-01-01T00:00:00Z"], 0),
        (&["--namespace", "elsewhere"], 0),
    ] {
        let page = both.json(&[&["ls"], args].concat());
        assert_eq!(page["executions"].as_array().unwrap().len(), found, "{args:?}: {page}");
    }
    let newest = both.json(&["ls", "--from", &created]);
    assert_eq!(newest["executions"][0]["created"], *created);
    let mut page = both.json(&["ls", "--limit", "4"]);
    let mut listed = 4;
    while let Some(cursor) = page["next"].as_str().map(str::to_owned) {
        page = both.json(&["ls", "--limit", "4", "--cursor", &cursor]);
        listed += page["executions"].as_array().unwrap().len();
    }
    assert_eq!(listed, 9);
}

#[test]
fn payloads_are_the_same_bytes() {
    let both = Both::new();
    let all: Vec<u8> = (0..=255).collect();
    let submit = ["submit", "--input-raw", "-", "--content-type", "image/png"];
    let done = both.http.run_with_stdin(&submit, &all);
    let id = String::from_utf8(done.stdout).unwrap().trim().to_owned();
    assert_eq!(both.refusal(&["result", &id])["code"], "wrong_state");
    both.http.work("cat");
    assert_eq!(both.http.ok(&["result", &id]), all);
    assert_eq!(both.http.ok(&["input", &id]), all);
    assert_eq!(both.json(&["result", &id])["length"], 256);
    assert_eq!(both.json(&["input", &id])["content_type"], "image/png");
    let empty = both.http.submit(&[]);
    both.http.work("true");
    assert_eq!(both.http.ok(&["result", &empty]), b"");
    both.json(&["result", &empty]);
}

#[test]
fn a_payload_as_large_as_the_limit_passes_and_a_larger_one_does_not() {
    let both = Both::new();
    let bytes = vec![0xa5; 1 << 20];
    let done = both.http.run_with_stdin(&["submit", "--input-raw", "-"], &bytes);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let id = String::from_utf8(done.stdout).unwrap().trim().to_owned();
    both.http.work("cat");
    assert!(both.http.ok(&["result", &id]) == bytes);
    let over = vec![0xa5; (1 << 20) + 1];
    for ff in [&both.http, &both.store] {
        let done = ff.run_with_stdin(&["submit", "--input-raw", "-", "--json"], &over);
        let view: Value = serde_json::from_str(&done.stderr).unwrap();
        assert_eq!((done.code, &view["code"]), (Some(1), &"too_large".into()));
    }
}

#[test]
fn cancel_and_replay_are_answered_the_same() {
    let both = Both::new();
    let pair = both.pair(&["--input", "1"]);
    assert_eq!(both.change(&pair, &["cancel", "--reason", "not now"])["status"], "cancelled");
    both.change(&pair, &["cancel"]);
    assert_eq!(both.json(&["show", &pair[0]])["reason"], "not now");
    assert_eq!(both.change(&pair, &["replay"])["run"], 1);
    assert_eq!(both.change(&pair, &["replay", "--run", "0"])["run"], 1);
    both.http.work("printf $FF_RUN");
    let view = both.json(&["show", &pair[0]]);
    assert_eq!((&view["run"], &view["past_runs"][0]["state"]), (&1.into(), &"cancelled".into()));
    assert_eq!(both.http.ok(&["result", &pair[0], "--run", "1"]), b"1");
    assert_eq!(both.refusal(&["cancel", &pair[0]])["code"], "wrong_state");
    assert_eq!(both.refusal(&["replay", &pair[0], "--run", "7"])["code"], "run_mismatch");
    both.store.check();
}

#[test]
fn priority_and_tags_are_changed_the_same() {
    let both = Both::new();
    let pair = both.pair(&["--tag", "a=1", "--tag", "b=2"]);
    assert_eq!(both.change(&pair, &["priority", "9000"])["priority"], 9000);
    let view = both.change(&pair, &["tags", "c=x y", "a=9", "--remove", "b"]);
    assert_eq!(view["tags"], json!({"a": "9", "c": "x y"}));
    both.http.work("true");
    assert_eq!(both.refusal(&["priority", &pair[0], "1"])["code"], "wrong_state");
    assert_eq!(both.refusal(&["tags", &pair[0], "a=1"])["code"], "wrong_state");
}

#[test]
fn revoked_work_continues_its_attempt() {
    let both = Both::new();
    let pair = both.pair(&["--lease-ttl", "300ms"]);
    assert_eq!(both.refusal(&["revoke", &pair[0]])["code"], "wrong_state");
    // A program that has started has seen that it must not exit.
    let exec = "test -e go && printf $FF_ATTEMPT || { echo >> started; sleep 30; }";
    let _worker = both.http.worker(&["--concurrency", "2", "--exec", exec]);
    crate::fixture::wait_for_lines(&both.http.path("started"), 2);
    std::fs::write(both.http.path("go"), "").unwrap();
    assert_eq!(both.change(&pair, &["revoke"])["status"], "revoked");
    for id in &pair {
        both.http.wait_for_state(id, "completed");
        assert_eq!(both.http.ok(&["result", id]), b"0");
    }
}

#[test]
fn workers_are_listed_the_same_and_refused_the_same() {
    let both = Both::new();
    let args = ["--instance", "pod-1", "--capability", "gpu", "--exec", "cat"];
    let mut worker = both.http.worker(&args);
    let listed = || both.http.json(&["workers"])["workers"].as_array().unwrap().len();
    crate::fixture::wait_for("a worker", || (listed() == 1).then_some(()));
    let page = both.json(&["workers"]);
    assert_eq!(page["workers"][0]["capabilities"], json!(["gpu"]));
    let again = ["worker", "--instance", "pod-1", "--exec", "cat", "--until-idle"];
    for ff in [&both.http, &both.store] {
        assert_eq!(ff.refusal(&again)["code"], "worker_alive");
    }
    worker.signal(rustix::process::Signal::TERM);
    assert!(worker.ended().success());
    assert_eq!(both.json(&["workers"])["workers"], json!([]));
    both.http.ok(&again);
}

#[test]
fn lanes_are_controlled_and_shown_the_same() {
    let both = Both::new();
    let paused = both.http.json(&["lane", "pause", "default", "--reason", "an upgrade"]);
    assert_eq!(both.json(&["lane", "show", "default"]), paused);
    assert_eq!(both.json(&["lane", "pause", "default", "--reason", "an upgrade"]), paused);
    let listed = both.json(&["lane", "ls"])["lanes"][0].clone();
    assert_eq!((&listed["lane"], &listed["paused"]), (&paused["lane"], &paused["paused"]));
    assert_eq!(listed["work"]["waiting"], 0);
    let id = both.http.submit(&[]);
    let _worker = both.http.worker(&["--exec", "cat"]);
    assert_eq!(both.json(&["show", &id])["state"], "waiting");
    // A change on the store itself reaches a worker that waits at the server.
    both.store.ok(&["lane", "resume", "default"]);
    both.http.wait_for_state(&id, "completed");
    both.store.ok(&["lane", "drain", "default"]);
    assert_eq!(both.refusal(&["submit"])["code"], "lane_draining");
    both.store.check();
}

#[test]
fn budgets_and_quotas_are_controlled_and_shown_the_same() {
    let both = Both::new();
    for what in ["budget", "quota"] {
        assert_eq!(both.refusal(&[what, "show", "x"])["code"], "not_found");
        assert_eq!(both.refusal(&[what, "rm", "x"])["code"], "not_found");
    }
    assert_eq!(both.refusal(&["budget", "reset", "x"])["code"], "not_found");
    let period = ["budget", "set", "team", "--limit", "tokens=9", "--period", "0s"];
    assert_eq!(both.refusal(&period)["field"], "period");
    let set = ["budget", "set", "team", "--limit", "tokens=100", "--soft", "usd=5"];
    let set = [&set[..], &["--period", "1h", "--on-breach", "cancel"]].concat();
    let made = both.http.json(&set);
    let again = both.store.json(&set);
    assert_eq!((shape(&again), &again["since"]), (shape(&made), &made["since"]));
    let made = both.json(&["budget", "show", "team"]);
    assert_eq!(made, again);
    assert_eq!(both.json(&["budget", "ls"])["budgets"], json!([made]));
    assert_eq!(both.http.json(&["budget", "reset", "team"])["on_breach"], "cancel");

    let made = both.http.json(&["quota", "set", "slots", "--active", "1"]);
    let view = both.store.json(&["quota", "show", "slots"]);
    assert_eq!(shape(&view), shape(&made));
    let [first, second] = [0, 1].map(|_| both.http.submit(&["--quota", "slots"]));
    let exec = "while ! test -e go; do sleep 0.05; done";
    let _worker = both.http.worker(&["--concurrency", "2", "--exec", exec]);
    both.http.wait_for_state(&first, "active");
    let view = both.http.wait_for_state(&second, "rate_limited");
    assert_eq!(both.json(&["show", &second]), view);
    assert_eq!(both.json(&["explain", &second])["reasons"][0]["name"], "slots");
    assert_eq!(both.json(&["ls", "--state", "rate_limited"])["executions"][0]["id"], *second);
    std::fs::write(both.http.path("go"), "").unwrap();
    both.http.wait_for_state(&second, "completed");
    both.store.check();
}

#[test]
fn explanations_are_the_same() {
    let both = Both::new();
    let queued = both.http.submit(&["--lane", "quiet", "--require", "gpu"]);
    let view = both.json(&["explain", &queued]);
    assert_eq!(view["reasons"][0]["reason"], "no_worker_on_lane");
    both.http.ok(&["lane", "pause", "quiet"]);
    assert_eq!(both.json(&["explain", &queued])["reasons"][0]["reason"], "lane_paused");
    let done = both.http.submit(&[]);
    both.http.work("true");
    assert_eq!(both.json(&["explain", &done])["reasons"][0]["reason"], "finished");
    assert_eq!(both.http.ok(&["explain", &done]), both.store.ok(&["explain", &done]));
}
