//! Budgets: set, shown, waited for, reset and removed.

use serde_json::{Value, json};

use crate::fixture::{Ff, Server, send, wait_for};

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

fn post(server: &Server, path: &str, body: &Value) -> Value {
    let (status, answer) = send(&server.url, "POST", path, body).unwrap();
    assert_eq!(status, 200, "{answer}");
    serde_json::from_str(&answer).unwrap()
}

/// Claims one execution and reports usage of this many tokens.
fn use_tokens(server: &Server, amount: u64) -> String {
    let request = "7f1c0f6e-5f0e-4c39-9d6e-0d6a1f9f4a11";
    let claim = json!({"instance": "me-1", "request": request});
    let held = post(server, "/v1/workers/me/claim", &claim)["assignments"][0].take();
    let id = held["execution"].as_str().unwrap();
    let usage = json!({"fence": held["fence"], "key": "all", "amounts": {"tokens": amount}});
    post(server, &format!("/v1/executions/{id}/usage"), &usage);
    id.to_owned()
}

#[test]
fn what_a_budget_allows_is_shown() {
    let ff = Ff::new();
    assert_eq!(ff.json(&["budget", "ls"]), json!({"budgets": [], "next": null}));
    let done = ff.run(&["budget", "ls"]);
    assert!(done.stdout.is_empty() && done.stderr.contains("there is no budget"));

    let set = ["budget", "set", "team", "--limit", "tokens=100000", "--limit", "usd=50"];
    let set = [&set[..], &["--soft", "tokens=80000", "--period", "24h"]].concat();
    let view = ff.json(&set);
    assert_eq!(
        view["dimensions"]["tokens"],
        json!({"soft": 80_000, "hard": 100_000, "used": 0, "reserved": 0, "state": "open"})
    );
    assert_eq!((&view["period_ms"], &view["on_breach"]), (&json!(86_400_000), &json!("block")));
    assert_eq!(ff.json(&["budget", "show", "team"]), view);
    let shown = text(&ff, &["budget", "show", "team"]);
    assert!(shown.starts_with("budget     team\nperiod     1d, usage resets"), "{shown}");
    let lines: Vec<_> = shown.lines().rev().take(3).collect();
    assert_eq!(lines[2], "DIMENSION  STATE  USED  RESERVED     HARD    SOFT");
    assert_eq!(lines[1], "tokens     open      0         0  100,000  80,000");
    assert_eq!(lines[0], "usd        open      0         0       50       -");

    let replaced = ff.json(&["budget", "set", "team", "--soft", "eur=7", "--on-breach", "cancel"]);
    assert_eq!(
        replaced["dimensions"],
        json!({"eur": {"soft": 7, "hard": null, "used": 0, "reserved": 0, "state": "open"}})
    );
    assert_eq!((&replaced["resets"], &replaced["since"]), (&Value::Null, &view["since"]));
    assert!(text(&ff, &["budget", "show", "team"]).contains("on breach  cancel: "));
    assert_eq!(
        ff.refusal(&["budget", "show", "team", "--namespace", "rival"])["code"],
        "not_found"
    );
    ff.check();
}

#[test]
fn budgets_are_listed_page_by_page_one_dimension_a_line() {
    let ff = Ff::new();
    ff.ok(&["budget", "set", "b", "--limit", "tokens=1", "--period", "1h"]);
    ff.ok(&["budget", "set", "a", "--limit", "tokens=1000", "--limit", "usd=5"]);
    ff.ok(&["budget", "set", "c", "--limit", "tokens=3"]);
    let table = text(&ff, &["budget", "ls"]);
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines[0], "BUDGET  DIMENSION  STATE  USED  RESERVED   HARD  SOFT  RESETS");
    assert_eq!(lines[1], "a       tokens     open      0         0  1,000     -  never");
    assert_eq!(lines[2], "        usd        open      0         0      5     -");
    assert!(lines[3].starts_with("b       tokens ") && lines[3].contains("in "), "{table}");
    let page = ff.json(&["budget", "ls", "--limit", "2"]);
    assert_eq!((&page["budgets"][1]["budget"], &page["next"]), (&json!("b"), &json!("b")));
    let done = ff.run(&["budget", "ls", "--limit", "2"]);
    assert!(done.stderr.contains("next: ff budget ls --limit 2 --after b"), "{}", done.stderr);
    let page = ff.json(&["budget", "ls", "--limit", "2", "--after", "b"]);
    assert_eq!((&page["budgets"][0]["budget"], &page["next"]), (&json!("c"), &Value::Null));
    assert_eq!(ff.json(&["budget", "ls", "--namespace", "rival"])["budgets"], json!([]));
}

