//! One worker that serves several lanes.

use rustix::process::Signal;
use serde_json::json;

use crate::fixture::{Ff, wait_for};

#[test]
fn one_worker_runs_the_work_of_two_lanes_and_a_busy_one_does_not_starve_the_other() {
    let ff = Ff::new();
    let busy: Vec<_> = (0..6).map(|_| ff.submit(&["--lane", "busy"])).collect();
    let calm: Vec<_> = (0..2).map(|_| ff.submit(&["--lane", "calm"])).collect();
    let other = ff.submit(&["--lane", "other"]);
    let exec = "echo $FF_LANE >> order";
    let args = ["--lane", "busy", "--lane", "calm", "--lane", "busy", "--until-idle"];
    let report = ff.json(&[&["worker", "--exec", exec][..], &args].concat());
    assert_eq!((&report["claimed"], &report["completed"]), (&8.into(), &8.into()));
    let order = std::fs::read_to_string(ff.path("order")).unwrap();
    let order: Vec<_> = order.lines().collect();
    assert_eq!(order[..4], ["busy", "calm", "busy", "calm"]);
    for id in busy.iter().chain(&calm) {
        assert_eq!(ff.show(id)["state"], "completed");
    }
    assert_eq!(ff.show(&other)["state"], "waiting");
    ff.check();
}

#[test]
fn a_waiting_worker_finds_the_work_of_each_of_its_lanes() {
    let ff = Ff::new();
    let mut worker = ff.worker(&["--lane", "a", "--lane", "b", "--exec", "cat"]);
    let lanes = wait_for("the worker", || {
        let workers = ff.json(&["workers"]);
        Some(workers["workers"].get(0)?["lanes"].clone())
    });
    assert_eq!(lanes, json!(["a", "b"]));
    for lane in ["b", "a", "b"] {
        let id = ff.submit(&["--lane", lane]);
        ff.wait_for_state(&id, "completed");
    }
    worker.signal(Signal::TERM);
    assert!(worker.ended().success());
    assert_eq!(ff.json(&["workers"])["workers"], json!([]));
}
