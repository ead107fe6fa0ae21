//! SQLite sits the exam, in memory and on a file, and agrees with the model over random histories.
#![allow(clippy::expect_used, reason = "a test that cannot continue fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ff_backend_sqlite::{Durability, Options, SqliteStore};
use ff_conformance::{Making, Subject, clock_histories, exam, histories, sit};
use ff_core::{Millis, Time};
use ff_store::Clock;
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
exam!(sqlite_memory_clock, in_memory, own_clock);
exam!(sqlite_file_clock, on_a_file, own_clock);
histories!(sqlite_histories, in_memory);
clock_histories!(sqlite_clock_histories, in_memory);

/// A planted bug: the store's time stops once its clock is set back.
struct StopsWhenSetBack {
    clock: ManualClock,
    latest: AtomicU64,
}

impl Clock for StopsWhenSetBack {
    fn now(&self) -> Time {
        let now = self.clock.now().as_ms();
        Time::from_ms(self.latest.fetch_max(now, Ordering::SeqCst).max(now))
    }

    fn elapsed(&self) -> Millis {
        Millis::ZERO
    }
}

#[test]
#[should_panic]
fn a_clock_that_stops_is_caught() {
    fn subject() -> Making {
        Box::pin(async {
            let clock = ManualClock::default();
            let still = StopsWhenSetBack { clock: clock.clone(), latest: AtomicU64::new(0) };
            let store = SqliteStore::open(Options::memory().clock(Arc::new(still)));
            Subject::new(store.expect("a fresh store opens"), clock)
        })
    }
    sit("own_clock::time_never_runs_back_and_never_stops", subject);
}
