//! Park an execution and wake it.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use ff_api::http::schema::{Id, Name};
use ff_api::http::{
    CloseWaitpointRequest, OpenWaitpointRequest, OpenedView, ResumeRequest, SignalRequest,
    SuspendRequest, SuspendedView,
};
use ff_api::{ResumedView, SignalledView, SignalsView, WaitpointView, WaitpointsView};
use ff_core::Namespace;
use ff_core::machine::{Resume, Target};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::auth::{Acting, By};
use crate::body::{Json, PAYLOAD, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{
    ExecutionPath, NamespaceQuery, Params, PathText, WaitpointPath, default_page_size,
};
use crate::state::AppState;

/// Opens a waitpoint before anything waits for it.
#[utoipa::path(post, path = "/v1/executions/{id}/waitpoints", tag = "holder",
    operation_id = "open_waitpoint",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = OpenWaitpointRequest, responses(
    (status = 200, description = "The waitpoint that is open, and a token for it.", body = OpenedView),
    Problems
))]
pub(crate) async fn open_waitpoint(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<OpenWaitpointRequest, SMALL>,
) -> Result<JsonBody<OpenedView>, ApiError> {
    let open = request.command(target)?;
    let opened = state.backend.open_waitpoint(open).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(OpenedView::from(&opened)))
}

/// Closes a waitpoint for ever.
#[utoipa::path(post, path = "/v1/executions/{id}/waitpoints/{key}/close", tag = "holder",
    operation_id = "close_waitpoint",
    params(
        ("id" = Id, Path, description = "The execution."),
        ("key" = Name, Path, description = "The key of the waitpoint."),
        NamespaceQuery
    ),
    request_body = CloseWaitpointRequest, responses(
    (status = 204, description = "It is closed."),
    Problems
))]
pub(crate) async fn close_waitpoint(
    State(state): State<AppState>,
    WaitpointPath { target, key }: WaitpointPath,
    Json(request): Json<CloseWaitpointRequest, SMALL>,
) -> Result<StatusCode, ApiError> {
    let close = request.command(target, key)?;
    state.backend.close_waitpoint(close).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Parks the execution until signals have come or its time is over.
#[utoipa::path(post, path = "/v1/executions/{id}/suspend", tag = "holder",
    operation_id = "suspend_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = SuspendRequest, responses(
    (status = 200, description = "The lease has ended, or the condition is satisfied already.",
     body = SuspendedView),
    Problems
))]
pub(crate) async fn suspend(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<SuspendRequest, SMALL>,
) -> Result<JsonBody<SuspendedView>, ApiError> {
    let suspend = request.command(target)?;
    let parked = state.backend.suspend(suspend).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(SuspendedView::from(&parked)))
}

/// Delivers a signal of an authorised caller.
#[utoipa::path(post, path = "/v1/executions/{id}/signals", tag = "operator",
    operation_id = "signal_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = SignalRequest, responses(
    (status = 200, description = "What the signal did.", body = SignalledView),
    Problems
))]
pub(crate) async fn signal(
    State(state): State<AppState>,
    By(by): By,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<SignalRequest, PAYLOAD>,
) -> Result<JsonBody<SignalledView>, ApiError> {
    let id = target.execution;
    let signal = request.command(target, by.into())?;
    let signalled = state.backend.signal(signal).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(SignalledView::new(id, signalled)))
}

/// Ends a suspension without its condition.
#[utoipa::path(post, path = "/v1/executions/{id}/resume", tag = "operator",
    operation_id = "resume_execution",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = ResumeRequest, responses(
    (status = 200, description = "Whether it was suspended.", body = ResumedView),
    Problems
))]
pub(crate) async fn resume(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
    Json(ResumeRequest {}): Json<ResumeRequest, SMALL>,
) -> Result<JsonBody<ResumedView>, ApiError> {
    let id = target.execution;
    let resume = Resume { target };
    let resumed = backend.resume(resume).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(ResumedView { id, resumed }))
}

/// The open waitpoints of an execution.
#[utoipa::path(get, path = "/v1/executions/{id}/waitpoints", tag = "executions",
    operation_id = "get_waitpoints",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery), responses(
    (status = 200, description = "The open waitpoints.", body = WaitpointsView),
    Problems
))]
pub(crate) async fn waitpoints(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
) -> Result<JsonBody<WaitpointsView>, ApiError> {
    let found = state.backend.waitpoints(&target).await?;
    let waitpoints = found.iter().map(WaitpointView::from).collect();
    Ok(JsonBody(WaitpointsView { id: target.execution, waitpoints }))
}

/// Which page of the signals of an execution.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SignalsQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// Where an earlier page ended; the first signal when absent.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^[0-9]{1,9}$")]
    cursor: u64,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

/// The signals that an execution has received, oldest first. A page may be short and still have a `next`.
#[utoipa::path(get, path = "/v1/executions/{id}/signals", tag = "executions",
    operation_id = "list_signals",
    params(("id" = Id, Path, description = "The execution."), SignalsQuery), responses(
    (status = 200, description = "One page.", body = SignalsView),
    Problems
))]
pub(crate) async fn signals(
    State(state): State<AppState>,
    PathText(id): PathText,
    Params(query): Params<SignalsQuery>,
) -> Result<JsonBody<SignalsView>, ApiError> {
    let target = Target { namespace: query.namespace, execution: id.parse()? };
    let signals = state.backend.signals(&target, query.cursor, query.limit).await?;
    Ok(JsonBody(SignalsView::new(target.execution, &signals)))
}
