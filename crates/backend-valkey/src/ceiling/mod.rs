//! What the servers do at best: a submit, a claim and a complete without decisions, each one
//! function, and for comparison a plain list queue.
//!
//! Both are driven as the engine was: by as many callers at once, with the same client, payload
//! and number of executions in a call. All keys are separate and are removed afterwards.

mod cycle;
mod list;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ff_store::StoreError;

use crate::link::Servers;
use crate::options::Options;
use crate::probe::Probe;

/// What is run.
#[derive(Debug, Clone, Copy)]
pub struct CeilingPlan {
    /// How many executions.
    pub executions: u64,
    /// How many bytes an input has.
    pub payload: usize,
    /// How many callers at once.
    pub callers: usize,
    /// How many executions go into one call.
    pub batch: u16,
}

/// What was reached.
#[derive(Debug, Clone, Copy)]
pub struct Ceiling {
    /// By the bare functions.
    pub functions: Speed,
    /// By the list queue.
    pub list: Speed,
}

/// How fast, and at which cost.
#[derive(Debug, Clone, Copy)]
pub struct Speed {
    /// Executions per second, submit to complete.
    pub per_second: f64,
    /// Processor time of the servers, in microseconds.
    pub cpu_us_per_execution: f64,
}

/// More executions than this add no information.
const MOST: u64 = 50_000;
/// How many executions are run first and not measured, at most.
const MOST_WARM_UP: u64 = 2_000;
/// How many bytes a result has.
const RESULT: usize = 100;

/// Measures the servers that `options` names.
pub async fn ceiling(options: &Options, plan: CeilingPlan) -> Result<Ceiling, StoreError> {
    let executions = plan.executions.clamp(1, MOST);
    let plan = CeilingPlan { executions, batch: plan.batch.max(1), ..plan };
    let servers = Servers::connect(options).await?;
    let mut probe = Probe::connect(options.clone()).await?;
    let functions = cycle::measure(&servers, &mut probe, plan).await?;
    let list = list::measure(&servers, &mut probe, plan).await?;
    Ok(Ceiling { functions, list })
}

/// Runs some executions unmeasured, and then all of `plan`.
async fn timed<C, F>(
    probe: &mut Probe,
    plan: CeilingPlan,
    callers: &[C],
    call: impl Fn(C, Arc<Rest>) -> F,
) -> Result<Speed, StoreError>
where
    C: Clone,
    F: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    let warm_up = (plan.executions / 10).clamp(1, MOST_WARM_UP);
    run(Rest::new(warm_up, plan.batch), callers, &call).await?;
    let (before, started) = (probe.read().await?, Instant::now());
    run(Rest::new(plan.executions, plan.batch), callers, &call).await?;
    let elapsed = started.elapsed();
    let cpu_us = probe.read().await?.cpu_us.saturating_sub(before.cpu_us);
    Ok(Speed {
        per_second: plan.executions as f64 / elapsed.as_secs_f64(),
        cpu_us_per_execution: cpu_us as f64 / plan.executions as f64,
    })
}

/// Lets the callers work until nothing is left.
async fn run<C, F>(
    rest: Rest,
    callers: &[C],
    call: impl Fn(C, Arc<Rest>) -> F,
) -> Result<(), StoreError>
where
    C: Clone,
    F: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    let rest = Arc::new(rest);
    let calls = callers.iter().map(|caller| tokio::spawn(call(caller.clone(), rest.clone())));
    for running in calls.collect::<Vec<_>>() {
        let died = |error| StoreError::Unavailable(format!("a caller died: {error}"));
        running.await.map_err(died)??;
    }
    Ok(())
}

/// The executions that are left, which callers take batches of.
struct Rest {
    left: AtomicU64,
    batch: u64,
}

impl Rest {
    fn new(executions: u64, batch: u16) -> Rest {
        Rest { left: AtomicU64::new(executions), batch: batch.into() }
    }

    /// How many a caller runs next; 0 when it is done.
    fn take(&self) -> usize {
        let less = |left: u64| Some(left.saturating_sub(self.batch));
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        before.map_or(0, |before| before.min(self.batch) as usize)
    }
}

fn unexpected(error: impl std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("the server's answer is malformed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_taken_to_its_end() {
        let rest = Rest::new(40, 16);
        assert_eq!([(); 4].map(|()| rest.take()), [16, 16, 8, 0]);
    }
}
