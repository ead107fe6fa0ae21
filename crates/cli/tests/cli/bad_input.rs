//! Bad input: each is refused with the right exit code and a message that names what is wrong.

use crate::fixture::{Done, Ff, bare, finish};

const ID: &str = "01890000-0000-7000-8000-000000000001";

/// Runs `args`, which must exit with `code` and print all of `expected`.
fn refused(args: &[&str], code: i32, expected: &[&str]) {
    let done = Ff::new().run(args);
    must_print(args, &done, code, expected);
}

fn must_print(args: &[&str], done: &Done, code: i32, expected: &[&str]) {
    assert_eq!(done.code, Some(code), "ff {args:?}: {}", done.stderr);
    assert!(done.stdout.is_empty(), "ff {args:?} printed data");
    for words in expected {
        assert!(
            done.stderr.contains(words),
            "ff {args:?} does not print {words:?}: {}",
            done.stderr
        );
    }
    assert!(!done.stderr.contains("panicked"), "ff {args:?}: {}", done.stderr);
}

#[test]
fn names_outside_their_alphabet_or_length_are_refused() {
    let long = "x".repeat(65);
    for (flag, bad) in [
        ("--lane", "a b"),
        ("--lane", ""),
        ("--lane", "a:b"),
        ("--kind", "größe"),
        ("--namespace", "../x"),
        ("--retry-on", "-x"),
    ] {
        let value = format!("{flag}={bad}");
        refused(&["submit", &value], 2, &[flag, "(invalid_argument)"]);
    }
    for flag in ["--lane", "--kind", "--namespace", "--retry-on"] {
        refused(&["submit", flag, &long], 2, &[flag, "has 65 bytes; at most 64", "(too_large)"]);
    }
    refused(&["worker", "--exec", "true", "--worker", "a b"], 2, &["--worker"]);
    refused(&["submit", "--idempotency-key", &"k".repeat(257)], 2, &["--idempotency-key", "256"]);
    refused(&["submit", "--idempotency-key", "a b"], 2, &["--idempotency-key", "visible ASCII"]);
}

#[test]
fn ids_that_are_no_ids_are_refused() {
    let other_version = "550e8400-e29b-41d4-a716-446655440000";
    for bad in ["x", "", other_version, &ID.replace('-', "")] {
        for command in ["show", "attempts", "result", "input", "cancel", "replay", "revoke"] {
            refused(&[command, bad], 2, &["ID", "give a UUIDv7"]);
        }
        refused(&["submit", "--id", bad], 2, &["--id", "give a UUIDv7"]);
    }
    refused(&["show", ID], 1, &["no such execution", "(not_found)"]);
    refused(&["revoke", ID, "--lease", "x"], 2, &["--lease", "is not a lease id"]);
}

#[test]
fn numbers_out_of_range_are_refused() {
    for bad in ["-9001", "9001", "99999999999999999999", "-", "+1", "NaN", "1.5", "", "0x1"] {
        refused(&["submit", "--priority", bad], 2, &["--priority"]);
        refused(&["priority", ID, bad], 2, &["N"]);
    }
    refused(
        &["submit", "--priority", "9001"],
        2,
        &["'9001' is not a whole number from -9000 to 9000"],
    );
    for (flag, bad) in [
        ("--max-attempts", "0"),
        ("--max-attempts", "1001"),
        ("--max-attempts", "-1"),
        ("--max-reclaims", "-1"),
        ("--max-reclaims", "1001"),
        ("--jitter", "101"),
        ("--jitter", "-1"),
    ] {
        refused(&["submit", flag, bad], 2, &[flag, bad]);
    }
    refused(&["ls", "--limit", "0"], 2, &["--limit", "'0' is not a whole number from 1 to 1000"]);
    refused(&["ls", "--limit", "1001"], 2, &["--limit"]);
    refused(&["replay", ID, "--run", "-1"], 2, &["--run"]);
    refused(&["result", ID, "--run", "4294967296"], 2, &["--run"]);
    refused(&["worker", "--exec", "x", "--concurrency", "0"], 2, &["--concurrency"]);
    refused(&["worker", "--exec", "x", "--concurrency", "257"], 2, &["--concurrency"]);
}

