//! The last hour of this server, in sixty slots: what ended, how long it waited and ran, how much waits.
//!
//! What ended is read from the counters that the process keeps anyway, so it covers what this server has
//! done, in all namespaces. How much waits is counted in the store: twice a minute, and more often while
//! somebody watches. A server that is younger than an hour is shown in shorter slots, so that its charts
//! have something to show.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ff_core::{Millis, Time};
use ff_store::backlog::Backlog;
use ff_store::{Clock, SystemClock};

use crate::metrics;
use crate::state::AppState;

/// How many slots a chart has.
pub(super) const SLOTS: usize = 60;
/// How long a slot is, in a chart of two minutes, of ten and of an hour.
const STEPS: [Millis; 3] = [Millis::from_secs(2), Millis::from_secs(10), Millis::from_secs(60)];
/// How often what waits is counted while nobody watches.
const COUNTED: Millis = Millis::from_secs(30);
/// What a figure of now is made of: this much of what happened last.
const RECENT: Millis = Millis::from_secs(120);

/// What happened in one slot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Slot {
    /// Which one, counted from the epoch.
    number: u64,
    pub(super) completed: u64,
    /// Failed or expired.
    pub(super) failed: u64,
    /// How much waited and ran when it was last counted.
    pub(super) waiting: Option<u64>,
    pub(super) active: Option<u64>,
    wait: Spread,
    run: Spread,
}

impl Slot {
    /// The wait that a share of what began did not exceed, in seconds.
    pub(super) fn wait(&self, share: f64) -> Option<f64> {
        self.wait.quantile(share)
    }

    /// The same for how long attempts took.
    pub(super) fn run(&self, share: f64) -> Option<f64> {
        self.run.quantile(share)
    }
}

/// How many took at most how long: the buckets of a histogram, in the order of their bounds.
#[derive(Debug, Clone, Default, PartialEq)]
struct Spread(Vec<(f64, u64)>);

impl Spread {
    fn add(&mut self, bound: f64, count: u64) {
        match self.0.iter_mut().find(|(known, _)| *known == bound) {
            Some((_, counted)) => *counted += count,
            None => {
                self.0.push((bound, count));
                self.0.sort_by(|one, other| one.0.total_cmp(&other.0));
            }
        }
    }

    fn merge(&mut self, other: &Spread) {
        other.0.iter().for_each(|(bound, count)| self.add(*bound, *count));
    }

    /// Counts what `newer` has more than `older`.
    fn grow(&mut self, newer: &Spread, older: &Spread) {
        for (bound, count) in &newer.0 {
            let before = older.0.iter().find(|(known, _)| known == bound).map_or(0, |(_, n)| *n);
            self.add(*bound, count.saturating_sub(before));
        }
    }

    /// The value within its bucket, as if the bucket were filled evenly.
    fn quantile(&self, share: f64) -> Option<f64> {
        let all = self.0.last().map_or(0, |(_, count)| *count);
        if all == 0 {
            return None;
        }
        let rank = share * all as f64;
        let (mut lower, mut below) = (0.0, 0u64);
        for (bound, count) in &self.0 {
            if *count as f64 >= rank && *count > below {
                if bound.is_infinite() {
                    return Some(lower);
                }
                let within = (rank - below as f64) / (*count - below) as f64;
                return Some(lower + (bound - lower) * within.clamp(0.0, 1.0));
            }
            (lower, below) = (*bound, *count);
        }
        Some(lower)
    }
}

/// The counters of the process, as far as they are shown.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counters {
    completed: u64,
    failed: u64,
    wait: Spread,
    run: Spread,
}

