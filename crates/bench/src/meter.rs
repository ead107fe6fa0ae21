//! The store's counters before and after a measurement.

use std::future::Future;
use std::time::Duration;

use ff_backends::{Probe, Reading};

use crate::samples::round;
use crate::{BenchError, Report};

/// Reads the counters of the store, if it has any.
pub(crate) struct Meter(Option<Probe>);

/// What a measured stretch cost the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) calls: Option<u64>,
    pub(crate) cpu_us: u64,
    pub(crate) rewrites: u64,
}

impl Meter {
    pub(crate) async fn open(url: &str) -> Result<Meter, BenchError> {
        Ok(Meter(ff_backends::probe(url).await?))
    }

    /// Whether the store counts anything: one that processes reach over a network does.
    pub(crate) fn counts(&self) -> bool {
        self.0.is_some()
    }

    /// What the store has counted so far.
    pub(crate) async fn read(&mut self) -> Result<Option<Reading>, BenchError> {
        match &mut self.0 {
            Some(probe) => Ok(Some(probe.read().await?)),
            None => Ok(None),
        }
    }

    /// Runs `work` and answers how many calls clients made meanwhile. The store logs all of them,
    /// which slows it down; from then on the counters distinguish calls of clients from others.
    pub(crate) async fn watch<T>(
        &mut self,
        work: impl Future<Output = Result<T, BenchError>>,
    ) -> Result<(T, Option<u64>), BenchError> {
        let Some(probe) = &mut self.0 else { return Ok((work.await?, None)) };
        probe.watch().await;
        let done = work.await;
        let calls = probe.end_watch().await?;
        Ok((done?, calls))
    }

    /// Begins to time every call that the store takes.
    pub(crate) async fn time_calls(&mut self) -> Result<(), BenchError> {
        match &mut self.0 {
            Some(probe) => Ok(probe.time_calls().await?),
            None => Ok(()),
        }
    }

    /// The longest call since then, if the store reports it.
    pub(crate) async fn longest_call(&mut self) -> Result<Option<Duration>, BenchError> {
        match &mut self.0 {
            Some(probe) => Ok(probe.longest_call().await?),
            None => Ok(None),
        }
    }

    /// What happened since `before`.
    pub(crate) async fn since(
        &mut self,
        before: Option<Reading>,
    ) -> Result<Option<Cost>, BenchError> {
        let after = self.read().await?;
        Ok(before.zip(after).map(|(before, after)| Cost {
            calls: before.client_calls.zip(after.client_calls).map(|(b, a)| a.saturating_sub(b)),
            cpu_us: after.cpu_us.saturating_sub(before.cpu_us),
            rewrites: after.rewrites.saturating_sub(before.rewrites),
        }))
    }
}

impl Cost {
    /// Adds what each of `executions` cost.
    pub(crate) fn fill(self, report: &mut Report, executions: u64) {
        let each = |sum: u64| round(sum as f64 / executions as f64);
        if let Some(calls) = self.calls {
            report.store_calls_per_execution = Some(each(calls));
        }
        report.store_cpu_us_per_execution = Some(each(self.cpu_us));
        report.store_rewrites = Some(self.rewrites);
    }
}
