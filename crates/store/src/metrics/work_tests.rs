//! However many lanes and kinds there are, the series are few, and they count everything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, atomic::AtomicU64};

use metrics::{Gauge, Key, KeyName, Metadata, Recorder, SharedString, Unit};

use super::super::NAMES;
use super::*;

/// Every counter, and every key that was asked for.
#[derive(Default)]
struct Kept {
    counters: Mutex<BTreeMap<Key, Arc<AtomicU64>>>,
    keys: Mutex<BTreeSet<Key>>,
}

impl Kept {
    fn labels(&self, of: &str) -> BTreeSet<String> {
        let keys = self.keys.lock().unwrap();
        let labels = keys.iter().flat_map(Key::labels).filter(|label| label.key() == of);
        labels.map(|label| label.value().to_owned()).collect()
    }

    fn sum(&self, name: &str) -> u64 {
        let counters = self.counters.lock().unwrap();
        let named = counters.iter().filter(|(key, _)| key.name() == name);
        named.map(|(_, count)| count.load(std::sync::atomic::Ordering::Relaxed)).sum()
    }

    fn series(&self) -> usize {
        self.keys.lock().unwrap().len()
    }
}

impl Recorder for Kept {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        self.keys.lock().unwrap().insert(key.clone());
        let mut counters = self.counters.lock().unwrap();
        Counter::from_arc(counters.entry(key.clone()).or_default().clone())
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        self.keys.lock().unwrap().insert(key.clone());
        Histogram::noop()
    }
}

fn submitted(lane: &str, kind: &str) -> Counted {
    Counted::submitted(&lane.parse().unwrap(), &kind.parse().unwrap())
}

#[test]
fn ten_thousand_lanes_have_a_bounded_number_of_series() {
    let (kept, work) = (Kept::default(), Work::new());
    metrics::with_local_recorder(&kept, || {
        for _ in 0..2 {
            let lanes = (0..10_000).map(|number| submitted(&format!("lane-{number}"), "resize"));
            work.count(&lanes.collect::<Vec<_>>());
        }
    });
    let lanes = kept.labels("lane");
    assert_eq!(lanes.len(), NAMES + 1);
    assert!(lanes.contains("lane-0") && lanes.contains(OTHER));
    assert_eq!(kept.sum("ff_submitted_total"), 20_000);
}

#[test]
fn ten_thousand_kinds_have_a_bounded_number_of_series() {
    let (kept, work) = (Kept::default(), Work::new());
    metrics::with_local_recorder(&kept, || {
        for number in 0..10_000 {
            work.count(&[submitted(&format!("lane-{}", number % 3), &format!("kind-{number}"))]);
        }
    });
    let kinds = kept.labels("kind");
    assert_eq!(kinds.len(), KINDS + 1);
    assert!(kinds.contains("kind-0") && kinds.contains(OTHER));
    assert_eq!(kept.sum("ff_submitted_total"), 10_000);
    let (of_lane, of_kind) = (2 + 1 + RETURNED.len(), 3 + FINISHED.len() + RETRIED.len());
    assert_eq!(kept.series(), 3 * of_lane + (KINDS + 3) * of_kind);
}

#[test]
fn a_recorder_that_is_installed_later_counts_from_then_on() {
    let (kept, work) = (Kept::default(), Work::new());
    work.count(&[submitted("a", "b")]);
    metrics::with_local_recorder(&kept, || {
        work.resolve_again();
        work.count(&[submitted("a", "b"), submitted("a", "b")]);
    });
    assert_eq!(kept.sum("ff_submitted_total"), 2);
}
