//! A new user finds help, the version, completions and manual pages.

use crate::fixture::{Done, Ff, bare, finish};

fn run(args: &[&str]) -> Done {
    finish(&mut bare(args), b"")
}

/// What `args` print, which must be data and nothing else.
fn printed(args: &[&str]) -> String {
    let done = run(args);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "ff {args:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_bare_ff_prints_its_help() {
    let help = printed(&["--help"]);
    assert_eq!(printed(&[]), help);
    assert_eq!(printed(&["help"]), help);
    for command in ["dev", "submit", "ls", "wait", "completions", "man", "version", "help"] {
        assert!(help.lines().any(|line| line.starts_with(&format!("  {command} "))), "{command}");
    }
    assert!(printed(&["lane"]).contains("Usage: ff lane "));
}

#[test]
fn help_is_found_by_the_name_of_a_command() {
    for command in [&["submit"][..], &["lane"], &["lane", "limit"]] {
        let by_flag = printed(&[command, &["--help"]].concat());
        assert_eq!(printed(&[&["help"], command].concat()), by_flag, "{command:?}");
    }
    assert_eq!(printed(&["lane", "help", "limit"]), printed(&["lane", "limit", "--help"]));
    let unknown = run(&["help", "frobnicate"]);
    assert_eq!((unknown.code, unknown.stdout.len()), (Some(2), 0));
}

#[test]
fn the_version_is_a_command_and_a_flag() {
    let version = printed(&["version"]);
    assert_eq!(version, printed(&["--version"]));
    let json: serde_json::Value = serde_json::from_str(&printed(&["version", "--json"])).unwrap();
    assert_eq!(format!("ff {}\n", json["version"].as_str().unwrap()), version);
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = printed(&["completions", shell]);
        for word in ["submit", "idempotency-key", "explain"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
    let unknown = run(&["completions", "csh"]);
    assert_eq!((unknown.code, unknown.stdout.len()), (Some(2), 0));
    assert!(unknown.stderr.contains("fish"), "{}", unknown.stderr);
}

#[test]
fn every_command_has_a_manual_page() {
    let page = printed(&["man"]);
    assert!(page.contains(".TH ff 1") && page.contains("ff\\-submit(1)"), "{page}");
    let limit = printed(&["man", "lane", "limit"]);
    assert!(limit.contains(".TH ff-lane-limit 1"), "{limit}");
    let unknown = run(&["man", "lane", "paint"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("ff lane has no command paint"), "{}", unknown.stderr);
}

#[test]
fn the_namespace_can_come_from_the_environment() {
    let ff = Ff::new();
    let id = ff.submit(&["--namespace", "team"]);
    let listed = |command: &mut std::process::Command| {
        let done = finish(command, b"");
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        (String::from_utf8(done.stdout).unwrap(), done.stderr)
    };
    let (found, hint) = listed(ff.command(&["ls"]).env("FF_NAMESPACE", "team"));
    assert!(found.contains(&id), "{found}");
    assert!(!hint.contains("--namespace"), "the environment says it again: {hint}");
    let (found, hint) = listed(ff.command(&["ls", "--namespace", "team"]).env("FF_NAMESPACE", "x"));
    assert!(found.contains(&id) && hint.contains("--namespace team"), "{found}{hint}");
    assert!(listed(&mut ff.command(&["ls"])).0.is_empty());
    let bad = finish(ff.command(&["ls"]).env("FF_NAMESPACE", "a b"), b"");
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("--namespace"), "{}", bad.stderr);
}
