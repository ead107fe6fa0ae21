//! How fast one writer streams while many watch: frames per second, how long a frame takes to each
//! viewer, and how many calls a frame takes.
//!
//! The writer sends batches one after the other, as a handler does whose output is gathered. Every frame
//! says when it was sent; every viewer measures how old it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::FrameType;
use ff_core::bounds::END_WAIT_MAX;
use ff_core::machine::{AppendFrames, Assignment};
use ff_core::stream::Frame;
use ff_store::EngineBackend;
use ff_store::tails::Follow;

use crate::calls::{Producer, Taker};
use crate::meter::Meter;
use crate::samples::{Samples, round};
use crate::{BenchError, Load, Progress, Report};

/// How long the writer waits for the execution that it was given.
const WAIT: ff_core::Millis = ff_core::Millis::from_secs(10);

/// How long one batch is gathered.
const GATHER: Duration = Duration::from_millis(20);

pub(crate) async fn run(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let mut meter = Meter::open(url).await?;
    let (samples, span) = streamed(&backend, load, Some(progress)).await?;
    let mut samples = samples;
    let few = Load { executions: load.executions.min(u64::from(load.batch) * 20), ..load };
    let (_, calls) = meter.watch(streamed(&backend, few, None)).await?;
    let mut report = Report::new("stream", url, load);
    report.per_second = Some(round(load.executions as f64 / span.as_secs_f64()));
    report.p50_ms = samples.percentile_ms(50);
    report.p99_ms = samples.percentile_ms(99);
    report.store_calls_per_execution =
        calls.map(|calls| round(calls as f64 / few.executions as f64));
    Ok(report)
}

/// Streams as many frames as there are to be executions, to as many viewers as there are workers.
async fn streamed(
    backend: &Arc<dyn EngineBackend>,
    load: Load,
    progress: Option<Progress>,
) -> Result<(Samples, Duration), BenchError> {
    Producer::new(load.payload, None).submit(&**backend, 1).await?;
    let taker = Taker::new(backend.clone(), 0)?;
    let held = taker.claim(1, WAIT).await?.pop();
    let held = held.ok_or(BenchError::Missing { done: 0, of: 1 })?;
    let began = Instant::now();
    let mut viewers = Vec::new();
    for _ in 0..load.workers {
        let viewer = backend.follow(&held.hold().target, 0).await?;
        viewers.push(tokio::spawn(watch(viewer, load.executions, began)));
    }
    let since = Instant::now();
    write(&**backend, &held, load, began, progress).await?;
    let mut samples = Samples::default();
    for viewer in viewers {
        samples.extend(viewer.await??);
    }
    let span = since.elapsed();
    taker.complete(&[held]).await?;
    Ok((samples, span))
}

async fn write(
    backend: &dyn EngineBackend,
    held: &Assignment,
    load: Load,
    began: Instant,
    progress: Option<Progress>,
) -> Result<(), BenchError> {
    let mut next = 0;
    while next < load.executions {
        let sent = Instant::now();
        let count = u64::from(load.batch).min(load.executions - next);
        let mut bytes = vec![b'x'; load.payload.max(8)];
        bytes[..8].copy_from_slice(&(began.elapsed().as_nanos() as u64).to_be_bytes());
        let frame = Frame::new(FrameType::token(), bytes);
        let frames = (0..count).map(|_| frame.clone()).collect();
        let append = AppendFrames { hold: held.hold(), first: Some(next), frames };
        next = backend.append_frames(append).await?.next;
        if let Some(progress) = &progress {
            progress(next, load.executions);
        }
        tokio::time::sleep(GATHER.saturating_sub(sent.elapsed())).await;
    }
    Ok(())
}

/// Watches all frames; answers how old each was.
async fn watch(
    mut viewer: Box<dyn Follow>,
    frames: u64,
    began: Instant,
) -> Result<Samples, BenchError> {
    let (mut samples, mut next) = (Samples::default(), 0);
    while next < frames {
        let page = viewer.next(END_WAIT_MAX).await?;
        let now = began.elapsed();
        for frame in &page.frames {
            let sent = frame.bytes.get(..8).and_then(|sent| sent.try_into().ok());
            let sent = Duration::from_nanos(sent.map_or(0, u64::from_be_bytes));
            samples.add(now.saturating_sub(sent));
        }
        next = page.next;
    }
    Ok(samples)
}
