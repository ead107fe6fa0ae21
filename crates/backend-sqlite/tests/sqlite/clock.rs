//! The store's time never runs back.

use std::sync::Arc;

use crate::common::{self, Place, submit};
use ff_backend_sqlite::{Options, backend};
use ff_core::machine::Submit;
use ff_core::{Millis, Time};
use ff_store::{ClientBackend, Store};
use ff_testkit::ManualClock;

const HOUR: Millis = Millis::from_hours(1);

fn noon() -> Time {
    Time::from_ms(1_700_000_000_000)
}

#[tokio::test]
async fn a_clock_that_is_set_back_does_not_take_time_with_it() {
    let place = Place::new();
    for options in [place.options(), Options::memory()] {
        let clock = ManualClock::at(noon().as_ms());
        let backend = backend(options.clock(Arc::new(clock.clone()))).unwrap();
        submit(&backend, Submit::new(common::new_id())).await;
        clock.set(noon() - HOUR);
        let later = submit(&backend, Submit::new(common::new_id())).await;
        let later = backend.describe(&common::target(later)).await.unwrap();
        assert_eq!(later.created, noon());
        assert_eq!(backend.store().due(&ff_store::Share::All, None, 1).await.unwrap().now, noon());
        clock.set(noon() + HOUR);
        assert_eq!(
            backend.store().due(&ff_store::Share::All, None, 1).await.unwrap().now,
            noon() + HOUR
        );
    }
}

#[tokio::test]
async fn a_process_with_an_older_clock_lives_in_the_time_of_the_store() {
    let place = Place::new();
    let at = |time: Time| place.options().clock(Arc::new(ManualClock::at(time.as_ms())));
    let ahead = backend(at(noon())).unwrap();
    submit(&ahead, Submit::new(common::new_id())).await;
    let behind = backend(at(noon() - HOUR)).unwrap();
    assert_eq!(behind.store().due(&ff_store::Share::All, None, 1).await.unwrap().now, noon());
    let id = submit(&behind, Submit::new(common::new_id())).await;
    assert_eq!(behind.describe(&common::target(id)).await.unwrap().created, noon());
}

#[tokio::test]
async fn a_time_that_was_told_is_not_taken_back_although_nothing_was_written() {
    let clock = ManualClock::at(noon().as_ms());
    let backend = backend(Options::memory().clock(Arc::new(clock.clone()))).unwrap();
    assert_eq!(backend.store().due(&ff_store::Share::All, None, 1).await.unwrap().now, noon());
    clock.set(noon() - HOUR);
    assert_eq!(backend.store().due(&ff_store::Share::All, None, 1).await.unwrap().now, noon());
}
