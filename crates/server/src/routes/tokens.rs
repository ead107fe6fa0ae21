//! Tokens of waitpoints, and signals by token.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use ff_api::SignalledView;
use ff_api::http::schema::{Id, Name};
use ff_api::http::{TokenRequest, TokenSignalRequest, TokenView};
use ff_store::ring::SignedToken;

use super::Problems;
use crate::body::{Json, PAYLOAD, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{NamespaceQuery, WaitpointPath};
use crate::state::AppState;

/// Makes a token for an open waitpoint, for one who is to answer. Two who must both answer get two
/// tokens, with two subjects.
#[utoipa::path(post, path = "/v1/executions/{id}/waitpoints/{key}/token", tag = "operator",
    operation_id = "create_waitpoint_token",
    params(
        ("id" = Id, Path, description = "The execution."),
        ("key" = Name, Path, description = "The key of the waitpoint."),
        NamespaceQuery
    ),
    request_body = TokenRequest, responses(
    (status = 200, description = "The token. It is kept nowhere.", body = TokenView),
    Problems
))]
pub(crate) async fn waitpoint_token(
    State(state): State<AppState>,
    WaitpointPath { target, key }: WaitpointPath,
    Json(request): Json<TokenRequest, SMALL>,
) -> Result<JsonBody<TokenView>, ApiError> {
    let new = request.new_token(target, key)?;
    let (purpose, asked) = (new.purpose, new.clone());
    let made = state.backend.waitpoint_token(new).await.inspect_err(metrics::refused)?;
    tracing::info!(
        execution = %asked.target.execution,
        waitpoint = %asked.waitpoint,
        subject = asked.subject.as_ref().map(tracing::field::display),
        purpose = ?purpose,
        "a token was made"
    );
    Ok(JsonBody(TokenView::new(&made, purpose)))
}

/// Delivers a signal by token. The token is all the authorization that it takes, in the body or as
/// `Authorization: Bearer`; it is never in the URL.
#[utoipa::path(post, path = "/v1/signals", tag = "signals", operation_id = "signal_by_token",
    security(()), request_body = TokenSignalRequest, responses(
    (status = 200, description = "What the signal did.", body = SignalledView),
    Problems
))]
pub(crate) async fn signal_by_token(
    State(state): State<AppState>,
    headers: HeaderMap,
    Json(mut request): Json<TokenSignalRequest, PAYLOAD>,
) -> Result<JsonBody<SignalledView>, ApiError> {
    // Without a token, one that cannot be valid: every bad token gets the same answer.
    let token = request.token.take().or_else(|| bearer(&headers)).unwrap_or_default();
    let (token, signal) = (SignedToken::received(token), request.signal()?);
    let sent = state.backend.signal_by_token(&token, signal).await;
    let (execution, signalled) = sent.inspect_err(metrics::refused)?;
    Ok(JsonBody(SignalledView::new(execution, signalled)))
}

/// The token of the `Authorization` header.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let shown = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = shown.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.to_owned())
}
