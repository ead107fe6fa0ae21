//! When a schedule runs: a pure function from one moment to the next and to the one before.

use serde::{Deserialize, Serialize};

use super::cron::Cron;
use super::zone::Zone;
use crate::bounds::{SCHEDULE_EVERY_MAX, SCHEDULE_EVERY_MIN};
use crate::refusal::Refusal;
use crate::time::{Millis, Time};

/// Which moments a schedule has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cadence {
    /// Those that a cron expression names, by the clocks of a zone.
    Cron {
        /// The expression.
        cron: Cron,
        /// Whose clocks.
        zone: Zone,
    },
    /// One every so often, counted from a moment.
    Every {
        /// How often.
        every: Millis,
        /// The first one.
        from: Time,
    },
    /// A single one.
    At(Time),
}

/// The moments of a schedule, within its start and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Which moments.
    pub cadence: Cadence,
    /// None before this.
    pub start: Option<Time>,
    /// None after this.
    pub end: Option<Time>,
}

impl Cadence {
    /// The first moment after `after`.
    fn next(&self, after: Time) -> Option<Time> {
        match self {
            Cadence::At(at) => Some(*at).filter(|at| *at > after),
            Cadence::Every { from, .. } if *from > after => Some(*from),
            Cadence::Every { every, from } => {
                let passed = after.since(*from).get() / every.get().max(1);
                let next = *from + Millis::new((passed + 1).saturating_mul(every.get()));
                Some(next).filter(|next| *next > after)
            }
            Cadence::Cron { cron, zone } => {
                let repeated = zone.end_of_repeat(after);
                let mut shown = cron.next(repeated.or_else(|| zone.shown(after))?)?;
                loop {
                    let moment = zone.moment(shown)?;
                    if moment > after {
                        return Some(moment).filter(|moment| *moment < Time::MAX);
                    }
                    let second = jiff::Span::new().seconds(1);
                    shown = cron.next(shown.checked_add(second).ok()?)?;
                }
            }
        }
    }

    /// The last moment that is `at` or earlier.
    fn last(&self, at: Time) -> Option<Time> {
        match self {
            Cadence::At(moment) => Some(*moment).filter(|moment| *moment <= at),
            Cadence::Every { from, .. } if *from > at => None,
            Cadence::Every { every, from } => {
                let passed = at.since(*from).get() / every.get().max(1);
                Some(*from + Millis::new(passed.saturating_mul(every.get())))
            }
            Cadence::Cron { cron, zone } => {
                let second = jiff::Span::new().seconds(1);
                let to = match zone.end_of_repeat(at) {
                    Some(end) => end.checked_sub(second).ok()?,
                    None => zone.shown(at)?,
                };
                zone.moment(cron.last(to)?).filter(|moment| *moment <= at)
            }
        }
    }
}

impl Plan {
    /// The first moment after `after`.
    pub fn next(&self, after: Time) -> Option<Time> {
        let from = match self.start {
            Some(start) if start > after => start - Millis::new(1),
            _ => after,
        };
        let next = self.cadence.next(from);
        next.filter(|next| self.end.is_none_or(|end| *next <= end))
    }

    /// The last moment that is `at` or earlier.
    pub fn last(&self, at: Time) -> Option<Time> {
        let to = self.end.map_or(at, |end| end.min(at));
        self.cadence.last(to).filter(|last| self.start.is_none_or(|start| *last >= start))
    }

    /// Up to `most` moments after `after`.
    pub fn upcoming(&self, after: Time, most: usize) -> Vec<Time> {
        std::iter::successors(self.next(after), |last| self.next(*last)).take(most).collect()
    }

