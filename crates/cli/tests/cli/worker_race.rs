//! Several workers on one store.

use ff_testkit::proxy::Proxy;

use crate::fixture::{Ff, wait_for};

#[test]
fn two_racing_workers_never_run_one_item_twice() {
    const ITEMS: usize = 40;
    let ff = Ff::new();
    let ids: Vec<_> = (0..ITEMS).map(|n| ff.submit(&["--input", &n.to_string()])).collect();
    // A line shorter than a pipe buffer is appended whole.
    let exec = "echo \"$FF_EXECUTION $FF_ATTEMPT\" >> runs";
    let _workers =
        ["a", "b"].map(|name| ff.worker(&["--worker", name, "--concurrency", "4", "--exec", exec]));
    wait_for("all to be completed", || {
        let page = ff.json(&["ls", "--state", "completed", "--limit", "1000"]);
        (page["executions"].as_array().unwrap().len() == ITEMS).then_some(())
    });
    let mut ran: Vec<_> =
        std::fs::read_to_string(ff.path("runs")).unwrap().lines().map(str::to_owned).collect();
    ran.sort();
    let mut expected: Vec<_> = ids.iter().map(|id| format!("{id} 0")).collect();
    expected.sort();
    assert_eq!(ran, expected);
    ff.check();
}

#[test]
fn work_from_another_process_is_seen_by_a_waiting_worker() {
    let ff = Ff::new();
    let _worker = ff.worker(&["--exec", "cat"]);
    let done = ff.run(&["submit", "--input", "1", "--wait", "--timeout", "30s"]);
    assert_eq!((done.code, done.stdout), (Some(0), b"1".to_vec()), "{}", done.stderr);
}

#[test]
fn a_claim_whose_reply_is_lost_is_repeated_with_the_same_id() {
    let ff = Ff::new();
    let server = ff.serve();
    let port = server.url.rsplit_once(':').unwrap().1.parse().unwrap();
    let proxy = Proxy::to(port);
    let [first, second] = [server.ff().submit(&[]), server.ff().submit(&[])];
    proxy.cut_once("/claim");
    let behind = server.ff().over(&format!("http://127.0.0.1:{}", proxy.port()));
    let report = behind.json(&["worker", "--once", "--exec", "true"]);
    assert_eq!((&report["claimed"], &report["completed"]), (&1.into(), &1.into()));
    assert_eq!(proxy.cuts(), 1, "one reply was lost");
    let view = server.ff().show(&first);
    assert_eq!((&view["state"], &view["reclaims"]), (&"completed".into(), &0.into()));
    assert_eq!(server.ff().show(&second)["state"], "waiting");
}
