//! A worker keeps its leases while it lives, and not beyond.

use crate::fixture::{Ff, wait_for_lines};
use rustix::process::Signal;

#[test]
fn renewal_keeps_a_job_that_is_longer_than_its_lease() {
    let ff = Ff::new();
    let id = ff.submit(&["--lease-ttl", "300ms"]);
    // Another worker is ready to take lost executions.
    let _rival = ff.worker(&["--exec", "echo >> runs; sleep 1; printf done"]);
    let _worker = ff.worker(&["--exec", "echo >> runs; sleep 1; printf done"]);
    let view = ff.wait_for_state(&id, "completed");
    assert_eq!((&view["attempts"], &view["reclaims"]), (&1.into(), &0.into()));
    assert_eq!(std::fs::read_to_string(ff.path("runs")).unwrap(), "\n");
    let attempt = &ff.attempts(&id)[0];
    assert_eq!(attempt["status"], "completed");
    ff.check();
}

#[test]
fn work_of_a_killed_worker_is_reclaimed_and_finished_by_another() {
    let ff = Ff::new();
    let id = ff.submit(&["--lease-ttl", "500ms", "--input", "7"]);
    let mut first = ff.worker(&["--worker", "first", "--exec", "echo >> started; sleep 20"]);
    wait_for_lines(&ff.path("started"), 1);
    first.signal(Signal::KILL);
    first.ended();
    let _second = ff.worker(&["--worker", "second", "--exec", "cat"]);
    let view = ff.wait_for_state(&id, "completed");
    assert_eq!((&view["attempt"], &view["reclaims"]), (&1.into(), &1.into()));
    assert_eq!(view["failures"], 0);
    let attempts = ff.attempts(&id);
    assert_eq!(
        (&attempts[0]["status"], &attempts[0]["worker"]),
        (&"lease_lost".into(), &"first".into())
    );
    assert_eq!(
        (&attempts[1]["status"], &attempts[1]["worker"]),
        (&"completed".into(), &"second".into())
    );
    assert_eq!(ff.ok(&["result", &id]), b"7");
    ff.check();
}

#[test]
fn a_worker_that_was_stopped_past_its_lease_ends_only_its_own_work() {
    let ff = Ff::new();
    let id = ff.submit(&["--lease-ttl", "300ms"]);
    let first =
        ff.worker(&["--worker", "first", "--exec", "echo >> started; cat; sleep 1; printf 1"]);
    wait_for_lines(&ff.path("started"), 1);
    first.signal(Signal::STOP);
    let _second = ff.worker(&["--worker", "second", "--exec", "printf 2"]);
    ff.wait_for_state(&id, "completed");
    first.signal(Signal::CONT);
    // Asked to stop, it ends only when its program has ended and the store has answered.
    first.signal(Signal::TERM);
    let mut first = first;
    assert!(first.ended().success());
    assert_eq!(ff.ok(&["result", &id]), b"2");
    assert_eq!(ff.attempts(&id).len(), 2);
    ff.check();
}

#[test]
fn an_attempt_past_its_timeout_is_stopped_and_tried_again() {
    let ff = Ff::new();
    let id = ff.submit(&["--attempt-timeout", "500ms", "--backoff", "0s"]);
    let exec = "test $FF_ATTEMPT -gt 0 && exit 0; trap 'echo >> stopped; exit 0' TERM; \
                sleep 20 & wait";
    let _worker = ff.worker(&["--exec", exec]);
    let view = ff.wait_for_state(&id, "completed");
    assert_eq!((&view["attempts"], &view["failures"]), (&2.into(), &1.into()));
    assert_eq!(ff.attempts(&id)[0]["status"], "timed_out");
    wait_for_lines(&ff.path("stopped"), 1);
}

#[test]
fn a_stopping_worker_finishes_what_it_runs() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    let next = ff.submit(&[]);
    let mut worker = ff.worker(&["--exec", "echo >> started; sleep 1; printf done"]);
    wait_for_lines(&ff.path("started"), 1);
    worker.signal(Signal::TERM);
    assert!(worker.ended().success());
    assert_eq!(ff.ok(&["result", &id]), b"done");
    assert_eq!(ff.show(&next)["state"], "waiting");
}

#[test]
fn work_that_outlasts_the_drain_is_handed_back() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    let mut worker =
        ff.worker(&["--drain", "100ms", "--grace", "1s", "--exec", "echo >> started; sleep 20"]);
    wait_for_lines(&ff.path("started"), 1);
    worker.signal(Signal::INT);
    assert!(worker.ended().success());
    let view = ff.show(&id);
    assert_eq!((&view["state"], &view["failures"]), (&"resumable".into(), &0.into()));
    ff.work("printf $FF_ATTEMPT");
    assert_eq!(ff.ok(&["result", &id]), b"0");
    ff.check();
}

#[test]
fn a_second_signal_does_not_wait_for_the_drain() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    let mut worker = ff.worker(&["--drain", "1h", "--exec", "echo >> started; sleep 1000"]);
    wait_for_lines(&ff.path("started"), 1);
    worker.signal(Signal::TERM);
    crate::fixture::wait_for("the worker to stop claiming", || {
        let log = std::fs::read_dir(ff.path("")).unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            path.extension().is_some_and(|e| e == "log").then(|| std::fs::read_to_string(path))
        });
        log.flatten().any(|text| text.contains("stopping")).then_some(())
    });
    worker.signal(Signal::TERM);
    assert!(worker.ended().success());
    assert_eq!(ff.show(&id)["state"], "resumable");
}
