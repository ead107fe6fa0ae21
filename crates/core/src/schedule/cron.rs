//! Cron expressions: which moments of a calendar they name, without a zone.
//!
//! Five fields (minute, hour, day of the month, month, day of the week), or six with seconds first. A field
//! is `*`, a number, a name (`JAN`, `MON`), a range `1-5`, a step `*/15`, or a list of these; `L` is the
//! last day of the month, 7 is Sunday too. If both days are restricted, either of them is enough. An
//! expression that names no day at all is refused.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use jiff::civil::{Date, DateTime, Time};
use serde::{Deserialize, Serialize};

use crate::bounds::CRON_BYTES;
use crate::refusal::Refusal;

/// In how many months the next day of an expression is found: the 29th of February is at most eight years
/// away.
const HORIZON_MONTHS: u32 = 9 * 12;

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// Expressions that have a name.
const NAMED: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// A cron expression.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct Cron {
    text: Arc<str>,
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: Days,
    months: u64,
}

/// Which days of a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Days {
    of_month: u64,
    last_of_month: bool,
    of_week: u64,
    any_of_month: bool,
    any_of_week: bool,
}

impl Days {
    fn has(&self, date: Date) -> bool {
        let of_month = has(self.of_month, date.day() as u8)
            || self.last_of_month && date.day() == date.days_in_month();
        let of_week = has(self.of_week, date.weekday().to_sunday_zero_offset() as u8);
        match (self.any_of_month, self.any_of_week) {
            (false, false) => of_month || of_week,
            _ => of_month && of_week,
        }
    }
}

impl Cron {
    /// Reads `text`.
    pub fn new(text: impl Into<Arc<str>>) -> Result<Cron, Refusal> {
        let text = text.into();
        Refusal::cap("cron", text.len(), CRON_BYTES, "bytes")?;
        let spelled = NAMED.iter().find(|(name, _)| text.trim().eq_ignore_ascii_case(name));
        let spelled = spelled.map_or(&*text, |(_, spelled)| spelled);
        let fields: Vec<_> = spelled.split_ascii_whitespace().collect();
        let (seconds, fields) = match fields.as_slice() {
            [seconds, rest @ ..] if rest.len() == 5 => (*seconds, rest),
            rest if rest.len() == 5 => ("0", rest),
            other => {
                let why = format!(
                    "has {} fields; give 5 (minute, hour, day, month, weekday), or 6 with seconds first",
                    other.len()
                );
                return Err(Refusal::invalid("cron", why));
            }
        };
        let [minutes, hours, days, months, weekdays] = fields else { unreachable!() };
        let (of_month, last_of_month) = days_of_month(days)?;
        let weekdays = Field { name: "weekday", least: 0, most: 7, names: &WEEKDAYS, first: 0 }
            .read(weekdays)?;
        let cron = Cron {
            seconds: Field::plain("second", 0, 59).read(seconds)?,
            minutes: Field::plain("minute", 0, 59).read(minutes)?,
            hours: Field::plain("hour", 0, 23).read(hours)?,
            days: Days {
                of_month,
                last_of_month,
                of_week: weekdays | (weekdays >> 7),
                any_of_month: is_any(days),
                any_of_week: is_any(fields[4]),
            },
            months: Field { name: "month", least: 1, most: 12, names: &MONTHS, first: 1 }
                .read(months)?,
            text: spelled_once(&text),
        };
        if cron.next(DateTime::constant(2000, 1, 1, 0, 0, 0, 0)).is_none() {
            let why = "names no day of any year; give a day that its months have";
            return Err(Refusal::invalid("cron", why));
        }
        Ok(cron)
    }

    /// The expression as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first moment it names, `from` or later, to the second.
    pub fn next(&self, from: DateTime) -> Option<DateTime> {
        let (mut date, mut second) = (from.date(), second_of(from.time()));
        let mut months = 0;
        while months < HORIZON_MONTHS {
            if !has(self.months, date.month() as u8) {
                date = date.last_of_month().tomorrow().ok()?;
                (months, second) = (months + 1, 0);
                continue;
            }
            if self.days.has(date)
                && let Some(found) = self.next_in_day(second)
            {
                return Some(date.to_datetime(time_at(found)));
            }
            let day = date;
            date = day.tomorrow().ok()?;
            second = 0;
            months += u32::from(date.month() != day.month());
        }
        None
    }

    /// The last moment it names, `to` or earlier, to the second.
    pub fn last(&self, to: DateTime) -> Option<DateTime> {
        let (mut date, mut second) = (to.date(), second_of(to.time()));
        let mut months = 0;
        while months < HORIZON_MONTHS {
            if !has(self.months, date.month() as u8) {
                date = date.first_of_month().yesterday().ok()?;
                (months, second) = (months + 1, DAY - 1);
                continue;
            }
            if self.days.has(date)
                && let Some(found) = self.last_in_day(second)
            {
                return Some(date.to_datetime(time_at(found)));
            }
            let day = date;
            date = day.yesterday().ok()?;
            second = DAY - 1;
            months += u32::from(date.month() != day.month());
        }
        None
    }

