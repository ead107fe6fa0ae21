//! Histories in which the store's clock is set forward and back at random times.
//!
//! The model has the same time as the subject, so the effects of time are checked here, against how
//! much time really passed: it never runs back, it never stops, it follows no step back, and
//! nothing is removed for a jump ahead that was undone within a minute.
//!
//! `FF_EDGES_SEED=7` begins with that history, `FF_EDGES_MINUTES=10` continues for that long.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use ff_core::machine::{Action, Command};
use ff_core::{Millis, Time};
use ff_testkit::report;

use super::tally::Tally;
use super::{Options, history, number, runtime, shrink};
use crate::snapshot::Snapshot;
use crate::subject::Making;

/// By how much the clock is set.
pub(super) const SPANS: [Millis; 4] =
    [Millis::new(1), Millis::from_secs(1), Millis::from_hours(1), Millis::from_days(8)];

/// The default number of histories.
const HISTORIES: u64 = 150;
/// How often each direction and span of setting the clock must have happened.
const EACH_SET: u64 = 20;

/// A longer jump ahead must be confirmed.
const JUMP: Millis = Millis::from_secs(5 * 60);
/// By a read that is this much later.
const LATER: Millis = Millis::from_secs(60);
/// What a clock that is a little behind may cost.
const SLACK_MS: u64 = 11;

/// The clock is set, and no time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Set {
    pub(crate) ahead: bool,
    pub(crate) span: Millis,
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.ahead { "ahead" } else { "back" }, self.span)
    }
}

/// What is known about time besides what the stores report.
pub(crate) struct Watch {
    /// What the model's clock shows.
    clock: Time,
    /// The store's time at the last read.
    now: Time,
    /// How much time has really passed.
    passed: Millis,
    /// A jump ahead: where the clock was before it, and when that was.
    jump: Option<(Time, Millis)>,
}

impl Watch {
    pub(crate) fn new(clock: Time) -> Watch {
        Watch { clock, now: clock, passed: Millis::ZERO, jump: None }
    }

    /// The store's time.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Time has passed.
    pub(crate) fn passed(&mut self, span: Millis, now: Time) -> Result<(), String> {
        self.passed = Millis::new(self.passed.get() + span.get());
        self.clock = self.clock + span;
        let least = (span.get() / 10 * 9).saturating_sub(SLACK_MS);
        self.read(now, least, span.get() + SLACK_MS)
    }

    /// The clock was set.
    pub(crate) fn was_set(&mut self, set: Set, now: Time) -> Result<(), String> {
        let before = self.clock;
        self.clock = if set.ahead { before + set.span } else { before - set.span };
        let confirmed = |at: Millis| self.passed.get() - at.get() >= LATER.get();
        if set.ahead && set.span > JUMP {
            let open = self.jump.filter(|(_, at)| !confirmed(*at)).map(|(from, _)| from);
            self.jump = Some((open.unwrap_or(before), self.passed));
        } else if !set.ahead {
            self.jump = self.jump.filter(|(from, _)| self.clock.since(*from) > JUMP);
        }
        self.read(now, 0, if set.ahead { set.span.get() + SLACK_MS } else { 0 })
    }

    /// The store reports `now`; since the last read it may have gained this much.
    fn read(&mut self, now: Time, least: u64, most: u64) -> Result<(), String> {
        let before = std::mem::replace(&mut self.now, now);
        let gained = now.since(before).get();
        if now < before || gained < least || gained > most {
            return Err(format!(
                "time went from {before} to {now}, and should have gained {least} to {most} ms"
            ));
        }
        Ok(())
    }

    /// Nothing was done before its time.
    pub(crate) fn moved(
        &self,
        command: &Command,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<(), String> {
        let gone = before.records.values().filter(|record| after.record(record.id).is_none());
        for record in gone {
            if record.outcome().is_none() {
                return Err("an unfinished execution was removed".into());
            }
            // A member goes with its flow, and a flow once its removal has begun.
            let Some(due) = record.retired_at() else { continue };
            let unconfirmed =
                self.jump.filter(|(_, at)| self.passed.get() - at.get() < LATER.get());
            let certain = unconfirmed.map_or(self.clock, |(from, _)| from + JUMP);
            let is_asked_for = matches!(command.action, Action::Delete(_));
            if !is_asked_for && due > certain.min(self.clock) + Millis::new(SLACK_MS) {
                return Err(format!(
                    "{:?} removed what is due at {due}, and it is certain only that it is {certain}",
                    command.action
                ));
            }
        }
        Ok(())
    }
}

/// Runs histories in which the clock is set, on fresh subjects that have their own clock.
///
/// # Panics
/// When a subject and the model differ, when time misbehaves, or when too little happened
/// to conclude anything.
pub fn clock_histories(name: &str, make: fn() -> Making) {
    let first = number("FF_EDGES_SEED").unwrap_or(0);
    let minutes = number("FF_EDGES_MINUTES");
    let until = minutes.map(|minutes| Instant::now() + Duration::from_secs(60 * minutes));
    let options = Options { clock_is_set: true, ..Options::default() };
    let runtime = runtime();
    let mut tally = Tally::default();
    let mut seed = first;
    while until.map_or(seed < first + HISTORIES, |until| Instant::now() < until) {
        match runtime.block_on(history(seed, make, options, false)) {
            Ok(counted) => tally.add(&counted),
            Err(failure) => {
                let shrunk = runtime.block_on(shrink::shrink(failure, make, options.agreement));
                panic!("{name}: run it alone with FF_EDGES_SEED={seed}\n{shrunk}");
            }
        }
        seed += 1;
    }
    tally.report_clock(name, seed - first);
}

impl Tally {
    /// The clock was set once more.
    pub(super) fn set(&mut self, set: Set) {
        *self.sets.entry(set).or_default() += 1;
    }

    /// Prints how often the clock was set, and panics unless that was enough.
    fn report_clock(&self, name: &str, histories: u64) {
        let all = [true, false]
            .into_iter()
            .flat_map(|ahead| SPANS.into_iter().map(move |span| Set { ahead, span }));
        let counts: BTreeMap<_, _> =
            all.map(|set| (set, self.sets.get(&set).copied().unwrap_or(0))).collect();
        let sets: Vec<_> = counts.iter().map(|(set, times)| format!("{set}: {times}")).collect();
        eprintln!("{name}: {histories} histories, the clock set {}", sets.join(", "));
        eprintln!("  {} commands, {} executions removed", self.commands(), self.removed);
        report::count("edge_clock_histories", histories);
        report::count("edge_clock_steps", counts.values().sum());
        let few: Vec<_> = counts.iter().filter(|(_, times)| **times < EACH_SET).collect();
        assert!(few.is_empty(), "{name}: the clock was set too seldom: {few:?}");
        assert!(self.removed > 0, "{name}: no execution was ever removed");
    }
}

/// Makes a backend that has its own clock run histories in which that clock is set: a module
/// `$name` with the test that does.
#[macro_export]
macro_rules! clock_histories {
    ($name:ident, $factory:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[test]
            fn edge_clock_that_is_set_both_ways_agrees_with_the_model() {
                fn subject() -> $crate::Making {
                    Box::pin(($factory)())
                }
                $crate::clock_histories(stringify!($name), subject);
            }
        }
    };
}
