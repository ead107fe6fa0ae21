//! Dispatch latency: from a submit to a waiting worker, with nothing else going on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::machine::{Claim, Complete, Submit};
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, Payload, WorkerId, WorkerInstanceId};
use ff_store::{EngineBackend, StoreError, mint};

use crate::samples::Samples;
use crate::{BenchError, Load, Progress, Report};

/// How long nothing happens between two samples.
const REST: Duration = Duration::from_millis(2);

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let mut samples = Samples::default();
    for done in 0..load.executions {
        let sample = dispatch(&backend, load.payload).await?;
        // The first ones pay for connections and caches.
        if done >= load.warm_up().executions {
            samples.add(sample);
        }
        progress(done + 1);
    }
    let mut report = Report::new("latency", url, Load { workers: 1, batch: 1, ..load });
    report.p50_ms = samples.percentile_ms(50);
    report.p99_ms = samples.percentile_ms(99);
    Ok(report)
}

/// One execution: how long it takes from the submit to the worker that waits for it.
async fn dispatch(
    backend: &Arc<dyn EngineBackend>,
    payload: usize,
) -> Result<Duration, BenchError> {
    let claim = Claim {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker { id: WorkerId::new("bench")?, instance: WorkerInstanceId::new("bench-0")? },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        first: 0,
        retry: false,
    };
    let waiting = {
        let backend = backend.clone();
        tokio::spawn(async move {
            let claimed = backend.claim(claim, Millis::from_secs(10)).await;
            (Instant::now(), claimed)
        })
    };
    tokio::time::sleep(REST).await;
    let submit = Submit {
        input: Payload::bytes(vec![b'x'; payload]),
        ..Submit::new(backend.new_id(&Namespace::default(), None))
    };
    let started = Instant::now();
    let answers = backend.submit(vec![submit]).await?;
    answers.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
    let (arrived, claimed) = waiting.await?;
    let completions = claimed?
        .assignments
        .into_iter()
        .map(|assignment| Complete { hold: assignment.hold(), result: Payload::default() });
    let answers = backend.complete(completions.collect()).await?;
    answers.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
    Ok(arrived.duration_since(started))
}
