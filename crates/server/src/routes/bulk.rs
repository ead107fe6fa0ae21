//! Remove executions, and act on many at once.

use axum::Json as JsonBody;
use axum::http::StatusCode;
use ff_api::BulkView;
use ff_api::http::BulkRequest;
use ff_api::http::schema::Id;
use ff_core::machine::Delete;

use super::Problems;
use crate::auth::Acting;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{ExecutionPath, NamespaceQuery, Params};

/// Removes a finished execution before its retention is over, with its payloads and attempts.
#[utoipa::path(delete, path = "/v1/executions/{id}", tag = "operator",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery), responses(
    (status = 204, description = "Removed."),
    Problems
))]
pub(crate) async fn delete_execution(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
) -> Result<StatusCode, ApiError> {
    backend.delete(Delete { target }).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Cancels, replays or removes the executions of one slice of a listing, newest first; repeat it with
/// `next` until that is null. Executions that refuse are counted, and the first ten are named.
#[utoipa::path(post, path = "/v1/executions/bulk", tag = "operator",
    params(NamespaceQuery), request_body = BulkRequest, responses(
    (status = 200, description = "What was done.", body = BulkView),
    Problems
))]
pub(crate) async fn bulk_executions(
    Acting(backend): Acting,
    Params(scope): Params<NamespaceQuery>,
    Json(request): Json<BulkRequest, SMALL>,
) -> Result<JsonBody<BulkView>, ApiError> {
    let bulk = request.bulk(scope.namespace)?;
    let slice = backend.bulk(&bulk).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(BulkView::from(&slice)))
}