#[test]
fn durations_that_are_none_are_refused_with_an_example() {
    let flags = [
        "--delay",
        "--backoff",
        "--backoff-cap",
        "--attempt-timeout",
        "--deadline",
        "--lease-ttl",
        "--retention",
    ];
    for flag in flags {
        for bad in ["-5s", "5", "s", "", "1.5s", "99999999999999999999s", "5 s", "NaN"] {
            refused(&["submit", flag, bad], 2, &[flag, "for example 5s"]);
        }
    }
    refused(&["cancel", ID, "--grace", "-1s"], 2, &["--grace", "is negative"]);
    refused(&["worker", "--exec", "x", "--drain", "x"], 2, &["--drain", "for example 5s"]);
}

#[test]
fn spans_past_their_bounds_are_refused_by_name() {
    for (flag, bad, field) in [
        ("--delay", "3651d", "start"),
        ("--lease-ttl", "0s", "lease_ttl"),
        ("--lease-ttl", "99ms", "lease_ttl"),
        ("--lease-ttl", "25h", "lease_ttl"),
        ("--attempt-timeout", "0s", "attempt_timeout"),
        ("--deadline", "0s", "deadline"),
        ("--retention", "0s", "retention"),
        ("--retention", "3651d", "retention"),
        ("--backoff", "3651d", "backoff.base"),
    ] {
        refused(&["submit", flag, bad], 1, &[field, "; give ", "(invalid_argument)"]);
    }
    let short = ["submit", "--idempotency-key", "k", "--retention", "1h"];
    refused(&short, 1, &["retention"]);
    let ff = Ff::new();
    let id = ff.submit(&[]);
    for bad in ["0s", "25h"] {
        let args = ["cancel", &id, "--grace", bad];
        must_print(&args, &ff.run(&args), 1, &["grace is"]);
    }
}

#[test]
fn times_that_are_none_are_refused_with_an_example() {
    for (command, flag) in [("submit", "--at"), ("ls", "--from"), ("ls", "--to")] {
        for bad in ["yesterday", "2026-03-01", "1700000000", ""] {
            let value = format!("{flag}={bad}");
            refused(&[command, &value], 2, &[flag, "2026-03-01T12:00:00Z"]);
        }
    }
    refused(&["submit", "--at", "2026-03-01T12:00:00Z", "--delay", "1s"], 2, &["cannot be used"]);
}

#[test]
fn bad_json_is_refused_with_its_place() {
    refused(&["submit", "--input", "{\"a\": }"], 2, &["--input", "line 1 column 7"]);
    refused(&["submit", "--input", "{\n\"a\": 1\n"], 2, &["--input", "line 3 column 0"]);
    refused(&["submit", "--input", "nan"], 2, &["--input is not JSON", "--input-raw"]);
    refused(&["submit", "--input", ""], 2, &["--input is not JSON"]);
    let ff = Ff::new();
    let args = ["submit", "--input", "-"];
    must_print(&args, &ff.run_with_stdin(&args, b"\"\xff\""), 2, &["byte 2 is not UTF-8"]);
    refused(&["submit", "--input", "@missing"], 2, &["--input cannot read missing", "No such"]);
    refused(&["submit", "--input-raw", "text"], 2, &["--input-raw takes @FILE"]);
    refused(&["submit", "--input", "1", "--input-raw", "-"], 2, &["cannot be used"]);
    refused(&["submit", "--content-type", "a/b"], 2, &["--input-raw"]);
}

#[test]
fn a_payload_over_the_limit_is_refused() {
    let ff = Ff::new();
    let raw = ["submit", "--input-raw", "-"];
    let over = vec![b'1'; (1 << 20) + 1];
    let done = ff.run_with_stdin(&raw, &over);
    must_print(&raw, &done, 1, &["input has 1048577 bytes", "1048576", "(too_large)"]);
    let json = ["submit", "--input", "-"];
    must_print(&json, &ff.run_with_stdin(&json, &over), 1, &["input has", "(too_large)"]);
    must_print(
        &raw,
        &ff.run_with_stdin(&["submit", "--input-raw", "@/dev/zero"], b""),
        1,
        &["(too_large)"],
    );
    assert_eq!(ff.json(&["ls"])["executions"], serde_json::json!([]));
}

