//! The cycle: many workers submit, claim and complete, all at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use ff_core::machine::{Claim, Complete, Submit};
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, Payload, WorkerId, WorkerInstanceId};
use ff_store::{ClientBackend, EngineBackend, StoreError, WorkerBackend, mint};

use crate::samples::{Samples, round};
use crate::{BenchError, Load, Progress, Report};

/// Something that plays both roles: a store in process, or a server over HTTP.
pub(crate) trait Both: ClientBackend + WorkerBackend + 'static {}

impl<T: ClientBackend + WorkerBackend + ?Sized + 'static> Both for T {}

/// What one cycle measured.
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) whole: Samples,
    pub(crate) claims: Samples,
    pub(crate) calls: u64,
    pub(crate) executions: u64,
}

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    measure(backend.clone(), load.warm_up(), Arc::new(|_| ())).await?;
    let before = backend.stats();
    let mut measured = measure(backend.clone(), load, progress).await?;
    let after = backend.stats();
    let mut report = Report::new("cycle", url, load);
    fill(&mut report, &mut measured);
    if let (Some(before), Some(after)) = (before, after) {
        let syncs = (after.syncs - before.syncs) as f64;
        let commands = (after.commands - before.commands) as f64;
        report.syncs_per_execution = Some(round(syncs / measured.executions as f64));
        report.commands_per_sync = Some(round(commands / syncs));
        let group = (commands / syncs).round().max(1.0) as usize;
        report.limit_per_second = limit(url, load, group).await?;
        report.fraction_of_limit =
            report.limit_per_second.map(|limit| round(measured.per_second / limit));
    }
    Ok(report)
}

/// What the store does at best with the same statements, `group` commands to a transaction.
async fn limit(url: &str, load: Load, group: usize) -> Result<Option<f64>, BenchError> {
    let plan = ff_backends::LimitPlan { executions: load.executions, payload: load.payload, group };
    let url = url.to_owned();
    let limit = tokio::task::spawn_blocking(move || ff_backends::limit(&url, plan)).await??;
    Ok(limit.map(round))
}

/// The figures of a cycle.
pub(crate) fn fill(report: &mut Report, measured: &mut Measured) {
    report.per_second = Some(round(measured.per_second));
    report.p50_ms = measured.whole.percentile_ms(50);
    report.p99_ms = measured.whole.percentile_ms(99);
    report.claim_p50_ms = measured.claims.percentile_ms(50);
    report.claim_p99_ms = measured.claims.percentile_ms(99);
    let calls = measured.calls as f64 / measured.executions as f64;
    report.store_calls_per_execution = Some(round(calls));
}

/// Runs `load` to its end.
pub(crate) async fn measure<B: Both + ?Sized>(
    backend: Arc<B>,
    load: Load,
    progress: Progress,
) -> Result<Measured, BenchError> {
    let shared = Arc::new(Shared {
        load,
        input: Payload::bytes(Bytes::from(vec![b'x'; load.payload])),
        result: Payload::bytes(Bytes::from(vec![b'y'; 100])),
        submitted: AtomicU64::new(0),
        completed: AtomicU64::new(0),
        calls: AtomicU64::new(0),
        progress,
    });
    let started = Instant::now();
    let workers: Vec<_> = (0..load.workers)
        .map(|number| tokio::spawn(work(backend.clone(), shared.clone(), number)))
        .collect();
    let (mut whole, mut claims) = (Samples::default(), Samples::default());
    for worker in workers {
        let (all, of_claims) = worker.await??;
        whole.extend(all);
        claims.extend(of_claims);
    }
    let executions = shared.completed.load(Ordering::Relaxed);
    Ok(Measured {
        per_second: executions as f64 / started.elapsed().as_secs_f64(),
        whole,
        claims,
        calls: shared.calls.load(Ordering::Relaxed),
        executions,
    })
}

struct Shared {
    load: Load,
    input: Payload,
    result: Payload,
    submitted: AtomicU64,
    completed: AtomicU64,
    calls: AtomicU64,
    progress: Progress,
}

async fn work<B: Both + ?Sized>(
    backend: Arc<B>,
    shared: Arc<Shared>,
    number: usize,
) -> Result<(Samples, Samples), BenchError> {
    let worker = Worker {
        id: WorkerId::new("bench")?,
        instance: WorkerInstanceId::new(format!("bench-{number}"))?,
    };
    let (mut whole, mut claims) = (Samples::default(), Samples::default());
    while shared.completed.load(Ordering::Relaxed) < shared.load.executions {
        let started = Instant::now();
        submit(&*backend, &shared).await?;
        let asked = Instant::now();
        let wait = Millis::new(20);
        let claimed = backend.claim(claim(&shared, &worker), wait).await?;
        shared.calls.fetch_add(1, Ordering::Relaxed);
        claims.add(asked.elapsed());
        if claimed.assignments.is_empty() {
            continue;
        }
        let batch = claimed
            .assignments
            .iter()
            .map(|assignment| Complete { hold: assignment.hold(), result: shared.result.clone() });
        let answers = backend.complete(batch.collect()).await?;
        shared.calls.fetch_add(1, Ordering::Relaxed);
        let done = answers.into_iter().collect::<Result<Vec<_>, StoreError>>()?.len() as u64;
        let total = shared.completed.fetch_add(done, Ordering::Relaxed) + done;
        (shared.progress)(total);
        whole.add(started.elapsed());
    }
    Ok((whole, claims))
}

/// Submits one batch, unless all is submitted.
async fn submit<B: Both + ?Sized>(backend: &B, shared: &Shared) -> Result<(), BenchError> {
    let most = u64::from(shared.load.batch);
    let before = shared.submitted.fetch_add(most, Ordering::Relaxed);
    let count = shared.load.executions.saturating_sub(before).min(most);
    if count == 0 {
        return Ok(());
    }
    let namespace = Namespace::default();
    let batch = (0..count).map(|_| Submit {
        input: shared.input.clone(),
        ..Submit::new(backend.new_id(&namespace, None))
    });
    let answers = backend.submit(batch.collect()).await?;
    shared.calls.fetch_add(1, Ordering::Relaxed);
    answers.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
    Ok(())
}

fn claim(shared: &Shared, worker: &Worker) -> Claim {
    Claim {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: worker.clone(),
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: shared.load.batch,
        first: 0,
        retry: false,
    }
}
