//! What a server logs, and how.

use std::process::{Command, Stdio};

use ff_testkit::valkey::{Config, Server as Valkey};
use serde_json::Value;

use crate::fixture::{Ff, Lines, Process, bare, get, wait_for};

/// A server and the lines it writes to stderr.
fn serve(store: &str, args: &[&str], env: &[(&str, &str)]) -> (Process, String, Lines) {
    let mut command: Command = bare(&["serve", "--listen", "127.0.0.1:0", "--store", store]);
    command.args(args).envs(env.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    let url = process.stdout().next().unwrap();
    let lines = process.stderr();
    (process, url, lines)
}

/// Whether a request is logged, which only the level debug does.
fn debugs(env: &[(&str, &str)]) -> bool {
    let (mut process, url, lines) = serve(&Ff::new().store(), &["--log-format", "json"], env);
    assert_eq!(get(&url, "/livez").unwrap().0, 200);
    process.signal(rustix::process::Signal::TERM);
    assert!(process.ended().success());
    let lines = lines.rest();
    let is_json = |line: &&String| line.starts_with('{');
    let views =
        lines.iter().filter(is_json).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut requests = views.filter(|view| view["route"] == "/livez");
    requests.next().is_some_and(|view| {
        assert_eq!((&view["level"], &view["message"]), (&"debug".into(), &"request".into()));
        assert_eq!((&view["status"], &view["method"]), (&200.into(), &"GET".into()));
        assert!(view["time"].as_str().unwrap().ends_with('Z'), "{view}");
        assert_eq!(view["target"], "ff_server::middleware");
        true
    })
}

#[test]
fn both_variables_choose_what_is_logged_and_the_products_own_wins() {
    assert!(!debugs(&[]));
    assert!(debugs(&[("RUST_LOG", "ff_server=debug")]));
    assert!(debugs(&[("FF_LOG", "ff_server=debug")]));
    assert!(debugs(&[("FF_LOG", "ff_server=debug"), ("RUST_LOG", "warn")]));
    assert!(!debugs(&[("FF_LOG", "warn"), ("RUST_LOG", "ff_server=debug")]));
    assert!(debugs(&[("FF_LOG", ""), ("RUST_LOG", "ff_server=debug")]));
    assert!(debugs(&[("FF_LOG", "warn, ff_server=debug")]));
    assert!(!debugs(&[("FF_LOG", "warn,")]), "nothing after a comma selects nothing");
}

#[test]
fn an_invalid_filter_is_reported_and_warnings_are_logged() {
    let done = crate::fixture::finish(bare(&["docs", "limits"]).env("FF_LOG", "ff=loud=1"), b"");
    assert_eq!(done.code, Some(0));
    assert!(done.stderr.contains("FF_LOG is not a filter"), "{}", done.stderr);
}

#[test]
fn an_outage_is_logged_when_it_begins_and_when_it_is_over() {
    let valkey = Valkey::start(Config::default().with("appendfsync", "no"));
    let store = Ff::on(&valkey.url());
    let (mut process, url, lines) = serve(&store.store(), &["--log-format", "json"], &[]);
    assert_eq!(get(&url, "/readyz").unwrap().0, 200);
    let status = |path: &str| get(&url, path).map(|(status, _)| status);

    valkey.pause();
    wait_for("the store to be missed", || (status("/readyz") == Some(503)).then_some(()));
    assert_eq!(status("/livez"), Some(200), "the process answers");
    assert_eq!(status("/healthz"), Some(503));
    let began = lines.after("the store does not answer");
    assert!(began.starts_with('"'), "{began}");
    // More calls fail meanwhile: of clients, and of background services.
    for _ in 0..3 {
        let (status, body) = get(&url, "/v1/executions").unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &body["code"]), (503, &"store_unavailable".into()));
    }
    valkey.resume();
    let over = loop {
        let line = lines.next().unwrap();
        if !line.starts_with('{') {
            continue;
        }
        let view: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(view["message"], "the store answers again", "nothing else is worth a line");
        break view;
    };
    assert!(over["failures"].as_u64().unwrap() >= 4, "{over}");
    assert!(over["lasted_ms"].as_u64().unwrap() > 0, "{over}");
    assert_eq!(status("/readyz"), Some(200));
    process.signal(rustix::process::Signal::TERM);
    assert!(process.ended().success());
}
