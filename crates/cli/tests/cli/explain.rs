//! Why executions are in their states.

use serde_json::json;

use crate::fixture::{Ff, wait_for};

/// The explanation for people, and the one for programs.
fn explained(ff: &Ff, id: &str) -> (String, serde_json::Value) {
    let text = String::from_utf8(ff.ok(&["explain", id])).unwrap();
    let view = ff.json(&["explain", id]);
    assert_eq!(view["id"], id);
    for reason in view["reasons"].as_array().unwrap() {
        assert!(text.contains(reason["reason"].as_str().unwrap()), "{text}");
    }
    (text, view)
}

fn first(view: &serde_json::Value) -> &str {
    view["reasons"][0]["reason"].as_str().unwrap()
}

#[test]
fn work_that_no_worker_serves_says_so() {
    let ff = Ff::new();
    ff.submit(&["--lane", "l"]);
    let id = ff.submit(&["--lane", "l"]);
    let (text, view) = explained(&ff, &id);
    assert_eq!(
        text,
        "The execution waits because no live worker serves lane l; it has 1 execution before it in \
         its queue.\n\nno_worker_on_lane  lane l\nin_queue           1 before it, 0 able workers\n"
    );
    assert_eq!(view["explanation"], text.lines().next().unwrap());
    assert_eq!((&view["state"], first(&view)), (&json!("waiting"), "no_worker_on_lane"));
    let next = ff.run(&["explain", &id]).stderr;
    assert!(next.contains("next: ff worker --lane l --exec cat"), "{next}");
}

#[test]
fn work_that_no_worker_can_run_names_the_nearest() {
    let ff = Ff::new();
    let id = ff.submit(&["--require", "gpu", "--require", "python"]);
    let _worker = ff.worker(&["--instance", "near", "--capability", "python", "--exec", "cat"]);
    wait_for("a worker", || {
        let workers = ff.json(&["workers"]);
        (!workers["workers"].as_array().unwrap().is_empty()).then_some(())
    });
    let (text, view) = explained(&ff, &id);
    assert!(text.contains("the nearest, near, lacks gpu"), "{text}");
    assert!(text.contains("\n                   nearest is near of worker ff-worker: lacks gpu\n"));
    assert_eq!(first(&view), "no_capable_worker");
    assert_eq!(
        view["reasons"][0]["nearest"],
        json!({"worker": "ff-worker", "instance": "near", "lacks": ["gpu"]})
    );
    assert_eq!(view["state_vector"]["blocking_reason"], "waiting_for_capable_worker");
    let shown = ff.json(&["show", &id]);
    assert_eq!(shown["state_vector"], view["state_vector"]);
    assert!(shown["reason"].as_str().unwrap().contains("lacks gpu"), "{shown}");
}

#[test]
fn work_of_a_paused_lane_has_the_reason_of_the_operator() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    ff.ok(&["lane", "pause", "default", "--reason", "an\u{1b}[31m upgrade"]);
    let (text, view) = explained(&ff, &id);
    assert!(text.starts_with("The execution waits because lane default is paused (an"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert_eq!((first(&view), &view["reasons"][0]["lane"]), ("lane_paused", &json!("default")));
    assert_eq!(view["state_vector"]["eligibility_state"], "blocked_by_lane_state");
}

#[test]
fn delayed_held_and_finished_work_say_so() {
    let ff = Ff::new();
    let delayed = ff.submit(&["--delay", "1h"]);
    let (text, view) = explained(&ff, &delayed);
    assert!(text.starts_with("The execution waits to start in "), "{text}");
    assert_eq!((first(&view), &view["reasons"][0]["intent"]), ("not_before", &json!("start")));

    let id = ff.submit(&["--kind", "long"]);
    let exec = "while ! test -e go; do sleep 0.05; done";
    let _worker = ff.worker(&["--instance", "me", "--exec", exec]);
    ff.wait_for_state(&id, "active");
    let (text, view) = explained(&ff, &id);
    assert!(text.starts_with("The execution is held by worker me, whose lease ends in "), "{text}");
    assert_eq!((first(&view), &view["reasons"][0]["instance"]), ("held", &json!("me")));
    std::fs::write(ff.path("go"), "").unwrap();
    ff.wait_for_state(&id, "completed");
    let (text, view) = explained(&ff, &id);
    assert!(text.starts_with("The execution is completed and waits for nothing.\n"), "{text}");
    assert_eq!(first(&view), "finished");
    let unknown = "01890000-0000-7000-8000-000000000001";
    assert_eq!(ff.refusal(&["explain", unknown])["code"], "not_found");
}