    /// Whether it names a moment.
    pub fn names(&self, at: DateTime) -> bool {
        has(self.months, at.month() as u8)
            && self.days.has(at.date())
            && has(self.hours, at.hour() as u8)
            && has(self.minutes, at.minute() as u8)
            && has(self.seconds, at.second() as u8)
    }

    fn next_in_day(&self, from: u32) -> Option<u32> {
        let (hour, minute, second) = parts(from);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = next_of(self.seconds, second)
            {
                return Some(whole(hour, minute, second));
            }
            if let Some(minute) = next_of(self.minutes, minute + 1) {
                return Some(whole(hour, minute, next_of(self.seconds, 0)?));
            }
        }
        let hour = next_of(self.hours, hour + 1)?;
        Some(whole(hour, next_of(self.minutes, 0)?, next_of(self.seconds, 0)?))
    }

    fn last_in_day(&self, to: u32) -> Option<u32> {
        let (hour, minute, second) = parts(to);
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = last_of(self.seconds, second)
            {
                return Some(whole(hour, minute, second));
            }
            if let Some(minute) = minute.checked_sub(1).and_then(|to| last_of(self.minutes, to)) {
                return Some(whole(hour, minute, last_of(self.seconds, 59)?));
            }
        }
        let hour = hour.checked_sub(1).and_then(|to| last_of(self.hours, to))?;
        Some(whole(hour, last_of(self.minutes, 59)?, last_of(self.seconds, 59)?))
    }
}

impl TryFrom<Arc<str>> for Cron {
    type Error = Refusal;

    fn try_from(text: Arc<str>) -> Result<Cron, Refusal> {
        Cron::new(text)
    }
}

impl From<Cron> for Arc<str> {
    fn from(cron: Cron) -> Arc<str> {
        cron.text
    }
}

impl FromStr for Cron {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Cron, Refusal> {
        Cron::new(text)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// How many seconds a day on a clock has.
const DAY: u32 = 86_400;

fn second_of(time: Time) -> u32 {
    whole(time.hour() as u8, time.minute() as u8, time.second() as u8)
}

fn whole(hour: u8, minute: u8, second: u8) -> u32 {
    u32::from(hour) * 3_600 + u32::from(minute) * 60 + u32::from(second)
}

fn parts(second: u32) -> (u8, u8, u8) {
    ((second / 3_600) as u8, (second / 60 % 60) as u8, (second % 60) as u8)
}

fn time_at(second: u32) -> Time {
    let (hour, minute, second) = parts(second);
    Time::constant(hour as i8, minute as i8, second as i8, 0)
}

fn has(set: u64, number: u8) -> bool {
    set >> number & 1 == 1
}

/// The lowest number of `set` that is at least `from`.
fn next_of(set: u64, from: u8) -> Option<u8> {
    let rest = set.checked_shr(from.into())?;
    (rest != 0).then(|| from + rest.trailing_zeros() as u8)
}

/// The highest number of `set` that is at most `to`.
fn last_of(set: u64, to: u8) -> Option<u8> {
    let rest = set & (u64::MAX >> (63 - to.min(63)));
    (rest != 0).then(|| 63 - rest.leading_zeros() as u8)
}

fn is_any(field: &str) -> bool {
    matches!(field, "*" | "?")
}

/// The text with one space between its fields.
fn spelled_once(text: &str) -> Arc<str> {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ").into()
}

/// The days of a month that a field names, and whether the last one is among them.
fn days_of_month(field: &str) -> Result<(u64, bool), Refusal> {
    let (last, days): (Vec<_>, Vec<_>) =
        field.split(',').partition(|part| part.eq_ignore_ascii_case("L"));
    let set = match days.is_empty() {
        true => 0,
        false => Field::plain("day", 1, 31).read(&days.join(","))?,
    };
    Ok((set, !last.is_empty()))
}

/// What a field may have.
struct Field<'a> {
    name: &'static str,
    least: u8,
    most: u8,
    names: &'a [&'a str],
    /// The number of the first name.
    first: u8,
}

