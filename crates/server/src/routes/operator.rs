//! Control work from outside.

use axum::Json as JsonBody;
use axum::http::StatusCode;
use ff_api::http::schema::Id;
use ff_api::http::{CancelRequest, PriorityRequest, ReplayRequest, RevokeRequest, TagsRequest};
use ff_api::{CancelledView, ReplayedView, RevokedView};
use ff_core::Millis;
use ff_core::machine::{Cancel, Revoke, SetPriority, SetTags};

use super::Problems;
use crate::auth::Acting;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{ExecutionPath, NamespaceQuery};

/// Cancels: at once, or after a grace period for the holder.
#[utoipa::path(post, path = "/v1/executions/{id}/cancel", tag = "operator",
    operation_id = "cancel_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = CancelRequest, responses(
    (status = 200, description = "Cancelled, or about to be.", body = CancelledView),
    Problems
))]
pub(crate) async fn cancel(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<CancelRequest, SMALL>,
) -> Result<JsonBody<CancelledView>, ApiError> {
    let id = target.execution;
    let grace = request.grace_ms.map(Millis::new);
    let cancel = Cancel { target, grace, reason: request.reason.map(Into::into) };
    let cancelled = backend.cancel(cancel).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(CancelledView::new(id, cancelled)))
}

/// Runs an ended execution again.
#[utoipa::path(post, path = "/v1/executions/{id}/replay", tag = "operator",
    operation_id = "replay_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = ReplayRequest, responses(
    (status = 200, description = "A new run.", body = ReplayedView),
    Problems
))]
pub(crate) async fn replay(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<ReplayRequest, SMALL>,
) -> Result<JsonBody<ReplayedView>, ApiError> {
    let id = target.execution;
    let replay = request.command(target)?;
    let run = backend.replay(replay).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(ReplayedView { id, run }))
}

/// Changes the priority.
#[utoipa::path(post, path = "/v1/executions/{id}/priority", tag = "operator",
    operation_id = "set_execution_priority",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = PriorityRequest, responses(
    (status = 204, description = "Changed."),
    Problems
))]
pub(crate) async fn priority(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<PriorityRequest, SMALL>,
) -> Result<StatusCode, ApiError> {
    let set = SetPriority { target, priority: request.priority };
    backend.set_priority(set).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Changes tags.
#[utoipa::path(post, path = "/v1/executions/{id}/tags", tag = "operator",
    operation_id = "set_execution_tags",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = TagsRequest, responses(
    (status = 204, description = "Changed."),
    Problems
))]
pub(crate) async fn tags(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<TagsRequest, SMALL>,
) -> Result<StatusCode, ApiError> {
    let set = SetTags { target, set: request.set, remove: request.remove };
    backend.set_tags(set).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revokes a lease.
#[utoipa::path(post, path = "/v1/executions/{id}/revoke", tag = "operator",
    operation_id = "revoke_lease",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = RevokeRequest, responses(
    (status = 200, description = "Revoked.", body = RevokedView),
    Problems
))]
pub(crate) async fn revoke(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<RevokeRequest, SMALL>,
) -> Result<JsonBody<RevokedView>, ApiError> {
    let (id, lease) = (target.execution, request.lease.parse()?);
    let revoke = Revoke { target, lease };
    let exited = backend.revoke(revoke).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(RevokedView::new(id, lease, exited)))
}
