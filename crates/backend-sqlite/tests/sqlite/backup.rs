//! A copy of a store that is in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fixture::{self, Place, submit};
use ff_backend_sqlite::{Durability, Options, SqliteStore, backend, backup};
use ff_core::machine::Submit;
use ff_core::{ExecutionId, Payload};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, Store, StoreError};

fn open(path: std::path::PathBuf) -> Engine<SqliteStore> {
    backend(Options::file(path).durability(Durability::Off)).unwrap()
}

/// Work with an input that is stored outside its record.
fn work() -> Submit {
    Submit { input: Payload::bytes(vec![7; 5_000]), ..Submit::new(fixture::new_id()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_store_in_use_has_all_that_was_answered_before_and_is_sound() {
    let place = Place::new();
    let store = place.open();
    let mut before: Vec<ExecutionId> = Vec::new();
    for _ in 0..50 {
        before.push(submit(&store, work()).await);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (store, stop) = (store.clone(), stop.clone());
        async move {
            while !stop.load(Ordering::SeqCst) {
                submit(&store, work()).await;
                fixture::take(&store, 1).await;
            }
        }
    });
    let to = place.path("copy.ff");
    let copied = backup(place.file(), to.clone()).await.unwrap();
    stop.store(true, Ordering::SeqCst);
    writer.await.unwrap();
    assert_eq!(copied.report.violations, []);
    assert!(copied.report.records >= 50, "{copied:?}");
    assert_eq!(copied.bytes, std::fs::metadata(&to).unwrap().len());
    assert!(!place.path("copy.ff-wal").exists(), "the copy needs no further file");
    let copy = open(to);
    for id in before {
        let found = copy.describe(&fixture::target(id)).await.unwrap();
        assert_eq!(found.id, id);
        let key =
            ff_core::payload::BlobKey { execution: id, part: ff_core::payload::BlobPart::Input };
        assert_eq!(copy.store().blob(key).await.unwrap().unwrap().len(), 5_000);
    }
    assert_eq!(fixture::violations(&**copy.store()).await, Vec::<String>::new());
    submit(&copy, work()).await;
}

#[tokio::test]
async fn a_copy_never_replaces_a_file() {
    let place = Place::new();
    drop(place.open());
    let to = place.path("taken");
    std::fs::write(&to, "mine").unwrap();
    let refused = backup(place.file(), to.clone()).await.unwrap_err();
    assert!(refused.refused().is_some() && refused.to_string().contains("exists"), "{refused}");
    assert_eq!(std::fs::read(&to).unwrap(), b"mine");
}

#[tokio::test]
async fn a_copy_that_fails_leaves_nothing_behind() {
    let place = Place::new();
    for (from, content) in
        [("missing.ff", None), ("empty.ff", Some("")), ("text.ff", Some("hi, you"))]
    {
        if let Some(content) = content {
            std::fs::write(place.path(from), content).unwrap();
        }
        let to = place.path("copy.ff");
        let error = backup(place.path(from), to.clone()).await.unwrap_err();
        assert!(error.to_string().contains(from), "{error}");
        let left: Vec<_> = std::fs::read_dir(to.parent().unwrap())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.starts_with("copy"))
            .collect();
        assert_eq!(left, Vec::<String>::new(), "after {from}");
    }
}

#[tokio::test]
async fn a_copy_reports_what_is_wrong_with_the_store() {
    let place = Place::new();
    let store = place.open();
    submit(&store, work()).await;
    place.sql().execute("DELETE FROM queue", ()).unwrap();
    let copied = backup(place.file(), place.path("copy.ff")).await.unwrap();
    assert!(!copied.report.violations.is_empty());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_a_copy() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    drop(place.open());
    let to = place.path("copy.ff");
    backup(place.file(), to.clone()).await.unwrap();
    assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn after_a_clean_stop_the_file_alone_is_the_store() {
    let place = Place::new();
    let store = place.open();
    let id = submit(&store, work()).await;
    assert!(place.path("ff.db-wal").exists());
    drop(store);
    assert!(!place.path("ff.db-wal").exists(), "the log is in the file");
    let alone = Place::new();
    std::fs::copy(place.file(), alone.file()).unwrap();
    let moved = alone.open();
    assert_eq!(moved.describe(&fixture::target(id)).await.unwrap().id, id);
    assert!(matches!(
        moved.describe(&fixture::target(fixture::new_id())).await,
        Err(StoreError::Refused(_))
    ));
}
