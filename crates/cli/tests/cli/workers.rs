//! Registered workers and their instance ids.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{Ff, Process, wait_for};

/// Waits until `count` workers are registered, and gives them.
fn registered(ff: &Ff, count: usize) -> Vec<Value> {
    wait_for(&format!("{count} workers"), || {
        let workers = ff.json(&["workers"])["workers"].as_array().unwrap().clone();
        (workers.len() == count).then_some(workers)
    })
}

fn worker(ff: &Ff, instance: &str, args: &[&str]) -> Process {
    ff.worker(&[&["--instance", instance, "--exec", "cat"], args].concat())
}

#[test]
fn a_worker_is_listed_while_it_runs() {
    let ff = Ff::new();
    assert_eq!(ff.json(&["workers"]), json!({"workers": [], "next": null}));
    let args = ["--lane", "l", "--capability", "python", "--capability", "gpu"];
    let mut process = worker(&ff, "pod-1", &args);
    let found = registered(&ff, 1).remove(0);
    assert_eq!((&found["instance"], &found["worker"]), (&json!("pod-1"), &json!("ff-worker")));
    assert_eq!(found["lanes"], json!(["l"]));
    assert_eq!(found["capabilities"], json!(["gpu", "python"]));
    assert_eq!(found["ttl_ms"], 60_000);
    let done = ff.run(&["workers"]);
    let table = String::from_utf8(done.stdout).unwrap();
    let lines: Vec<_> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let [heading, row]: &[Vec<&str>] = &lines[..] else { panic!("{table}") };
    assert_eq!(heading, &["INSTANCE", "WORKER", "LANES", "CAPABILITIES", "SEEN", "EXPIRES"]);
    assert_eq!(row[..5], ["pod-1", "ff-worker", "l", "gpu", "python"]);
    assert!(table.contains("in "), "{table}");

    process.signal(Signal::TERM);
    assert!(process.ended().success());
    assert_eq!(ff.json(&["workers"])["workers"], json!([]));
    let done = ff.run(&["workers"]);
    assert!(done.stdout.is_empty() && done.stderr.contains("no worker is registered"));
}

#[test]
fn a_live_instance_id_is_refused_to_another_process() {
    let ff = Ff::new();
    let mut process = worker(&ff, "pod-1", &[]);
    registered(&ff, 1);
    let again = ["worker", "--instance", "pod-1", "--exec", "cat", "--until-idle"];
    let refused = ff.refusal(&again);
    assert_eq!(refused["code"], "worker_alive");
    assert!(refused["message"].as_str().unwrap().contains("its own instance id"), "{refused}");
    process.signal(Signal::TERM);
    process.ended();
    ff.ok(&again);
}

#[test]
fn the_instance_id_of_a_killed_worker_is_taken_over_after_its_silence() {
    let ff = Ff::new();
    let ttl = ["--registration-ttl", "2s"];
    let mut process = worker(&ff, "pod-1", &ttl);
    registered(&ff, 1);
    process.kill();
    let again = ["worker", "--instance", "pod-1", "--exec", "cat", "--until-idle", "--json"];
    wait_for("the instance id to be free", || {
        let done = ff.run(&again);
        assert!(done.code == Some(0) || done.stderr.contains("worker_alive"), "{}", done.stderr);
        (done.code == Some(0)).then_some(())
    });
}

#[test]
fn a_page_of_workers_names_the_next_one() {
    let ff = Ff::new();
    let _workers = ["a", "b", "c"].map(|instance| worker(&ff, instance, &[]));
    registered(&ff, 3);
    let page = ff.json(&["workers", "--limit", "2"]);
    assert_eq!(page["next"], "b");
    let page = ff.json(&["workers", "--limit", "2", "--after", "b"]);
    assert_eq!((&page["workers"][0]["instance"], &page["next"]), (&json!("c"), &Value::Null));
    let done = ff.run(&["workers", "--limit", "2"]);
    assert!(done.stderr.contains("next: ff workers --limit 2 --after b"), "{}", done.stderr);
    assert_eq!(ff.json(&["workers", "--namespace", "rival"])["workers"], json!([]));
}
