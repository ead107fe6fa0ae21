//! Read lanes; pause, drain, resume and limit them; give them defaults.

use axum::Json as JsonBody;
use axum::extract::State;
use ff_api::http::LaneRequest;
use ff_api::http::schema::Name;
use ff_api::{LanePageView, LaneView};
use ff_core::{Lane, Namespace};
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::auth::Acting;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{InPath, NamespaceQuery, Params, default_page_size};
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
    cursor: Option<Lane>,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
    /// Only the lanes that have settings, and nothing is counted.
    #[serde(default)]
    configured: bool,
}

/// The lanes that have settings and those in which something waits or runs, in the order of their names.
#[utoipa::path(get, path = "/v1/lanes", tag = "lanes", params(LanesQuery), responses(
    (status = 200, description = "One page.", body = LanePageView),
    Problems
))]
pub(crate) async fn list_lanes(
    State(state): State<AppState>,
    Params(query): Params<LanesQuery>,
) -> Result<JsonBody<LanePageView>, ApiError> {
    let LanesQuery { namespace, cursor, limit, configured } = query;
    let after = cursor.as_ref();
    let found = state.backend.lanes(&namespace, after, limit).await?;
    if configured {
        return Ok(JsonBody(LanePageView::new(&found, limit)));
    }
    let backlog = state.backend.backlog().await?;
    Ok(JsonBody(LanePageView::with_work(&found, &backlog, &namespace, after, limit)))
}

/// The settings of a lane. Any name is a lane; one without settings is open.
#[utoipa::path(get, path = "/v1/lanes/{lane}", tag = "lanes", operation_id = "get_lane",
    params(("lane" = Name, Path, description = "The lane."), NamespaceQuery), responses(
    (status = 200, description = "The lane.", body = LaneView),
    Problems
))]
pub(crate) async fn lane(
    State(state): State<AppState>,
    InPath { namespace, name: lane }: InPath<Lane>,
) -> Result<JsonBody<LaneView>, ApiError> {
    let settings = state.backend.lane(&namespace, &lane).await?;
    Ok(JsonBody(LaneView::new(lane, &settings)))
}

/// Pauses, drains, resumes or limits a lane, or gives it defaults. Once this is answered, the change
/// applies to every claim and submit.
#[utoipa::path(patch, path = "/v1/lanes/{lane}", tag = "lanes",
    params(("lane" = Name, Path, description = "The lane."), NamespaceQuery),
    request_body = LaneRequest, responses(
    (status = 200, description = "What holds now.", body = LaneView),
    Problems
))]
pub(crate) async fn update_lane(
    Acting(backend): Acting,
    InPath { namespace, name: lane }: InPath<Lane>,
    Json(request): Json<LaneRequest, SMALL>,
) -> Result<JsonBody<LaneView>, ApiError> {
    let order = request.order(namespace, lane.clone());
    let settings = backend.update_lane(order).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(LaneView::new(lane, &settings)))
}
