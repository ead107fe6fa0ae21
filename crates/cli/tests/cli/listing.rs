//! Listings as people and scripts read them.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::fixture::{Ff, Process, bare, finish};

fn ids(page: &Value) -> Vec<&str> {
    page["executions"].as_array().unwrap().iter().map(|view| view["id"].as_str().unwrap()).collect()
}

#[test]
fn several_states_are_listed_at_once() {
    let ff = Ff::new();
    let delayed = ff.submit(&["--delay", "1h"]);
    let completed = ff.submit(&[]);
    ff.work("true");
    let waiting = ff.submit(&[]);
    let server = ff.serve();
    for ff in [&ff, &server.ff()] {
        assert_eq!(ids(&ff.json(&["ls", "--state", "waiting,delayed"])), [&*waiting, &*delayed]);
        let repeated = ff.json(&["ls", "--state", "completed", "--state", "waiting"]);
        assert_eq!(ids(&repeated), [&*waiting, &*completed]);
        let page = ff.run(&["ls", "--state", "completed,waiting", "--limit", "1", "-o", "wide"]);
        assert!(page.stderr.contains("--state completed,waiting --output wide"), "{}", page.stderr);
    }
    let bad = ff.run(&["ls", "--state", "waiting,running"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("rate_limited"), "{}", bad.stderr);
}

#[test]
fn nothing_is_cut_in_a_pipe() {
    let ff = Ff::new();
    let lane = "a-lane-with-a-name-of-sixty-four-characters-which-is-the-longest";
    let id = ff.submit(&["--lane", lane]);
    let reason = format!("{} and the end of it", "why ".repeat(40).trim_end());
    ff.ok(&["cancel", &id, "--reason", &reason]);
    for columns in ["40", "80"] {
        let done = finish(ff.command(&["ls"]).env("COLUMNS", columns), b"");
        let text = String::from_utf8(done.stdout).unwrap();
        assert!([&id, lane, &reason].iter().all(|part| text.contains(*part)), "{text}");
    }
}

#[test]
fn a_terminal_of_80_columns_has_lines_that_fit_and_ids_that_work() {
    let ff = Ff::new();
    let lane = "a-lane-with-a-name-of-sixty-four-characters-which-is-the-longest";
    let id = ff.submit(&["--lane", lane, "--kind", "a-kind-of-work-with-a-long-name"]);
    ff.ok(&["cancel", &id, "--reason", &"why ".repeat(40)]);
    ff.submit(&["--delay", "1h"]);
    let on_terminal = |args: &str| {
        // `script` gives its command a terminal.
        let line = format!("{} {args} --store {}", env!("CARGO_BIN_EXE_ff"), ff.store());
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("COLUMNS", "80").env("NO_COLOR", "1");
        String::from_utf8(finish(&mut script, b"").stdout).unwrap()
    };
    let text = on_terminal("ls 2>/dev/null");
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");
    let short = lines[2].split_whitespace().next().unwrap();
    assert!(short.len() < 36 && ff.show(short)["id"] == *id, "{text}");
    let wide = on_terminal("ls -o wide 2>/dev/null");
    assert!(wide.contains(&id) && wide.contains(lane), "{wide}");
    let lanes = on_terminal("lane ls 2>/dev/null");
    assert!(lanes.lines().all(|line| line.trim_end().chars().count() <= 80), "{lanes}");
}

#[test]
fn a_watched_listing_is_printed_once_for_every_change() {
    let ff = Ff::new();
    let first = ff.submit(&[]);
    let mut command = ff.command(&["ls", "--watch", "100ms", "--json"]);
    let mut watch = Process::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
    let lines = watch.stdout();
    let next = || serde_json::from_str::<Value>(&lines.next().unwrap()).unwrap();
    assert_eq!(ids(&next()), [&*first]);
    let second = ff.submit(&[]);
    assert_eq!(ids(&next()), [&*second, &*first]);
    ff.ok(&["cancel", &first]);
    assert_eq!(next()["executions"][1]["state"], "cancelled");
    watch.signal(Signal::INT);
    assert!(watch.ended().success());
    let hasty = finish(&mut bare(&["ls", "--watch", "1ms"]), b"");
    assert_eq!(hasty.code, Some(2));
    assert!(hasty.stderr.contains("give 100ms or more"), "{}", hasty.stderr);
}
