//! Named tokens: issued, listed, revoked.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use ff_api::http::NamedTokenRequest;
use ff_api::http::schema::Name;
use ff_api::{CreatedTokenView, NamedTokenPageView, NamedTokenView};
use ff_core::TokenName;
use serde::Deserialize;
use utoipa::IntoParams;

use super::Problems;
use crate::auth::By;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{Params, PathText, default_page_size};
use crate::state::AppState;

/// Makes a token, or gives one another secret. The answer is the only place where it is shown.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", operation_id = "create_token",
    request_body = NamedTokenRequest, responses(
    (status = 201, description = "The token.", body = CreatedTokenView),
    Problems
))]
pub(crate) async fn create_token(
    State(state): State<AppState>,
    By(by): By,
    Json(request): Json<NamedTokenRequest, SMALL>,
) -> Result<(StatusCode, JsonBody<CreatedTokenView>), ApiError> {
    let create = request.create(by)?;
    let made = state.backend.create_token(create).await.inspect_err(metrics::refused)?;
    let secret = made.text.reveal().to_owned();
    let view = CreatedTokenView { secret, token: NamedTokenView::from(&made.token) };
    Ok((StatusCode::CREATED, JsonBody(view)))
}

/// Which tokens.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TokensQuery {
    /// Where an earlier page ended: a name.
    #[param(value_type = Option<Name>)]
    cursor: Option<TokenName>,
    /// How many at most; 100 when absent.
    #[serde(default = "default_page_size")]
    #[param(minimum = 1, maximum = 1000)]
    limit: usize,
}

/// Tokens in the order of their names, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", operation_id = "list_tokens",
    params(TokensQuery), responses(
    (status = 200, description = "One page.", body = NamedTokenPageView),
    Problems
))]
pub(crate) async fn list_tokens(
    State(state): State<AppState>,
    Params(TokensQuery { cursor, limit }): Params<TokensQuery>,
) -> Result<JsonBody<NamedTokenPageView>, ApiError> {
    let found = state.backend.tokens(cursor.as_ref(), limit).await?;
    Ok(JsonBody(NamedTokenPageView::new(&found, limit)))
}

/// Which secret.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SecretQuery {
    /// The number of the secret; all of them when absent.
    #[param(minimum = 1)]
    number: Option<u32>,
}

/// Revokes a token, or one secret of it. Servers accept it for up to five seconds more.
#[utoipa::path(delete, path = "/v1/tokens/{name}", tag = "tokens", operation_id = "revoke_token",
    params(("name" = Name, Path, description = "The token."), SecretQuery), responses(
    (status = 200, description = "What is left of it.", body = NamedTokenView),
    Problems
))]
pub(crate) async fn revoke_token(
    State(state): State<AppState>,
    By(by): By,
    PathText(name): PathText,
    Params(SecretQuery { number }): Params<SecretQuery>,
) -> Result<JsonBody<NamedTokenView>, ApiError> {
    let name = TokenName::new(name)?;
    let revoked = state.backend.revoke_token(&name, number, by).await;
    Ok(JsonBody(NamedTokenView::from(&revoked.inspect_err(metrics::refused)?)))
}
