//! Learn at once that something was stopped while a worker holds it.

use axum::Json as JsonBody;
use axum::extract::State;
use ff_api::http::StopsView;
use ff_api::http::schema::Name;
use ff_core::bounds::END_WAIT_MAX;
use ff_core::{Millis, Namespace, WorkerInstanceId};
use ff_store::stops::StopCursor;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::error::ApiError;
use crate::flight::Waiting;
use crate::params::Params;
use crate::state::AppState;

/// Which stops.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StopsQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// The running process, as it claims.
    #[param(value_type = Name)]
    instance: WorkerInstanceId,
    /// The cursor of the last answer; absent in the first call, which answers at once.
    #[param(pattern = "^[0-9a-f]{32}$")]
    after: Option<String>,
    /// How long to wait for something to be stopped; 0 when absent. A server that stops answers sooner.
    #[serde(default)]
    #[param(maximum = 30000)]
    wait_ms: u64,
}

/// What was cancelled, revoked or has expired since the last call while a worker held it, at once or when
/// something is. A worker that sends a heartbeat for these learns the rest; one that never calls this
/// learns it with its next heartbeat.
#[utoipa::path(get, path = "/v1/stops", tag = "workers", operation_id = "wait_for_stops",
    params(StopsQuery), responses(
    (status = 200, description = "What the worker should look at.", body = StopsView),
    Problems
))]
pub(crate) async fn stops(
    State(state): State<AppState>,
    waiting: Waiting,
    Params(query): Params<StopsQuery>,
) -> Result<JsonBody<StopsView>, ApiError> {
    let StopsQuery { namespace, instance, after, wait_ms } = query;
    let after = after.map(|cursor| cursor.parse::<StopCursor>()).transpose()?;
    let wait = Millis::new(wait_ms).within("wait_ms", Millis::ZERO, END_WAIT_MAX)?;
    let _permit = match wait {
        Millis::ZERO => None,
        _ => Some(waiting.begin(&state.listening, "workers")?),
    };
    let wait = wait.min(state.config.longest_wait);
    let stops = state.backend.stops(&namespace, &instance, after, wait);
    let news = match state.stopping.run_until_cancelled(stops).await {
        Some(news) => news?,
        None => state.backend.stops(&namespace, &instance, after, Millis::ZERO).await?,
    };
    Ok(JsonBody(StopsView::from(&news)))
}
