//! The server itself.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use super::Problems;
use crate::error::ApiError;
use crate::params::PathText;
use crate::state::AppState;

/// Whether the process answers. It does not call the store.
#[utoipa::path(get, path = "/livez", tag = "meta", operation_id = "get_liveness", security(()), responses(
    (status = 200, description = "It does.", body = String, content_type = "text/plain"),
    Problems
))]
pub(crate) async fn livez() -> &'static str {
    "ok\n"
}

/// Whether the store has answered within the last second. It is pinged at most once a second, and
/// the answer takes at most a second.
#[utoipa::path(get, path = "/readyz", tag = "meta", operation_id = "get_readiness", security(()), responses(
    (status = 200, description = "It has.", body = String, content_type = "text/plain"),
    Problems
))]
pub(crate) async fn readyz(State(state): State<AppState>) -> Result<&'static str, ApiError> {
    match state.health.ready(state.backend.ping()).await {
        true => Ok("ok\n"),
        false => {
            let detail = "the store did not answer; try again";
            Err(ApiError::http(StatusCode::SERVICE_UNAVAILABLE, "store_unavailable", detail))
        }
    }
}

/// The same as `/readyz`.
#[utoipa::path(get, path = "/healthz", tag = "meta", operation_id = "get_health", security(()), responses(
    (status = 200, description = "It has.", body = String, content_type = "text/plain"),
    Problems
))]
pub(crate) async fn healthz(state: State<AppState>) -> Result<&'static str, ApiError> {
    readyz(state).await
}

/// What was counted, in Prometheus's text format.
#[utoipa::path(get, path = "/metrics", tag = "meta", operation_id = "get_metrics", responses(
    (status = 200, description = "The counts.", body = String, content_type = "text/plain"),
    Problems
))]
pub(crate) async fn metrics(State(state): State<AppState>) -> impl IntoResponse {
    let backend = state.backend.clone();
    state.counting.refresh(async move { backend.backlog().await }).await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], crate::metrics::render())
}

/// What a code means and what to do about it.
#[utoipa::path(get, path = "/errors/{code}", tag = "meta", operation_id = "get_error_page", security(()),
    params(("code" = String, Path, description = "The code.")), responses(
    (status = 200, description = "The page.", body = String, content_type = "text/plain"),
    Problems
))]
pub(crate) async fn error_page(PathText(code): PathText) -> Result<String, ApiError> {
    let help = crate::error::help(&code).ok_or_else(|| {
        let detail = "there is no such code; see /openapi.json";
        ApiError::http(StatusCode::NOT_FOUND, "no_such_route", detail)
    })?;
    Ok(format!("{code}\n\n{help}\n"))
}

/// This document.
#[utoipa::path(get, path = "/openapi.json", tag = "meta", operation_id = "get_openapi", responses(
    (status = 200, description = "The document.", body = Object),
    Problems
))]
pub(crate) async fn openapi() -> impl IntoResponse {
    Json(crate::router::openapi())
}
