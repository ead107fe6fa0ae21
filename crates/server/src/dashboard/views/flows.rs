//! The list of flows, newest first.

use askama::Template;
use ff_core::flow::Phase;
use ff_core::phrase::short_reason;
use ff_core::{Description, PublicState};
use ff_store::listing::Listing;

use super::executions::{Chosen, cut};
use crate::dashboard::part::Part;
use crate::dashboard::show::{self, Badge};
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::encoded;

/// How many flows a page has.
const PAGE: usize = 50;
/// How many tags of a flow a row shows.
const TAGS: usize = 3;
/// How many characters of a reason a row shows.
const REASON: usize = 160;

/// The states that a person can choose, and how they are called.
const STATES: [(&str, Option<PublicState>); 6] = [
    ("All", None),
    ("Running", Some(PublicState::WaitingChildren)),
    ("Completed", Some(PublicState::Completed)),
    ("Failed", Some(PublicState::Failed)),
    ("Cancelled", Some(PublicState::Cancelled)),
    ("Expired", Some(PublicState::Expired)),
];

#[derive(Template)]
#[template(path = "flows.html")]
struct Rows {
    states: Vec<StateLink>,
    rows: Vec<Row>,
    unreadable: usize,
    next: Option<String>,
    first: Option<String>,
    is_all: bool,
}

struct StateLink {
    name: &'static str,
    link: String,
    current: bool,
}

struct Row {
    id: String,
    short: String,
    link: String,
    state: Badge,
    lane: String,
    nodes: String,
    tags: Vec<String>,
    more_tags: usize,
    took: String,
    created: Markup,
    reason: String,
}

/// The state of a flow: while its nodes run it is no execution that waits.
pub(super) fn badge(flow: &Description) -> Badge {
    let (class, text) = match flow.flow.as_deref().map(|flow| &flow.phase) {
        Some(Phase::Open) => ("calm", "being built"),
        Some(Phase::Running) => ("live", "running"),
        Some(Phase::Ending(_)) => ("warn", "ending"),
        Some(Phase::Settled | Phase::Retiring) | None => return flow.public_state().into(),
    };
    Badge { class, text: text.to_owned() }
}

impl Row {
    fn of(scene: &Scene<'_>, flow: &Description) -> Row {
        let id = flow.id.to_string();
        let ended = flow.outcome().map(|(_, at)| at);
        let tags = flow.tags.iter().take(TAGS).map(|(key, value)| format!("{key}={value}"));
        let members = flow.flow.as_deref().map_or(0, |flow| flow.members);
        Row {
            link: scene.link(&format!("/flows/{id}")),
            short: show::short(flow.id),
            id,
            state: badge(flow),
            lane: flow.spec.lane.to_string(),
            nodes: show::count(members.into()),
            tags: tags.collect(),
            more_tags: flow.tags.len().saturating_sub(TAGS),
            took: ended.map_or_else(String::new, |at| show::span(at.since(flow.created))),
            created: show::moment(flow.created, scene.now),
            reason: match ended {
                Some(_) => cut(&short_reason(flow).unwrap_or_default(), REASON),
                None => String::new(),
            },
        }
    }
}

pub(in crate::dashboard) async fn render(
    scene: &Scene<'_>,
    chosen: &Chosen,
) -> Result<Rendered, ApiError> {
    let mut filter = chosen.filter(scene.now);
    filter.flows = true;
    let listing = Listing {
        namespace: scene.view.namespace.clone(),
        filter,
        after: chosen.after(),
        limit: PAGE,
    };
    let page = scene.state.backend.list(&listing).await?;
    let query = chosen.query();
    let address = |more: &str| {
        let query = [query.as_str(), more].into_iter().filter(|part| !part.is_empty());
        let query = query.collect::<Vec<_>>().join("&");
        scene.link(&if query.is_empty() { "/flows".to_owned() } else { format!("/flows?{query}") })
    };
    let states = STATES.map(|(name, state)| {
        let query =
            state.map_or_else(String::new, |state| format!("?state={}", encoded(state.as_str())));
        let current = match state {
            Some(state) => query[1..] == chosen.query() && !state.as_str().is_empty(),
            None => chosen.is_all(),
        };
        StateLink { name, link: scene.link(&format!("/flows{query}")), current }
    });
    let rows = Rows {
        states: states.into(),
        rows: page.executions.iter().map(|flow| Row::of(scene, flow)).collect(),
        unreadable: page.unreadable.len(),
        next: page.next.map(|cursor| address(&format!("cursor={cursor}"))),
        first: chosen.after().map(|_| address("")),
        is_all: chosen.is_all(),
    };
    Ok(Rendered { title: "Flows".to_owned(), parts: vec![Part::new("rows", &rows)] })
}
