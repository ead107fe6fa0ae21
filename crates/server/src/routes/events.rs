//! Follow what happens in a namespace; switch its feed.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use ff_api::http::schema::{self, Id, Name};
use ff_api::http::{EventsFrom, FeedRequest, read_tags};
use ff_api::{EventView, EventsView, FeedView};
use ff_core::bounds::EVENTS_WAIT_MAX;
use ff_core::event::EventName;
use ff_core::{ExecutionId, Kind, Lane, Millis, Namespace, Refusal};
use ff_store::EngineBackend;
use ff_store::events::{Cursor, EventFilter, EventsPage, EventsRequest, StartAt};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::auth::Shown;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::flight::Waiting;
use crate::metrics;
use crate::params::{NamespaceQuery, Params, Repeatable, Repeated, default_page_size};
use crate::sse::{self, Event, Sender, failed, wants_events};
use crate::state::AppState;

/// Which events; every part that is given must hold.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// Where an earlier answer ended.
    #[param(value_type = Option<schema::EventCursor>)]
    cursor: Option<String>,
    /// Where to begin without a cursor: with what happens from now on, with the oldest event that is
    /// kept, or with the latest ones; `now` when absent.
    #[param(value_type = Option<schema::EventsFrom>)]
    from: Option<EventsFrom>,
    /// What happened, one of these: `event=completed&event=failed`, or `event=completed,failed`.
    #[param(value_type = Option<Vec<schema::EventName>>)]
    event: Option<String>,
    /// To executions in this lane.
    #[param(value_type = Option<Name>)]
    lane: Option<Lane>,
    /// To executions of this kind.
    #[param(value_type = Option<Name>)]
    kind: Option<Kind>,
    /// To this execution.
    #[param(value_type = Option<Id>)]
    execution: Option<ExecutionId>,
    /// To executions with these tags: `key=value`, several separated by commas; `\\` before a comma in
    /// a value.
    tags: Option<String>,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
    /// How long to wait for the first one; 0 when absent. A server that stops answers sooner.
    #[serde(default)]
    #[param(maximum = 30000)]
    wait_ms: u64,
}

impl Repeatable for EventsQuery {
    const NAME: &'static str = "event";
}

impl EventsQuery {
    fn request(self) -> Result<EventsRequest, Refusal> {
        let tags = self.tags.as_deref().map(read_tags).transpose()?;
        let names = self.event.as_deref().map(names).transpose()?;
        let from = match (self.cursor, self.from) {
            (Some(cursor), _) => StartAt::After(cursor.parse::<Cursor>()?),
            (None, Some(EventsFrom::Oldest)) => StartAt::Oldest,
            (None, Some(EventsFrom::Latest)) => StartAt::Latest,
            (None, _) => StartAt::Now,
        };
        Ok(EventsRequest {
            namespace: self.namespace,
            from,
            filter: EventFilter {
                names: names.unwrap_or_default(),
                lane: self.lane,
                kind: self.kind,
                execution: self.execution,
                tags: tags.unwrap_or_default(),
            },
            limit: self.limit,
            wait: Millis::new(self.wait_ms).within("wait_ms", Millis::ZERO, EVENTS_WAIT_MAX)?,
        })
    }
}

/// The events that `text` names, separated by commas.
fn names(text: &str) -> Result<BTreeSet<EventName>, Refusal> {
    let name = |word: &str| {
        EventName::parse(word).ok_or_else(|| {
            let all: Vec<_> = EventName::ALL.iter().map(|name| name.as_str()).collect();
            Refusal::invalid("event", format!("has {word:?}; give some of {}", all.join(", ")))
        })
    };
    text.split(',').map(name).collect()
}

