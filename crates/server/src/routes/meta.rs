//! The server itself.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use utoipa::openapi::OpenApi;

use super::Problems;
use crate::error::ApiError;
use crate::state::AppState;

/// Whether the server and its store answer.
#[utoipa::path(get, path = "/healthz", tag = "meta", responses(
    (status = 200, description = "They do.", body = String, content_type = "text/plain"),
    Problems
))]
pub(crate) async fn healthz(State(state): State<AppState>) -> Result<&'static str, ApiError> {
    state.backend.ping().await?;
    Ok("ok\n")
}

/// What was counted, in Prometheus's text format.
#[utoipa::path(get, path = "/metrics", tag = "meta", responses(
    (status = 200, description = "The counts.", body = String, content_type = "text/plain"),
    Problems
))]
pub(crate) async fn metrics() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], crate::metrics::render())
}

/// What a code means and what to do about it.
#[utoipa::path(get, path = "/errors/{code}", tag = "meta",
    params(("code" = String, Path, description = "The code.")), responses(
    (status = 200, description = "The page.", body = String, content_type = "text/plain"),
    Problems
))]
pub(crate) async fn error_page(Path(code): Path<String>) -> Result<String, ApiError> {
    let help = crate::error::help(&code).ok_or_else(|| {
        let detail = "there is no such code; see /openapi.json";
        ApiError::http(StatusCode::NOT_FOUND, "no_such_route", detail)
    })?;
    Ok(format!("{code}\n\n{help}\n"))
}

/// The OpenAPI document.
pub(crate) async fn openapi(document: Arc<OpenApi>) -> impl IntoResponse {
    Json(document.as_ref().clone())
}