impl Field<'_> {
    fn plain(name: &'static str, least: u8, most: u8) -> Field<'static> {
        Field { name, least, most, names: &[], first: 0 }
    }

    fn read(&self, text: &str) -> Result<u64, Refusal> {
        text.split(',').try_fold(0, |set, part| Ok(set | self.part(part)?))
    }

    fn part(&self, text: &str) -> Result<u64, Refusal> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => {
                let step = step.parse().ok().filter(|step: &u8| (1..=self.most).contains(step));
                let step =
                    step.ok_or_else(|| self.bad(text, &format!("a step is 1 to {}", self.most)))?;
                (range, Some(step))
            }
            None => (text, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if is_any(range) => (self.least, self.most),
            Some((from, to)) => (self.number(from, text)?, self.number(to, text)?),
            None => {
                let from = self.number(range, text)?;
                (from, if step.is_some() { self.most } else { from })
            }
        };
        if from > to {
            return Err(self.bad(text, "a range goes up; give two ranges instead"));
        }
        Ok((from..=to).step_by(step.unwrap_or(1).into()).fold(0, |set, n| set | 1 << n))
    }

    fn number(&self, text: &str, part: &str) -> Result<u8, Refusal> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let digits = || Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = match named {
            Some(place) => Some(place as u8 + self.first),
            None => digits().and_then(|text| text.parse().ok()),
        };
        let accepted = number.filter(|number| (self.least..=self.most).contains(number));
        accepted.ok_or_else(|| self.bad(part, &format!("give {} to {}", self.least, self.most)))
    }

    fn bad(&self, part: &str, advice: &str) -> Refusal {
        let part: String = part.chars().take(20).collect();
        Refusal::invalid("cron", format!("has {part:?} as a {}; {advice}", self.name))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(text: &str) -> DateTime {
        text.parse().unwrap()
    }

    fn next(cron: &str, from: &str) -> String {
        Cron::new(cron).unwrap().next(at(from)).unwrap().to_string()
    }

    #[test]
    fn the_next_moment_is_the_first_that_all_fields_name() {
        for (cron, from, expected) in [
            ("* * * * *", "2026-03-01T12:00:01", "2026-03-01T12:01:00"),
            ("*/15 * * * *", "2026-03-01T12:46:00", "2026-03-01T13:00:00"),
            ("*/10 * * * * *", "2026-03-01T12:46:51", "2026-03-01T12:47:00"),
            ("30 2 * * MON-FRI", "2026-03-06T02:30:01", "2026-03-09T02:30:00"),
            ("0 0 29 2 *", "2026-03-01T00:00:00", "2028-02-29T00:00:00"),
            ("0 0 29 2 *", "2097-03-01T00:00:00", "2104-02-29T00:00:00"),
            ("0 0 L * *", "2026-02-02T00:00:00", "2026-02-28T00:00:00"),
            ("0 0 L,15 * *", "2026-02-02T00:00:00", "2026-02-15T00:00:00"),
            ("0 0 * * 7", "2026-03-02T00:00:00", "2026-03-08T00:00:00"),
            ("0 0 13 * FRI", "2026-03-01T00:00:00", "2026-03-06T00:00:00"),
            ("0 0 1-7 * *", "2026-03-08T00:00:00", "2026-04-01T00:00:00"),
            ("5,50 8-10/2 1 jan,Jul ?", "2026-03-08T00:00:00", "2026-07-01T08:05:00"),
            ("@weekly", "2026-03-02T00:00:00", "2026-03-08T00:00:00"),
            ("59 59 23 31 12 *", "2026-03-02T00:00:00", "2026-12-31T23:59:59"),
        ] {
            assert_eq!(next(cron, from), expected, "{cron} from {from}");
        }
    }

    #[test]
    fn what_no_calendar_has_and_what_cannot_be_read_is_refused() {
        for bad in [
            "",
            "*",
            "* * * *",
            "* * * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 8",
            "*/0 * * * *",
            "*/x * * * *",
            "5-1 * * * *",
            "* * * FOO *",
            "1,,2 * * * *",
            "-1 * * * *",
            "+1 * * * *",
            "* * 31 2 *",
            "* * 30 2 *",
            "0 0 31 4,6,9,11 *",
            "é * * * *",
            "0 0 L L *",
            "@never",
            "1/ * * * *",
            "1-2-3 * * * *",
        ] {
            let refusal = Cron::new(bad).unwrap_err();
            assert_eq!(refusal.field(), Some("cron"), "{bad:?}: {refusal}");
        }
        let long = "*,".repeat(CRON_BYTES) + "* * * * *";
        assert_eq!(Cron::new(long.as_str()).unwrap_err().field(), Some("cron"));
    }

    #[test]
    fn an_expression_reads_back_as_it_was_written() {
        let cron = Cron::new(" 0  12 * *  MON ").unwrap();
        assert_eq!(cron.as_str(), "0 12 * * MON");
        assert_eq!(Cron::new(cron.as_str()).unwrap(), cron);
        assert_eq!(Cron::new("@daily").unwrap().as_str(), "@daily");
    }

    #[test]
    fn next_and_last_agree_with_a_walk_over_every_second() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..300 {
            let text = super::super::draw::cron(&mut rng);
            let cron = Cron::new(text.as_str()).unwrap();
            let start = at("2027-02-26T00:00:00");
            let mut now =
                start.checked_add(jiff::Span::new().seconds(rng.i64(0..400_000))).unwrap();
            let (from, second) = (now, jiff::Span::new().seconds(1));
            let found = (0..7_200).find_map(|_| {
                if cron.names(now) {
                    return Some(now);
                }
                now = now.checked_add(second).unwrap();
                None
            });
            let next = cron.next(from).unwrap();
            match found {
                Some(found) => {
                    assert_eq!(next, found, "{text} from {from}");
                    assert_eq!(cron.last(found).unwrap(), found, "{text}");
                    let before = cron.last(found.checked_sub(second).unwrap()).unwrap();
                    assert!(before < from, "{text} before {from}");
                }
                None => assert!(next >= now, "{text} from {from}"),
            }
            assert!(cron.names(next), "{text} from {from}");
        }
    }
}
