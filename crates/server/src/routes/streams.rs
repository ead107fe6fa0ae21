//! What executions stream, and their summaries.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use ff_api::http::schema::{Id, Name};
use ff_api::http::{FramesRequest, NextView, SummaryRequest};
use ff_api::{FrameView, FramesView, SummaryView};
use ff_core::bounds::END_WAIT_MAX;
use ff_core::machine::Target;
use ff_core::{Millis, Namespace, Refusal};
use ff_store::tails::{Follow, FramePage};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;

use super::Problems;
use crate::auth::Shown;
use crate::body::{Json, PAYLOAD};
use crate::error::ApiError;
use crate::flight::Waiting;
use crate::metrics;
use crate::params::{ExecutionPath, NamespaceQuery, Params, PathText, default_page_size};
use crate::sse::{self, Event, Sender, failed, wants_events};
use crate::state::AppState;

/// Adds frames to the stream of an execution. With the number of the first one, a request can be
/// repeated: what is there already is not added again.
#[utoipa::path(post, path = "/v1/executions/{id}/frames", tag = "holder",
    operation_id = "append_frames",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = FramesRequest, responses(
    (status = 200, description = "The number that the next frame gets.", body = NextView),
    Problems
))]
pub(crate) async fn append_frames(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<FramesRequest, PAYLOAD>,
) -> Result<JsonBody<NextView>, ApiError> {
    let append = request.command(target)?;
    let appended = state.backend.append_frames(append).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(NextView { next: appended.next }))
}

/// Changes the summary of an execution by a JSON Merge Patch.
#[utoipa::path(post, path = "/v1/executions/{id}/summary", tag = "holder",
    operation_id = "patch_summary",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = SummaryRequest, responses(
    (status = 200, description = "The number of the next patch.", body = NextView),
    Problems
))]
pub(crate) async fn patch_summary(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<SummaryRequest, PAYLOAD>,
) -> Result<JsonBody<NextView>, ApiError> {
    let patch = request.command(target)?;
    let patched = state.backend.patch_summary(patch).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(NextView { next: patched.next }))
}

/// The summary of an execution.
#[utoipa::path(get, path = "/v1/executions/{id}/summary", tag = "executions",
    operation_id = "get_summary",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery), responses(
    (status = 200, description = "The document, and how many patches have made it.",
     body = SummaryView),
    Problems
))]
pub(crate) async fn summary(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
) -> Result<JsonBody<SummaryView>, ApiError> {
    Ok(JsonBody(SummaryView::from(state.backend.summary(&target).await?)))
}

/// Which frames.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// The number of the first frame; 0 when absent. A client of events that reconnects says it by
    /// `Last-Event-ID` instead.
    #[serde(default)]
    #[param(value_type = Option<u64>)]
    from: u64,
    /// How many at most, when they are not events; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
    /// How long to wait for a frame or the end, when there is none; 0 when absent. A server that stops
    /// answers sooner.
    #[serde(default)]
    #[param(maximum = 30000)]
    wait_ms: u64,
}

/// What an execution streams: a page of frames, at once or when there are some, or with
/// `Accept: text/event-stream` all of them as events while they come. The data of an event is a frame and
/// its id the frame's number. Other events are `trimmed` (earlier frames are not kept; `first` is the
/// first that is), `end` (the execution has ended in `state`, and there are no more) and `cut` (the client
/// was too slow; it can resume at `next`).
#[utoipa::path(get, path = "/v1/executions/{id}/stream", tag = "executions",
    operation_id = "read_stream",
    params(("id" = Id, Path, description = "The execution."), StreamQuery), responses(
    (status = 200, description = "The frames.",
     content((FramesView = "application/json"), (String = "text/event-stream"))),
    Problems
))]
pub(crate) async fn stream(
    State(state): State<AppState>,
    PathText(id): PathText,
    Params(query): Params<StreamQuery>,
    waiting: Waiting,
    shown: Shown,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let StreamQuery { namespace, from, limit, wait_ms } = query;
    let target = Target { namespace, execution: id.parse()? };
    if wants_events(&headers) {
        let from = last_event(&headers)?.map_or(from, |last| last.saturating_add(1));
        let permit = waiting.begin(&state.waiting_clients, "clients")?;
        // What does not exist is answered as such, before the events begin.
        state.backend.describe(&target).await?;
        let viewer = state.backend.follow(&target, from).await?;
        return Ok(sse::answer(&state, shown, async move |sender| {
            let _permit = permit;
            send(viewer, sender).await;
        }));
    }
    let wait = Millis::new(wait_ms).within("wait_ms", Millis::ZERO, END_WAIT_MAX)?;
    let page = match wait.min(state.config.longest_wait) {
        Millis::ZERO => state.backend.frames(&target, from, limit).await?,
        wait => {
            let _permit = waiting.begin(&state.waiting_clients, "clients")?;
            let mut viewer = state.backend.follow(&target, from).await?;
            match state.stopping.run_until_cancelled(viewer.next(wait)).await {
                Some(page) => page?,
                None => state.backend.frames(&target, from, limit).await?,
            }
        }
    };
    Ok(JsonBody(FramesView::from(&page)).into_response())
}

/// The number of the last frame that the client got.
pub(crate) fn last_event(headers: &HeaderMap) -> Result<Option<u64>, Refusal> {
    let Some(last) = headers.get("last-event-id") else { return Ok(None) };
    let number = last.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = number.and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| Refusal::invalid("last-event-id", "is no number of a frame"))
}

/// Sends frames as they come, until the stream ends.
pub(crate) async fn send(mut viewer: Box<dyn Follow>, mut sender: Sender) {
    let wait = Millis::new(sse::WAIT.as_millis() as u64);
    loop {
        let goes_on = match viewer.next(wait).await {
            Ok(page) => {
                let events = events(&page);
                let is_over = page.end.is_some() || page.cut;
                match events.is_empty() {
                    true => sender.rest().await,
                    false => sender.send(&events).await && !is_over,
                }
            }
            Err(error) => {
                sender.send(&[failed(&error)]).await;
                false
            }
        };
        if !goes_on {
            return;
        }
    }
}

/// The events of a page.
fn events(page: &FramePage) -> Vec<Event<'static>> {
    let special = |kind, data: serde_json::Value| Event {
        kind: Some(kind),
        id: None,
        data: data.to_string(),
    };
    let trimmed = page.trimmed.map(|first| special("trimmed", json!({ "first": first })));
    let frames = page.frames.iter().map(|frame| Event {
        kind: None,
        id: Some(frame.number.to_string()),
        data: serde_json::to_string(&FrameView::from(frame)).unwrap_or_default(),
    });
    let next = page.next;
    let end =
        page.end.map(|state| special("end", json!({ "state": state.as_str(), "next": next })));
    let cut = page.cut.then(|| special("cut", json!({ "next": next })));
    trimmed.into_iter().chain(frames).chain(end).chain(cut).collect()
}
