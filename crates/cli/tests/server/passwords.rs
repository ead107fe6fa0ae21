//! The password of a store's URL, which is never printed.

use ff_testkit::valkey::{Config, Server as Valkey};

use crate::fixture::{Done, bare, finish};

const CANARY: &str = "canary-4711";
const ID: &str = "01890000-0000-7000-8000-000000000001";

/// Every command that opens a store.
const COMMANDS: &[&[&str]] = &[
    &["serve", "--listen", "127.0.0.1:0"],
    &["submit"],
    &["ls"],
    &["show", ID],
    &["explain", ID],
    &["attempts", ID],
    &["result", ID],
    &["input", ID],
    &["cancel", ID],
    &["replay", ID],
    &["priority", ID, "1"],
    &["tags", ID, "a=1"],
    &["revoke", ID],
    &["worker", "--exec", "true"],
    &["workers"],
    &["lane", "ls"],
    &["lane", "pause", "default"],
    &["budget", "ls"],
    &["budget", "set", "b", "--limit", "t=1"],
    &["quota", "ls"],
    &["quota", "set", "q", "--active", "1"],
    &["keys", "ls"],
    &["keys", "add"],
    &["keys", "rotate"],
    &["check"],
    &["backup", "copy.ff"],
    &["bench", "cycle", "--executions", "1"],
];

#[track_caller]
fn silent(what: &str, done: &Done) {
    let stdout = String::from_utf8_lossy(&done.stdout);
    for printed in [&*stdout, &done.stderr] {
        assert!(!printed.contains(CANARY), "{what}: {printed}");
    }
}

#[test]
fn no_command_that_fails_prints_it() {
    let urls = [
        format!("mysql://ann:{CANARY}@127.0.0.1:1"),
        format!("valkey://ann:{CANARY}@127.0.0.1:none"),
        format!("valkey://ann:{CANARY}"),
        format!("valkey://ann:{CANARY}@127.0.0.1:1?colour=red"),
        format!("valkey:ann:{CANARY}@127.0.0.1"),
    ];
    for command in COMMANDS {
        for url in &urls {
            let done = finish(bare(command).args(["--store", url]).env("FF_LOG", "debug"), b"");
            assert_ne!(done.code, Some(0), "{command:?} {url}");
            silent(&format!("{command:?} {url}"), &done);
            assert!(!done.stderr.is_empty(), "{command:?} says why");
        }
    }
}

#[test]
fn a_command_that_does_not_reach_the_store_does_not_print_it() {
    // Two commands suffice: how a store is reached does not depend on the command.
    let url = format!("valkey://ann:{CANARY}@127.0.0.1:1");
    for command in [&["ls"][..], &["check", "--json"]] {
        let done = finish(bare(command).env("FF_STORE", &url).env("FF_LOG", "trace"), b"");
        assert_ne!(done.code, Some(0));
        silent(&format!("{command:?}"), &done);
    }
    let done = finish(&mut bare(&["ls", "--url", &format!("http://ann:{CANARY}@localhost")]), b"");
    assert_ne!(done.code, Some(0));
    silent("a server", &done);
}

#[test]
fn an_invalid_command_line_is_reported_without_it() {
    let url = format!("valkey://ann:{CANARY}@127.0.0.1:1");
    let flag = format!("--stroe={url}");
    for args in [
        &["ls", &url][..],
        &["ls", &flag],
        &["ls", &flag, "--json"],
        &[&url],
        &["show", &url],
        &["ls", "--limit", &url],
        &["ls", "--from", &url, "--json"],
        &["submit", "--store", &url, "--lane", &url],
    ] {
        let done = finish(&mut bare(args), b"");
        assert_ne!(done.code, Some(0), "{args:?}");
        silent(&format!("{args:?}"), &done);
    }
}

#[test]
fn a_hint_that_names_the_store_leaves_it_out() {
    let valkey = Valkey::start(Config::default().with("appendfsync", "no"));
    valkey.command(&["CONFIG", "SET", "requirepass", CANARY]).unwrap();
    let url = valkey.url().replace("valkey://", &format!("valkey://:{CANARY}@"));
    let done = finish(bare(&["submit"]).args(["--store", &url]).env("FF_LOG", "debug"), b"");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    silent("submit", &done);
    assert!(done.stderr.contains("valkey://***@"), "{}", done.stderr);
    let wrong = url.replace(CANARY, &format!("{CANARY}-not"));
    let done = finish(bare(&["ls"]).args(["--store", &wrong]).env("FF_LOG", "debug"), b"");
    assert_ne!(done.code, Some(0));
    silent("a wrong password", &done);
}
