//! A time that never runs back and never stops, made from a clock that may be set.
//!
//! - **Set back**: time continues from where it was, by an offset to the clock. The offset shrinks by a
//!   tenth of the time that passes, and goes at once when the clock is set forward again.
//! - **Set forward**: time follows at once. What cannot be undone, the removal of finished work and
//!   its idempotency key, waits until the clock is seen at least [`CONFIRMED_AFTER`] later and has not
//!   been set back meanwhile. A process cannot distinguish a clock that was set from a machine that
//!   slept.
//! - While there is an offset, removal goes by the clock itself, which is behind.
//!
//! What was decided is a [`Mark`]: a store with several processes keeps it with its data, so that all
//! of them, and those that come after a restart, agree.

use std::sync::{Arc, Mutex, PoisonError};

use ff_core::{Millis, Time};

use crate::clock::Clock;
use crate::metrics;

/// A longer step ahead between two readings must be confirmed before anything is removed.
pub const JUMP: Millis = Millis::from_secs(5 * 60);
/// How much later a reading must be to confirm a jump.
pub const CONFIRMED_AFTER: Millis = Millis::from_secs(60);
/// A clock that is behind by no more is waited for.
const PATIENCE: Millis = Millis::new(10);
/// An offset shrinks by this many microseconds in each millisecond that passes.
const SHRINKS_US: u64 = 100;
/// From here on, setting the clock back is worth a warning.
const WORTH_A_WARNING: Millis = Millis::from_secs(1);

/// The state of a store's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mark {
    /// The store's time.
    pub now: Time,
    /// What the clock said at that moment.
    pub clock: Time,
    /// How far the store's time is ahead of the clock, in microseconds.
    pub offset_us: u64,
    /// The time before a jump that is still to be confirmed.
    pub before_jump: Option<Time>,
    /// Where the clock was after that jump.
    pub jumped: Time,
}

impl Mark {
    /// How far the store's time is ahead of the clock.
    pub fn offset(&self) -> Millis {
        Millis::new(self.offset_us / 1_000)
    }

    /// The time by which finished work is removed: at most `now`.
    pub fn confirmed(&self) -> Time {
        let clock = self.now - self.offset();
        self.before_jump.map_or(clock, |before| before.min(clock))
    }

    /// By how much `now` is later than what is confirmed.
    pub fn unconfirmed(&self) -> Millis {
        self.now.since(self.confirmed())
    }

    /// The store's time when this much has passed and the clock was not set.
    fn after(&self, passed: Millis) -> Time {
        let shrinks = (self.offset_us - shrunk(self.offset_us, passed)) / 1_000;
        self.now + Millis::new(passed.get().saturating_sub(shrinks))
    }
}

/// What is left of an offset when this much has passed.
fn shrunk(offset_us: u64, passed: Millis) -> u64 {
    offset_us.saturating_sub(passed.get().saturating_mul(SHRINKS_US))
}

/// What a reading of the clock showed besides the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The clock was set back by this much.
    SetBack(Millis),
    /// The clock is further ahead than time can have passed.
    Jumped(Millis),
    /// A later reading agrees with the jump.
    Confirmed,
}

/// How long it is since another reading: at least, and at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Passed {
    least: Millis,
    most: Millis,
}

/// The last mark that this process returned, and when that was.
#[derive(Debug, Clone, Copy)]
struct Reading {
    mark: Mark,
    before: Millis,
    after: Millis,
}

/// The time of one open store.
pub struct Steady {
    clock: Arc<dyn Clock>,
    last: Mutex<Option<Reading>>,
}

