//! Submit flows, read and cancel them.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use ff_api::http::schema::{Bytes, Id, Name};
use ff_api::http::{
    CancelFlowRequest, FlowRequest, ReplayFlowRequest, SpawnRequest, SpawnedView,
    WaitChildrenRequest, WaitedView,
};
use ff_api::{FlowCancelledView, FlowSubmittedView, FlowView, ListPageView, ReplayedView};
use ff_core::bounds::FLOW_SLICE;
use ff_core::machine::Target;
use ff_core::{Namespace, Refusal};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use super::executions::{ListQuery, bytes};
use crate::auth::Acting;
use crate::body::{Json, PAYLOAD, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{ExecutionPath, NamespaceQuery, Params, PathText, Repeated, UpstreamPath};
use crate::state::AppState;

/// Most bytes of a body that carries a graph.
const GRAPH: usize = 4 * PAYLOAD;

/// Accepts a graph of executions as a whole.
#[utoipa::path(post, path = "/v1/flows", tag = "flows",
    operation_id = "submit_flow", params(NamespaceQuery),
    request_body = FlowRequest, responses(
    (status = 201, description = "Accepted.", body = FlowSubmittedView,
     headers(("location" = String, description = "The path of the flow."))),
    (status = 200, description = "An earlier call with the same id or key made it.", body = FlowSubmittedView),
    Problems
))]
pub(crate) async fn submit_flow(
    State(state): State<AppState>,
    Params(scope): Params<NamespaceQuery>,
    Json(request): Json<FlowRequest, GRAPH>,
) -> Result<Response, ApiError> {
    let namespace = scope.namespace;
    let (backend, tenant) = (state.backend.clone(), namespace.clone());
    let flow = request.into_flow(namespace.clone(), move |key| backend.new_id(&tenant, key))?;
    let submitted = state.backend.submit_flow(flow).await.inspect_err(metrics::refused)?;
    let body = JsonBody(FlowSubmittedView::from(&submitted));
    if !submitted.created {
        return Ok(body.into_response());
    }
    let path = format!("/v1/flows/{}?namespace={namespace}", submitted.flow);
    Ok((StatusCode::CREATED, [(header::LOCATION, path)], body).into_response())
}

/// Which members.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct MembersQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// Where an earlier page ended; the first member when absent.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^[0-9]{1,9}$")]
    cursor: u32,
    /// How many members at most; 100 when absent.
    #[serde(default = "page")]
    #[param(minimum = 1, maximum = 100)]
    limit: usize,
}

fn page() -> usize {
    FLOW_SLICE
}

/// A flow with its members, in the order of their numbers.
#[utoipa::path(get, path = "/v1/flows/{id}", tag = "flows", operation_id = "get_flow",
    params(("id" = Id, Path, description = "The flow."), MembersQuery), responses(
    (status = 200, description = "The flow and one page of its members.", body = FlowView),
    Problems
))]
pub(crate) async fn flow(
    State(state): State<AppState>,
    PathText(id): PathText,
    Params(query): Params<MembersQuery>,
) -> Result<JsonBody<FlowView>, ApiError> {
    if !(1..=FLOW_SLICE).contains(&query.limit) {
        let why = format!("is {}; give 1 to {FLOW_SLICE}", query.limit);
        return Err(Refusal::invalid("limit", why).into());
    }
    let target = Target { namespace: query.namespace, execution: id.parse()? };
    let page = state.backend.flow(&target, query.cursor, query.limit).await?;
    Ok(JsonBody(FlowView::from(&page)))
}

/// Flows, newest first. A page may be short, or empty, and still have a `next`.
#[utoipa::path(get, path = "/v1/flows", tag = "flows",
    operation_id = "list_flows", params(ListQuery), responses(
    (status = 200, description = "One page.", body = ListPageView),
    Problems
))]
pub(crate) async fn list_flows(
    State(state): State<AppState>,
    Repeated(query): Repeated<ListQuery>,
) -> Result<JsonBody<ListPageView>, ApiError> {
    let mut listing = query.listing()?;
    listing.filter.flows = true;
    let page = state.backend.list(&listing).await?;
    Ok(JsonBody(ListPageView::from(&page)))
}

/// Cancels a flow: from the answer on, none of its members is claimed. Says which have not ended.
#[utoipa::path(post, path = "/v1/flows/{id}/cancel", tag = "flows",
    operation_id = "cancel_flow",
    params(("id" = Id, Path, description = "The flow."), NamespaceQuery),
    request_body = CancelFlowRequest, responses(
    (status = 200, description = "Cancelled, or about to be.", body = FlowCancelledView),
    Problems
))]
pub(crate) async fn cancel_flow(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<CancelFlowRequest, SMALL>,
) -> Result<JsonBody<FlowCancelledView>, ApiError> {
    let id = target.execution;
    let cancel = request.command(target)?;
    let cancelled = backend.cancel_flow(cancel).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(FlowCancelledView::new(id, &cancelled)))
}

/// Runs again what did not complete of a flow that has ended; what has completed keeps its result.
#[utoipa::path(post, path = "/v1/flows/{id}/replay", tag = "flows",
    operation_id = "replay_flow",
    params(("id" = Id, Path, description = "The flow."), NamespaceQuery),
    request_body = ReplayFlowRequest, responses(
    (status = 200, description = "A new run.", body = ReplayedView),
    Problems
))]
pub(crate) async fn replay_flow(
    Acting(backend): Acting,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<ReplayFlowRequest, SMALL>,
) -> Result<JsonBody<ReplayedView>, ApiError> {
    let id = target.execution;
    let run = backend.replay_flow(&target, request.run).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(ReplayedView { id, run }))
}

/// Adds children to an execution, for its holder: they run at once, beside it.
#[utoipa::path(post, path = "/v1/executions/{id}/children", tag = "holder",
    operation_id = "spawn_children",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = SpawnRequest, responses(
    (status = 200, description = "The children, made or found.", body = SpawnedView),
    Problems
))]
pub(crate) async fn spawn(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<SpawnRequest, GRAPH>,
) -> Result<JsonBody<SpawnedView>, ApiError> {
    let (hold, children) = request.children(target)?;
    let spawned = state.backend.spawn(hold, children).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(spawned.into()))
}

/// Parks an execution until children of it have ended.
#[utoipa::path(post, path = "/v1/executions/{id}/wait-children", tag = "holder",
    operation_id = "wait_children",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = WaitChildrenRequest, responses(
    (status = 200, description = "The lease has ended, or enough have ended already.",
     body = WaitedView),
    Problems
))]
pub(crate) async fn wait_children(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<WaitChildrenRequest, SMALL>,
) -> Result<JsonBody<WaitedView>, ApiError> {
    let wait = request.command(target)?;
    let exit = state.backend.wait_children(wait).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(WaitedView { exit: exit.map(Into::into) }))
}

/// What a node that a member of a flow depends on, or a child, completed with, byte for byte.
#[utoipa::path(get, path = "/v1/executions/{id}/upstreams/{node}", tag = "flows",
    operation_id = "get_upstream_result",
    params(
        ("id" = Id, Path, description = "The member."),
        ("node" = Name, Path, description = "The name of the node that it depends on."),
        NamespaceQuery
    ), responses(
    (status = 200, description = "The bytes, with their own content type.",
     content((Bytes = "application/octet-stream"), (Bytes = "*/*"))),
    Problems
))]
pub(crate) async fn upstream(
    State(state): State<AppState>,
    UpstreamPath { target, node }: UpstreamPath,
) -> Result<Response, ApiError> {
    Ok(bytes(state.backend.upstream(&target, &node).await?))
}
