//! Flows: how fast they progress, from the end of a node to the start of those that depend on it.
//!
//! As many flows are under way as there are workers, and whoever completes the last node of one submits the next,
//! so that nothing but submits, claims and completions is called.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ff_core::flow::{OnFailure, Rest};
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::machine::{Assignment, Submit};
use ff_core::{ExecutionId, Millis, Namespace, NodeName, Payload};
use ff_store::EngineBackend;

use crate::calls::Taker;
use crate::crowd::measure;
use crate::meter::{Cost, Meter};
use crate::samples::{Samples, round};
use crate::{BenchError, Load, Progress, Report};

/// How many nodes a chain has.
const CHAIN: u64 = 10;
/// How long a claim waits for work.
const WAIT: Millis = Millis::new(50);
/// A worker that finds nothing for this many claims in a row gives up: work was lost.
const MOST_EMPTY: u32 = 1_200;
/// How often a completion is repeated.
const MOST_TRIES: u32 = 100;

/// Flows of ten nodes, one after the other.
pub(crate) async fn chain(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    progress: Progress,
) -> Result<Report, BenchError> {
    let shape = Shape { layers: vec![1; CHAIN as usize], payload: load.payload };
    let mut meter = Meter::open(url).await?;
    let quiet: Progress = Arc::new(|_, _| ());
    let plan = |load: Load| Plan { flows: load.executions, at_once: load.workers as u64 };
    meter.watch(run(&backend, &shape, load, plan(load.warm_up()), quiet.clone())).await?;
    let before = meter.read().await?;
    let mut ran = run(&backend, &shape, load, plan(load), progress).await?;
    let cost = meter.since(before).await?;
    // The same work without edges, in the same run.
    let plain = Load { executions: load.executions * CHAIN, batch: 1, ..load };
    let plain = measure(backend.clone(), plain, quiet).await?;
    let mut report = Report::new("chain", url, load);
    report.nodes = Some(CHAIN);
    fill(&mut report, &mut ran, cost, load.executions, CHAIN);
    report.per_second = Some(round(load.executions as f64 / ran.span.as_secs_f64()));
    report.baseline_per_second = Some(round(plain.per_second / CHAIN as f64));
    report.fraction_of_baseline = report
        .per_second
        .zip(report.baseline_per_second)
        .map(|(flows, plain)| round(flows / plain));
    Ok(report)
}

/// One flow at a time: a node, as many as `executions` after it, and one after all of them.
pub(crate) async fn fanout(
    url: &str,
    backend: Arc<dyn EngineBackend>,
    load: Load,
    flows: u64,
    progress: Progress,
) -> Result<Report, BenchError> {
    let shape = Shape { layers: vec![1, load.executions, 1], payload: load.payload };
    let nodes = shape.nodes();
    let mut meter = Meter::open(url).await?;
    let quiet: Progress = Arc::new(|_, _| ());
    let plan = |flows| Plan { flows, at_once: 1 };
    meter.watch(run(&backend, &shape, load, plan(1), quiet)).await?;
    let before = meter.read().await?;
    let mut ran = run(&backend, &shape, load, plan(flows), progress).await?;
    let cost = meter.since(before).await?;
    let mut report = Report::new("fanout", url, load);
    report.nodes = Some(nodes);
    fill(&mut report, &mut ran, cost, flows, nodes);
    report.per_second = Some(round((flows * nodes) as f64 / ran.span.as_secs_f64()));
    report.span_ms = Some(round(ran.span.as_secs_f64() * 1_000.0 / flows as f64));
    Ok(report)
}

fn fill(report: &mut Report, ran: &mut Ran, cost: Option<Cost>, flows: u64, nodes: u64) {
    report.p50_ms = ran.hops.percentile_ms(50);
    report.p99_ms = ran.hops.percentile_ms(99);
    report.joined_ms = ran.joins.percentile_ms(99);
    if let Some(cost) = cost {
        cost.fill(report, flows * nodes);
        let each = |calls: u64| round(calls as f64 / flows as f64);
        report.store_calls_per_flow = cost.calls.map(each);
    }
}

/// How many nodes are on each layer; each depends on all of the layer before.
struct Shape {
    layers: Vec<u64>,
    payload: usize,
}

impl Shape {
    fn nodes(&self) -> u64 {
        self.layers.iter().sum()
    }

    /// The graph. A name says the layer first; the flow gives each node its id, whatever it has here.
    fn graph(&self, any: ExecutionId) -> Result<Vec<NodeSpec>, BenchError> {
        let input = Payload::bytes(vec![b'x'; self.payload]);
        let mut before: Vec<NodeName> = Vec::new();
        let mut nodes = Vec::new();
        for (layer, count) in self.layers.iter().enumerate() {
            let names = (0..*count).map(|number| NodeName::new(format!("{layer}.{number}")));
            let names = names.collect::<Result<Vec<_>, _>>()?;
            nodes.extend(names.iter().map(|name| NodeSpec {
                name: name.clone(),
                work: Submit { input: input.clone(), ..Submit::new(any) },
                after: before.clone(),
                join: Join::All,
                on_failure: OnFailure::Skip,
                rest: Rest::Finish,
            }));
            before = names;
        }
        Ok(nodes)
    }
}

/// How many flows, and how many of them at once.
struct Plan {
    flows: u64,
    at_once: u64,
}

/// What was measured.
struct Ran {
    span: Duration,
    /// From the completion that releases a node to its claim.
    hops: Samples,
    /// The same of nodes that depend on several.
    joins: Samples,
}

