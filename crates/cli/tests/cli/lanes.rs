//! Lanes are paused, drained, resumed and limited, and have defaults.

use serde_json::{Value, json};

use crate::fixture::Ff;

#[test]
fn the_settings_of_a_lane_are_shown() {
    let ff = Ff::new();
    let view = ff.json(&["lane", "show", "l"]);
    assert_eq!((&view["paused"], &view["since"]), (&json!(false), &Value::Null));
    assert_eq!(ff.json(&["lane", "ls"]), json!({"lanes": [], "next": null}));
    let done = ff.run(&["lane", "ls"]);
    assert!(done.stdout.is_empty() && done.stderr.contains("no lane has settings"));

    let paused = ff.json(&["lane", "pause", "l", "--reason", "an upgrade"]);
    assert_eq!((&paused["paused"], &paused["draining"]), (&json!(true), &json!(false)));
    assert_eq!(paused["reason"], "an upgrade");
    assert_eq!(ff.json(&["lane", "show", "l"]), paused);
    let both = ff.json(&["lane", "drain", "l"]);
    assert_eq!((&both["paused"], &both["draining"]), (&json!(true), &json!(true)));
    ff.ok(&["lane", "drain", "k", "--reason", "it goes away"]);
    let list = String::from_utf8(ff.ok(&["lane", "ls"])).unwrap();
    let lines: Vec<_> = list.lines().collect();
    assert!(
        lines[0]
            .starts_with("LANE  STATE             WAITING  ACTIVE  BLOCKED  OLDEST  LIMIT  SINCE"),
        "{list}"
    );
    assert!(
        lines[1].starts_with("k     draining ") && lines[1].ends_with("it goes away"),
        "{list}"
    );
    assert!(lines[2].starts_with("l     paused, draining "), "{list}");
    let page = ff.json(&["lane", "ls", "--limit", "1"]);
    assert_eq!((&page["lanes"][0]["lane"], &page["next"]), (&json!("k"), &json!("k")));
    let mut listed = both.clone();
    listed["work"] =
        json!({"waiting": 0, "active": 0, "unroutable": 0, "blocked": 0, "oldest": null});
    assert_eq!(ff.json(&["lane", "ls", "--after", "k"])["lanes"], json!([listed]));

    let open = ff.json(&["lane", "resume", "l"]);
    assert_eq!((&open["paused"], &open["draining"]), (&json!(false), &json!(false)));
    let shown = String::from_utf8(ff.ok(&["lane", "show", "l"])).unwrap();
    assert!(shown.starts_with("lane   l\nstate  open\nsince  "), "{shown}");
    let elsewhere = ff.json(&["lane", "show", "k", "--namespace", "rival"]);
    assert_eq!(elsewhere["draining"], false);
}

#[test]
fn a_waiting_worker_gets_the_work_of_a_lane_that_is_resumed() {
    let ff = Ff::new();
    ff.ok(&["lane", "pause", "default"]);
    let id = ff.submit(&["--input", "1"]);
    assert_eq!(ff.work("cat")["claimed"], 0);
    let _worker = ff.worker(&["--exec", "cat"]);
    assert_eq!(ff.show(&id)["state"], "waiting");
    ff.ok(&["lane", "resume", "default"]);
    ff.wait_for_state(&id, "completed");
}

#[test]
fn a_draining_lane_finishes_what_it_has() {
    let ff = Ff::new();
    let id = ff.submit(&["--input", "1"]);
    ff.ok(&["lane", "drain", "default"]);
    assert_eq!(ff.refusal(&["submit"])["code"], "lane_draining");
    ff.submit(&["--lane", "other"]);
    assert_eq!(ff.work("cat")["completed"], 1);
    assert_eq!(ff.show(&id)["state"], "completed");
    ff.ok(&["lane", "resume", "default"]);
    ff.submit(&[]);
    ff.check();
}

#[test]
fn no_more_of_a_limited_lane_run_at_once() {
    let ff = Ff::new();
    let limited = ff.json(&["lane", "limit", "default", "1"]);
    assert_eq!(limited["max_active"], 1);
    let ids = [ff.submit(&["--input", "1"]), ff.submit(&["--input", "2"])];
    let _worker = ff.worker(&["--exec", "sleep 20", "--concurrency", "2"]);
    ff.wait_for_state(&ids[0], "active");
    ff.wait_for_state(&ids[1], "rate_limited");
    let explained = ff.json(&["explain", &ids[1]]);
    let sentence = explained["explanation"].as_str().unwrap();
    assert!(sentence.contains("lane default runs 1 of 1 at once"), "{sentence}");
    let shown = ff.show(&ids[1]);
    assert_eq!(
        (&shown["blocked"]["on"], &shown["blocked"]["name"]),
        (&json!("lane"), &json!("default"))
    );
    let list = String::from_utf8(ff.ok(&["lane", "ls"])).unwrap();
    assert!(
        list.lines().nth(1).unwrap().starts_with("default  open         0       1        1  "),
        "{list}"
    );
    let open = ff.json(&["lane", "limit", "default", "none"]);
    assert_eq!(open["max_active"], Value::Null);
    ff.wait_for_state(&ids[1], "active");
    assert_eq!(ff.json(&["quota", "ls"])["quotas"], json!([]));
}

#[test]
fn a_limit_that_is_none_is_refused() {
    let ff = Ff::new();
    for most in ["0", "-1", "many", "1000001"] {
        let done = ff.run(&["lane", "limit", "l", most, "--json"]);
        let refused: Value = serde_json::from_str(&done.stderr).unwrap();
        assert_eq!((done.code, &refused["field"]), (Some(2), &json!("N")), "{most}");
    }
    for call in [&["quota", "show", "@l"][..], &["submit", "--quota", "@l"]] {
        assert_eq!(ff.refusal(call)["code"], "invalid_argument", "{call:?}");
    }
}

