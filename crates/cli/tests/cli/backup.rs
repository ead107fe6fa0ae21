//! `ff backup`, and what a store is on disk.

use crate::fixture::Ff;
use rustix::process::Signal;

#[test]
fn a_copy_of_a_store_that_is_served_is_a_store() {
    let store = Ff::new();
    let server = store.serve();
    let ids: Vec<_> = (0..20).map(|_| server.ff().submit(&["--input", "[1]"])).collect();
    let done = store.run(&["backup", "copy.ff"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), "the copy is sound\n"));
    let text = String::from_utf8(done.stdout).unwrap();
    // Every execution, and the signing keys of the store.
    assert!(text.contains("records     21\n") && text.contains("violations  0\n"), "{text}");
    let copy = Ff::on(&format!("sqlite:{}", store.path("copy.ff").display()));
    for id in &ids {
        assert_eq!(copy.ok(&["input", id]), b"[1]");
    }
    assert_eq!(copy.json(&["check"])["records"], 21);
    let again = store.refusal(&["backup", "copy.ff"]);
    assert_eq!(again["code"], "invalid_argument");
    assert!(again["message"].as_str().unwrap().contains("exists"), "{again}");
    let view = store.json(&["backup", "second.ff"]);
    assert_eq!((&view["records"], &view["violations"]), (&21.into(), &0.into()));
}

#[test]
fn a_store_that_its_servers_copy_is_refused_with_what_to_do() {
    for (url, advice) in [("valkey://127.0.0.1:1", "BGSAVE"), ("memory:", "sqlite:PATH")] {
        let ff = Ff::on(url);
        let refusal = ff.refusal(&["backup", "copy.ff"]);
        assert_eq!(refusal["code"], "invalid_argument");
        assert!(refusal["message"].as_str().unwrap().contains(advice), "{refusal}");
        assert!(!ff.path("copy.ff").exists());
    }
}

#[test]
fn after_a_clean_stop_the_file_alone_is_the_store() {
    for signal in [Signal::TERM, Signal::INT] {
        let store = Ff::new();
        let mut server = store.serve();
        let id = server.ff().submit(&[]);
        assert!(store.path("ff.db-wal").exists());
        server.process().signal(signal);
        assert!(server.process().ended().success());
        let left: Vec<_> = ["ff.db-wal", "ff.db-shm"]
            .into_iter()
            .filter(|name| store.path(name).exists())
            .collect();
        assert_eq!(left, Vec::<&str>::new(), "the log is in the file");
        std::fs::copy(store.path("ff.db"), store.path("moved.ff")).unwrap();
        let moved = Ff::on(&format!("sqlite:{}", store.path("moved.ff").display()));
        assert_eq!(moved.show(&id)["id"], id);
    }
}
