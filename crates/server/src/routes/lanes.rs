//! Look at lanes; pause, drain, resume and limit them; give them defaults.

use axum::Json as JsonBody;
use axum::extract::State;
use ff_api::http::LaneRequest;
use ff_api::http::schema::Name;
use ff_api::{LanePageView, LaneView};
use ff_core::{Lane, Namespace};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{In, Params, Scope, hundred};
use crate::state::AppState;

/// Which lanes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LanesQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// Where an earlier page ended: a lane.
    #[param(value_type = Option<Name>)]
    after: Option<Lane>,
    /// How many at most; 100 when absent.
    #[serde(default = "hundred")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

/// The lanes of which something was said, in the order of their names.
#[utoipa::path(get, path = "/v1/lanes", tag = "lanes", params(LanesQuery), responses(
    (status = 200, description = "One page.", body = LanePageView),
    Problems
))]
pub(crate) async fn list_lanes(
    State(state): State<AppState>,
    Params(query): Params<LanesQuery>,
) -> Result<JsonBody<LanePageView>, ApiError> {
    let LanesQuery { namespace, after, limit } = query;
    let found = state.backend.lanes(&namespace, after.as_ref(), limit).await?;
    Ok(JsonBody(LanePageView::new(&found, limit)))
}

/// What was said of a lane. Any name is a lane; all is as usual where nothing was said.
#[utoipa::path(get, path = "/v1/lanes/{lane}", tag = "lanes",
    params(("lane" = Name, Path, description = "The lane."), Scope), responses(
    (status = 200, description = "The lane.", body = LaneView),
    Problems
))]
pub(crate) async fn lane(
    State(state): State<AppState>,
    In { namespace, lane }: In,
) -> Result<JsonBody<LaneView>, ApiError> {
    let said = state.backend.lane(&namespace, &lane).await?;
    Ok(JsonBody(LaneView::new(lane, &said)))
}

/// Pauses, drains, resumes or limits a lane, or gives it defaults. When it is answered, every claim and
/// submit goes by it.
#[utoipa::path(patch, path = "/v1/lanes/{lane}", tag = "lanes",
    params(("lane" = Name, Path, description = "The lane."), Scope),
    request_body = LaneRequest, responses(
    (status = 200, description = "What holds now.", body = LaneView),
    Problems
))]
pub(crate) async fn order_lane(
    State(state): State<AppState>,
    In { namespace, lane }: In,
    Json(request): Json<LaneRequest, SMALL>,
) -> Result<JsonBody<LaneView>, ApiError> {
    let order = request.order(namespace, lane.clone())?;
    let said = state.backend.order_lane(order).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(LaneView::new(lane, &said)))
}