/// What happened after a cursor, at once or as soon as something does, or with `Accept:
/// text/event-stream` all of it as it happens. Nothing is skipped; an event may come again, with the same
/// id. The id of a server-sent event is the cursor behind it, which a client sends as `Last-Event-ID`. The
/// first call switches the feed of the namespace on.
#[utoipa::path(get, path = "/v1/events", tag = "events", operation_id = "read_events",
    params(EventsQuery), responses(
    (status = 200, description = "Events, and where to continue.",
     content((EventsView = "application/json"), (String = "text/event-stream"))),
    Problems
))]
pub(crate) async fn events(
    State(state): State<AppState>,
    Repeated(query): Repeated<EventsQuery>,
    waiting: Waiting,
    shown: Shown,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let mut request = query.request()?;
    if !wants_events(&headers) {
        let page = page(&state, &waiting, request).await?;
        return Ok(JsonBody(EventsView::from(&page)).into_response());
    }
    if let Some(last) = headers.get("last-event-id") {
        let cursor = last.to_str().unwrap_or_default().parse::<Cursor>()?;
        request.from = StartAt::After(cursor);
    }
    let permit = waiting.begin(&state.waiting_clients, "clients")?;
    // What is refused is answered as such, before the events begin.
    request.wait = Millis::ZERO;
    let first = state.backend.events(request.clone()).await?;
    let backend = state.backend.clone();
    Ok(sse::answer(&state, shown, async move |sender| {
        let _permit = permit;
        send(backend, request, first, sender).await;
    }))
}

/// Sends events as they happen. A client that reads slowly holds up nothing but itself: what it has not
/// read stays in the log.
async fn send(
    backend: Arc<dyn EngineBackend>,
    mut request: EventsRequest,
    mut page: EventsPage,
    mut sender: Sender,
) {
    request.wait = Millis::new(sse::WAIT.as_millis() as u64);
    let mut marked = None;
    loop {
        let cursor = page.cursor.to_string();
        let mut events: Vec<_> = page.events.iter().map(event).collect();
        if let Some(last) = events.last_mut() {
            last.id = Some(cursor.clone());
        }
        let goes_on = match events.is_empty() {
            true if marked.as_ref() == Some(&cursor) => sender.rest().await,
            true => sender.mark(&cursor).await,
            false => sender.send(&events).await,
        };
        if !goes_on {
            return;
        }
        marked = Some(cursor);
        request.from = StartAt::After(page.cursor);
        page = match backend.events(request.clone()).await {
            Ok(page) => page,
            Err(error) => {
                sender.send(&[failed(&error)]).await;
                return;
            }
        };
    }
}

fn event(event: &ff_core::event::Event) -> Event<'static> {
    let data = serde_json::to_string(&EventView::from(event)).unwrap_or_default();
    Event { kind: None, id: None, data }
}

/// Events, as far as the server may wait for them.
async fn page(
    state: &AppState,
    waiting: &Waiting,
    mut request: EventsRequest,
) -> Result<EventsPage, ApiError> {
    request.wait = request.wait.min(state.config.longest_wait);
    if request.wait == Millis::ZERO {
        return Ok(state.backend.events(request).await?);
    }
    let _permit = waiting.begin(&state.waiting_clients, "clients")?;
    let events = state.backend.events(request.clone());
    match state.stopping.run_until_cancelled(events).await {
        Some(page) => Ok(page?),
        None => Ok(state.backend.events(EventsRequest { wait: Millis::ZERO, ..request }).await?),
    }
}

/// Whether the events of a namespace are logged, and for how long.
#[utoipa::path(get, path = "/v1/feed", tag = "events", operation_id = "get_feed",
    params(NamespaceQuery), responses(
    (status = 200, description = "The feed.", body = FeedView),
    Problems
))]
pub(crate) async fn feed(
    State(state): State<AppState>,
    Params(NamespaceQuery { namespace }): Params<NamespaceQuery>,
) -> Result<JsonBody<FeedView>, ApiError> {
    Ok(JsonBody(FeedView::from(&state.backend.feed(&namespace).await?)))
}

/// Switches the feed of a namespace, or changes for how long its events are kept. Once this is answered,
/// it applies to everything that happens.
#[utoipa::path(patch, path = "/v1/feed", tag = "events", operation_id = "update_feed",
    params(NamespaceQuery), request_body = FeedRequest, responses(
    (status = 200, description = "What holds now.", body = FeedView),
    Problems
))]
pub(crate) async fn update_feed(
    State(state): State<AppState>,
    Params(NamespaceQuery { namespace }): Params<NamespaceQuery>,
    Json(request): Json<FeedRequest, SMALL>,
) -> Result<JsonBody<FeedView>, ApiError> {
    let feed = state.backend.set_feed(request.update(namespace)).await;
    Ok(JsonBody(FeedView::from(&feed.inspect_err(metrics::refused)?)))
}
