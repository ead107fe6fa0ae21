//! The place in a queue as a number: strict priority, then the time of queueing.

use ff_core::placement::Score;
use ff_core::policy::Policy;
use ff_core::{Time, bounds};
use proptest::prelude::*;

use crate::fixture::make::{brief, id, ms};
use crate::fixture::{Fixture, START};

proptest! {
    #[test]
    fn scores_order_by_priority_then_time_and_stay_exact(
        a in (bounds::PRIORITY_MIN..=bounds::PRIORITY, 0..=1_000_000_000_000u64),
        b in (bounds::PRIORITY_MIN..=bounds::PRIORITY, 0..=1_000_000_000_000u64),
    ) {
        let score = |(priority, at): (i16, u64)| Score::of(priority, START + ms(at));
        let earlier = a.0 > b.0 || (a.0 == b.0 && a.1 < b.1);
        // Within the 31 years that a step of priority outweighs.
        prop_assume!(a.0 == b.0 || a.1.abs_diff(b.1) < 1_000_000_000_000);
        prop_assert_eq!(score(a) < score(b), earlier);
        prop_assert_eq!(score(a).get() as f64 as i64, score(a).get());
    }
}

#[test]
fn every_score_that_a_record_can_have_is_exact() {
    for priority in [bounds::PRIORITY_MIN, -1, 0, 1, bounds::PRIORITY] {
        for at in [Time::EPOCH, START, Time::MAX] {
            assert!(Score::of(priority, at).get().unsigned_abs() < 1 << 53);
        }
    }
}

#[test]
fn an_attempt_timeout_queues_now() {
    let (mut fixture, _) = Fixture::held(Policy { attempt_timeout: Some(ms(50)), ..brief() });
    fixture.fire(id(1));
    let record = fixture.record(id(1));
    assert!(record.placed.score.is_some(), "it is queued");
    assert_eq!(record.queued_at, START + ms(50));
}
