//! Common work together with work that only one worker can run: how long the former waits, with and
//! without the latter in the same lane.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ff_core::bounds::PRIORITY;
use ff_core::{Capabilities, Millis};
use ff_store::EngineBackend;

use crate::calls::{Producer, Taker};
use crate::crowd::measure;
use crate::cycle::fill as figures;
use crate::queue::fill;
use crate::samples::round;
use crate::{BenchError, Load, Progress, Report};

/// The capability of the one worker.
const SCARCE: &str = "scarce";

/// How long a claim of the one worker waits for work.
const WAIT: Millis = Millis::new(20);

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    queued: u64,
    progress: Progress,
) -> Result<Report, BenchError> {
    let quiet: Progress = Arc::new(|_, _| ());
    measure(backend.clone(), load.warm_up(), quiet.clone()).await?;
    let mut without = measure(backend.clone(), load, quiet.clone()).await?;

    // It precedes all other work, and one worker has to run it.
    let scarce = Capabilities::new([SCARCE])?;
    let producer = Producer::new(load.payload, load.retention).urgent(PRIORITY);
    fill(&backend, &producer.requiring(&scarce), queued, quiet).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let one = Taker::new(backend.clone(), load.workers)?.offering(scarce);
    let stopping = stop.clone();
    let worker = tokio::spawn(async move {
        while !stopping.load(Ordering::Relaxed) {
            let claimed = one.claim(1, WAIT).await?;
            if !claimed.is_empty() {
                one.complete(&claimed).await?;
            }
        }
        Ok::<_, BenchError>(())
    });
    let measured = measure(backend, load, progress).await;
    stop.store(true, Ordering::Relaxed);
    worker.await??;
    let mut with = measured?;

    let mut report = Report {
        classes: Some(load.classes),
        queued: Some(queued),
        ..Report::new("scarce", url, load)
    };
    figures(&mut report, &mut with);
    report.few_p50_ms = without.whole.percentile_ms(50);
    report.few_p99_ms = without.whole.percentile_ms(99);
    let ratio = |with: Option<f64>, without: Option<f64>| Some(round(with? / without?));
    report.p50_ratio = ratio(report.p50_ms, report.few_p50_ms);
    report.p99_ratio = ratio(report.p99_ms, report.few_p99_ms);
    Ok(report)
}
