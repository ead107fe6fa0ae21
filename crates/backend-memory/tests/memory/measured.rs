//! Every claim is measured, however it ends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ff_backend_memory::MemoryStore;
use ff_core::machine::ClaimRequest;
use ff_core::state::Worker;
use ff_core::{Capabilities, Code, Lane, Millis, Namespace};
use ff_store::roles::Engine;
use ff_store::{SystemClock, WorkerBackend, mint};
use metrics::{
    Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};

/// How many claims had which outcome.
#[derive(Clone, Default)]
struct Outcomes(Arc<Mutex<BTreeMap<String, u32>>>);

impl Outcomes {
    fn of(&self, outcome: &str) -> u32 {
        self.0.lock().unwrap().get(outcome).copied().unwrap_or(0)
    }
}

struct Outcome(Outcomes, String);

impl HistogramFn for Outcome {
    fn record(&self, _seconds: f64) {
        *self.0.0.lock().unwrap().entry(self.1.clone()).or_default() += 1;
    }
}

impl Recorder for Outcomes {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::noop()
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let label = key.labels().find(|label| label.key() == "outcome");
        let outcome = label.map_or(String::new(), |label| label.value().to_owned());
        Histogram::from_arc(Arc::new(Outcome(self.clone(), outcome)))
    }
}

fn claim() -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    }
}

#[tokio::test(flavor = "current_thread")]
async fn claims_that_are_refused_or_dropped_are_measured_too() {
    let outcomes = Outcomes::default();
    let _recording = metrics::set_default_local_recorder(&outcomes);
    let store = Engine::new(MemoryStore::serial(Arc::new(SystemClock)));
    store.claim(claim(), Millis::ZERO).await.unwrap();
    assert_eq!(outcomes.of("empty"), 1);
    let too_long = store.claim(claim(), Millis::from_secs(61)).await.unwrap_err();
    assert_eq!((too_long.refused(), outcomes.of("refused")), (Some(Code::InvalidArgument), 1));
    let none = store.claim(ClaimRequest { max: 0, ..claim() }, Millis::ZERO).await.unwrap_err();
    assert_eq!((none.refused(), outcomes.of("refused")), (Some(Code::InvalidArgument), 2));
    tokio::select! {
        biased;
        _ = store.claim(claim(), Millis::ZERO) => panic!("the claim is dropped first"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(outcomes.of("dropped"), 1);
    assert_eq!(outcomes.of("error"), 0);
}
