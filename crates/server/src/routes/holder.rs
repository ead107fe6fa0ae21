//! Calls of the holder of a lease.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use ff_api::http::schema::Id;
use ff_api::http::{
    CancelHeldRequest, CompleteRequest, DelayRequest, ExitView, FailRequest, ProgressRequest,
    UsageRequest, UsedView,
};
use ff_core::machine::Target;
use ff_core::record::Exited;
use ff_core::{ExecutionId, Refusal};
use ff_store::StoreError;

use super::Problems;
use crate::body::{Json, PAYLOAD, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{ExecutionPath, NamespaceQuery};
use crate::state::AppState;

/// Ends the execution with a result.
#[utoipa::path(post, path = "/v1/executions/{id}/complete", tag = "holder",
    operation_id = "complete_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = CompleteRequest, responses(
    (status = 200, description = "The lease has ended.", body = ExitView),
    Problems
))]
pub(crate) async fn complete(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<CompleteRequest, PAYLOAD>,
) -> Result<JsonBody<ExitView>, ApiError> {
    same(&target, request.execution)?;
    let answers = state.backend.complete(vec![request.command(target)?]).await?;
    let missing = || StoreError::Corrupt("a command was not answered".into());
    exit(answers.into_iter().next().unwrap_or_else(|| Err(missing())))
}

/// Ends the attempt by a failure; the retry policy decides what follows.
#[utoipa::path(post, path = "/v1/executions/{id}/fail", tag = "holder",
    operation_id = "fail_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = FailRequest, responses(
    (status = 200, description = "The lease has ended.", body = ExitView),
    Problems
))]
pub(crate) async fn fail(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<FailRequest, SMALL>,
) -> Result<JsonBody<ExitView>, ApiError> {
    exit(state.backend.fail(request.command(target)?).await)
}

/// Delays the execution; the same attempt continues then.
#[utoipa::path(post, path = "/v1/executions/{id}/delay", tag = "holder",
    operation_id = "delay_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = DelayRequest, responses(
    (status = 200, description = "The lease has ended.", body = ExitView),
    Problems
))]
pub(crate) async fn delay(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<DelayRequest, SMALL>,
) -> Result<JsonBody<ExitView>, ApiError> {
    exit(state.backend.delay(request.command(target)?).await)
}

/// Cancels the held execution.
#[utoipa::path(post, path = "/v1/executions/{id}/cancel-held", tag = "holder",
    operation_id = "cancel_held_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = CancelHeldRequest, responses(
    (status = 200, description = "The lease has ended.", body = ExitView),
    Problems
))]
pub(crate) async fn cancel_held(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<CancelHeldRequest, SMALL>,
) -> Result<JsonBody<ExitView>, ApiError> {
    exit(state.backend.cancel_held(request.command(target)?).await)
}

/// Reports how far the work is. It does not renew the lease.
#[utoipa::path(post, path = "/v1/executions/{id}/progress", tag = "holder",
    operation_id = "report_progress",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = ProgressRequest, responses(
    (status = 204, description = "Noted."),
    Problems
))]
pub(crate) async fn progress(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<ProgressRequest, SMALL>,
) -> Result<StatusCode, ApiError> {
    let report = request.command(target)?;
    state.backend.progress(report).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Adds to what the execution has used, or takes back from it. A report of usage is never refused
/// because it exceeds a limit.
#[utoipa::path(post, path = "/v1/executions/{id}/usage", tag = "holder",
    operation_id = "report_usage",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = UsageRequest, responses(
    (status = 200, description = "All that it has used.", body = UsedView),
    Problems
))]
pub(crate) async fn usage(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<UsageRequest, SMALL>,
) -> Result<JsonBody<UsedView>, ApiError> {
    let report = request.command(target)?;
    let used = state.backend.report_usage(report).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(UsedView { used }))
}

fn exit(answer: Result<Exited, StoreError>) -> Result<JsonBody<ExitView>, ApiError> {
    Ok(JsonBody(ExitView::from(answer.inspect_err(metrics::refused)?)))
}

/// Refuses a body that names another execution than the path.
fn same(target: &Target, body: Option<ExecutionId>) -> Result<(), Refusal> {
    match body.is_none_or(|id| id == target.execution) {
        true => Ok(()),
        false => Err(Refusal::invalid("execution", "is not the one in the path; leave it out")),
    }
}
