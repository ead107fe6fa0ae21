//! Quotas: set, shown, waited for and removed.

use serde_json::{Value, json};

use crate::fixture::Ff;

fn text(ff: &Ff, args: &[&str]) -> String {
    String::from_utf8(ff.ok(args)).unwrap()
}

/// Exits with 2 and prints all of `expected`.
fn misused(args: &[&str], expected: &[&str]) {
    let done = Ff::new().run(args);
    assert_eq!((done.code, done.stdout.len()), (Some(2), 0), "ff {args:?}: {}", done.stderr);
    for words in expected {
        assert!(
            done.stderr.contains(words),
            "ff {args:?} does not print {words:?}: {}",
            done.stderr
        );
    }
}

#[test]
fn what_a_quota_allows_is_shown() {
    let ff = Ff::new();
    assert_eq!(ff.json(&["quota", "ls"]), json!({"quotas": [], "next": null}));
    let done = ff.run(&["quota", "ls"]);
    assert!(done.stdout.is_empty() && done.stderr.contains("there is no quota"));

    let set = ["quota", "set", "api", "--requests", "60", "--window", "10s"];
    let view = ff.json(&[&set[..], &["--active", "2000", "--jitter", "200ms"]].concat());
    assert_eq!((&view["max_requests"], &view["window_ms"]), (&json!(60), &json!(10_000)));
    assert_eq!((&view["max_active"], &view["jitter_ms"]), (&json!(2_000), &json!(200)));
    let shown = text(&ff, &["quota", "show", "api"]);
    let (limits, changed) = shown.split_once("changed   ").unwrap();
    assert_eq!(
        limits,
        "quota     api\nactive    0 of 2,000\nadmitted  0 of 60 in 10s\n\
         jitter    up to 200ms\nnext      now\n"
    );
    assert!(changed.ends_with("by local\n"), "{changed}");
    let replaced = ff.json(&["quota", "set", "api", "--requests", "5"]);
    assert_eq!((&replaced["window_ms"], &replaced["max_active"]), (&json!(60_000), &Value::Null));
    assert_eq!(ff.refusal(&["quota", "show", "api", "--namespace", "rival"])["code"], "not_found");
    ff.check();
}

#[test]
fn quotas_are_listed_page_by_page() {
    let ff = Ff::new();
    ff.ok(&["quota", "set", "b", "--active", "3"]);
    ff.ok(&["quota", "set", "a", "--requests", "60"]);
    ff.ok(&["quota", "set", "c", "--active", "3"]);
    let table = text(&ff, &["quota", "ls"]);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines[0], "QUOTA  ACTIVE  ADMITTED       NEXT");
    assert_eq!(lines[1], "a      0       0 of 60 in 1m  now");
    assert_eq!(lines[2], "b      0 of 3  -              now");
    let page = ff.json(&["quota", "ls", "--limit", "2"]);
    assert_eq!((&page["quotas"][1]["quota"], &page["next"]), (&json!("b"), &json!("b")));
    let done = ff.run(&["quota", "ls", "--limit", "2"]);
    assert!(done.stderr.contains("next: ff quota ls --limit 2 --after b"), "{}", done.stderr);
    let page = ff.json(&["quota", "ls", "--limit", "2", "--after", "b"]);
    assert_eq!((&page["quotas"][0]["quota"], &page["next"]), (&json!("c"), &Value::Null));
    assert_eq!(ff.json(&["quota", "ls", "--namespace", "rival"])["quotas"], json!([]));
}

#[test]
fn no_more_run_at_once_than_the_quota_allows() {
    let server = Ff::new().serve();
    let ff = server.ff();
    ff.ok(&["quota", "set", "slots", "--active", "1"]);
    let [first, second] = [0, 1].map(|_| ff.submit(&["--quota", "slots"]));
    let exec = "while ! test -e go; do sleep 0.05; done";
    let _worker = ff.worker(&["--concurrency", "2", "--exec", exec]);
    ff.wait_for_state(&first, "active");
    ff.wait_for_state(&second, "rate_limited");
    let table = text(&ff, &["quota", "ls"]);
    assert!(table.contains("\nslots  1 of 1  -         when one ends\n"), "{table}");
    let explained = text(&ff, &["explain", &second]);
    let sentence = "The execution waits for quota slots: 1 of at most 1 run.\n";
    assert!(explained.starts_with(sentence), "{explained}");
    assert!(explained.contains("\nquota  slots: 1 of at most 1 run\n"), "{explained}");
    let next = ff.run(&["explain", &second]).stderr;
    assert!(next.contains("next: ff quota show slots"), "{next}");
    assert!(text(&ff, &["show", &second]).contains("\nquotas     slots\n"));
    std::fs::write(ff.path("go"), "").unwrap();
    ff.wait_for_state(&second, "completed");
}

