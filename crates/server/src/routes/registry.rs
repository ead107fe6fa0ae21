//! The registry: workers register, send heartbeats and leave.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ff_api::WorkerPageView;
use ff_api::http::schema::Name;
use ff_api::http::{BeatenView, ExitAnswers, Kept, RegisterRequest, RegisteredView};
use ff_core::{Namespace, WorkerId, WorkerInstanceId};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{Problems, workers};
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{InPath, NamespaceQuery, Params, default_page_size};
use crate::state::AppState;

/// Registers a worker, or changes its registration. Another live process with the same
/// instance id stays, and this one is refused.
#[utoipa::path(post, path = "/v1/workers/{id}/register", tag = "workers",
    operation_id = "register_worker",
    params(("id" = Name, Path, description = "The worker."), NamespaceQuery),
    request_body = RegisterRequest, responses(
    (status = 200, description = "Registered.", body = RegisteredView),
    Problems
))]
pub(crate) async fn register(
    State(state): State<AppState>,
    who: InPath<WorkerId>,
    Json(request): Json<RegisterRequest, SMALL>,
) -> Result<JsonBody<RegisteredView>, ApiError> {
    let registering = request.registering(who.namespace, who.name)?;
    let registered = state.backend.register(registering).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(RegisteredView { until: registered.until.into() }))
}

/// Renews leases and reports cancels, with one answer each; or renews the registration of a
/// worker.
#[utoipa::path(post, path = "/v1/workers/{id}/heartbeat", tag = "workers",
    operation_id = "send_heartbeat",
    params(("id" = Name, Path,
     description = "The worker that calls; the answer depends on the leases or the session alone."), NamespaceQuery),
    request_body = Kept, responses(
    (status = 200, description = "One answer per lease, or until when the worker counts as alive.",
     body = BeatenView),
    Problems
))]
pub(crate) async fn heartbeat(
    State(state): State<AppState>,
    who: InPath<WorkerId>,
    Json(request): Json<Kept, SMALL>,
) -> Result<JsonBody<BeatenView>, ApiError> {
    let session = match request {
        Kept::Leases(leases) => {
            let renewed = workers::renew(&state, &who.namespace, leases).await?;
            return Ok(JsonBody(BeatenView::Leases(renewed)));
        }
        Kept::Registration(body) => body.session(who.namespace)?,
    };
    let registered = state.backend.heartbeat(&session).await.inspect_err(metrics::refused)?;
    let view = RegisteredView { until: registered.until.into() };
    Ok(JsonBody(BeatenView::Registration(view)))
}

/// Hands named leases back at once, without spending a retry; or ends a registration.
#[utoipa::path(post, path = "/v1/workers/{id}/disconnect", tag = "workers",
    operation_id = "disconnect_worker",
    params(("id" = Name, Path,
     description = "The worker that calls; the answer depends on the leases or the session alone."), NamespaceQuery),
    request_body = Kept, responses(
    (status = 200, description = "One answer per lease.", body = ExitAnswers),
    (status = 204, description = "The worker is not registered any more."),
    Problems
))]
pub(crate) async fn disconnect(
    State(state): State<AppState>,
    who: InPath<WorkerId>,
    Json(request): Json<Kept, SMALL>,
) -> Result<Response, ApiError> {
    let session = match request {
        Kept::Leases(leases) => {
            let exits = workers::hand_back(&state, &who.namespace, leases).await?;
            return Ok(JsonBody(exits).into_response());
        }
        Kept::Registration(body) => body.session(who.namespace)?,
    };
    state.backend.disconnect(&session).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Which workers.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WorkersQuery {
    /// The tenant; `default` when absent.
    #[serde(default)]
    #[param(value_type = Option<Name>)]
    namespace: Namespace,
    /// Where an earlier page ended: an instance id.
    #[param(value_type = Option<Name>)]
    cursor: Option<WorkerInstanceId>,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

/// Registered workers, in the order of their instance ids. One that was silent for too long is
/// listed until the engine has removed it; its `until` has passed.
#[utoipa::path(get, path = "/v1/workers", tag = "workers", params(WorkersQuery), responses(
    (status = 200, description = "One page.", body = WorkerPageView),
    Problems
))]
pub(crate) async fn list_workers(
    State(state): State<AppState>,
    Params(query): Params<WorkersQuery>,
) -> Result<JsonBody<WorkerPageView>, ApiError> {
    let WorkersQuery { namespace, cursor, limit } = query;
    let found = state.backend.workers(&namespace, cursor.as_ref(), limit).await?;
    Ok(JsonBody(WorkerPageView::new(&found, limit)))
}