impl Counters {
    /// Reads them from the text of the metrics; all lanes and kinds together.
    fn read(text: &str) -> Counters {
        let mut counters = Counters::default();
        for line in text.lines() {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let Some((name, labels)) = series.split_once('{') else { continue };
            let Ok(value) = value.parse::<f64>() else { continue };
            let value = value as u64;
            match name {
                "ff_finished_total" if labels.contains("outcome=\"completed\"") => {
                    counters.completed += value;
                }
                "ff_finished_total" if !labels.contains("outcome=\"cancelled\"") => {
                    counters.failed += value;
                }
                "ff_queue_wait_seconds_bucket" => counters.wait.count(labels, value),
                "ff_attempt_seconds_bucket" => counters.run.count(labels, value),
                _ => {}
            }
        }
        counters
    }
}

impl Spread {
    fn count(&mut self, labels: &str, value: u64) {
        let Some((_, bound)) = labels.rsplit_once("le=\"") else { return };
        let bound = bound.split('"').next().unwrap_or_default();
        let bound = if bound == "+Inf" { Ok(f64::INFINITY) } else { bound.parse() };
        if let Ok(bound) = bound {
            self.add(bound, value);
        }
    }
}

/// The last hour.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<Hour>);

#[derive(Debug, Default)]
struct Hour {
    /// The slots of each length.
    slots: [VecDeque<Slot>; STEPS.len()],
    last: Option<Counters>,
    /// When the first sample was taken.
    since: Option<Time>,
}

/// What a chart shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chart {
    /// Oldest first; `None` where nothing was sampled.
    pub(super) slots: Vec<Option<Slot>>,
    /// How long each is.
    step: Millis,
    /// For how long there are samples.
    age: Millis,
}

impl Chart {
    /// How long ago it begins.
    pub(super) fn span(&self) -> Millis {
        Millis::new(self.step.get() * SLOTS as u64)
    }

    /// What happened last, as one slot, and in how many minutes.
    pub(super) fn recent(&self) -> (Slot, f64) {
        let count = (RECENT.get() / self.step.get()) as usize;
        let mut all = Slot::default();
        for slot in self.slots.iter().rev().take(count).flatten() {
            all.completed += slot.completed;
            all.failed += slot.failed;
            all.wait.merge(&slot.wait);
            all.run.merge(&slot.run);
        }
        // In its first seconds a server has no pace.
        let span = self.age.min(RECENT).max(Millis::from_secs(10));
        (all, span.get() as f64 / 60_000.0)
    }
}

impl History {
    /// Adds what happened since the last time.
    pub(super) fn sample(&self, backlog: Option<&Backlog>) {
        let text = metrics::render();
        self.add(SystemClock.now(), Counters::read(&text), backlog);
    }

    fn add(&self, now: Time, counters: Counters, backlog: Option<&Backlog>) {
        let mut hour = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Hour { slots, last, since } = &mut *hour;
        since.get_or_insert(now);
        let last = last.replace(counters.clone());
        for (slots, step) in slots.iter_mut().zip(STEPS) {
            let number = now.as_ms() / step.get();
            if slots.back().is_none_or(|slot| slot.number < number) {
                slots.push_back(Slot { number, ..Slot::default() });
            }
            while slots.front().is_some_and(|slot| slot.number + (SLOTS as u64) <= number) {
                slots.pop_front();
            }
            let Some(slot) = slots.back_mut() else { continue };
            // What was counted before the first sample did not happen in this hour as far as is known.
            if let Some(last) = &last {
                slot.completed += counters.completed.saturating_sub(last.completed);
                slot.failed += counters.failed.saturating_sub(last.failed);
                slot.wait.grow(&counters.wait, &last.wait);
                slot.run.grow(&counters.run, &last.run);
            }
            if let Some(backlog) = backlog {
                slot.waiting = Some(backlog.queues.values().map(|queued| queued.count).sum());
                slot.active = Some(backlog.active.values().sum());
            }
        }
    }

    /// The chart that ends now.
    pub(super) fn chart(&self) -> Chart {
        self.until(SystemClock.now())
    }

