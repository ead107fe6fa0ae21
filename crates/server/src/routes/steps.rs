//! The journal of an execution.

use axum::Json as JsonBody;
use axum::extract::State;
use ff_api::StepsView;
use ff_api::http::schema::{Id, Name};
use ff_api::http::{RecordedStepView, StepRequest};
use ff_core::Namespace;
use ff_core::machine::Target;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::body::{Json, PAYLOAD};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{ExecutionPath, NamespaceQuery, Params, PathText, default_page_size};
use crate::state::AppState;

/// Keeps the result of a step for all later attempts. The same result again gets the first answer.
#[utoipa::path(post, path = "/v1/executions/{id}/steps", tag = "holder",
    operation_id = "record_step",
    params(("id" = Id, Path, description = "The execution."), NamespaceQuery),
    request_body = StepRequest, responses(
    (status = 200, description = "The entry of the step.", body = RecordedStepView),
    Problems
))]
pub(crate) async fn record_step(
    State(state): State<AppState>,
    ExecutionPath(target): ExecutionPath,
    Json(request): Json<StepRequest, PAYLOAD>,
) -> Result<JsonBody<RecordedStepView>, ApiError> {
    let record = request.command(target)?;
    let recorded = state.backend.record_step(record).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(RecordedStepView { number: recorded.number }))
}

/// Which entries.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StepsQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// Only what attempts find, without what replays have hidden.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    visible: bool,
    /// Where an earlier page ended; the first entry when absent.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^[0-9]{1,9}$")]
    cursor: u64,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

/// The journal of an execution, oldest entry first. A page may be short and still have a `next`.
#[utoipa::path(get, path = "/v1/executions/{id}/steps", tag = "executions",
    operation_id = "list_execution_steps",
    params(("id" = Id, Path, description = "The execution."), StepsQuery), responses(
    (status = 200, description = "The entries.", body = StepsView),
    Problems
))]
pub(crate) async fn steps(
    State(state): State<AppState>,
    PathText(id): PathText,
    Params(query): Params<StepsQuery>,
) -> Result<JsonBody<StepsView>, ApiError> {
    let target = Target { namespace: query.namespace, execution: id.parse()? };
    let page = match query.visible {
        true => state.backend.journal(&target, query.cursor, query.limit).await?,
        false => state.backend.steps(&target, query.cursor, query.limit).await?,
    };
    Ok(JsonBody(StepsView::from(&page)))
}
