//! One flow: its graph, its nodes with what each waited and ran, and the critical path.

use askama::Template;
use askama::filters::Safe;
use ff_core::flow::Phase;
use ff_core::machine::Target;
use ff_core::state::Outcome;
use ff_core::{Millis, PublicState, Refusal};
use ff_drawing::{Counts, Drawing, Node, Svg};

use super::flows::badge;
use crate::dashboard::flows::Seen;
use crate::dashboard::part::Part;
use crate::dashboard::show::{self, Badge};
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::{Fields, encoded};

/// How many nodes a page has.
const PAGE: usize = 100;
/// How many of the nodes that a node depends on are named.
const NAMED: usize = 3;
/// How many nodes of the critical path are named.
const PATH: usize = 12;

/// Which nodes the table shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::dashboard) struct Pages {
    from: usize,
    state: Option<PublicState>,
}

impl Pages {
    pub(in crate::dashboard) fn read(fields: &Fields) -> Result<Pages, Refusal> {
        let bad = |_| Refusal::invalid("nodes", "is not a number");
        let from = fields.get("nodes").map(str::parse).transpose().map_err(bad)?;
        let state = fields.get("state").map(|word| {
            PublicState::parse(word).ok_or_else(|| Refusal::invalid("state", "is not a state"))
        });
        Ok(Pages { from: from.unwrap_or(0), state: state.transpose()? })
    }
}

#[derive(Template)]
#[template(path = "flow_head.html")]
struct Head {
    id: String,
    state: Badge,
    sentence: String,
    message: Option<String>,
    created: Markup,
    ended: Option<Markup>,
    deadline: Option<Markup>,
    run: u32,
    lane: (String, String),
    tags: Vec<String>,
    /// Their shares of a hundred, for the bar.
    shares: Vec<(&'static str, f64, f64)>,
}

#[derive(Template)]
#[template(path = "flow_actions.html")]
struct Actions<'a> {
    act: String,
    may_cancel: bool,
    may_replay: bool,
    run: u32,
    proof: &'a str,
}

#[derive(Template)]
#[template(path = "flow_graph.html")]
struct Graphic {
    drawing: Markup,
    nodes: String,
    edges: String,
    /// How many boxes there are, if that is fewer than nodes.
    boxes: Option<usize>,
    left_out: usize,
    path: Vec<(String, String)>,
    more_path: usize,
    /// How long the nodes of the path ran, and how long they waited.
    took: Option<(String, String)>,
}

#[derive(Template)]
#[template(path = "flow_nodes.html")]
struct Nodes {
    states: Vec<StateLink>,
    rows: Vec<Row>,
    shown: Option<(usize, usize, String)>,
    older: Option<String>,
    newer: Option<String>,
}

struct StateLink {
    name: String,
    count: String,
    link: String,
    current: bool,
}

struct Row {
    id: String,
    name: String,
    link: Option<String>,
    state: Badge,
    critical: bool,
    waited: String,
    ran: String,
    started: Option<Markup>,
    after: Vec<String>,
    more: usize,
}

pub(in crate::dashboard) async fn render(
    scene: &Scene<'_>,
    target: &Target,
    pages: &Pages,
) -> Result<Rendered, ApiError> {
    let backend = &scene.state.backend;
    let seen = scene.state.dashboard.flows.get(backend, target, scene.now).await?;
    let graphic = graphic(scene, &seen);
    let parts = vec![
        Part::new("head", &head(scene, &seen)),
        Part::new("actions", &actions(scene, target, &seen)),
        Part::new("graph", &graphic),
        Part::new("nodes", &nodes(scene, target, &seen, pages)),
    ];
    Ok(Rendered { title: format!("Flow {}", show::short(target.execution)), parts })
}

fn head(scene: &Scene<'_>, seen: &Seen) -> Head {
    let flow = &seen.flow;
    let moment = |at| show::moment(at, scene.now);
    let lane = flow.spec.lane.as_str();
    let message = match flow.outcome() {
        Some((Outcome::Failed { failure }, _)) => Some(failure.message.to_string()),
        Some((Outcome::Cancelled { reason: Some(reason) }, _)) => Some(reason.to_string()),
        _ => None,
    };
    Head {
        id: flow.id.to_string(),
        state: badge(flow),
        sentence: sentence(seen),
        message: message.filter(|message| !message.is_empty()),
        created: moment(flow.created),
        ended: flow.outcome().map(|(_, at)| moment(at)),
        deadline: flow.run.deadline.filter(|_| flow.outcome().is_none()).map(moment),
        run: flow.run.number,
        lane: (lane.to_owned(), scene.link(&format!("/executions?lane={}", encoded(lane)))),
        tags: flow.tags.iter().map(|(key, value)| format!("{key}={value}")).collect(),
        shares: shares(seen),
    }
}

/// How far it has come, in a sentence.
fn sentence(seen: &Seen) -> String {
    let nodes = seen.graph.nodes().len() as u64;
    let ended = seen.graph.nodes().iter().filter(|node| node.has_ended()).count() as u64;
    let of = |count: u64| show::count(count);
    let counts = Counts::of(&seen.graph, 0..seen.graph.nodes().len()).text();
    match seen.flow.flow.as_deref().map(|flow| &flow.phase) {
        Some(Phase::Open) => format!("Its graph is being built; it has {} nodes.", of(nodes)),
        Some(Phase::Ending(_)) => format!("Nothing more of it starts: {counts}."),
        _ if ended < nodes => format!("{} of {} nodes have ended: {counts}.", of(ended), of(nodes)),
        _ => format!("All {} nodes have ended: {counts}.", of(nodes)),
    }
}

