//! `ff check` distinguishes a sound store from one that is not.

use crate::fixture::Ff;
use ff_core::ExecutionId;

#[test]
fn a_sound_store_passes_its_check() {
    let ff = Ff::new();
    ff.submit(&[]);
    let done = ff.run(&["check"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), "the store is sound\n"));
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("records     1\n") && text.contains("violations  0\n"), "{text}");
    let report = ff.json(&["check"]);
    assert_eq!(report["violations"], serde_json::json!([]));
}

#[test]
fn a_repair_reports_what_it_repaired() {
    let ff = Ff::new();
    ff.submit(&[]);
    let done = ff.run(&["check", "--repair"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), "the store is sound\n"));
    let text = String::from_utf8(done.stdout).unwrap();
    let none = "repaired    0 of 0 entries: 0 of no record, 0 missing, 0 left over\n";
    assert!(text.starts_with(none), "{text}");
    let report = ff.json(&["check", "--repair"]);
    let none = serde_json::json!({
        "examined": 0, "unwritten": 0, "unplaced": 0, "leftover": 0, "uncounted": 0
    });
    assert_eq!(report["repaired"], none);
    assert_eq!(ff.json(&["check"]).get("repaired"), None);
}

#[test]
fn violations_are_listed_and_the_check_fails() {
    let ff = Ff::new();
    let unlisted = ff.submit(&[]);
    let emptied = ff.submit(&["--input", "1"]);
    let planted = rusqlite::Connection::open(ff.path("ff.db")).unwrap();
    for (table, id) in [("list", &unlisted), ("blob", &emptied)] {
        let id: ExecutionId = id.parse().unwrap();
        let sql = format!("DELETE FROM {table} WHERE id = ?1");
        assert_eq!(planted.execute(&sql, [id.as_bytes()]).unwrap(), 1);
    }
    drop(planted);

    let done = ff.run(&["check"]);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.stderr, "the store is not sound; keep a copy of it as it is\n");
    let text = String::from_utf8(done.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(&lines[..3], ["records     2", "entries     3", "violations  2"]);
    assert!(lines[3].starts_with(&format!("entry_there: {unlisted}: List(")), "{text}");
    assert_eq!(lines[4], format!("payload_there: {emptied}: Input is missing"));

    let done = ff.run(&["check", "--json"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(1), ""));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let rules: Vec<_> =
        report["violations"].as_array().unwrap().iter().map(|v| &v["rule"]).collect();
    assert_eq!(rules, ["entry_there", "payload_there"]);
    assert_eq!((&report["records"], &report["further"]), (&2.into(), &0.into()));
}

#[test]
fn a_check_reports_that_the_time_of_the_store_is_ahead_of_the_clock() {
    let ff = Ff::new();
    ff.submit(&[]);
    assert_eq!(ff.json(&["check"]).get("clock_offset_ms"), None);
    // The state after the clock was set back by an hour.
    let planted = rusqlite::Connection::open(ff.path("ff.db")).unwrap();
    let sql = "UPDATE clock SET time = time + 3600000, offset_us = 3600000000";
    assert_eq!(planted.execute(sql, ()).unwrap(), 1);
    drop(planted);
    let done = ff.run(&["check"]);
    assert_eq!(done.code, Some(0));
    assert!(done.stderr.contains("ahead of the system clock"), "{}", done.stderr);
    let offset = ff.json(&["check"])["clock_offset_ms"].as_u64().unwrap();
    assert!((3_500_000..=3_600_000).contains(&offset), "{offset}");
}
