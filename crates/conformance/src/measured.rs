//! The metrics of a store while executions run through it: the same on every store.
//!
//! The numbers are read from a process-wide recorder, so this runs in a separate test binary,
//! once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ff_core::machine::{ClaimRequest, Submit};
use ff_core::policy::Policy;
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

use crate::fixture::{Fixture, failure, lane, ms, steady};
use crate::subject::Subject;

/// Longer than what most formats encode in one byte.
const LONG_KIND: &str = "a-kind-with-a-name-of-more-than-thirty-two-bytes";

/// Counters and samples by name and labels.
#[derive(Debug, Default)]
struct Kept {
    counters: Mutex<BTreeMap<String, Arc<AtomicU64>>>,
    samples: Mutex<BTreeMap<String, Arc<Samples>>>,
}

#[derive(Debug, Default)]
struct Samples(Mutex<Vec<f64>>);

impl HistogramFn for Samples {
    fn record(&self, value: f64) {
        self.0.lock().unwrap().push(value);
    }
}

fn name(key: &Key) -> String {
    let labels: Vec<_> = key.labels().map(|label| label.value()).collect();
    format!("{} {}", key.name(), labels.join(" "))
}

impl Kept {
    /// The counters of the lane that are not 0.
    fn counted(&self, lane: &str) -> BTreeMap<String, u64> {
        let counters = self.counters.lock().unwrap();
        let mine = counters.iter().filter(|(name, _)| name.contains(&format!(" {lane}")));
        let read = mine.map(|(name, count)| (name.clone(), count.load(Ordering::Relaxed)));
        read.filter(|(_, count)| *count > 0).collect()
    }

    fn sampled(&self, name: &str) -> Vec<f64> {
        let samples = self.samples.lock().unwrap();
        samples.get(name).map(|samples| samples.0.lock().unwrap().clone()).unwrap_or_default()
    }
}

impl Recorder for &'static Kept {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let mut counters = self.counters.lock().unwrap();
        Counter::from_arc(counters.entry(name(key)).or_default().clone())
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let mut samples = self.samples.lock().unwrap();
        Histogram::from_arc(samples.entry(name(key)).or_default().clone())
    }
}

/// Takes executions through every change that is counted, on each subject in turn, and compares the
/// numbers with those that must come out.
///
/// # Panics
/// When a number is another.
pub async fn measured(subjects: impl IntoIterator<Item = Subject>) {
    let kept: &'static Kept = Box::leak(Box::default());
    metrics::set_global_recorder(kept).unwrap();
    ff_store::metrics::recorder_is_installed();
    for (number, subject) in subjects.into_iter().enumerate() {
        let of = format!("measured-{number}");
        live(&Fixture::on(subject), &of).await;
        let names = [
            (format!("ff_submitted_total {of} resize"), 2),
            (format!("ff_submitted_total {of} {LONG_KIND}"), 1),
            (format!("ff_claimed_total {of} resize"), 3),
            (format!("ff_claimed_total {of} {LONG_KIND}"), 4),
            (format!("ff_finished_total {of} resize completed"), 1),
            (format!("ff_finished_total {of} resize expired"), 1),
            (format!("ff_finished_total {of} {LONG_KIND} cancelled"), 1),
            (format!("ff_replayed_total {of} resize"), 1),
            (format!("ff_retries_total {of} {LONG_KIND} failed"), 1),
            (format!("ff_retries_total {of} {LONG_KIND} lease_lost"), 1),
            (format!("ff_leases_lost_total {of}"), 1),
            (format!("ff_returned_total {of} handed_back"), 1),
            (format!("ff_returned_total {of} revoked"), 1),
        ];
        assert_eq!(kept.counted(&of), names.into());
        let waits = kept.sampled(&format!("ff_queue_wait_seconds {of}"));
        assert_eq!(waits, [30.0, 30.0, 3.0, 2.0, 0.0]);
        let attempts = kept.sampled(&format!("ff_attempt_seconds {of}"));
        assert_eq!(attempts, [5.0, 8.0, 10.0, 1.0]);
    }
}

async fn live(g: &Fixture, of: &str) {
    let of = lane(of);
    let work = |kind: &str| Submit { lane: of.clone(), kind: kind.parse().unwrap(), ..g.work() };
    let take = || g.take(ClaimRequest { lane: of.clone(), ..g.claim() });
    g.submit(work("resize")).await;
    g.advance(ms(1)).await;
    g.submit(work(LONG_KIND)).await;
    g.advance(ms(29_999)).await;
    let first = take().await.remove(0);
    g.advance(ms(1)).await;
    let mut second = take().await.remove(0);

    g.advance(ms(4_999)).await;
    g.complete(&first, "done").await.unwrap();
    g.hand_back(&second).await.unwrap();
    second = take().await.remove(0);
    g.advance(ms(3_001)).await;
    g.fail(&second, failure("no")).await.unwrap();

    // A backoff of a second.
    g.pass(ms(1_000)).await;
    g.advance(ms(3_000)).await;
    take().await.remove(0);
    g.pass(ms(10_000)).await;
    g.advance(ms(2_000)).await;
    second = take().await.remove(0);
    g.advance(ms(1_000)).await;
    g.cancel(second.execution, None).await.unwrap();

    g.replay(first.execution, 0).await.unwrap();
    let again = take().await.remove(0);
    g.revoke(again.execution, again.fence).await.unwrap();
    g.advance(ms(1)).await;
    take().await.remove(0);

    let policy = Policy { deadline: Some(ms(1_000)), ..steady() };
    g.submit(Submit { policy: policy.into(), ..work("resize") }).await;
    g.pass(ms(1_000)).await;
}