/// What share of the nodes is in which tone: the class, where it begins, and how wide it is.
fn shares(seen: &Seen) -> Vec<(&'static str, f64, f64)> {
    const TONES: [&str; 8] = ["good", "bad", "off", "live", "ask", "warn", "calm", "idle"];
    let all = seen.graph.nodes().len().max(1) as f64;
    let mut at = 0.0;
    let mut shares = Vec::new();
    for tone in TONES {
        let nodes = seen.graph.nodes().iter();
        let count = nodes.filter(|node| ff_drawing::tone(node.state) == tone).count();
        if count > 0 {
            // Percent with one decimal, so that small changes of a large flow change nothing.
            let width = (count as f64 * 1_000.0 / all).round() / 10.0;
            shares.push((tone, at, width));
            at += width;
        }
    }
    shares
}

fn actions<'a>(scene: &Scene<'a>, target: &Target, seen: &Seen) -> Actions<'a> {
    let state = seen.flow.public_state();
    let can = scene.view.can.produce;
    Actions {
        act: scene.link(&format!("/flows/{}/act", target.execution)),
        may_cancel: can && !state.is_finished(),
        may_replay: can && state.is_finished() && state != PublicState::Completed,
        run: seen.flow.run.number,
        proof: &scene.state.dashboard.mark,
    }
}

fn graphic(scene: &Scene<'_>, seen: &Seen) -> Graphic {
    let graph = &seen.graph;
    let drawing = Drawing::new(graph);
    let link = |node: &Node| node.id.map(|id| scene.link(&format!("/executions/{id}")));
    let svg = Svg { graph, drawing: &drawing, now: scene.now, link: &link, alone: false };
    let named = graph.critical_path().iter().take(PATH).map(|place| {
        let node = &graph.nodes()[*place];
        (node.name.to_string(), link(node).unwrap_or_default())
    });
    // What still runs gets longer all the time; its length is said once it has ended.
    let path: Vec<_> = graph.critical_path().iter().map(|place| &graph.nodes()[*place]).collect();
    let is_over = path.iter().all(|node| node.has_ended()) && !path.is_empty();
    let sum = |span: &dyn Fn(&Node) -> Option<Millis>| {
        let sum = path.iter().filter_map(|node| span(node)).map(Millis::get).sum();
        show::span(Millis::new(sum))
    };
    Graphic {
        drawing: Safe(svg.write()),
        nodes: show::count(graph.nodes().len() as u64),
        edges: show::count(graph.edges() as u64),
        boxes: Some(drawing.boxes()).filter(|boxes| *boxes < graph.nodes().len()),
        left_out: drawing.left_out(),
        path: named.collect(),
        more_path: graph.critical_path().len().saturating_sub(PATH),
        took: is_over
            .then(|| (sum(&|node| node.ran(scene.now)), sum(&|node| node.waited(scene.now)))),
    }
}

fn nodes(scene: &Scene<'_>, target: &Target, seen: &Seen, pages: &Pages) -> Nodes {
    let graph = &seen.graph;
    let address = |state: Option<&str>, from: usize| {
        let mut path = format!("/flows/{}", target.execution);
        let state = state.map(|word| format!("state={}", encoded(word)));
        let from = (from > 0).then(|| format!("nodes={from}"));
        let query: Vec<_> = state.into_iter().chain(from).collect();
        if !query.is_empty() {
            path.push_str(&format!("?{}", query.join("&")));
        }
        scene.link(&path)
    };
    let wanted: Vec<usize> = (0..graph.nodes().len())
        .filter(|place| pages.state.is_none() || graph.nodes()[*place].state == pages.state)
        .collect();
    let counts = Counts::of(graph, 0..graph.nodes().len());
    let all = StateLink {
        name: "all".to_owned(),
        count: show::count(graph.nodes().len() as u64),
        link: address(None, 0),
        current: pages.state.is_none(),
    };
    let states = counts.most_first().into_iter().map(|(word, count)| StateLink {
        name: show::words(word),
        count: show::count(count as u64),
        link: address(Some(word), 0),
        current: pages.state.is_some_and(|state| state.as_str() == word),
    });
    let state = pages.state.map(PublicState::as_str);
    let rows: Vec<_> = wanted.iter().skip(pages.from).take(PAGE).copied().collect();
    let last = pages.from + rows.len();
    Nodes {
        states: [all].into_iter().chain(states).collect(),
        shown: (wanted.len() > PAGE)
            .then(|| (pages.from + 1, last, show::count(wanted.len() as u64))),
        older: (last < wanted.len()).then(|| address(state, last)),
        newer: (pages.from > 0).then(|| address(state, pages.from.saturating_sub(PAGE))),
        rows: rows.into_iter().map(|place| row(scene, seen, place)).collect(),
    }
}

fn row(scene: &Scene<'_>, seen: &Seen, place: usize) -> Row {
    let (graph, now) = (&seen.graph, scene.now);
    let node = &graph.nodes()[place];
    let span = |span: Option<Millis>| span.map_or_else(String::new, show::span);
    let upstreams = graph.upstreams(place);
    let names = upstreams.iter().take(NAMED).map(|place| graph.nodes()[*place].name.to_string());
    Row {
        id: node.id.map_or_else(|| node.number.to_string(), |id| id.to_string()),
        name: node.name.to_string(),
        link: node.id.map(|id| scene.link(&format!("/executions/{id}"))),
        state: match node.state {
            Some(state) => state.into(),
            None => Badge { class: "bad", text: node.word().to_owned() },
        },
        critical: graph.is_critical(place),
        waited: span(node.started.and(node.waited(now))),
        // Of one that runs, since when is said, which a script keeps current.
        ran: span(node.ended.and(node.ran(now))),
        started: node.started.map(|at| show::moment(at, now)),
        after: names.collect(),
        more: upstreams.len().saturating_sub(NAMED),
    }
}
