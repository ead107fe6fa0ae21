//! A cancel reaches the program.

use crate::fixture::{Ff, wait_for, wait_for_lines};

/// A program that records its start, and waits; its child waits with it.
const SLEEPER: &str = "echo $$ >> started; sleep 1000; echo >> survived";

fn process_is_gone(ff: &Ff) {
    let pid = std::fs::read_to_string(ff.path("started")).unwrap().trim().to_owned();
    let stat = std::path::PathBuf::from(format!("/proc/{pid}/stat"));
    wait_for("the program to be gone", || (!stat.exists()).then_some(()));
    assert!(!ff.path("survived").exists());
}

#[test]
fn cancel_at_once_kills_the_program() {
    let ff = Ff::new();
    let id = ff.submit(&["--lease-ttl", "300ms"]);
    let _worker = ff.worker(&["--exec", SLEEPER]);
    wait_for_lines(&ff.path("started"), 1);
    ff.ok(&["cancel", &id, "--reason", "enough"]);
    process_is_gone(&ff);
    let view = ff.show(&id);
    assert_eq!((&view["state"], &view["reason"]), (&"cancelled".into(), &"enough".into()));
    // The worker continues.
    let next = ff.submit(&["--lease-ttl", "300ms"]);
    wait_for_lines(&ff.path("started"), 2);
    ff.ok(&["cancel", &next]);
    ff.check();
}

#[test]
fn cancel_with_grace_lets_the_program_stop_by_itself() {
    let ff = Ff::new();
    let id = ff.submit(&["--lease-ttl", "300ms"]);
    let exec = "trap 'echo >> cleaned; exit 1' TERM; echo $$ >> started; sleep 1000 & wait";
    let _worker = ff.worker(&["--exec", exec]);
    wait_for_lines(&ff.path("started"), 1);
    let answer = ff.json(&["cancel", &id, "--grace", "1h", "--reason", "enough"]);
    assert_eq!(answer["status"], "cancelling");
    let view = ff.wait_for_state(&id, "cancelled");
    assert_eq!(view["reason"], "enough");
    assert_eq!(std::fs::read_to_string(ff.path("cleaned")).unwrap(), "\n");
    assert_eq!(ff.attempts(&id)[0]["status"], "cancelled");
}

#[test]
fn work_that_is_done_in_spite_of_a_cancel_with_grace_counts() {
    let ff = Ff::new();
    let id = ff.submit(&["--lease-ttl", "300ms"]);
    let exec = "trap 'printf saved; exit 0' TERM; echo $$ >> started; sleep 1000 & wait";
    let _worker = ff.worker(&["--exec", exec]);
    wait_for_lines(&ff.path("started"), 1);
    ff.ok(&["cancel", &id, "--grace", "1h"]);
    ff.wait_for_state(&id, "completed");
    assert_eq!(ff.ok(&["result", &id]), b"saved");
}

#[test]
fn a_program_that_ignores_sigterm_is_killed_after_the_grace() {
    let ff = Ff::new();
    let id = ff.submit(&["--lease-ttl", "300ms"]);
    let exec = "trap '' TERM; echo $$ >> started; sleep 1000; echo >> survived";
    let _worker = ff.worker(&["--grace", "200ms", "--exec", exec]);
    wait_for_lines(&ff.path("started"), 1);
    ff.ok(&["cancel", &id]);
    process_is_gone(&ff);
}
