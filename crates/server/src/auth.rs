//! Authentication: one bearer token, one answer to every request without it.

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;
use crate::state::AppState;

/// Accepts a request if it carries the token, or the server requires none.
pub(crate) async fn authenticate(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let Some(token) = &state.config.token else { return next.run(request).await };
    let shown = request.headers().get(header::AUTHORIZATION);
    let shown = shown.and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.split_once(' '));
    let shown = shown.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    // Compared also when no token was sent: every wrong request costs the same.
    if token.is(shown.map_or("", |(_, token)| token)) {
        return next.run(request).await;
    }
    ApiError::http(
        StatusCode::UNAUTHORIZED,
        "unauthenticated",
        "show the server's token as `Authorization: Bearer <token>`",
    )
    .into_response()
}
