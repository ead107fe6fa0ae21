//! What operators do to executions.

use crate::fixture::Ff;

#[test]
fn cancelled_work_can_be_replayed() {
    let ff = Ff::new();
    let id = ff.submit(&["--input", "1"]);
    let cancelled = ff.json(&["cancel", &id, "--reason", "not now"]);
    assert_eq!(cancelled, serde_json::json!({"id": id, "status": "cancelled", "by": null}));
    let view = ff.show(&id);
    assert_eq!((&view["state"], &view["reason"]), (&"cancelled".into(), &"not now".into()));
    // Repeated, it is the same answer.
    assert_eq!(ff.json(&["cancel", &id]), cancelled);

    assert_eq!(ff.json(&["replay", &id]), serde_json::json!({"id": id, "run": 1}));
    assert_eq!(ff.json(&["replay", &id, "--run", "0"])["run"], 1);
    ff.work("printf second");
    let view = ff.show(&id);
    assert_eq!((&view["state"], &view["run"]), (&"completed".into(), &1.into()));
    assert_eq!(view["past_runs"][0]["reason"], "not now");
    let sheet = String::from_utf8(ff.ok(&["show", &id])).unwrap();
    for act in ["cancel by local", "replay by local"] {
        assert!(sheet.contains(act), "{sheet}");
    }
    assert_eq!(ff.ok(&["result", &id]), b"second");
    ff.check();
}

#[test]
fn the_result_of_an_earlier_run_stays_readable() {
    let ff = Ff::new();
    let id = ff.submit(&[]);
    ff.work("printf $FF_RUN");
    ff.ok(&["replay", &id]);
    ff.work("printf $FF_RUN");
    assert_eq!(ff.ok(&["result", &id]), b"1");
    assert_eq!(ff.ok(&["result", &id, "--run", "0"]), b"0");
    assert_eq!(ff.attempts(&id).len(), 2);
    let done = ff.run(&["result", &id, "--run", "7"]);
    assert_eq!(done.code, Some(1));
}

#[test]
fn what_a_state_does_not_allow_is_refused() {
    let ff = Ff::new();
    let waiting = ff.submit(&["--lane", "quiet"]);
    let completed = ff.submit(&[]);
    ff.work("true");
    for (args, expected) in [
        (&["cancel", &completed][..], "is completed; cancel needs it to be unfinished"),
        (&["priority", &completed, "1"], "is completed; a change of priority"),
        (&["tags", &completed, "a=b"], "is completed; a change of tags"),
        (&["replay", &waiting], "is waiting; replay needs it to be finished"),
        (&["revoke", &waiting], "is waiting; revoke needs it to be active"),
        (&["result", &waiting], "is waiting; reading the result needs it to be completed"),
        (&["replay", &completed, "--run", "5"], "is at run 0"),
    ] {
        let done = ff.run(args);
        assert_eq!(done.code, Some(1), "{args:?}");
        assert!(done.stderr.contains(expected), "{args:?}: {}", done.stderr);
        assert!(done.stdout.is_empty());
    }
}

#[test]
fn a_higher_priority_goes_first() {
    let ff = Ff::new();
    let first = ff.submit(&["--input", "1"]);
    let lowest = ff.submit(&["--input", "3", "--priority", "-9000"]);
    let second = ff.submit(&["--input", "2"]);
    let raised = ff.json(&["priority", &second, "9000"]);
    assert_eq!((&raised["id"], &raised["priority"]), (&second.as_str().into(), &9000.into()));
    let lowered = ff.submit(&["--input", "4"]);
    assert_eq!(ff.json(&["priority", &lowered, "-1"])["priority"], -1);
    assert_eq!(ff.show(&lowest)["priority"], -9000);
    ff.work("cat >> order; echo >> order");
    assert_eq!(std::fs::read_to_string(ff.path("order")).unwrap(), "2\n1\n4\n3\n");
    assert_eq!(ff.show(&first)["state"], "completed");
}

#[test]
fn tags_are_set_and_removed() {
    let ff = Ff::new();
    let id = ff.submit(&["--tag", "a=1", "--tag", "b=2"]);
    let view = ff.json(&["tags", &id, "c=x y", "a=9", "--remove", "b"]);
    assert_eq!(view["tags"], serde_json::json!({"a": "9", "c": "x y"}));
    assert_eq!(ff.ok(&["tags", &id, "--remove", "c"]), b"a=9\n");
    let listed = ff.json(&["ls", "--tag", "a=9"]);
    assert_eq!(listed["executions"][0]["id"], *id);
    assert_eq!(ff.json(&["ls", "--tag", "a=1"])["executions"], serde_json::json!([]));
}

#[test]
fn revoked_work_continues_its_attempt_with_another_worker() {
    let ff = Ff::new();
    let id = ff.submit(&["--lease-ttl", "300ms"]);
    let _worker = ff.worker(&["--exec", "echo >> started; test -e revoked || sleep 30"]);
    crate::fixture::wait_for_lines(&ff.path("started"), 1);
    let lease = ff.show(&id)["lease"]["id"].as_str().unwrap().to_owned();
    std::fs::write(ff.path("revoked"), "").unwrap();
    let revoked = ff.json(&["revoke", &id, "--lease", &lease]);
    assert_eq!(revoked["status"], "revoked");
    let view = ff.wait_for_state(&id, "completed");
    assert_eq!((&view["attempt"], &view["failures"]), (&0.into(), &0.into()));
}

#[test]
fn pages_neither_skip_nor_repeat() {
    let ff = Ff::new();
    let mut submitted: Vec<_> = (0..7).map(|_| ff.submit(&[])).collect();
    let mut listed = Vec::new();
    let mut page = ff.json(&["ls", "--limit", "3"]);
    loop {
        let executions = page["executions"].as_array().unwrap();
        assert!(executions.len() <= 3);
        listed.extend(executions.iter().map(|view| view["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next"].as_str() else { break };
        page = ff.json(&["ls", "--limit", "3", "--cursor", cursor]);
    }
    submitted.reverse();
    assert_eq!(listed, submitted);
}

#[test]
fn listings_are_narrowed_by_every_filter() {
    let ff = Ff::new();
    let id = ff.submit(&["--lane", "a", "--kind", "k", "--tag", "t=1"]);
    ff.submit(&["--lane", "b"]);
    let count = |args: &[&str]| {
        let page = ff.json(&[&["ls"], args].concat());
        page["executions"].as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 2);
    assert_eq!(count(&["--lane", "a", "--kind", "k", "--tag", "t=1", "--state", "waiting"]), 1);
    assert_eq!(count(&["--kind", "other"]), 0);
    let created = ff.show(&id)["created"].as_str().unwrap().to_owned();
    assert_eq!(count(&["--from", &created]), 2);
    assert_eq!(count(&["--to", &created]), 0);
}
