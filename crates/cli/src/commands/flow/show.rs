//! `ff flow show`: a flow with its graph, once or as it changes, as a table, SVG or DOT.

use std::collections::HashMap;
use std::time::Duration;

use clap::Args;
use ff_api::FlowView;
use ff_core::bounds::FLOW_SLICE;
use ff_core::machine::{FlowPage, Target};
use ff_core::{ExecutionId, NodeName};
use ff_drawing::{Drawing, Graph, Snapshot, Svg, dot};
use ff_store::{ClientAndWorker, Clock, SystemClock};
use serde::Serialize;
use tokio::time::Instant;

use crate::commands::Verdict;
use crate::error::Error;
use crate::id::Id;
use crate::output::{flow, graph, terminal};
use crate::session::Session;

/// How often a flow is read that is watched.
const EVERY: Duration = Duration::from_millis(500);
/// Reading takes one part in this many of the time.
const SHARE: u32 = 4;
/// What is left free below a picture: the prompt, and the line that the cursor is on.
const BELOW: usize = 2;

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The flow: its id, or a unique prefix of it.
    id: Id,

    /// Follow it until it ends: drawn in place on a terminal, else one line for each change.
    #[arg(long, conflicts_with_all = ["dot", "svg"])]
    watch: bool,

    /// Every node on a line of its own; without it, nodes that are alike share one.
    #[arg(long, conflicts_with_all = ["dot", "svg", "watch"])]
    all: bool,

    /// Print the graph for Graphviz: every node and every edge.
    #[arg(long, conflicts_with = "svg")]
    dot: bool,

    /// Print a drawing as SVG.
    #[arg(long)]
    svg: bool,
}

impl Show {
    pub(super) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open().await?;
        let target = session.target(self.id.find_flow(session, &*backend).await?);
        if self.watch {
            return watch(session, &*backend, &target).await;
        }
        let is_drawn = self.dot || self.svg;
        if session.output.is_json() && !is_drawn {
            let page = whole(&*backend, &target).await?;
            session.output.answer(&FlowView::from(&page), |_| String::new())?;
            return Ok(Verdict::Good);
        }
        let mut snapshot = Snapshot::default();
        read(&*backend, &target, &mut snapshot).await?;
        let now = SystemClock.now();
        let nodes = snapshot.graph(now);
        if is_drawn {
            let text = if self.dot { dot(&nodes, now) } else { svg(&nodes) };
            session.output.bytes(text.as_bytes())?;
            return Ok(Verdict::Good);
        }
        sheet(session, &snapshot, &nodes, self.all)?;
        let unfinished = nodes.nodes().iter().find(|node| !node.has_ended());
        if let Some(id) = unfinished.and_then(|node| node.id) {
            session.next(format_args!("explain {id}"));
        }
        Ok(Verdict::Good)
    }
}

/// The facts of the flow, and its nodes below.
fn sheet(
    session: &Session<'_>,
    snapshot: &Snapshot,
    nodes: &Graph,
    all: bool,
) -> Result<(), Error> {
    let Some((record, counts)) = snapshot.flow() else { return Ok(()) };
    let (now, style) = (SystemClock.now(), session.output.style());
    let mut text = flow::sheet(record, counts, now, style);
    if !nodes.nodes().is_empty() {
        let columns = terminal::of_stdout().map(|size| size.columns);
        let rows = graph::rows(nodes, all, now);
        let rows = if all { rows } else { graph::most(nodes, rows, graph::ROWS) };
        text.push_str(&format!("\n{}", graph::table(&rows, columns, style)));
    }
    session.output.bytes(text.as_bytes())
}

fn svg(nodes: &Graph) -> String {
    let (drawing, now) = (Drawing::new(nodes), SystemClock.now());
    let svg = Svg { graph: nodes, drawing: &drawing, now, link: &|_| None, alone: true };
    format!("{}\n", svg.write())
}

