//! Who visits a page, what they may do, and whether a form is really theirs.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use ff_core::Namespace;
use ff_store::{EngineBackend, Failure};

use super::sessions::SessionId;
use crate::access::{Caller, namespace};
use crate::auth::Shown;
use crate::error::ApiError;
use crate::state::AppState;
use crate::urlencoded::Fields;
use crate::{auth, body, browser};

/// Most bytes of a form.
const FORM_BYTES: usize = 64 << 10;

/// Who visits.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) caller: Arc<Caller>,
    pub(super) session: Option<SessionId>,
    /// The token that was shown in the session.
    token: Option<String>,
}

impl Visitor {
    /// Who makes this request; `None` if they must log in.
    pub(super) async fn of(
        state: &AppState,
        headers: &HeaderMap,
    ) -> Result<Option<Visitor>, ApiError> {
        let session = SessionId::of(headers);
        let token = session.as_ref().and_then(|id| state.dashboard.sessions.token(id));
        let session = session.filter(|_| token.is_some());
        match auth::caller(state, token.as_deref()).await {
            Ok(caller) => {
                // A login is no way around the rate of its token.
                auth::count(state, &caller)?;
                Ok(Some(Visitor { caller, session, token }))
            }
            Err(error) if error.status == StatusCode::UNAUTHORIZED => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// By which an answer that is sent over a long time is accepted. To watch is to use a session.
    pub(super) fn shown(&self) -> Shown {
        let session = self.session.clone();
        Shown::in_session(self.token.clone(), move |state| {
            session.as_ref().is_none_or(|id| state.dashboard.sessions.token(id).is_some())
        })
    }

    /// Refuses what the visitor may not call, by the table of all routes.
    pub(super) fn check(
        &self,
        state: &AppState,
        method: &Method,
        route: &str,
        uri: &Uri,
    ) -> Result<(), ApiError> {
        state.routes.check(&self.caller, method, route, uri)
    }

    /// What the visitor may do in the namespace of `uri`.
    pub(super) fn can(&self, state: &AppState, uri: &Uri) -> Can {
        let may = |method, route| self.check(state, &method, route, uri).is_ok();
        Can {
            produce: may(Method::POST, "/v1/executions/{id}/cancel"),
            operate: may(Method::POST, "/v1/executions/bulk"),
            decide: may(Method::POST, "/v1/executions/{id}/signals"),
            charts: may(Method::GET, "/metrics"),
            webhooks: may(Method::GET, "/v1/webhooks"),
        }
    }
}

/// What a visitor may do. Pages are the same for all visitors who may do the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Can {
    /// Cancel and replay.
    pub(super) produce: bool,
    /// Revoke, resume, delete, act on many, change lanes and limits.
    pub(super) operate: bool,
    /// Approve and reject.
    pub(super) decide: bool,
    /// See figures of all namespaces.
    pub(super) charts: bool,
    /// See where events are sent.
    pub(super) webhooks: bool,
}

/// A form that a visitor has posted from a page of this server.
pub(super) struct Posted {
    pub(super) visitor: Visitor,
    pub(super) fields: Fields,
    pub(super) uri: Uri,
}

impl Posted {
    /// The form of a request. One that another page may have sent is refused before it is read.
    pub(super) async fn of(state: &AppState, request: Request) -> Result<Option<Posted>, ApiError> {
        own(request.headers())?;
        let (parts, body) = request.into_parts();
        let Some(visitor) = Visitor::of(state, &parts.headers).await? else { return Ok(None) };
        let fields = read(state, &parts.headers, body).await?;
        let shown = fields.get("proof").unwrap_or_default();
        if !state.dashboard.sessions.proves(visitor.session.as_ref(), shown) {
            return Err(foreign("the form is not of this session; reload the page and try again"));
        }
        Ok(Some(Posted { visitor, fields, uri: parts.uri }))
    }

    /// Refuses what the visitor may not do; `route` is the route of the API that does the same.
    pub(super) fn check(
        &self,
        state: &AppState,
        method: &Method,
        route: &str,
    ) -> Result<(), ApiError> {
        self.visitor.check(state, method, route, &self.uri)
    }

    /// The roles, under the name of the visitor.
    pub(super) fn acting(&self, state: &AppState) -> Arc<dyn EngineBackend> {
        state.backend.acting(self.visitor.caller.actor.clone())
    }

    /// The namespace that the form is for.
    pub(super) fn namespace(&self) -> Result<Namespace, ApiError> {
        namespace(&self.uri)
    }
}

/// Refuses what a browser does not say to come from a page of this server.
pub(super) fn own(headers: &HeaderMap) -> Result<(), ApiError> {
    match browser::is_from_own_page(headers) {
        true => Ok(()),
        false => Err(foreign("the dashboard takes forms of its own pages only")),
    }
}

/// The fields of a form.
pub(super) async fn read(
    state: &AppState,
    headers: &HeaderMap,
    body: Body,
) -> Result<Fields, ApiError> {
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.unwrap_or("").split(';').next().unwrap_or("").trim();
    if !media.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let detail = "the dashboard takes forms; programs call the routes under /v1";
        let (status, code) = (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type");
        return Err(ApiError::http(status, code, detail));
    }
    let bytes = body::collect(body, FORM_BYTES, state).await?;
    Fields::parse(&bytes).ok_or_else(|| {
        let detail = "the form cannot be read; reload the page and try again";
        ApiError::http(StatusCode::BAD_REQUEST, "invalid_query", detail)
    })
}

fn foreign(detail: &str) -> ApiError {
    ApiError::http(StatusCode::FORBIDDEN, Failure::Forbidden.code(), detail)
}
