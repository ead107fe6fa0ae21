//! What SQLite counts.
#![allow(clippy::expect_used, reason = "a test that cannot continue fails")]

use std::sync::Arc;

use ff_backend_sqlite::{Options, SqliteStore};
use ff_conformance::{Subject, measured};
use ff_testkit::ManualClock;

#[tokio::test]
async fn executions_are_counted_by_lane_and_kind_on_sqlite() {
    let clock = ManualClock::default();
    let store = SqliteStore::open(Options::memory().clock(Arc::new(clock.clone())));
    measured([Subject::new(store.expect("a fresh store opens"), clock)]).await;
}
