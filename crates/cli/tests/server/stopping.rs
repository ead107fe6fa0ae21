//! A server that is told to stop.

use std::time::{Duration, Instant};

use crate::fixture::{Ff, get};
use rustix::process::Signal;

/// How long a stop may take: nothing here is worth waiting for.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn it_stops_cleanly_at_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Ff::new().serve();
        assert_eq!(get(&server.url, "/healthz").unwrap().0, 200);
        let told = Instant::now();
        server.process().signal(signal);
        assert!(server.process().ended().success());
        assert!(told.elapsed() < SOON, "{:?}", told.elapsed());
        assert_eq!(get(&server.url, "/healthz"), None);
    }
}

#[test]
fn workers_that_wait_for_work_do_not_hold_it() {
    let store = Ff::new();
    let mut server = store.serve();
    let ff = server.ff();
    let _worker = ff.worker(&["--exec", "true"]);
    // It has had work, so it waits for more now or very soon.
    let id = ff.submit(&[]);
    ff.wait_for_state(&id, "completed");
    let told = Instant::now();
    server.process().signal(Signal::TERM);
    assert!(server.process().ended().success());
    assert!(told.elapsed() < SOON, "{:?}", told.elapsed());
    store.check();
}
