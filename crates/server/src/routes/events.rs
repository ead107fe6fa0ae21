//! Follow what happens in a namespace; switch its feed.

use std::collections::BTreeSet;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use ff_api::http::schema::{self, Id, Name};
use ff_api::http::{EventsFrom, FeedRequest, read_tags};
use ff_api::{EventsView, FeedView};
use ff_core::bounds::EVENTS_WAIT_MAX;
use ff_core::event::EventName;
use ff_core::{ExecutionId, Kind, Lane, Millis, Namespace, Refusal};
use ff_store::events::{Cursor, EventFilter, EventsPage, EventsRequest, StartAt};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{NamespaceQuery, Params, Repeatable, Repeated, default_page_size};
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
    #[param(max_length = 8192)]
    cursor: Option<String>,
    /// Where to begin without a cursor: with what happens from now on, or with the oldest event that is
    /// kept; `now` when absent.
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

/// What happened after a cursor, at once or as soon as something does. Nothing is skipped; an event may
/// come again, with the same id. The first call switches the feed of the namespace on.
#[utoipa::path(get, path = "/v1/events", tag = "events", operation_id = "list_events",
    params(EventsQuery), responses(
    (status = 200, description = "Events, and where to continue.", body = EventsView),
    Problems
))]
pub(crate) async fn events(
    State(state): State<AppState>,
    Repeated(query): Repeated<EventsQuery>,
) -> Result<JsonBody<EventsView>, ApiError> {
    let request = query.request()?;
    Ok(JsonBody(EventsView::from(&page(&state, request).await?)))
}

/// Events, as far as the server may wait for them.
async fn page(state: &AppState, mut request: EventsRequest) -> Result<EventsPage, ApiError> {
    request.wait = request.wait.min(state.config.longest_wait);
    if request.wait == Millis::ZERO {
        return Ok(state.backend.events(request).await?);
    }
    let _permit = state.waiting_clients.try_acquire().map_err(|_| {
        let detail = "too many clients are waiting; try again after a pause";
        ApiError::http(StatusCode::TOO_MANY_REQUESTS, "overloaded", detail)
    })?;
    let waiting = state.backend.events(request.clone());
    match state.stopping.run_until_cancelled(waiting).await {
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