    /// Refuses what no schedule can have.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if let Cadence::Every { every, .. } = &self.cadence {
            every.within("every_ms", SCHEDULE_EVERY_MIN, SCHEDULE_EVERY_MAX)?;
        }
        if let (Some(start), Some(end)) = (self.start, self.end)
            && start > end
        {
            return Err(Refusal::invalid("end", "is before the start; give a later one"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jiff::tz::TimeZoneDatabase;

    use super::super::draw;
    use super::super::zone::{from_utc, in_utc};
    use super::*;

    fn cron(text: &str, zone: &str) -> Plan {
        let cadence = Cadence::Cron { cron: text.parse().unwrap(), zone: Zone::new(zone).unwrap() };
        Plan { cadence, start: None, end: None }
    }

    fn upcoming(plan: &Plan, after: &str, most: usize) -> Vec<String> {
        plan.upcoming(from_utc(after).unwrap(), most).into_iter().map(in_utc).collect()
    }

    #[test]
    fn a_skipped_hour_runs_once_after_it() {
        let daily = cron("30 2 * * *", "Europe/Berlin");
        let expected =
            ["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"];
        assert_eq!(upcoming(&daily, "2026-03-27T12:00:00Z", 3), expected);
        let often = cron("*/20 2 * * *", "Europe/Berlin");
        let expected = ["2026-03-29T01:00:00.000Z", "2026-03-30T00:00:00.000Z"];
        assert_eq!(upcoming(&often, "2026-03-28T12:00:00Z", 2), expected);
        let always = cron("*/30 * * * *", "Europe/Berlin");
        let expected =
            ["2026-03-29T00:30:00.000Z", "2026-03-29T01:00:00.000Z", "2026-03-29T01:30:00.000Z"];
        assert_eq!(upcoming(&always, "2026-03-29T00:00:00Z", 3), expected);
        // A whole day that was skipped.
        let samoa = cron("0 9 * * *", "Pacific/Apia");
        let expected =
            ["2011-12-29T19:00:00.000Z", "2011-12-30T10:00:00.000Z", "2011-12-30T19:00:00.000Z"];
        assert_eq!(upcoming(&samoa, "2011-12-29T00:00:00Z", 3), expected);
    }

    #[test]
    fn a_repeated_hour_runs_once() {
        let daily = cron("30 2 * * *", "Europe/Berlin");
        let expected = ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"];
        assert_eq!(upcoming(&daily, "2026-10-24T12:00:00Z", 2), expected);
        let half = cron("*/30 * * * *", "Australia/Lord_Howe");
        let found = upcoming(&half, "2026-04-04T14:00:00Z", 4);
        let expected = [
            "2026-04-04T14:30:00.000Z",
            "2026-04-04T15:30:00.000Z",
            "2026-04-04T16:00:00.000Z",
            "2026-04-04T16:30:00.000Z",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_interval_counts_from_its_first_moment() {
        let from = Time::from_ms(1_000);
        let cadence = Cadence::Every { every: Millis::from_secs(5), from };
        let plan = Plan { cadence, start: None, end: Some(Time::from_ms(16_000)) };
        let at = |ms| Time::from_ms(ms);
        assert_eq!(plan.upcoming(Time::EPOCH, 9), [at(1_000), at(6_000), at(11_000), at(16_000)]);
        assert_eq!((plan.last(at(999)), plan.last(at(5_999))), (None, Some(at(1_000))));
        assert_eq!(
            (plan.last(at(6_000)), plan.last(Time::MAX)),
            (Some(at(6_000)), Some(at(16_000)))
        );
    }

    #[test]
    fn a_start_and_an_end_are_among_the_moments() {
        let plan = Plan {
            start: from_utc("2026-03-01T00:00:00Z"),
            end: from_utc("2026-03-02T00:00:00Z"),
            ..cron("0 0 * * *", "UTC")
        };
        let expected = ["2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z"];
        assert_eq!(upcoming(&plan, "2020-01-01T00:00:00Z", 9), expected);
        assert_eq!(plan.last(from_utc("2026-02-28T23:00:00Z").unwrap()), None);
        let once = Plan { cadence: Cadence::At(Time::from_ms(5)), start: None, end: None };
        assert_eq!(once.upcoming(Time::EPOCH, 3), [Time::from_ms(5)]);
        assert_eq!(once.last(Time::from_ms(5)), Some(Time::from_ms(5)));
    }

    /// Whether `at` is a moment, found from what clocks show at it and just before it alone.
    fn is_moment(cron: &Cron, zone: &jiff::tz::TimeZone, at: i64) -> bool {
        let stamp = |second: i64| jiff::Timestamp::from_second(second).unwrap();
        let (before, shown) = (zone.to_datetime(stamp(at - 1)), zone.to_datetime(stamp(at)));
        let second = jiff::Span::new().seconds(1);
        let mut next = before.checked_add(second).unwrap();
        // Clocks went on: what they left out counts now.
        while next < shown {
            if cron.names(next) {
                return true;
            }
            next = next.checked_add(second).unwrap();
        }
        // Clocks show this for the first time, unless they went back to before it.
        let first = zone.to_ambiguous_timestamp(shown).earlier().unwrap();
        cron.names(shown) && first.as_second() == at
    }

    /// The moments of random expressions in zones with odd rules, against a walk over seconds around a
    /// change of the clocks. `FF_DRAWS` sets how many.
    #[test]
    fn moments_agree_with_a_walk_over_every_second_in_odd_zones() {
        let draws = std::env::var("FF_DRAWS").ok().and_then(|text| text.parse().ok());
        let draws: u64 = draws.unwrap_or(60);
        let seed = std::env::var("FF_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(11);
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut compared, mut found) = (0u64, 0u64);
        for draw in 0..draws {
            let name = draw::ZONES[rng.usize(..draw::ZONES.len())];
            let zone = TimeZoneDatabase::bundled().get(name).unwrap();
            let text = draw::cron(&mut rng);
            let plan = cron(&text, name);
            let Cadence::Cron { cron, .. } = &plan.cadence else { unreachable!() };
            // Mostly around a change of the clocks, in ten years.
            let somewhere = 1_640_000_000 + rng.i64(0..315_360_000);
            let stamp = jiff::Timestamp::from_second(somewhere).unwrap();
            let change = zone.following(stamp).next().map(|change| change.timestamp().as_second());
            let start = match change.filter(|_| rng.u8(..10) < 8) {
                Some(change) => change - 5_400 + rng.i64(0..3_600),
                None => somewhere,
            };
            let start = start - start.rem_euclid(60);
            // An expression without seconds names whole minutes, and clocks change at those.
            let step = if text.split(' ').count() == 5 { 60 } else { 1 };
            let walked = (start..start + 9_000).step_by(step);
            let walk: Vec<i64> = walked.filter(|at| is_moment(cron, &zone, *at)).collect();
            let (from, to) = (start - 1, start + 8_999);
            let at = |second: i64| Time::from_ms(second as u64 * 1_000);
            let planned: Vec<i64> = plan
                .upcoming(at(from), 9_001)
                .into_iter()
                .map(|at| at.as_ms() as i64 / 1_000)
                .take_while(|second| *second <= to)
                .collect();
            let here = || format!("draw {draw}: {text} in {name} from {start}, seed {seed}");
            assert_eq!(planned, walk, "{}", here());
            for pair in walk.windows(2) {
                assert_eq!(
                    plan.last(at(pair[1]) - Millis::new(1)),
                    Some(at(pair[0])),
                    "{}",
                    here()
                );
                assert_eq!(plan.last(at(pair[1])), Some(at(pair[1])), "{}", here());
            }
            compared += 9_000 / step as u64;
            found += walk.len() as u64;
        }
        eprintln!("{draws} draws, {compared} moments walked, {found} moments");
        assert!(found > draws, "too few moments to compare");
    }
}
