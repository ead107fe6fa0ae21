//! What an execution streams, live: the events of the API's own route, for who is logged in.

use axum::extract::{Path, Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use ff_core::Refusal;
use ff_core::machine::Target;

use super::visitor::Visitor;
use crate::access::namespace;
use crate::error::ApiError;
use crate::flight::Waiting;
use crate::routes::streams::{last_event, send};
use crate::sse;
use crate::state::AppState;
use crate::urlencoded::Fields;

/// Follows the stream of an execution from the number that the query names.
pub(super) async fn follow(
    State(state): State<AppState>,
    Path(id): Path<String>,
    waiting: Waiting,
    request: Request,
) -> Result<Response, ApiError> {
    let (parts, _) = request.into_parts();
    let Some(visitor) = Visitor::of(&state, &parts.headers).await? else {
        return Err(ApiError::http(StatusCode::UNAUTHORIZED, "unauthenticated", "log in first"));
    };
    visitor.check(&state, &Method::GET, "/v1/executions/{id}/stream", &parts.uri)?;
    let target = Target { namespace: namespace(&parts.uri)?, execution: id.parse()? };
    let fields =
        Fields::parse(parts.uri.query().unwrap_or_default().as_bytes()).unwrap_or_default();
    let from = fields.get("from").unwrap_or("0").parse();
    let from: u64 = from.map_err(|_| Refusal::invalid("from", "is no number of a frame"))?;
    let from = last_event(&parts.headers)?.map_or(from, |last| last.saturating_add(1));
    let permit = waiting.begin(&state.waiting_clients, "clients")?;
    // What does not exist is answered as such, before the events begin.
    state.backend.describe(&target).await?;
    let viewer = state.backend.follow(&target, from).await?;
    let answer = sse::answer(&state, visitor.shown(), async move |sender| {
        let _permit = permit;
        send(viewer, sender).await;
    });
    Ok(answer.into_response())
}