    fn until(&self, now: Time) -> Chart {
        let hour = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let age = hour.since.map_or(Millis::ZERO, |since| now.since(since));
        let fits = |step: &Millis| age.get() < step.get() * SLOTS as u64;
        let which = STEPS.iter().position(fits).unwrap_or(STEPS.len() - 1);
        let number = now.as_ms() / STEPS[which].get();
        let first = number.saturating_sub(SLOTS as u64 - 1);
        let of = |number| hour.slots[which].iter().find(|slot| slot.number == number).cloned();
        Chart { slots: (first..=number).map(of).collect(), step: STEPS[which], age }
    }
}

/// Samples with each slot until the server stops.
pub(crate) async fn keep(state: AppState) {
    let (history, shared) = (&state.dashboard.history, &state.dashboard.backlog);
    history.sample(None);
    let mut uncounted = Millis::ZERO;
    loop {
        let step = history.chart().step.min(COUNTED);
        let pause = tokio::time::sleep(Duration::from_millis(step.get()));
        if state.stopping.run_until_cancelled(pause).await.is_none() {
            return;
        }
        uncounted = Millis::new(uncounted.get() + step.get());
        if uncounted < COUNTED {
            history.sample(None);
            continue;
        }
        uncounted = Millis::ZERO;
        let count = shared.get(&state.backend);
        let Some(backlog) = state.stopping.run_until_cancelled(count).await else { return };
        history.sample(backlog.ok().as_deref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# HELP x\n\
        ff_finished_total{lane=\"a\",kind=\"k\",outcome=\"completed\"} 7\n\
        ff_finished_total{lane=\"b\",kind=\"k\",outcome=\"completed\"} 3\n\
        ff_finished_total{lane=\"a\",kind=\"k\",outcome=\"failed\"} 2\n\
        ff_finished_total{lane=\"a\",kind=\"k\",outcome=\"cancelled\"} 9\n\
        ff_queue_wait_seconds_bucket{lane=\"a\",le=\"0.5\"} 4\n\
        ff_queue_wait_seconds_bucket{lane=\"a\",le=\"1\"} 8\n\
        ff_queue_wait_seconds_bucket{lane=\"a\",le=\"+Inf\"} 8\n";

    #[test]
    fn counters_of_all_lanes_are_read_together() {
        let counters = Counters::read(TEXT);
        assert_eq!((counters.completed, counters.failed), (10, 2));
        assert_eq!(counters.wait.quantile(0.5), Some(0.5));
        assert_eq!(counters.wait.quantile(0.75), Some(0.75));
        assert_eq!(counters.run.quantile(0.5), None);
        assert_eq!(Counters::read("nonsense\n{} x\n"), Counters::default());
    }

    #[test]
    fn a_slot_has_what_happened_in_it_and_an_hour_is_kept() {
        let (history, start) = (History::default(), Time::from_ms(1_800_000_000_000));
        let counters = |completed| Counters { completed, ..Counters::default() };
        let of = |chart: &Chart| -> Vec<_> {
            chart.slots.iter().flatten().map(|slot| slot.completed).collect()
        };
        history.add(start, counters(100), None);
        history.add(start + Millis::from_secs(1), counters(103), None);
        history.add(start + Millis::from_secs(40), counters(104), None);
        let young = history.until(start + Millis::from_secs(40));
        assert_eq!((young.slots.len(), of(&young)), (SLOTS, vec![3, 1]));
        assert_eq!(young.span(), RECENT);
        let (recent, minutes) = young.recent();
        assert_eq!((recent.completed, minutes), (4, 40.0 / 60.0));
        history.add(start + Millis::from_secs(300), counters(110), None);
        let older = history.until(start + Millis::from_secs(300));
        assert_eq!((older.span(), of(&older)), (Millis::from_secs(600), vec![3, 1, 6]));
        assert_eq!(older.recent().0.completed, 6);
        let hours = start + Millis::from_hours(2);
        history.add(hours, counters(110), None);
        assert_eq!(history.until(hours).span(), Millis::from_hours(1));
        assert!(history.0.lock().unwrap().slots.iter().all(|slots| slots.len() == 1));
    }
}
