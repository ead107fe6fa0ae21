//! What happens in a namespace, the newest first.

use askama::Template;
use ff_api::{EventView, Timestamp};
use ff_core::event::EventName;
use ff_core::feed::FeedState;
use ff_core::{ExecutionId, Kind, Lane, Millis, Refusal};
use ff_store::events::{EventFilter, EventsRequest, StartAt};

use super::executions::{cut, lane_names};
use super::webhooks;
use crate::dashboard::part::Part;
use crate::dashboard::show::{self, Badge};
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::{Fields, encoded};

/// How many events the page has.
const PAGE: usize = 100;
/// How many characters of a name a row shows.
const NAME: usize = 60;

/// Which events, as the address of the page says.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::dashboard) struct Chosen {
    event: Option<EventName>,
    lane: Option<Lane>,
    kind: Option<Kind>,
    execution: Option<ExecutionId>,
}

impl Chosen {
    pub(in crate::dashboard) fn read(fields: &Fields) -> Result<Chosen, Refusal> {
        let event = fields.get("event").map(|word| {
            let unknown = || Refusal::invalid("event", "is not the word of an event");
            EventName::parse(word).ok_or_else(unknown)
        });
        Ok(Chosen {
            event: event.transpose()?,
            lane: fields.get("lane").map(str::parse).transpose()?,
            kind: fields.get("kind").map(str::parse).transpose()?,
            execution: fields.get("execution").map(str::parse).transpose()?,
        })
    }

    fn filter(&self) -> EventFilter {
        EventFilter {
            names: self.event.into_iter().collect(),
            lane: self.lane.clone(),
            kind: self.kind.clone(),
            execution: self.execution,
            ..EventFilter::default()
        }
    }
}

#[derive(Template)]
#[template(path = "events_filter.html")]
struct FilterForm<'a> {
    namespace: &'a str,
    names: Vec<(&'static str, String, bool)>,
    lane: String,
    kind: String,
    execution: String,
    lanes: Vec<String>,
    is_all: bool,
    clear: String,
}

#[derive(Template)]
#[template(path = "events_feed.html")]
struct Feed<'a> {
    is_on: bool,
    is_pinned: bool,
    since: Option<Markup>,
    retention: String,
    most: String,
    operate: bool,
    act: String,
    proof: &'a str,
}

#[derive(Template)]
#[template(path = "events.html")]
struct Events {
    is_on: bool,
    rows: Vec<Row>,
    is_all: bool,
    /// As many as a page has; there may be older ones.
    is_full: bool,
}

struct Row {
    id: String,
    at: Markup,
    what: Badge,
    kind: String,
    lane: String,
    execution: String,
    short: String,
    /// The page of the execution, unless that is gone.
    link: Option<String>,
    /// This page, with the events of the execution alone.
    only: String,
    attempt: Option<u32>,
    by: Option<String>,
    /// From when on it may be claimed.
    more: Option<Markup>,
}

pub(in crate::dashboard) async fn render(
    scene: &Scene<'_>,
    chosen: &Chosen,
) -> Result<Rendered, ApiError> {
    let (state, view) = (scene.state, scene.view);
    let mut parts = vec![Part::still("filter", &filter_form(scene, chosen).await)];
    // To read a feed is to switch it on, which a page does only when it is asked to.
    let feed = state.backend.feed(&view.namespace).await?;
    parts.push(Part::new("feed", &feed_card(scene, &feed)));
    let request = EventsRequest {
        namespace: view.namespace.clone(),
        from: StartAt::Latest,
        filter: chosen.filter(),
        limit: PAGE,
        wait: Millis::ZERO,
    };
    let found = match feed.on {
        true => state.backend.events(request).await?.events,
        false => Vec::new(),
    };
    let events = Events {
        is_on: feed.on,
        rows: found.iter().rev().map(|event| row(scene, &event.into())).collect(),
        is_all: *chosen == Chosen::default(),
        is_full: found.len() == PAGE,
    };
    parts.push(Part::new("events", &events));
    if view.can.webhooks {
        parts.push(webhooks::part(scene).await?);
    }
    Ok(Rendered { title: "Events".to_owned(), parts })
}

fn feed_card<'a>(scene: &Scene<'a>, feed: &FeedState) -> Feed<'a> {
    Feed {
        is_on: feed.on,
        is_pinned: feed.pinned,
        since: feed.on.then(|| show::moment(feed.since, scene.now)),
        retention: show::span(feed.retention),
        most: show::count(feed.most),
        operate: scene.view.can.operate,
        act: scene.link("/events/feed"),
        proof: &scene.state.dashboard.mark,
    }
}

fn row(scene: &Scene<'_>, view: &EventView) -> Row {
    let id = view.execution.to_string();
    let later = view.not_before.map(|Timestamp(at)| show::moment(at, scene.now));
    Row {
        id: view.id.clone(),
        at: show::moment(view.at.0, scene.now),
        what: badge(view),
        kind: view.kind.to_string(),
        lane: view.lane.to_string(),
        short: show::short(view.execution),
        link: (view.event != EventName::Retired).then(|| scene.link(&format!("/executions/{id}"))),
        only: scene.link(&format!("/events?execution={}", encoded(&id))),
        execution: id,
        attempt: view.attempt,
        by: view.by.as_ref().map(|by| cut(by.as_str(), NAME)),
        more: later,
    }
}

/// What happened, in the colour of what it means for the execution.
fn badge(view: &EventView) -> Badge {
    let class = match view.event {
        EventName::Completed => "good",
        EventName::Failed | EventName::Expired => "bad",
        EventName::Claimed => "live",
        EventName::Suspended | EventName::Signalled => "ask",
        EventName::Retrying
        | EventName::Reclaimed
        | EventName::Revoked
        | EventName::Cancelling
        | EventName::Delayed
        | EventName::Blocked => "warn",
        _ => "calm",
    };
    let word = show::words(view.event.as_str());
    let text = match (view.reason, view.timed_out) {
        (Some(reason), _) => format!("{word} for {}", show::words(reason.as_str())),
        (None, Some(true)) => format!("{word} by time"),
        _ => word,
    };
    Badge { class, text }
}

async fn filter_form<'a>(scene: &Scene<'a>, chosen: &Chosen) -> FilterForm<'a> {
    let text = |value: Option<&dyn ToString>| value.map(ToString::to_string).unwrap_or_default();
    let name =
        |name: &EventName| (name.as_str(), show::words(name.as_str()), chosen.event == Some(*name));
    FilterForm {
        namespace: scene.view.namespace.as_str(),
        names: EventName::ALL.iter().map(name).collect(),
        lane: text(chosen.lane.as_ref().map(|lane| lane as _)),
        kind: text(chosen.kind.as_ref().map(|kind| kind as _)),
        execution: text(chosen.execution.as_ref().map(|id| id as _)),
        lanes: lane_names(scene).await,
        is_all: *chosen == Chosen::default(),
        clear: scene.link("/events"),
    }
}
