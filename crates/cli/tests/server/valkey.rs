//! `ff` on Valkey: a real Valkey server, `ff serve` in a separate process, a worker in another.

use std::sync::atomic::{AtomicU32, Ordering};

use ff_testkit::valkey::{Config, Server};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::fixture::{Ff, wait_for, wait_for_lines};

/// A new store on the server that all tests share.
fn store() -> Ff {
    static STORES: AtomicU32 = AtomicU32::new(0);
    let number = STORES.fetch_add(1, Ordering::Relaxed);
    Ff::on(&format!("{}?prefix=t{number}", Server::shared().url()))
}

#[test]
fn work_goes_through_a_server_and_a_worker_and_comes_out() {
    let store = store();
    let server = store.serve();
    let ff = server.ff();
    let _worker = ff.worker(&["--exec", "cat", "--concurrency", "2"]);
    let id = ff.submit(&["--input", "{\"b\": 1,  \"a\": [2]}", "--tag", "team=core"]);
    let view = ff.wait_for_state(&id, "completed");
    assert_eq!(view["tags"]["team"], "core");
    assert_eq!(ff.ok(&["input", &id]), b"{\"b\": 1,  \"a\": [2]}");
    assert_eq!(ff.ok(&["result", &id]), b"{\"b\": 1,  \"a\": [2]}");
    assert_eq!(ff.attempts(&id)[0]["status"], "completed");
    assert_eq!(ff.json(&["ls"])["executions"][0]["id"], *id);
    let done = ff.run(&["submit", "--input", "7", "--wait", "--timeout", "30s"]);
    assert_eq!((done.code, done.stdout), (Some(0), b"7".to_vec()), "{}", done.stderr);
    store.check();
}

#[test]
fn every_command_works_directly_on_the_store() {
    let ff = store();
    let id = ff.submit(&["--input", "[1]", "--idempotency-key", "order-1"]);
    assert_eq!(
        ff.submit(&["--input", "[1]", "--idempotency-key", "order-1"]),
        id,
        "one key, one execution"
    );
    let other = ff.submit(&["--priority", "5"]);
    let later = ff.submit(&["--delay", "1h"]);
    assert_eq!(ff.show(&later)["state"], "delayed");
    ff.ok(&["cancel", &later]);
    let report = ff.work("cat");
    assert_eq!((&report["claimed"], &report["completed"]), (&2.into(), &2.into()));
    for id in [&id, &other] {
        assert_eq!(ff.show(id)["state"], "completed");
    }
    ff.ok(&["replay", &id]);
    ff.work("printf again");
    assert_eq!(ff.ok(&["result", &id]), b"again");
    assert_eq!(ff.json(&["ls", "--state", "cancelled"])["executions"][0]["id"], *later);
    ff.check();
}

#[test]
fn two_servers_and_their_workers_share_one_store() {
    let store = store();
    let (one, two) = (store.serve(), store.serve());
    let _workers = [&one, &two].map(|server| server.ff().worker(&["--exec", "cat"]));
    let ids: Vec<_> =
        (0..10).map(|n| [&one, &two][n % 2].ff().submit(&["--input", &n.to_string()])).collect();
    for (n, id) in ids.iter().enumerate() {
        two.ff().wait_for_state(id, "completed");
        assert_eq!(one.ff().ok(&["result", id]), n.to_string().as_bytes());
        assert_eq!(one.ff().attempts(id).len(), 1, "it was run once");
    }
    store.check();
}

#[test]
fn the_settings_of_a_lane_hold_at_every_server() {
    let store = store();
    let (one, two) = (store.serve(), store.serve());
    let (one, two) = (one.ff(), two.ff());
    let paused = one.json(&["lane", "pause", "default", "--reason", "an upgrade"]);
    assert_eq!(two.json(&["lane", "show", "default"]), paused);
    let ids = [(); 5].map(|()| two.submit(&[]));
    let mut worker = two.worker(&["--instance", "pod-1", "--exec", "cat"]);
    wait_for("a worker", || {
        let workers = one.json(&["workers"]);
        (workers["workers"][0]["instance"] == "pod-1").then_some(())
    });
    let why = two.json(&["explain", &ids[4]]);
    assert_eq!(why["reasons"][0]["reason"], "lane_paused");
    assert_eq!(
        why["reasons"][1],
        serde_json::json!({
            "reason": "in_queue", "ahead": 4, "workers": 1,
        })
    );
    one.ok(&["lane", "resume", "default"]);
    for id in &ids {
        two.wait_for_state(id, "completed");
    }
    worker.signal(Signal::TERM);
    assert!(worker.ended().success());
    assert_eq!(one.json(&["workers"])["workers"], serde_json::json!([]));
    store.check();
}

#[test]
fn work_of_a_killed_worker_is_finished_by_another() {
    let store = store();
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
    assert_eq!(ff.attempts(&id)[0]["status"], "lease_lost");
    assert_eq!(ff.ok(&["result", &id]), b"7");
    store.check();
}

/// Ends a program whose worker was killed, unless it has ended.
fn end_program(ff: &Ff) {
    let started = std::fs::read_to_string(ff.path("started")).unwrap();
    let pid = started.trim().parse().unwrap();
    let ended = kill_process_group(Pid::from_raw(pid).unwrap(), Signal::KILL);
    assert!(matches!(ended, Ok(()) | Err(Errno::SRCH)), "{ended:?}");
}

#[test]
fn a_full_server_refuses_work_by_name_and_completes_work_in_progress() {
    let valkey = Server::start(Config::default().with("appendfsync", "no"));
    let store = Ff::on(&valkey.url());
    let server = store.serve();
    let ff = server.ff();
    let id = ff.submit(&["--input", "7"]);
    let exec = "echo >> started; while ! test -e go; do sleep 0.02; done; cat";
    let _worker = ff.worker(&["--exec", exec]);
    wait_for_lines(&ff.path("started"), 1);
    valkey.command(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    for ff in [&ff, &store] {
        assert_eq!(ff.failure(5, &["submit"])["code"], "store_full");
    }
    std::fs::write(ff.path("go"), "").unwrap();
    ff.wait_for_state(&id, "completed");
    valkey.command(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    let done = ff.run(&["submit", "--input", "8", "--wait", "--timeout", "30s"]);
    assert_eq!((done.code, done.stdout), (Some(0), b"8".to_vec()), "{}", done.stderr);
    store.check();
}

#[test]
fn a_server_that_denies_access_is_distinguished_from_an_unreachable_one() {
    let server = Server::start(Config::default());
    let (absent, there) = (Ff::on("valkey://127.0.0.1:1"), Ff::on(&server.url()));
    assert_eq!(absent.failure(3, &["ls"])["code"], "store_unavailable");
    there.ok(&["ls"]);
    server.command(&["CONFIG", "SET", "requirepass", "secret"]).unwrap();
    let view = there.failure(7, &["ls"]);
    assert_eq!((&view["code"], &view["retryable"]), (&"store_denied".into(), &false.into()));
    assert!(view["message"].as_str().unwrap().contains("user and password"), "{view}");
}