/// A flow with all its members.
async fn whole(backend: &dyn ClientAndWorker, target: &Target) -> Result<FlowPage, Error> {
    let mut whole = backend.flow(target, 0, FLOW_SLICE).await?;
    while let Some(next) = whole.next {
        let page = backend.flow(target, next, FLOW_SLICE).await?;
        let mut members = whole.members;
        members.extend(page.members);
        whole = FlowPage { members, flow: page.flow, counts: page.counts, next: page.next };
    }
    Ok(whole)
}

/// Reads what can have changed.
async fn read(
    backend: &dyn ClientAndWorker,
    target: &Target,
    snapshot: &mut Snapshot,
) -> Result<(), Error> {
    let mut next = Some(0);
    while let Some(from) = next {
        next = match snapshot.kept(from) {
            Some(after) => Some(after),
            None => snapshot.take(from, backend.flow(target, from, FLOW_SLICE).await?),
        };
    }
    Ok(())
}

/// A node that has changed, as `--watch --json` prints it.
#[derive(Serialize)]
struct Change<'a> {
    node: u32,
    name: &'a NodeName,
    id: Option<ExecutionId>,
    state: &'a str,
}

/// Shows the flow as it changes, until it has ended.
async fn watch(
    session: &Session<'_>,
    backend: &dyn ClientAndWorker,
    target: &Target,
) -> Result<Verdict, Error> {
    let (mut snapshot, mut drawn) = (Snapshot::default(), 0);
    let mut known: HashMap<u32, &'static str> = HashMap::new();
    let screen = terminal::of_stdout().filter(|_| !session.output.is_json());
    loop {
        let since = Instant::now();
        read(backend, target, &mut snapshot).await?;
        let nodes = snapshot.graph(SystemClock.now());
        let has_ended = snapshot.flow().is_some_and(|(flow, _)| flow.outcome().is_some());
        match screen {
            Some(size) => drawn = draw(session, &snapshot, &nodes, (size, drawn), has_ended)?,
            None => changes(session, &nodes, &mut known)?,
        }
        if has_ended {
            if !session.output.is_json() {
                sheet(session, &snapshot, &nodes, false)?;
            }
            return Ok(Verdict::Good);
        }
        tokio::time::sleep(EVERY.max(since.elapsed() * SHARE)).await;
    }
}

/// Draws over what was drawn before; answers how many lines that are now.
fn draw(
    session: &Session<'_>,
    snapshot: &Snapshot,
    nodes: &Graph,
    (size, drawn): (terminal::Size, usize),
    has_ended: bool,
) -> Result<usize, Error> {
    let back = match drawn {
        0 => String::new(),
        lines => format!("\x1b[{lines}A\x1b[J"),
    };
    let Some((record, counts)) = snapshot.flow().filter(|_| !has_ended) else {
        session.output.bytes(back.as_bytes())?;
        return Ok(0);
    };
    let (now, style) = (SystemClock.now(), session.output.style());
    let head = flow::line(record, counts, now, style, size.columns);
    // The heading of the table is a line, too.
    let room = size.rows.saturating_sub(head.lines().count() + 1 + BELOW).max(1);
    let rows = graph::most(nodes, graph::rows(nodes, false, now), room);
    let text = format!("{head}{}", graph::table(&rows, Some(size.columns), style));
    session.output.bytes(format!("{back}{text}").as_bytes())?;
    Ok(text.lines().count())
}

/// Prints what has another state than before.
fn changes(
    session: &Session<'_>,
    nodes: &Graph,
    known: &mut HashMap<u32, &'static str>,
) -> Result<(), Error> {
    for node in nodes.nodes() {
        let state = node.word();
        if known.insert(node.number, state) == Some(state) {
            continue;
        }
        let change = Change { node: node.number, name: &node.name, id: node.id, state };
        session.output.answer(&change, |change| format!("{} {}\n", change.name, change.state))?;
    }
    Ok(())
}