#[test]
fn work_waits_for_a_used_up_budget_and_a_reset_releases_it() {
    let server = Ff::new().serve();
    let ff = server.ff();
    ff.ok(&["budget", "set", "team", "--limit", "tokens=1000", "--soft", "tokens=800"]);
    let first = ff.submit(&["--budget", "team"]);
    let second = ff.submit(&["--budget", "team"]);
    assert_eq!(use_tokens(&server, 1_200), first);
    assert!(text(&ff, &["show", &first]).contains("\nused       1,200 tokens\n"));
    let _worker = ff.worker(&["--exec", "cat"]);
    ff.wait_for_state(&second, "rate_limited");

    let explained = text(&ff, &["explain", &second]);
    let sentence = "waits for budget team: 1200 of 1000 tokens are used or reserved";
    assert!(explained.starts_with(&format!("The execution {sentence}.\n")), "{explained}");
    assert!(explained.contains("\nbudget  team: 1200 of 1000 tokens"), "{explained}");
    let next = ff.run(&["explain", &second]).stderr;
    assert!(next.contains("next: ff budget show team"), "{next}");
    let shown = text(&ff, &["show", &second]);
    for line in
        ["state      rate_limited\n", &format!("reason     {sentence}\n"), "budgets    team\n"]
    {
        assert!(shown.contains(line), "{line:?} is not in {shown}");
    }
    let listed = ff.json(&["ls", "--state", "rate_limited"]);
    assert_eq!(listed["executions"][0]["id"], *second);
    let table = text(&ff, &["budget", "ls"]);
    assert!(table.contains("full   1,200         0  1,000   800"), "{table}");

    let reset = ff.json(&["budget", "reset", "team"]);
    assert_eq!(reset["dimensions"]["tokens"]["used"], 0);
    ff.wait_for_state(&second, "completed");
    assert_eq!(ff.json(&["ls", "--state", "rate_limited"])["executions"], json!([]));
}

#[test]
fn a_program_knows_what_it_needs_to_report() {
    let server = Ff::new().serve();
    let ff = server.ff();
    ff.ok(&["budget", "set", "team", "--limit", "tokens=1000"]);
    let id = ff.submit(&["--budget", "team"]);
    let exec = "echo $FF_LEASE $FF_EPOCH $FF_ATTEMPT > some; mv some fence; \
                while ! test -e go; do sleep 0.05; done";
    let _worker = ff.worker(&["--exec", exec]);
    let fence = wait_for("a fence", || std::fs::read_to_string(ff.path("fence")).ok());
    let [lease, epoch, attempt] = fence.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{fence:?}")
    };
    let number = |text: &str| text.parse::<u64>().unwrap();
    let fence = json!({"lease": lease, "epoch": number(epoch), "attempt": number(attempt)});
    let usage = json!({"fence": fence, "key": "all", "amounts": {"tokens": 42}});
    let answer = post(&server, &format!("/v1/executions/{id}/usage"), &usage);
    assert_eq!(answer, json!({"used": {"tokens": 42}}));
    std::fs::write(ff.path("go"), "").unwrap();
    ff.wait_for_state(&id, "completed");
    assert_eq!(ff.json(&["budget", "show", "team"])["dimensions"]["tokens"]["used"], 42);
}

#[test]
fn a_raised_limit_releases_waiting_work() {
    let server = Ff::new().serve();
    let ff = server.ff();
    ff.ok(&["budget", "set", "team", "--limit", "tokens=100"]);
    let limits = ["--budget", "team", "--estimate", "tokens=60"];
    let [first, second] = [0, 1].map(|_| ff.submit(&limits));
    let exec = "while ! test -e go; do sleep 0.05; done";
    let _worker = ff.worker(&["--concurrency", "2", "--exec", exec]);
    ff.wait_for_state(&first, "active");
    ff.wait_for_state(&second, "rate_limited");
    let budget = ff.json(&["budget", "show", "team"]);
    assert_eq!(budget["dimensions"]["tokens"]["reserved"], 60, "its estimate");
    assert!(text(&ff, &["show", &second]).contains("\nestimate   60 tokens\n"));
    ff.ok(&["budget", "set", "team", "--limit", "tokens=120"]);
    ff.wait_for_state(&second, "active");
    std::fs::write(ff.path("go"), "").unwrap();
    ff.wait_for_state(&second, "completed");
    wait_for("the reservation to be released", || {
        let budget = ff.json(&["budget", "show", "team"]);
        (budget["dimensions"]["tokens"]["reserved"] == 0).then_some(())
    });
}

#[test]
fn work_of_a_removed_budget_waits_until_it_exists_again() {
    let ff = Ff::new();
    ff.ok(&["budget", "set", "team", "--limit", "tokens=100"]);
    let done = ff.run(&["budget", "rm", "team"]);
    assert_eq!((done.code, done.stdout.len()), (Some(0), 0));
    assert!(done.stderr.contains("budget team is gone"), "{}", done.stderr);
    for call in ["show", "reset", "rm"] {
        let refused = ff.refusal(&["budget", call, "team"]);
        assert_eq!(refused["code"], "not_found");
        assert!(refused["message"].as_str().unwrap().starts_with("no such budget"), "{refused}");
    }
    let id = ff.submit(&["--budget", "team"]);
    assert_eq!(ff.work("cat")["claimed"], 0);
    assert!(text(&ff, &["explain", &id]).contains("budget team: there is no such budget"));
    ff.ok(&["budget", "set", "team", "--limit", "tokens=100"]);
    assert_eq!(ff.work("cat")["completed"], 1);
    ff.check();
}

