//! A unique prefix of an id can stand for it.

use crate::fixture::Ff;

#[test]
fn every_command_accepts_a_prefix_of_an_id() {
    let ff = Ff::new();
    let id = ff.submit(&["--input", "1", "--tag", "a=1"]);
    ff.ok(&["priority", &id[..8], "3"]);
    ff.ok(&["tags", &id[..13], "b=2"]);
    let view = ff.json(&["show", &id[..8].to_uppercase()]);
    assert_eq!((&view["id"], &view["priority"]), (&id.as_str().into(), &3.into()));
    assert_eq!(ff.json(&["explain", &id[..20]])["id"], *id);
    ff.work("cat");
    assert_eq!(ff.ok(&["result", &id[..9]]), b"1");
    assert_eq!(ff.ok(&["input", &id[..35]]), b"1");
    assert_eq!(ff.ok(&["wait", &id[..8]]), b"1");
    assert_eq!(ff.attempts(&id[..8]).len(), 1);
    assert_eq!(ff.json(&["replay", &id[..8]])["id"], *id);
    assert_eq!(ff.json(&["cancel", &id[..8]])["id"], *id);
    let server = ff.serve();
    assert_eq!(server.ff().show(&id[..8])["state"], "cancelled");
}

#[test]
fn an_ambiguous_prefix_is_refused_with_its_matches() {
    let ff = Ff::new();
    let given = ["01890000-0000-7000-8000-00000000000a", "01890000-0000-7000-8000-00000000000b"];
    for id in given {
        ff.submit(&["--id", id]);
    }
    let refused = ff.refusal(&["cancel", "01890000-0000-7"]);
    assert_eq!(refused["code"], "ambiguous_id");
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("01890000-0000-7 is the beginning of 2 executions"), "{message}");
    assert!(given.iter().all(|id| message.contains(id)), "{message}");
    assert_eq!(ff.show(given[0])["state"], "waiting");
    let elsewhere = ff.refusal(&["show", "01890000", "--namespace", "rival"]);
    assert_eq!(elsewhere["code"], "not_found");
}

#[test]
fn a_prefix_without_a_match_is_refused() {
    let ff = Ff::new();
    ff.submit(&[]);
    let refused = ff.refusal(&["show", "01890000-0000"]);
    assert_eq!(refused["code"], "not_found");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("begins with 01890000-0000"), "{message}");
    for bad in ["0189000", "01890000-0000-4", "0189000g"] {
        let done = ff.run(&["show", bad]);
        assert_eq!(done.code, Some(2), "{bad}");
        assert!(done.stderr.contains("at least its first 8 characters"), "{}", done.stderr);
    }
}

#[test]
fn waiting_ends_as_the_execution_does() {
    let ff = Ff::new();
    let (good, bad) = (ff.submit(&["--input", "1"]), ff.submit(&["--input", "2"]));
    let patient = ff.failure(1, &["wait", &good, "--timeout", "50ms"]);
    assert_eq!((&patient["code"], &patient["retryable"]), (&"wait_timeout".into(), &true.into()));
    assert!(patient["message"].as_str().unwrap().contains("after 50ms"), "{patient}");
    ff.work("read n; printf $n; test $n = 1");
    assert_eq!(ff.ok(&["wait", &good, "--timeout", "30s"]), b"1");
    let done = ff.run(&["wait", &bad]);
    assert_eq!((done.code, done.stdout.len()), (Some(1), 0));
    assert!(done.stderr.starts_with("failed: exit 1"), "{}", done.stderr);
}