impl Steady {
    /// The time of a store that goes by `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Steady {
        Steady { clock, last: Mutex::new(None) }
    }

    /// The current time, given the mark that is kept in the store; [`Mark::default`] if none is. That
    /// must be read before this is called.
    pub fn read(&self, kept: Mark) -> Mark {
        // The clock is read inside the lock: a reading that waits for it would be an old one.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.clock.elapsed();
        let clock = self.clock.now();
        let after = self.clock.elapsed();
        let since = last.map(|last| {
            let least = Millis::new(before.get().saturating_sub(last.after.get()));
            let most = Millis::new(after.get().saturating_sub(last.before.get()));
            (last.mark, Passed { least, most })
        });
        let (mark, found) = next(kept, since, clock);
        let offset_before = last.map(|last| last.mark.offset_us);
        *last = Some(Reading { mark, before, after });
        drop(last);
        if offset_before != Some(mark.offset_us) {
            metrics::clock_offset(mark.offset());
        }
        if let Some(found) = found {
            report(found, &mark, since.is_none());
        }
        mark
    }
}

/// Logs and counts what was found. The first reading of a process reports no jump: a store that was
/// closed for a while is behind the clock too.
fn report(found: Found, mark: &Mark, first: bool) {
    let offset_ms = mark.offset().get();
    match found {
        Found::SetBack(by) => {
            metrics::clock_step("back");
            if by >= WORTH_A_WARNING {
                tracing::warn!(
                    by_ms = by.get(),
                    offset_ms,
                    "the system clock was set back; the store's time continues from where it was"
                );
            }
        }
        Found::Jumped(_) if first => {}
        Found::Jumped(by) => {
            metrics::clock_step("ahead");
            tracing::warn!(
                by_ms = by.get(),
                "the system clock was set forward, or the machine slept; nothing is removed until \
                 that is confirmed"
            );
        }
        Found::Confirmed => tracing::info!("the jump of the system clock is confirmed"),
    }
}

/// The mark when the clock says `clock`, after the mark that is kept and the last one that
/// this process returned.
fn next(kept: Mark, returned: Option<(Mark, Passed)>, clock: Time) -> (Mark, Option<Found>) {
    let last = match returned {
        Some((mark, _)) if mark.now >= kept.now => mark,
        _ => kept,
    };
    if last.now == Time::EPOCH {
        return (Mark { now: clock, clock, ..Mark::default() }, None);
    }
    let mut offset_us = shrunk(last.offset_us, clock.since(last.clock));
    let ahead = |offset_us: u64| clock + Millis::new(offset_us / 1_000);
    let mut floor = last.now;
    match returned {
        Some((mark, passed)) => {
            floor = floor.max(mark.after(passed.least));
            // Set forward: it is nearer to the store's time again.
            let ceiling = last.now.max(mark.after(passed.most)) + PATIENCE;
            let gained = ahead(offset_us).since(ceiling).get().saturating_mul(1_000);
            offset_us = offset_us.saturating_sub(gained);
        }
        // No caller was given a later time than the one kept.
        None if clock >= last.now => offset_us = 0,
        None => {}
    }
    let behind = floor.since(ahead(offset_us));
    let mut found = None;
    if behind > PATIENCE {
        offset_us = floor.since(clock).get().saturating_mul(1_000);
        found = Some(Found::SetBack(behind));
    }
    let now = ahead(offset_us).max(last.now);
    // A process that has watched the clock knows of its jumps; one that has just begun does not.
    let (watched, expected) = match returned {
        Some((mark, passed)) => (mark, last.clock.max(mark.clock + passed.most)),
        None => (kept, kept.clock),
    };
    let mut mark = Mark { now, clock, offset_us, ..watched };
    found = found.or(jump(&mut mark, &watched, clock.since(expected)));
    (mark, found)
}

