//! The file itself: its permissions, and which files are refused.

use crate::fixture::{self, Place, submit};
use ff_backend_sqlite::{Options, SqliteStore};
use ff_core::Setting;
use ff_core::machine::Submit;
use ff_store::{ClientBackend, Store, StoreError};

fn refused(place: &Place) -> String {
    match SqliteStore::open(place.options()).map(drop) {
        Err(StoreError::Incompatible(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let backend = place.open();
    submit(&backend, Submit::new(fixture::new_id())).await;
    for suffix in ["", "-wal", "-shm"] {
        let path = format!("{}{suffix}", place.file().display());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
    }
}

#[test]
fn a_file_of_a_newer_release_is_refused_and_left_as_it_is() {
    let place = Place::new();
    drop(place.open());
    place.sql().pragma_update(None, "user_version", 99).unwrap();
    let before = std::fs::read(place.file()).unwrap();
    assert!(refused(&place).contains("its schema is number 99"));
    assert_eq!(std::fs::read(place.file()).unwrap(), before);
}

#[test]
fn a_file_of_another_application_is_refused_and_left_as_it_is() {
    let place = Place::new();
    place.sql().execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = std::fs::read(place.file()).unwrap();
    assert!(refused(&place).contains("another application"));
    assert_eq!(std::fs::read(place.file()).unwrap(), before);
}

#[test]
fn an_empty_database_that_another_application_has_marked_is_refused() {
    let place = Place::new();
    place.sql().pragma_update(None, "application_id", 7).unwrap();
    assert!(refused(&place).contains("another application"));
}

#[test]
fn a_file_that_is_no_database_is_refused_by_name_and_left_as_it_is() {
    let place = Place::new();
    let text = "dear diary, ".repeat(100);
    std::fs::write(place.file(), &text).unwrap();
    let why = refused(&place);
    assert!(why.contains("not an SQLite database") && why.contains("ff.db"), "{why}");
    assert_eq!(std::fs::read(place.file()).unwrap(), text.as_bytes());
}

#[test]
fn a_place_where_no_file_can_be_made_is_named() {
    let missing = Options::file("/nonexistent/directory/ff.db");
    match SqliteStore::open(missing).map(drop) {
        Err(StoreError::Unavailable(why)) => assert!(why.contains("/nonexistent"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn acknowledged_work_survives_reopening() {
    let place = Place::new();
    let id = submit(&place.open(), Submit::new(fixture::new_id())).await;
    let again = place.open();
    assert_eq!(again.describe(&fixture::target(id)).await.unwrap().id, id);
    assert_eq!(fixture::violations(&**again.store()).await, Vec::<String>::new());
}

#[tokio::test]
async fn settings_survive_reopening_and_are_one_for_all_processes() {
    let place = Place::new();
    let give = async |store: &SqliteStore, value: &'static str| {
        store.setting(Setting::new("ring", value).unwrap()).await.unwrap()
    };
    let (one, other) = (place.open(), place.open());
    assert_eq!(give(one.store(), "first").await, "first");
    assert_eq!(give(other.store(), "second").await, "first");
    drop((one, other));
    assert_eq!(give(place.open().store(), "third").await, "first");
}

#[test]
fn many_openings_at_once_of_a_file_that_does_not_exist_all_succeed() {
    let place = Place::new();
    let open = || SqliteStore::open(place.options()).map(drop);
    std::thread::scope(|scope| {
        let openings: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        for opening in openings {
            opening.join().unwrap().unwrap();
        }
    });
}
