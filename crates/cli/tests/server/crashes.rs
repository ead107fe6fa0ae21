//! Workers and servers that are killed cost time, never work.

use crate::fixture::{Ff, wait_for_lines};
use rustix::process::{Pid, Signal, kill_process_group};

/// Ends a program whose worker was killed.
fn end_program(ff: &Ff) {
    let started = std::fs::read_to_string(ff.path("started")).unwrap();
    let pid: i32 = started.lines().next().unwrap().trim().parse().unwrap();
    kill_process_group(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn work_of_a_killed_worker_is_finished_by_another_as_a_second_attempt() {
    let store = Ff::new();
    let server = store.serve();
    let ff = server.ff();
    let id = ff.submit(&["--lease-ttl", "500ms", "--input", "7"]);
    let mut first = ff.worker(&["--worker", "first", "--exec", "echo $$ >> started; sleep 60"]);
    wait_for_lines(&ff.path("started"), 1);
    first.kill();
    let _second = ff.worker(&["--worker", "second", "--exec", "cat"]);
    let view = ff.wait_for_state(&id, "completed");
    end_program(&ff);
    assert_eq!((&view["attempt"], &view["reclaims"]), (&1.into(), &1.into()));
    assert_eq!(view["failures"], 0);
    let attempts = ff.attempts(&id);
    let ended = |n: usize| (&attempts[n]["status"], &attempts[n]["worker"]);
    assert_eq!(ended(0), (&"lease_lost".into(), &"first".into()));
    assert_eq!(ended(1), (&"completed".into(), &"second".into()));
    assert_eq!(ff.ok(&["result", &id]), b"7");
    store.check();
}

#[test]
fn work_that_ends_while_its_server_is_dead_is_delivered_to_the_next_one() {
    let store = Ff::new();
    let mut server = store.serve();
    let ff = server.ff();
    let id = ff.submit(&[]);
    let waiting = ff.submit(&[]);
    let exec = "echo >> started; while ! test -e go; do sleep 0.02; done; echo >> ended; \
                printf $FF_ATTEMPT";
    let _worker = ff.worker(&["--exec", exec]);
    wait_for_lines(&ff.path("started"), 1);
    server.kill();
    std::fs::write(ff.path("go"), "").unwrap();
    wait_for_lines(&ff.path("ended"), 1);
    server.restart();
    let view = ff.wait_for_state(&id, "completed");
    assert_eq!((&view["attempts"], &view["reclaims"]), (&1.into(), &0.into()));
    assert_eq!(ff.ok(&["result", &id]), b"0");
    // The same worker continues with its work and with new work.
    ff.wait_for_state(&waiting, "completed");
    let done = ff.run(&["submit", "--wait", "--timeout", "30s"]);
    assert_eq!((done.code, done.stdout), (Some(0), b"0".to_vec()), "{}", done.stderr);
    store.check();
}

#[test]
fn work_whose_lease_ends_while_its_server_is_dead_is_tried_again() {
    let store = Ff::new();
    let mut server = store.serve();
    let ff = server.ff();
    let id = ff.submit(&["--lease-ttl", "500ms"]);
    let exec = "test $FF_ATTEMPT -gt 0 && exec printf again; \
                trap 'echo >> stopped; exit 1' TERM; echo >> started; sleep 60 & wait";
    let _worker = ff.worker(&["--exec", exec]);
    wait_for_lines(&ff.path("started"), 1);
    server.kill();
    // The worker cannot renew, so it stops the program when the lease expires.
    wait_for_lines(&ff.path("stopped"), 1);
    server.restart();
    let view = ff.wait_for_state(&id, "completed");
    assert_eq!((&view["attempt"], &view["reclaims"]), (&1.into(), &1.into()));
    assert_eq!(ff.attempts(&id)[0]["status"], "lease_lost");
    assert_eq!(ff.ok(&["result", &id]), b"again");
    store.check();
}

#[test]
fn what_a_killed_server_acknowledged_survives_a_restart() {
    let store = Ff::new();
    let mut server = store.serve();
    let ff = server.ff();
    let ids: Vec<_> = (0..5).map(|n| ff.submit(&["--input", &n.to_string()])).collect();
    server.kill();
    server.restart();
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(ff.ok(&["input", id]), n.to_string().as_bytes());
    }
    store.check();
}
