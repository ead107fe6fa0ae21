//! SQLite sits the exam, in memory and on a file, and agrees with the model over random histories.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use ff_backend_sqlite::{Durability, Options, SqliteStore};
use ff_conformance::{Subject, clock_histories, exam, histories, own_clock};
use ff_testkit::ManualClock;

async fn in_memory() -> Subject {
    subject(Options::memory())
}

async fn on_a_file() -> Subject {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // A process that dies is tested elsewhere; here nothing waits for the disk.
    let options = Options::file(directory.path().join("exam.ff")).durability(Durability::Off);
    subject(options).keeping(directory)
}

fn subject(options: Options) -> Subject {
    let clock = ManualClock::default();
    let store = SqliteStore::open(options.clock(Arc::new(clock.clone())));
    Subject::new(store.expect("a fresh store opens"), clock)
}

exam!(sqlite_memory, in_memory);
exam!(sqlite_file, on_a_file);
own_clock!(sqlite_memory_clock, in_memory);
own_clock!(sqlite_file_clock, on_a_file);
histories!(sqlite_histories, in_memory);
clock_histories!(sqlite_clock_histories, in_memory);