struct Shared {
    backend: Arc<dyn EngineBackend>,
    nodes: Vec<NodeSpec>,
    layers: Vec<u64>,
    flows: u64,
    submitted: AtomicU64,
    /// Nodes that were completed, of all flows.
    completed: AtomicU64,
    /// Of each flow that is under way, when its newest completion was called, and how many nodes of each layer are
    /// completed.
    under_way: Mutex<HashMap<ExecutionId, (Instant, Vec<u64>)>>,
    progress: Progress,
}

async fn run(
    backend: &Arc<dyn EngineBackend>,
    shape: &Shape,
    load: Load,
    plan: Plan,
    progress: Progress,
) -> Result<Ran, BenchError> {
    let shared = Arc::new(Shared {
        backend: backend.clone(),
        nodes: shape.graph(backend.new_id(&Namespace::default(), None))?,
        layers: shape.layers.clone(),
        flows: plan.flows,
        submitted: AtomicU64::new(0),
        completed: AtomicU64::new(0),
        under_way: Mutex::default(),
        progress,
    });
    let takers = (0..load.workers).map(|number| Taker::new(backend.clone(), number));
    let takers = takers.collect::<Result<Vec<_>, _>>()?;
    let since = Instant::now();
    for _ in 0..plan.at_once {
        shared.submit().await?;
    }
    let workers: Vec<_> =
        takers.into_iter().map(|taker| tokio::spawn(work(shared.clone(), taker))).collect();
    let (mut hops, mut joins) = (Samples::default(), Samples::default());
    for worker in workers {
        let (mine, joined) = worker.await??;
        hops.extend(mine);
        joins.extend(joined);
    }
    Ok(Ran { span: since.elapsed(), hops, joins })
}

impl Shared {
    /// Submits the next flow, if one is left.
    async fn submit(&self) -> Result<(), BenchError> {
        if self.submitted.fetch_add(1, Ordering::Relaxed) >= self.flows {
            return Ok(());
        }
        let id = self.backend.new_id(&Namespace::default(), None);
        self.lock().insert(id, (Instant::now(), vec![0; self.layers.len()]));
        self.backend.submit_flow(FlowSubmission::new(id, self.nodes.clone())).await?;
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ExecutionId, (Instant, Vec<u64>)>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a node of `layer` that was claimed at `now` and is about to be completed.
    fn started(&self, flow: ExecutionId, layer: usize, now: Instant) -> Option<Step> {
        let mut under_way = self.lock();
        let (released, done) = under_way.get_mut(&flow)?;
        // Of a layer with several nodes, the first has waited for nothing but the engine.
        let hop = (layer > 0 && done[layer] == 0).then(|| now.duration_since(*released));
        let join = hop.filter(|_| self.layers[layer - 1] > 1);
        done[layer] += 1;
        let is_over = done[layer] == self.layers[layer];
        if is_over || layer == 0 {
            *released = Instant::now();
        }
        Some(Step { hop, join, is_last: is_over && layer + 1 == self.layers.len() })
    }

    fn all(&self) -> u64 {
        self.flows * self.layers.iter().sum::<u64>()
    }
}

/// A node that was claimed.
struct Step {
    /// How long it took from the completion that released it, if it is the first of its layer.
    hop: Option<Duration>,
    /// The same, if it depends on several.
    join: Option<Duration>,
    /// Whether it is the last of its flow.
    is_last: bool,
}

/// The flow of what was claimed, and its layer.
fn place(held: &Assignment) -> Option<(ExecutionId, usize)> {
    let (flow, name) = held.member.as_ref()?;
    let (layer, _) = name.as_str().split_once('.')?;
    Some((*flow, layer.parse().ok()?))
}

/// Completes it, and repeats that as the SDK does: what joins many nodes is contended.
async fn complete(taker: &Taker<dyn EngineBackend>, held: &Assignment) -> Result<(), BenchError> {
    let mut tries = 0;
    loop {
        match taker.complete(std::slice::from_ref(held)).await {
            Err(BenchError::Store(error)) if error.is_retryable() && tries < MOST_TRIES => {
                tries += 1
            }
            done => return done.map(drop),
        }
    }
}

/// Claims and completes until all flows have ended. Gives how long the hops took, and those of nodes that join.
async fn work(
    shared: Arc<Shared>,
    taker: Taker<dyn EngineBackend>,
) -> Result<(Samples, Samples), BenchError> {
    let (mut hops, mut joins, mut empty) = (Samples::default(), Samples::default(), 0);
    while shared.completed.load(Ordering::Relaxed) < shared.all() {
        let claimed = taker.claim(1, WAIT).await?;
        let now = Instant::now();
        empty = if claimed.is_empty() { empty + 1 } else { 0 };
        if empty > MOST_EMPTY {
            let done = shared.completed.load(Ordering::Relaxed);
            return Err(BenchError::Missing { done, of: shared.all() });
        }
        for held in &claimed {
            let Some((flow, layer)) = place(held) else { continue };
            let Some(step) = shared.started(flow, layer, now) else { continue };
            step.hop.into_iter().for_each(|hop| hops.add(hop));
            step.join.into_iter().for_each(|join| joins.add(join));
            complete(&taker, held).await?;
            let done = shared.completed.fetch_add(1, Ordering::Relaxed) + 1;
            (shared.progress)(done, shared.all());
            if step.is_last {
                shared.lock().remove(&flow);
                shared.submit().await?;
            }
        }
    }
    Ok((hops, joins))
}
