//! Authentication and authorisation: one layer in front of every route that is not open.
//!
//! A request without an accepted token gets one answer, whatever is wrong with it. What a named token
//! may do is looked up in the table of [`access`](crate::access) before the body is read. A request
//! that waits is cut off once its token is revoked or has expired.

use std::pin::pin;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use ff_core::Actor;
use ff_store::{EngineBackend, Failure, named_token};
use tokio::time::sleep;

use crate::access::{Caller, Rights};
use crate::callers::TRUST;
use crate::error::ApiError;
use crate::state::AppState;

/// Accepts a request if its caller is known and may make it.
pub(crate) async fn authenticate(
    State(state): State<AppState>,
    mut request: Request,
    next: Next,
) -> Response {
    let shown = bearer(request.headers());
    let caller = match caller(&state, shown.as_deref()).await {
        Ok(caller) => caller,
        Err(error) => return error.into_response(),
    };
    if let Err(error) = count(&state, &caller) {
        return error.into_response();
    }
    let named = matches!(caller.rights, Rights::Token(..));
    let flight = match named.then(|| state.flights.begin(&caller.actor)).transpose() {
        Ok(flight) => flight.map(Arc::new),
        Err(error) => return error.into_response(),
    };
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    if let Err(error) = state.routes.check(&caller, request.method(), path, request.uri()) {
        return error.into_response();
    }
    request.extensions_mut().insert(caller);
    // A handler may drop its request early: it counts until it is answered here.
    if let Some(flight) = &flight {
        request.extensions_mut().insert(flight.clone());
    }
    let answer = next.run(request);
    match shown.filter(|_| named) {
        Some(shown) => while_accepted(&state, &shown, answer).await,
        None => answer.await,
    }
}

/// Counts a request against the rate of its caller, if that is a named token.
pub(crate) fn count(state: &AppState, caller: &Caller) -> Result<(), ApiError> {
    match caller.rights {
        Rights::Token(..) => state.rates.take_of(&caller.actor),
        Rights::Root => Ok(()),
    }
}

/// Answers as long as the token is accepted.
async fn while_accepted(
    state: &AppState,
    shown: &str,
    answer: impl Future<Output = Response>,
) -> Response {
    let mut answer = pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            () = sleep(TRUST) => {}
        }
        if let Err(error) = caller(state, Some(shown)).await {
            return error.into_response();
        }
    }
}

/// Who shows this; an error if nobody does.
pub(crate) async fn caller(state: &AppState, shown: Option<&str>) -> Result<Arc<Caller>, ApiError> {
    // Compared also when no token was sent: every wrong request costs the same.
    let is_root = state.config.token.as_ref().map(|token| token.is(shown.unwrap_or_default()));
    let named = shown.filter(|shown| shown.starts_with(named_token::PREFIX));
    match (is_root, named) {
        (Some(true), _) => Ok(Arc::new(Caller::root())),
        (None, None) => Ok(Arc::new(Caller::local())),
        (_, Some(text)) => {
            let known = state.callers.of(text, &state.backend, &state.tasks).await?;
            known.ok_or_else(unauthenticated)
        }
        (Some(false), None) => Err(unauthenticated()),
    }
}

fn unauthenticated() -> ApiError {
    ApiError::http(
        StatusCode::UNAUTHORIZED,
        Failure::Unauthenticated.code(),
        "show a token that the server accepts as `Authorization: Bearer <token>`",
    )
}

/// The token that a request shows.
fn bearer(headers: &HeaderMap) -> Option<String> {
    let shown = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = shown.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.to_owned())
}

/// The token that a request was accepted with, for an answer that is sent over a long time.
pub(crate) struct Shown {
    token: Option<String>,
    /// Whether the session goes on in which it was shown.
    goes_on: Box<dyn Fn(&AppState) -> bool + Send + Sync>,
}

impl Shown {
    /// A token that was shown when a session began, which may end.
    pub(crate) fn in_session(
        token: Option<String>,
        goes_on: impl Fn(&AppState) -> bool + Send + Sync + 'static,
    ) -> Shown {
        Shown { token, goes_on: Box::new(goes_on) }
    }

    /// Whether its caller is still accepted.
    pub(crate) async fn is_accepted(&self, state: &AppState) -> bool {
        let named = self.token.as_deref().filter(|shown| shown.starts_with(named_token::PREFIX));
        let accepted = match named {
            Some(shown) => caller(state, Some(shown)).await.is_ok(),
            None => true,
        };
        accepted && (self.goes_on)(state)
    }
}

impl FromRequestParts<AppState> for Shown {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        Ok(Shown::in_session(bearer(&parts.headers), |_| true))
    }
}

/// Who makes the request.
pub(crate) struct By(pub(crate) Actor);

impl FromRequestParts<AppState> for By {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        match parts.extensions.get::<Arc<Caller>>() {
            Some(caller) => Ok(By(caller.actor.clone())),
            None => Err(unauthenticated()),
        }
    }
}

/// The roles, for who makes the request.
pub(crate) struct Acting(pub(crate) Arc<dyn EngineBackend>);

impl FromRequestParts<AppState> for Acting {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let By(by) = By::from_request_parts(parts, state).await?;
        Ok(Acting(state.backend.acting(by)))
    }
}
