//! A store that is missing, or is no store: which commands create one, and what the others print.

use std::collections::BTreeSet;

use crate::fixture::Ff;

const ID: &str = "018bcfe5-6800-7000-857a-47847ae14b9d";

/// A call of each command that works on a store and does not create one.
const OTHERS: &[&[&str]] = &[
    &["ls"],
    &["show", ID],
    &["show", "018bcfe5"],
    &["wait", ID],
    &["explain", ID],
    &["attempts", ID],
    &["result", ID],
    &["input", ID],
    &["cancel", ID],
    &["replay", ID, "--run", "0"],
    &["replay", "--lane", "default"],
    &["delete", ID],
    &["priority", ID, "7"],
    &["tags", ID, "a=b"],
    &["revoke", ID],
    &["workers"],
    &["lane", "ls"],
    &["lane", "show", "default"],
    &["lane", "pause", "default"],
    &["budget", "ls"],
    &["budget", "show", "team"],
    &["budget", "reset", "team"],
    &["quota", "ls"],
    &["quota", "show", "api"],
    &["steps", ID],
    &["waitpoints", ID],
    &["signal", ID, "gate"],
    &["approve", ID],
    &["reject", ID, "gate"],
    &["link", ID, "--for", "ann"],
    &["tail", ID],
    &["events"],
    &["feed"],
    &["feed", "on"],
    &["flow", "ls"],
    &["flow", "show", ID],
    &["flow", "cancel", ID],
    &["webhook", "ls"],
    &["resume", ID],
    &["keys", "ls"],
    &["token", "ls"],
    &["check"],
    &["check", "--repair"],
    &["backup", "copy.ff"],
];

/// The commands that create a missing store, and those that need none.
const NOT_HERE: &[&str] = &[
    "dev",
    "serve",
    "submit",
    "worker",
    "bench",
    "progress",
    "usage",
    "step",
    "upstream",
    "mcp",
    "completions",
    "man",
    "version",
    "help",
    "migrate",
];

/// The names of all commands.
fn commands(ff: &Ff) -> BTreeSet<String> {
    let help = String::from_utf8(ff.ok(&["--help"])).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn only_commands_that_submit_or_run_work_create_a_store() {
    let ff = Ff::nowhere();
    let named: BTreeSet<_> = OTHERS.iter().map(|call| call[0].to_owned()).collect();
    let rest: BTreeSet<_> = NOT_HERE.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(named.union(&rest).cloned().collect::<BTreeSet<_>>(), commands(&ff));
    for call in OTHERS {
        let why = ff.failure(11, call);
        assert_eq!(why["code"], "store_missing", "ff {call:?}: {why}");
        let message = why["message"].as_str().unwrap();
        assert!(message.contains("ff.db does not exist"), "ff {call:?}: {message}");
        assert_eq!(ff.path("").read_dir().unwrap().count(), 0, "ff {call:?} made something");
    }
}

#[test]
fn a_created_store_is_reported_once() {
    let ff = Ff::nowhere();
    let made = format!("created a new store, {}\n", ff.store());
    assert!(ff.run(&["submit"]).stderr.starts_with(&made));
    assert!(!ff.run(&["submit"]).stderr.contains("created a new store"));
    let other = Ff::nowhere();
    let made = format!("created a new store, {}\n", other.store());
    let done = other.run(&["worker", "--until-idle", "--exec", "true"]);
    assert!(done.stderr.starts_with(&made), "{}", done.stderr);
}

#[test]
fn a_file_that_is_no_store_is_recognised() {
    for (content, what) in [("", "is empty"), ("dear diary, what a day", "not an SQLite database")]
    {
        let ff = Ff::nowhere();
        std::fs::write(ff.path("ff.db"), content).unwrap();
        for call in OTHERS {
            let why = ff.failure(9, call);
            assert_eq!(why["code"], "store_incompatible", "ff {call:?}: {why}");
            let message = why["message"].as_str().unwrap();
            assert!(message.contains(what) && message.contains("ff.db"), "ff {call:?}: {message}");
        }
        assert_eq!(std::fs::read(ff.path("ff.db")).unwrap(), content.as_bytes());
        let left = ff.path("").read_dir().unwrap().count();
        assert_eq!(left, 1, "another file was created");
    }
}
