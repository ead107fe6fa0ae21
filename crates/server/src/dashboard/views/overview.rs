//! What happens now, what happened in the last hour, and what needs a person.

use askama::Template;
use ff_api::{BudgetView, LanePageView};
use ff_core::budget::DimensionState;
use ff_core::suspension::SuspendReason;
use ff_core::{PublicState, ResourceKind};
use ff_store::backlog::Backlog;
use ff_store::listing::{Filter, Listing};

use super::executions::Row;
use crate::dashboard::history::Slot;
use crate::dashboard::part::Part;
use crate::dashboard::view::{Rendered, Scene};
use crate::dashboard::{charts, show};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::encoded;

/// How many lanes and limits are read.
const NAMED: usize = 100;
/// How many of what needs attention are counted.
const COUNTED: usize = 100;
/// How many of it are shown.
const SHOWN: usize = 4;
/// How many of the newest executions are shown.
const LATEST: usize = 8;

#[derive(Template)]
#[template(path = "charts.html")]
struct Charts {
    cards: Vec<Card>,
    /// Whether figures of all namespaces may be shown.
    allowed: bool,
    /// How long ago the charts begin.
    span: String,
}

struct Card {
    name: &'static str,
    value: String,
    unit: &'static str,
    chart: Markup,
    /// What is drawn how, with its figure.
    legend: Vec<(&'static str, String)>,
}

#[derive(Template)]
#[template(path = "lane_table.html")]
struct LaneTable {
    lanes: Vec<LaneRow>,
    all: String,
    truncated: bool,
}

struct LaneRow {
    name: String,
    link: String,
    waiting: u64,
    active: u64,
    limit: Option<u32>,
    blocked: u64,
    unroutable: u64,
    oldest: Option<Markup>,
    paused: bool,
    draining: bool,
}

#[derive(Template)]
#[template(path = "attention.html")]
struct Needs {
    groups: Vec<Group>,
}

/// One kind of thing that needs a person.
struct Group {
    class: &'static str,
    title: &'static str,
    count: String,
    link: String,
    rows: Vec<Row>,
    lines: Vec<String>,
}

pub(in crate::dashboard) async fn render(scene: &Scene<'_>) -> Result<Rendered, ApiError> {
    let (state, namespace) = (scene.state, &scene.view.namespace);
    let backlog = state.dashboard.backlog.get(&state.backend).await?;
    state.dashboard.history.sample(Some(&backlog));
    let found = state.backend.lanes(namespace, None, NAMED).await?;
    let lanes = LanePageView::with_work(&found, &backlog, namespace, None, NAMED);
    let parts = vec![
        Part::new("charts", &charts_of(scene, &backlog)),
        Part::new("attention", &Needs { groups: attention(scene, &backlog, &lanes).await? }),
        Part::new("lanes", &lane_table(scene, &lanes)),
        Part::new("latest", &latest(scene).await?),
    ];
    Ok(Rendered { title: "Overview".to_owned(), parts })
}

#[derive(Template)]
#[template(path = "latest.html")]
struct Latest {
    rows: Vec<Row>,
    all: String,
}

/// The newest executions.
async fn latest(scene: &Scene<'_>) -> Result<Latest, ApiError> {
    let namespace = scene.view.namespace.clone();
    let listing = Listing { namespace, filter: Filter::default(), after: None, limit: LATEST };
    let page = scene.state.backend.list(&listing).await?;
    let row = |record| Row::of(scene, record, page.lacks_worker.contains(&record.id));
    Ok(Latest { rows: page.executions.iter().map(row).collect(), all: scene.link("/executions") })
}

fn charts_of(scene: &Scene<'_>, backlog: &Backlog) -> Charts {
    if !scene.view.can.charts {
        return Charts { cards: Vec::new(), allowed: false, span: String::new() };
    }
    let chart = scene.state.dashboard.history.chart();
    let slots = &chart.slots;
    let waiting: u64 = backlog.queues.values().map(|queued| queued.count).sum();
    let active: u64 = backlog.active.values().sum();
    let ended = slots.iter().flatten();
    let (completed, failed) =
        ended.fold((0, 0), |(good, bad), slot| (good + slot.completed, bad + slot.failed));
    let (recent, minutes) = chart.recent();
    let pace = rate((recent.completed + recent.failed) as f64 / minutes);
    let series = |of: &dyn Fn(&Slot) -> Option<f64>| -> Vec<Option<f64>> {
        slots.iter().map(|slot| slot.as_ref().and_then(of)).collect()
    };
    let (wait, wait_high) = (series(&|slot| slot.wait(0.5)), series(&|slot| slot.wait(0.95)));
    let (run, run_high) = (series(&|slot| slot.run(0.5)), series(&|slot| slot.run(0.95)));
    let depth = series(&|slot| slot.waiting.map(|count| count as f64));
    let timing = |name, what, of: &dyn Fn(f64) -> Option<f64>, drawn: [Vec<Option<f64>>; 2]| Card {
        name,
        value: of(0.5).map_or_else(|| "–".to_owned(), seconds),
        unit: "median",
        chart: charts::lines(what, &drawn[0], Some(&drawn[1])),
        legend: vec![
            ("line", "median".to_owned()),
            (
                "high",
                match of(0.95) {
                    Some(high) => format!("{} slowest 5 %", seconds(high)),
                    None => "slowest 5 %".to_owned(),
                },
            ),
        ],
    };
    let cards = vec![
        Card {
            name: "Throughput",
            value: pace,
            unit: "/ min",
            chart: charts::throughput(slots),
            legend: vec![
                ("ok", format!("{} completed", show::count(completed))),
                ("no", format!("{} failed", show::count(failed))),
            ],
        },
        Card {
            name: "Queue depth",
            value: show::count(waiting),
            unit: "waiting",
            chart: charts::lines("how many waited", &depth, None),
            legend: vec![
                ("line", "waiting".to_owned()),
                ("", format!("{} active now", show::count(active))),
            ],
        },
        timing(
            "Wait time",
            "how long executions waited",
            &|share| recent.wait(share),
            [wait, wait_high],
        ),
        timing("Run time", "how long attempts took", &|share| recent.run(share), [run, run_high]),
    ];
    Charts { cards, allowed: true, span: show::span(chart.span()) }
}

fn rate(value: f64) -> String {
    match value {
        value if value >= 100.0 => show::count(value.round() as u64),
        value => format!("{value:.1}").trim_end_matches(".0").to_owned(),
    }
}

/// Seconds as people read them.
fn seconds(value: f64) -> String {
    show::span(ff_core::Millis::new((value * 1_000.0).round().max(0.0) as u64))
}

fn lane_table(scene: &Scene<'_>, page: &LanePageView) -> LaneTable {
    let row = |view: &ff_api::LaneView| {
        let work = view.work.clone().unwrap_or_default();
        let lane = encoded(view.lane.as_str());
        LaneRow {
            name: view.lane.to_string(),
            link: scene.link(&format!("/executions?lane={lane}")),
            waiting: work.waiting,
            active: work.active,
            limit: view.max_active,
            blocked: work.blocked,
            unroutable: work.unroutable,
            oldest: work.oldest.map(|at| show::moment(at.0, scene.now)),
            paused: view.paused,
            draining: view.draining,
        }
    };
    LaneTable {
        lanes: page.lanes.iter().map(row).collect(),
        all: scene.link("/lanes"),
        truncated: page.next.is_some(),
    }
}

async fn attention(
    scene: &Scene<'_>,
    backlog: &Backlog,
    lanes: &LanePageView,
) -> Result<Vec<Group>, ApiError> {
    let approvals = Filter { suspended_for: Some(SuspendReason::Approval), ..Filter::default() };
    let failed = Filter { states: [PublicState::Failed].into(), ..Filter::default() };
    let groups = [
        listed(scene, "ask", "Waiting for approval", "/approvals", approvals).await?,
        listed(scene, "bad", "Failed", "/executions?state=failed", failed).await?,
        unroutable(scene, lanes),
        full_limits(scene, backlog).await?,
        stopped(scene, lanes),
    ];
    Ok(groups.into_iter().flatten().collect())
}

/// What a listing has, if anything.
async fn listed(
    scene: &Scene<'_>,
    class: &'static str,
    title: &'static str,
    path: &str,
    filter: Filter,
) -> Result<Option<Group>, ApiError> {
    let namespace = scene.view.namespace.clone();
    let listing = Listing { namespace, filter, after: None, limit: COUNTED };
    let page = scene.state.backend.list(&listing).await?;
    if page.executions.is_empty() {
        return Ok(None);
    }
    let more = if page.next.is_some() { "+" } else { "" };
    Ok(Some(Group {
        class,
        title,
        count: format!("{}{more}", page.executions.len()),
        link: scene.link(path),
        rows: page.executions.iter().take(SHOWN).map(|one| Row::of(scene, one, false)).collect(),
        lines: Vec::new(),
    }))
}

/// The lanes with work that no live worker can run.
fn unroutable(scene: &Scene<'_>, lanes: &LanePageView) -> Option<Group> {
    let work = |view: &ff_api::LaneView| view.work.as_ref().map_or(0, |work| work.unroutable);
    let count: u64 = lanes.lanes.iter().map(work).sum();
    let line =
        |view: &ff_api::LaneView| format!("{} in lane {}", show::count(work(view)), view.lane);
    let lines = lanes.lanes.iter().filter(|view| work(view) > 0).take(SHOWN).map(line);
    (count > 0).then(|| Group {
        class: "bad",
        title: "No worker can run it",
        count: show::count(count),
        link: scene.link("/executions?state=waiting_for_capable_worker"),
        rows: Vec::new(),
        lines: lines.collect(),
    })
}

/// Budgets at their limit, and how much waits for them.
async fn full_limits(scene: &Scene<'_>, backlog: &Backlog) -> Result<Option<Group>, ApiError> {
    let namespace = &scene.view.namespace;
    let budgets = scene.state.backend.budgets(namespace, None, NAMED).await?;
    let mut lines = Vec::new();
    for budget in budgets.iter().map(BudgetView::from) {
        for (dimension, view) in &budget.dimensions {
            if view.state == DimensionState::Full {
                let waiting = backlog.blocked.iter().filter(|((of, on), _)| {
                    of == namespace && on.kind == ResourceKind::Budget && on.name == budget.budget
                });
                let waiting: u64 = waiting.map(|(_, count)| *count).sum();
                let used = show::count(view.used.saturating_add(view.reserved));
                let hard = show::count(view.hard.unwrap_or_default());
                lines.push(format!(
                    "budget {}: {used} of {hard} {dimension}, {} waiting",
                    budget.budget,
                    show::count(waiting)
                ));
            }
        }
    }
    let count = lines.len();
    lines.truncate(SHOWN);
    Ok((count > 0).then(|| Group {
        class: "warn",
        title: "Budgets at their limit",
        count: show::count(count as u64),
        link: scene.link("/limits"),
        rows: Vec::new(),
        lines,
    }))
}

/// Lanes that an operator has paused.
fn stopped(scene: &Scene<'_>, lanes: &LanePageView) -> Option<Group> {
    let paused: Vec<_> = lanes.lanes.iter().filter(|view| view.paused).collect();
    let line = |view: &&ff_api::LaneView| match &view.reason {
        Some(reason) => format!("{}: {reason}", view.lane),
        None => view.lane.to_string(),
    };
    (!paused.is_empty()).then(|| Group {
        class: "warn",
        title: "Lanes paused",
        count: show::count(paused.len() as u64),
        link: scene.link("/lanes"),
        rows: Vec::new(),
        lines: paused.iter().take(SHOWN).map(line).collect(),
    })
}
