//! A server that is stopped.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{Ff, get, send};
use rustix::process::Signal;
use serde_json::{Value, json};

/// How long a stop may take: nothing here needs a wait.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn it_stops_cleanly_at_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Ff::new().serve();
        assert_eq!(get(&server.url, "/healthz").unwrap().0, 200);
        let signalled = Instant::now();
        server.process().signal(signal);
        assert!(server.process().ended().success());
        assert!(signalled.elapsed() < SOON, "{:?}", signalled.elapsed());
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
    let signalled = Instant::now();
    server.process().signal(Signal::TERM);
    assert!(server.process().ended().success());
    assert!(signalled.elapsed() < SOON, "{:?}", signalled.elapsed());
    store.check();
}

/// How many stops are tried: a stop coincides with a claim that is taking work only now and then.
const STOPS: usize = 12;
/// How many claims wait at a server that is stopped.
const CLAIMS: usize = 6;

/// Claims, waiting; the execution that was given, if any.
fn claimed(url: &str, worker: usize) -> Option<String> {
    let path = format!("/v1/workers/w{worker}/claim");
    let request = format!("00000000-0000-4000-8000-{worker:012}");
    let body = json!({"instance": format!("w{worker}"), "wait_ms": 50_000, "request": request});
    let (status, body) = send(url, "POST", &path, &body)?;
    if status != 200 {
        return None;
    }
    let view: Value = serde_json::from_str(&body).unwrap();
    view["assignments"][0]["execution"].as_str().map(str::to_owned)
}

#[test]
fn what_a_claim_takes_is_answered_or_handed_back_before_the_process_ends() {
    for _ in 0..STOPS {
        let store = Ff::new();
        let mut server = store.serve();
        let (answer, answers) = mpsc::channel();
        for worker in 0..CLAIMS {
            let (url, answer) = (server.url.clone(), answer.clone());
            thread::spawn(move || answer.send(claimed(&url, worker)).unwrap());
        }
        drop(answer);
        let submit = |url: &str| send(url, "POST", "/v1/executions", &json!({})).is_some();
        // One of them has had work, so the others wait now or very soon.
        assert!(submit(&server.url));
        let first = answers.recv().unwrap().unwrap();
        // Work keeps arriving while the server stops.
        let submitting: Vec<_> = (0..CLAIMS)
            .map(|_| {
                let url = server.url.clone();
                thread::spawn(move || submit(&url))
            })
            .collect();
        server.process().signal(Signal::TERM);
        assert!(server.process().ended().success());
        for submitting in submitting {
            // It may have come too late; what matters is what became of those that did not.
            let _taken: bool = submitting.join().unwrap();
        }
        let answered: BTreeSet<_> = answers.iter().flatten().chain([first]).collect();
        let page = store.json(&["ls"]);
        let executions = page["executions"].as_array().unwrap();
        let leased = executions.iter().filter(|view| view["state"] == "active");
        let leased: BTreeSet<_> =
            leased.map(|view| view["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(leased, answered, "nothing is leased without an answered claim");
    }
}