#[test]
fn tags_and_capabilities_out_of_bounds_are_refused() {
    refused(&["submit", "--tag", "x"], 2, &["--tag", "KEY=VALUE"]);
    refused(&["submit", "--tag", "a b=c"], 2, &["--tag", "tag key"]);
    refused(&["submit", "--tag", &format!("a={}", "x".repeat(257))], 2, &["--tag", "tag value"]);
    refused(&["submit", "--tag", "a=1", "--tag", "a=2"], 2, &["--tag names a twice"]);
    refused(&["submit", "--require", "a,b"], 2, &["--require", "comma"]);
    refused(&["submit", "--require", ""], 2, &["--require", "empty"]);
    refused(&["worker", "--exec", "x", "--capability", "a b"], 2, &["--capability"]);
    refused(&["tags", ID], 2, &["KEY=VALUE"]);
    refused(&["tags", ID, "a=1", "--remove", "a"], 2, &["--remove names a"]);
    let tags: Vec<_> = (0..33).map(|n| format!("--tag=t{n}=x")).collect();
    let args: Vec<_> = ["submit"].into_iter().chain(tags.iter().map(String::as_str)).collect();
    refused(&args, 1, &["tags has 33 tags; at most 32", "(too_large)"]);
}

#[test]
fn a_bad_cursor_is_refused() {
    for bad in ["x", "", "1", &"1".repeat(45), &"f".repeat(45)] {
        let value = format!("--cursor={bad}");
        refused(&["ls", &value], 2, &["--cursor", "is not a cursor"]);
    }
}

#[test]
fn an_unknown_state_is_refused_with_the_list_of_states() {
    let words = "waiting, delayed, rate_limited, suspended, waiting_children, active, resumable, completed, \
                 failed, cancelled, expired, skipped";
    for bad in ["running", "", "Waiting"] {
        let value = format!("--state={bad}");
        refused(&["ls", &value], 2, &["--state", words]);
    }
}

#[test]
fn a_missing_store_is_refused_with_advice() {
    for args in [&["check"][..], &["serve"]] {
        let done = finish(&mut bare(args), b"");
        must_print(args, &done, 2, &["no store is given", "--store sqlite:PATH", "FF_STORE"]);
    }
    let done = finish(bare(&["check"]).env("FF_STORE", ""), b"");
    must_print(&["check"], &done, 2, &["no store is given"]);
}

#[test]
fn a_store_that_is_none_is_refused() {
    for (bad, exit) in
        [("nonsense", 1), ("sqlite:/no/such/directory/ff.db", 11), ("redis://127.0.0.1:1", 3)]
    {
        let done = finish(&mut bare(&["ls", "--store", bad]), b"");
        assert_eq!(done.code, Some(exit), "{bad}: {}", done.stderr);
        assert!(done.stderr.starts_with("error: "), "{}", done.stderr);
    }
    let ff = Ff::new();
    std::fs::write(ff.path("ff.db"), "this is no database, but a letter to a friend").unwrap();
    let done = ff.run(&["ls"]);
    assert_eq!(done.code, Some(9));
    assert!(done.stderr.contains("(store_incompatible)"), "{}", done.stderr);
}

#[test]
fn a_command_line_without_sense_is_usage() {
    for args in [
        &["frobnicate"][..],
        &["submit", "--frobnicate"],
        &["show"],
        &["worker"],
        &["worker", "--exec", "x", "--once", "--until-idle"],
        &["submit", "--timeout", "1s"],
        &["priority", ID],
    ] {
        let done = Ff::new().run(args);
        assert_eq!(done.code, Some(2), "{args:?}: {}", done.stderr);
        assert!(done.stdout.is_empty());
    }
}