#[test]
fn a_lane_that_is_no_name_is_refused() {
    let ff = Ff::new();
    for call in ["show", "pause", "drain", "resume"] {
        let done = ff.run(&["lane", call, "a b", "--json"]);
        let refused: Value = serde_json::from_str(&done.stderr).unwrap();
        assert_eq!((done.code, &refused["field"]), (Some(2), &json!("LANE")));
    }
    let reason = "x".repeat(4_097);
    let refused = ff.refusal(&["lane", "pause", "l", "--reason", &reason]);
    assert_eq!((&refused["code"], &refused["field"]), (&json!("too_large"), &json!("reason")));
}

#[test]
fn work_has_the_defaults_of_its_lane() {
    let ff = Ff::new();
    let flags = ["--max-attempts=5", "--deadline=1h", "--backoff=2s", "--retry-on=timeout"];
    let settings = ff.json(&[&["lane", "defaults", "l"], &flags[..]].concat());
    let policy = json!({
        "max_attempts": 5, "backoff": {"base_ms": 2_000}, "retry_on": ["timeout"],
        "deadline_ms": 3_600_000,
    });
    assert_eq!(settings["policy"], policy);
    assert_eq!(ff.json(&["lane", "show", "l"]), settings);
    let shown = String::from_utf8(ff.ok(&["lane", "show", "l"])).unwrap();
    let lines = "defaults  up to 5 attempts\n          backoff 2s\n          retried on timeout\n          \
                 deadline 1h\n";
    assert!(shown.contains(lines), "{shown}");
    let list = String::from_utf8(ff.ok(&["lane", "ls"])).unwrap();
    assert!(
        list.contains("up to 5 attempts; backoff 2s; retried on timeout; deadline 1h"),
        "{list}"
    );

    let policy = |id: &str| ff.show(id)["policy"].clone();
    let silent = policy(&ff.submit(&["--lane", "l"]));
    assert_eq!((&silent["max_attempts"], &silent["deadline_ms"]), (&json!(5), &json!(3_600_000)));
    assert_eq!(
        (&silent["lease_ttl_ms"], &silent["retry_on"]),
        (&json!(30_000), &json!(["timeout"]))
    );
    let own = ["--lane", "l", "--max-attempts", "1", "--deadline", "none", "--retry-all"];
    let own = policy(&ff.submit(&own));
    assert_eq!((&own["max_attempts"], &own["deadline_ms"]), (&json!(1), &Value::Null));
    assert_eq!((&own["retry_on"], &own["backoff"]["base_ms"]), (&Value::Null, &json!(2_000)));
    assert_eq!(policy(&ff.submit(&[]))["max_attempts"], 3);

    assert_eq!(ff.json(&["lane", "defaults", "l", "--none"])["policy"], Value::Null);
    assert_eq!(policy(&ff.submit(&["--lane", "l"]))["max_attempts"], 3);
}

#[test]
fn defaults_that_make_no_sense_are_refused() {
    let ff = Ff::new();
    for (flags, why) in [
        (&[][..], "give some, as in --max-attempts 5"),
        (&["--none", "--deadline", "1h"], "--none removes all that was said; give it alone"),
        (&["--deadline", "soon"], "'soon' is not a duration"),
    ] {
        let done = ff.run(&[&["lane", "defaults", "l"], flags].concat());
        assert_eq!(done.code, Some(2), "{flags:?}: {}", done.stderr);
        assert!(done.stderr.contains(why), "{flags:?}: {}", done.stderr);
    }
    let short = ff.refusal(&["lane", "defaults", "l", "--lease-ttl", "1ms"]);
    assert!(short["message"].as_str().unwrap().contains("lease_ttl"), "{short}");
    assert_eq!(ff.json(&["lane", "show", "l"])["generation"], 0);
}

#[test]
fn every_lane_with_work_is_counted_on_a_store_and_over_http() {
    let ff = Ff::new();
    for lane in ["b", "b", "c"] {
        ff.submit(&["--lane", lane]);
    }
    ff.submit(&["--lane", "c", "--require", "gpu"]);
    ff.submit(&["--lane", "later", "--delay", "1h"]);
    ff.submit(&["--lane", "elsewhere", "--namespace", "rival"]);
    ff.ok(&["lane", "pause", "a", "--reason", "an upgrade"]);
    let server = ff.serve();
    for ff in [&ff, &server.ff()] {
        let page = ff.json(&["lane", "ls"]);
        let counts: Vec<_> = page["lanes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|view| {
                let work = &view["work"];
                (
                    view["lane"].as_str().unwrap(),
                    work["waiting"].as_u64(),
                    work["oldest"].is_string(),
                )
            })
            .collect();
        assert_eq!(counts, [("a", Some(0), false), ("b", Some(2), true), ("c", Some(2), true)]);
        assert_eq!(page["lanes"][2]["work"]["unroutable"], 1, "{page}");
        let first = ff.json(&["lane", "ls", "--limit", "2"]);
        assert_eq!((first["lanes"].as_array().unwrap().len(), &first["next"]), (2, &json!("b")));
        let rest = ff.json(&["lane", "ls", "--after", "b"]);
        assert_eq!((&rest["lanes"][0]["lane"], &rest["next"]), (&json!("c"), &Value::Null));
        let table = String::from_utf8(ff.ok(&["lane", "ls"])).unwrap();
        let lines: Vec<_> = table.lines().collect();
        assert!(
            lines[1].starts_with("a     paused        0 ") && lines[1].ends_with("an upgrade"),
            "{table}"
        );
        assert!(lines[3].ends_with("no worker can run 1"), "{table}");
    }
}
