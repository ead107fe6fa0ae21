//! One action on many executions: `ff cancel`, `ff replay` and `ff delete` with a filter.

use ff_core::Namespace;
use ff_core::machine::Submit;
use serde_json::{Value, json};

use crate::fixture::Ff;

fn submit(ff: &Ff, count: usize, args: &[&str]) -> Vec<String> {
    (0..count).map(|_| ff.submit(args)).collect()
}

fn counts(view: &Value) -> (u64, u64, u64) {
    let number = |field: &str| view[field].as_u64().unwrap();
    (number("matched"), number("done"), number("refused"))
}

fn on_a_store_and_over_http(each: impl Fn(&Ff)) {
    let ff = Ff::new();
    each(&ff);
    let server = Ff::new().serve();
    each(&server.ff());
}

#[test]
fn what_matches_is_cancelled_replayed_and_deleted() {
    on_a_store_and_over_http(|ff| {
        let mine = submit(ff, 3, &["--lane", "mine", "--tag", "team=core"]);
        submit(ff, 2, &["--lane", "mine"]);
        let other = ff.submit(&["--lane", "other", "--tag", "team=core"]);
        let of = ["--lane", "mine", "--tag", "team=core"];
        let dry = ff.json(&[&["cancel", "--dry-run"], &of[..]].concat());
        assert_eq!(counts(&dry), (3, 0, 0));
        assert_eq!(ff.show(&mine[0])["state"], "waiting");

        let cancel = [&["cancel", "--reason", "a mistake"], &of[..]].concat();
        assert_eq!(counts(&ff.json(&cancel)), (3, 3, 0));
        assert_eq!(ff.show(&mine[0])["reason"], "a mistake");
        assert_eq!(ff.show(&other)["state"], "waiting");
        assert_eq!(counts(&ff.json(&cancel)), (0, 0, 0), "they are not unfinished any more");

        assert_eq!(counts(&ff.json(&[&["replay"], &of[..]].concat())), (3, 3, 0));
        assert_eq!(ff.show(&mine[0])["run"], 1);
        ff.json(&cancel);
        assert_eq!(counts(&ff.json(&["delete", "--lane", "mine"])), (3, 3, 0));
        assert_eq!(ff.failure(1, &["show", &mine[0]])["code"], "not_found");
        assert_eq!(ff.json(&["ls"])["executions"].as_array().unwrap().len(), 3);
    });
}

#[test]
fn refusals_are_counted_and_listed() {
    on_a_store_and_over_http(|ff| {
        submit(ff, 2, &["--lane", "mine"]);
        let gone = ff.submit(&["--lane", "mine"]);
        ff.json(&["cancel", &gone]);
        let args = ["delete", "--lane", "mine", "--state", "waiting,cancelled"];
        let done = ff.run(&args);
        let printed = String::from_utf8(done.stdout).unwrap();
        assert_eq!(done.code, Some(1), "{printed}");
        assert!(printed.starts_with("delete: 1 of 3 done, 2 refused\n"), "{printed}");
        assert!(printed.contains("delete needs it to be finished (wrong_state)\n"), "{printed}");
        assert_eq!(printed.lines().count(), 3);
    });
}

#[test]
fn one_execution_is_deleted_by_its_id() {
    on_a_store_and_over_http(|ff| {
        let id = ff.submit(&[]);
        assert_eq!(ff.failure(1, &["delete", &id])["code"], "wrong_state");
        ff.json(&["cancel", &id]);
        assert_eq!(ff.json(&["delete", &id]), json!({"id": id}));
        assert_eq!(ff.failure(1, &["delete", &id])["code"], "not_found");
    });
}

#[test]
fn neither_an_id_nor_a_filter_and_both_are_refused() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    for command in ["cancel", "replay", "delete"] {
        let why = ff.failure(2, &[command]);
        assert!(why["message"].as_str().unwrap().contains("give an id, or --lane"), "{why}");
        assert_eq!(ff.run(&[command, &id, "--lane", "mine"]).code, Some(2));
    }
    assert_eq!(ff.show(&id)["state"], "waiting");
}

#[test]
fn more_than_one_slice_is_worked_off() {
    let ff = Ff::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = ff_backends::open(&ff.store()).await.unwrap();
        let new = |_| Submit::new(store.new_id(&Namespace::default(), None));
        store.submit((0..450).map(new).collect()).await.unwrap();
        store.drain().await;
    });
    assert_eq!(counts(&ff.json(&["cancel", "--lane", "default"])), (450, 450, 0));
    ff.check();
}