#[test]
fn limits_that_make_no_sense_are_usage() {
    let set = |args: &[&str], expected: &[&str]| {
        misused(&[&["budget", "set", "team"], args].concat(), expected);
    };
    set(&[], &["--limit is missing", "--limit tokens=100000"]);
    for (bad, expected) in [
        ("tokens", "give DIMENSION=AMOUNT, for example tokens=2000"),
        ("=5", "dimension is empty"),
        ("a b=5", "dimension has a character outside"),
        ("tokens=0", "'0' is not a whole number from 1 to 9007199254740992"),
        ("tokens=-5", "'-5' is not a whole number"),
        ("tokens=1.5", "'1.5' is not a whole number"),
        ("tokens=many", "'many' is not a whole number"),
        ("tokens=99999999999999999999", "is not a whole number from 1 to"),
        ("-5", "give DIMENSION=AMOUNT"),
    ] {
        set(&["--limit", bad], &["--limit", expected]);
        set(&["--soft", bad], &["--soft", expected]);
        misused(&["submit", "--budget", "team", "--estimate", bad], &["--estimate", expected]);
    }
    set(&["--limit", "t=1", "--limit", "t=2"], &["--limit names t twice; give it once"]);
    set(&["--soft", "t=1", "--soft", "t=2"], &["--soft names t twice; give it once"]);
    set(&["--limit", "t=1", "--soft", "t=2"], &["--soft t=2 is over --limit t=1"]);
    set(&["--limit", "t=1", "--period", "5"], &["--period", "for example 5s"]);
    set(&["--limit", "t=1", "--on-breach", "explode"], &["--on-breach", "block, cancel"]);
    for call in ["show", "set", "reset", "rm"] {
        misused(&["budget", call, "a b"], &["NAME", "has a character outside"]);
        misused(&["budget", call], &["NAME"]);
    }
    misused(&["budget", "ls", "--limit", "0"], &["--limit", "from 1 to 1000"]);
    misused(&["submit", "--budget", "a b"], &["--budget", "has a character outside"]);
    misused(&["submit", "--budget", "a", "--budget", "a"], &["--budget names a twice"]);
    misused(&["submit", "--estimate", "t=1"], &["--estimate needs a budget", "--budget NAME"]);
    let twice = ["submit", "--budget", "a", "--estimate", "t=1", "--estimate", "t=1"];
    misused(&twice, &["--estimate names t twice"]);
}

#[test]
fn limits_out_of_bounds_are_refused_by_name() {
    let ff = Ff::new();
    for period in ["0s", "1ms", "999ms", "3651d"] {
        let args = ["budget", "set", "team", "--limit", "t=1", "--period", period];
        assert_eq!(ff.refusal(&args)["field"], "period");
    }
    let many: Vec<_> = (0..17).map(|n| format!("--limit=d{n}=1")).collect();
    let args = [&["budget", "set", "team"][..], &refs(&many)].concat();
    let refused = ff.refusal(&args);
    assert_eq!((&refused["code"], &refused["field"]), (&json!("too_large"), &json!("dimensions")));
    let many: Vec<_> = (0..9).map(|n| format!("--budget=b{n}")).collect();
    let refused = ff.refusal(&[&["submit"][..], &refs(&many)].concat());
    assert_eq!((&refused["code"], &refused["field"]), (&json!("too_large"), &json!("budgets")));
    assert_eq!(ff.json(&["budget", "ls"])["budgets"], json!([]), "nothing has changed");
}

fn refs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

#[test]
fn a_mistyped_name_is_warned_about() {
    let ff = Ff::new();
    ff.ok(&["budget", "set", "team", "--limit", "tokens=100"]);
    let done = ff.run(&["submit", "--budget", "taem", "--quota", "aip"]);
    assert_eq!((done.code, done.stdout.len()), (Some(0), 37), "{}", done.stderr);
    for words in ["warning: there is no budget taem", "warning: there is no quota aip"] {
        assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
    }
    let done = ff.run(&["submit", "--budget", "team", "--estimate", "tokns=50"]);
    assert!(done.stderr.contains("none of its budgets counts tokns"), "{}", done.stderr);
    let view = ff.json(&["submit", "--budget", "taem"]);
    let warning = &view["warnings"][0];
    assert_eq!((&warning["code"], &warning["name"]), (&json!("no_such_budget"), &json!("taem")));
    let done = ff.run(&["submit", "--budget", "team", "--estimate", "tokens=50"]);
    assert!(!done.stderr.contains("warning"), "{}", done.stderr);
}