/// Takes note of a jump of the clock by `by`, of its confirmation, and of its being taken back.
fn jump(mark: &mut Mark, last: &Mark, by: Millis) -> Option<Found> {
    if by > JUMP {
        mark.before_jump = Some(last.confirmed());
        mark.jumped = mark.clock;
        return Some(Found::Jumped(by));
    }
    let before = mark.before_jump?;
    if mark.clock < mark.jumped {
        mark.jumped = mark.clock;
        mark.before_jump = Some(before).filter(|before| mark.clock.since(*before) > JUMP);
        return None;
    }
    if mark.clock.since(mark.jumped) >= CONFIRMED_AFTER {
        mark.before_jump = None;
        return Some(Found::Confirmed);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = Millis::from_hours(1);
    const WEEK: Millis = Millis::from_days(8);

    fn noon() -> Time {
        Time::from_ms(1_700_000_000_000)
    }

    /// A process that reads a clock, and a store in which it may keep the mark.
    struct Fixture {
        clock: Time,
        last: Option<(Mark, Millis)>,
        kept: Mark,
    }

    impl Fixture {
        fn new() -> Fixture {
            let mut fixture = Fixture { clock: noon(), last: None, kept: Mark::default() };
            fixture.read();
            fixture
        }

        fn read(&mut self) -> Mark {
            let last =
                self.last.map(|(mark, passed)| (mark, Passed { least: passed, most: passed }));
            let (mark, _) = next(self.kept, last, self.clock);
            let last = self.last.map_or(self.kept.now, |(mark, _)| mark.now.max(self.kept.now));
            assert!(mark.now >= last, "{mark:?} runs back");
            assert!(mark.confirmed() <= mark.now);
            self.last = Some((mark, Millis::ZERO));
            mark
        }

        fn pass(&mut self, span: Millis) -> Mark {
            self.clock = self.clock + span;
            self.last =
                self.last.map(|(mark, so_far)| (mark, Millis::new(so_far.get() + span.get())));
            self.read()
        }

        /// Keeps what was seen, and begins again as another process.
        fn restart(&mut self) {
            self.kept = self.read();
            self.last = None;
        }
    }

    #[test]
    fn a_clock_that_nobody_sets_is_the_time() {
        let mut fixture = Fixture::new();
        for span in [0, 1, 999, 3_600_000, 86_400_000] {
            let mark = fixture.pass(Millis::new(span));
            assert_eq!(mark, Mark { now: fixture.clock, clock: fixture.clock, ..Mark::default() });
        }
    }

    #[test]
    fn time_goes_on_after_a_step_back_of_any_size() {
        for step in [Millis::new(11), Millis::from_secs(1), HOUR, WEEK] {
            for restarts in [false, true] {
                let mut fixture = Fixture::new();
                fixture.clock = fixture.clock - step;
                if restarts {
                    fixture.restart();
                }
                let before = fixture.read().now;
                assert_eq!(before, noon());
                let mark = fixture.pass(Millis::from_secs(1));
                assert!(mark.now.since(before) >= Millis::new(900), "{step}: {mark:?}");
                assert!(mark.now.since(before) <= Millis::new(1_000), "{step}: {mark:?}");
            }
        }
    }

    #[test]
    fn a_step_back_of_a_millisecond_is_waited_for() {
        let mut fixture = Fixture::new();
        fixture.clock = fixture.clock - Millis::new(1);
        assert_eq!(fixture.read().now, noon());
        assert_eq!(fixture.pass(Millis::new(2)).now, noon() + Millis::new(1));
        assert_eq!(fixture.read().offset_us, 0);
    }

    #[test]
    fn many_small_steps_back_do_not_hold_time_for_longer_than_one() {
        let mut fixture = Fixture::new();
        for _ in 0..100 {
            fixture.clock = fixture.clock - Millis::new(9);
            fixture.pass(Millis::new(1));
        }
        assert!(fixture.read().now.since(noon()) >= Millis::new(50), "{:?}", fixture.read());
    }

    #[test]
    fn an_offset_shrinks_by_a_tenth_of_the_time_that_passes() {
        for readings in [1, 7, 1_000] {
            let mut fixture = Fixture::new();
            fixture.clock = fixture.clock - HOUR;
            fixture.read();
            for _ in 0..readings {
                fixture.pass(Millis::new(HOUR.get() * 5 / readings));
            }
            let left = fixture.read().offset();
            assert!(left.get().abs_diff(HOUR.get() / 2) <= readings, "{readings}: {left}");
            let mark = fixture.pass(Millis::from_hours(6));
            assert_eq!((mark.offset_us, mark.now), (0, fixture.clock));
        }
    }

    #[test]
    fn an_offset_is_gone_when_the_clock_is_set_forward_again() {
        let mut fixture = Fixture::new();
        fixture.clock = fixture.clock - HOUR;
        fixture.pass(Millis::from_secs(10));
        let before = fixture.read().now;
        fixture.clock = fixture.clock + HOUR;
        let mark = fixture.read();
        assert!(mark.now.since(before) <= Millis::new(1_010), "{mark:?}");
        assert!(mark.offset() <= PATIENCE, "{mark:?}");
    }

    #[test]
    fn an_offset_is_gone_when_a_process_begins_after_the_clock_has_caught_up() {
        let mut fixture = Fixture::new();
        fixture.clock = fixture.clock - HOUR;
        fixture.restart();
        fixture.clock = fixture.clock + Millis::new(HOUR.get() + 5);
        let mark = fixture.read();
        assert_eq!((mark.now, mark.offset_us), (fixture.clock, 0));
    }

    #[test]
    fn a_jump_is_followed_at_once_and_confirmed_later() {
        for restarts in [false, true] {
            let mut fixture = Fixture::new();
            if restarts {
                fixture.restart();
            }
            fixture.clock = fixture.clock + WEEK;
            let mark = fixture.read();
            assert_eq!((mark.now, mark.confirmed()), (fixture.clock, noon()));
            assert_eq!(fixture.pass(Millis::from_secs(59)).confirmed(), noon());
            if restarts {
                fixture.restart();
            }
            let mark = fixture.pass(Millis::from_secs(1));
            assert_eq!((mark.confirmed(), mark.unconfirmed()), (fixture.clock, Millis::ZERO));
        }
    }

    #[test]
    fn a_jump_that_is_taken_back_confirms_nothing() {
        for restarts in [false, true] {
            let mut fixture = Fixture::new();
            for _ in 0..3 {
                fixture.clock = fixture.clock + WEEK;
                assert_eq!(fixture.read().confirmed(), noon() + fixture.clock.since(noon() + WEEK));
                if restarts {
                    fixture.restart();
                }
                fixture.pass(Millis::from_secs(4));
                fixture.clock = fixture.clock - WEEK;
                if restarts {
                    fixture.restart();
                }
                for _ in 0..10 {
                    let mark = fixture.pass(Millis::from_secs(30));
                    assert!(mark.confirmed() <= fixture.clock, "{mark:?}");
                    assert!(fixture.clock.since(mark.confirmed()) <= JUMP, "{mark:?}");
                }
            }
        }
    }

    #[test]
    fn a_long_time_that_was_seen_to_pass_is_no_jump() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.pass(WEEK).unconfirmed(), Millis::ZERO);
    }

    #[test]
    fn a_step_ahead_of_minutes_is_no_jump() {
        let mut fixture = Fixture::new();
        fixture.clock = fixture.clock + JUMP;
        let mark = fixture.read();
        assert_eq!((mark.now, mark.unconfirmed()), (fixture.clock, Millis::ZERO));
    }

    #[test]
    fn what_another_process_has_kept_is_never_undercut() {
        for lead in [1, 2, 10, 11, 1_000, 3_600_000] {
            let mut fixture = Fixture::new();
            let theirs = noon() + Millis::new(lead);
            fixture.kept = Mark { now: theirs, clock: theirs, ..Mark::default() };
            assert!(fixture.read().now >= theirs);
            fixture.last = None;
            assert!(fixture.read().now >= theirs);
        }
    }
}