#[test]
fn work_that_exceeds_the_rate_says_when_it_may_start() {
    let ff = Ff::new();
    ff.ok(&["quota", "set", "api", "--requests", "1", "--window", "1h"]);
    let [first, second] = [0, 1].map(|_| ff.submit(&["--quota", "api"]));
    assert_eq!(ff.work("cat")["completed"], 1);
    assert_eq!(ff.show(&first)["state"], "completed");
    let view = ff.show(&second);
    assert_eq!((&view["state"], &view["blocked"]["on"]), (&json!("rate_limited"), &json!("quota")));
    let explained = text(&ff, &["explain", &second]);
    let start = "The execution waits for quota api: at most 1 start in any";
    assert!(explained.starts_with(start), "{explained}");
    assert!(explained.contains("\n       may clear "), "{explained}");
    let quota = ff.json(&["quota", "show", "api"]);
    let counts = ["active", "admitted"].map(|field| quota[field].as_u64());
    assert_eq!(counts, [Some(0), Some(1)]);
    assert!(text(&ff, &["quota", "ls"]).contains("api    0       1 of 1 in 1h  in "));
    let listed = ff.json(&["ls", "--state", "rate_limited"]);
    assert_eq!(listed["executions"][0]["id"], *second);
    ff.check();
}

#[test]
fn work_of_a_removed_quota_waits_until_it_exists_again() {
    let ff = Ff::new();
    ff.ok(&["quota", "set", "api", "--active", "1"]);
    let done = ff.run(&["quota", "rm", "api"]);
    assert_eq!((done.code, done.stdout.len()), (Some(0), 0));
    assert!(done.stderr.contains("quota api is gone"), "{}", done.stderr);
    for call in ["show", "rm"] {
        let refused = ff.refusal(&["quota", call, "api"]);
        assert!(refused["message"].as_str().unwrap().starts_with("no such quota"), "{refused}");
    }
    let id = ff.submit(&["--quota", "api"]);
    assert_eq!(ff.work("cat")["claimed"], 0);
    assert!(text(&ff, &["explain", &id]).contains("quota api: there is no such quota"));
    ff.ok(&["quota", "set", "api", "--active", "1"]);
    assert_eq!(ff.work("cat")["completed"], 1);
    ff.check();
}

#[test]
fn limits_that_make_no_sense_are_usage() {
    let set = |args: &[&str], expected: &[&str]| {
        misused(&[&["quota", "set", "api"], args].concat(), expected);
    };
    set(&[], &["--requests is missing, and so is --active", "--requests 60 --window 60s"]);
    for flag in ["--requests", "--active"] {
        for bad in ["0", "-1", "1.5", "many", "1000001", ""] {
            set(&[flag, bad], &[flag, "is not a whole number from 1 to 1000000"]);
        }
    }
    set(&["--window", "60s"], &["--window limits nothing without --requests"]);
    set(&["--active", "1", "--window", "60s"], &["--window limits nothing without --requests"]);
    set(&["--active", "1", "--jitter", "1s"], &["--jitter limits nothing without --requests"]);
    set(&["--requests", "1", "--window", "60"], &["--window", "for example 5s"]);
    set(&["--requests", "1", "--jitter", "-1s"], &["--jitter", "is negative"]);
    for call in ["show", "set", "rm"] {
        misused(&["quota", call, "a b"], &["NAME", "has a character outside"]);
        misused(&["quota", call], &["NAME"]);
    }
    misused(&["submit", "--quota", "a b"], &["--quota", "has a character outside"]);
    misused(&["submit", "--quota", "a", "--quota", "a"], &["--quota names a twice"]);
    let ff = Ff::new();
    for (flag, bad, field) in [
        ("--window", "0s", "window"),
        ("--window", "3651d", "window"),
        ("--jitter", "61s", "jitter"),
    ] {
        let args = ["quota", "set", "api", "--requests", "1", flag, bad];
        assert_eq!(ff.refusal(&args)["field"], field);
    }
    assert_eq!(ff.json(&["quota", "ls"])["quotas"], json!([]), "nothing has changed");
}
