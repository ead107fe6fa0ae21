//! The page on which a person approves or rejects, reached by a signed link.
//!
//! The link is all that is needed: its token names the waitpoint and whom it was made for. So it is in
//! no log, and no page passes it on (`Referrer-Policy`). Opening the page changes nothing, for links
//! are opened by mail scanners too; only the form decides. It needs no script, and nothing of what is
//! shown is trusted.

mod form;
mod html;
mod page;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::routing::get;
use ff_api::ApprovalView;
use ff_core::approval::Decision;
use ff_core::machine::{Signal, Target, WaitpointRef};
use ff_core::state::State as ExecutionState;
use ff_core::{Code, Description, Refusal, Time};
use ff_store::ring::{Claims, Purpose, SignedToken};
use ff_store::{Clock, StoreError, SystemClock};

use crate::body;
use crate::error::ApiError;
use crate::state::AppState;
use form::{FORM_BYTES, Form, Wrong};
use page::{Asked, Page};

/// The routes of the page. They need no credential but the link.
pub(crate) fn routes() -> Router<AppState> {
    Router::new().route("/approve/{token}", get(show).post(decide))
}

/// Shows what is asked.
async fn show(State(state): State<AppState>, token: Result<Path<String>, PathRejection>) -> Page {
    let claims = match verified(&state, token).await {
        Ok(claims) => claims,
        Err(page) => return page,
    };
    match asked(&state, &claims).await {
        Ok(Some(asked)) => Page::asked(&asked),
        Ok(None) => Page::closed(),
        Err(error) => no(&error),
    }
}

/// Takes the decision.
async fn decide(
    State(state): State<AppState>,
    token: Result<Path<String>, PathRejection>,
    request: Request,
) -> Page {
    let claims = match verified(&state, token).await {
        Ok(claims) => claims,
        Err(page) => return page,
    };
    let form = match read(request, &state).await {
        Ok(form) => form,
        Err(page) => return page,
    };
    // What was asked is forgotten once the work continues.
    let asked = match asked(&state, &claims).await {
        Ok(asked) => asked,
        Err(error) => return no(&error),
    };
    let signal = match signal(&claims, &form) {
        Ok(signal) => signal,
        Err(refusal) => return no(&refusal.into()),
    };
    match state.backend.signal(signal).await {
        Ok(done) => Page::decided(asked.as_ref(), form.approved, done.effect),
        Err(error) => no(&error),
    }
}

/// What the link says, if it is one.
async fn verified(
    state: &AppState,
    token: Result<Path<String>, PathRejection>,
) -> Result<Claims, Page> {
    let Ok(Path(token)) = token else { return Err(Page::invalid()) };
    let token = SignedToken::received(token);
    state.backend.verify(Purpose::ApprovalLink, &token).await.map_err(|error| no(&error))
}

/// What is asked at the waitpoint of the link; `None` if that is closed.
async fn asked(state: &AppState, claims: &Claims) -> Result<Option<Asked>, StoreError> {
    let target = target(claims);
    let found = async {
        let record = state.backend.describe(&target).await?;
        Ok::<_, StoreError>((record, state.backend.waitpoints(&target).await?))
    };
    let (record, open) = match found.await {
        Err(error) if error.refused() == Some(Code::NotFound) => return Ok(None),
        found => found?,
    };
    let Some(waitpoint) = open.into_iter().find(|one| one.id == claims.waitpoint) else {
        return Ok(None);
    };
    let (message, since, until) = question(&record);
    let until = [until, waitpoint.until, claims.expires].into_iter().flatten().min();
    Ok(Some(Asked {
        namespace: claims.namespace.clone(),
        execution: claims.execution,
        kind: record.spec.kind.clone(),
        message,
        since,
        until,
        subject: claims.subject.clone(),
        // Only what people read depends on it.
        now: SystemClock.now(),
    }))
}

/// What a suspended execution asks, since when and until when.
fn question(record: &Description) -> (Option<Box<str>>, Option<Time>, Option<Time>) {
    match &record.state {
        ExecutionState::Suspended { suspension } => {
            (suspension.message.clone(), Some(suspension.since), suspension.until)
        }
        _ => (None, None, None),
    }
}

fn target(claims: &Claims) -> Target {
    Target { namespace: claims.namespace.clone(), execution: claims.execution }
}

/// The signal that carries the decision. Without a key, the first one of a person stands.
fn signal(claims: &Claims, form: &Form) -> Result<Signal, Refusal> {
    let source = claims.source()?;
    let decided = ApprovalView { approved: form.approved, comment: form.comment.clone() };
    Ok(Signal {
        target: target(claims),
        waitpoint: WaitpointRef::ById(claims.waitpoint),
        key: None,
        name: Some(Decision::of(form.approved).name()?),
        category: Some(Decision::category()?),
        source,
        payload: decided.payload(),
    })
}

/// The form in the body of a request.
async fn read(request: Request, state: &AppState) -> Result<Form, Page> {
    let (parts, body): (_, Body) = request.into_parts();
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.unwrap_or("").split(';').next().unwrap_or("").trim();
    if !media.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let why = "It was not sent by the form of this page.";
        return Err(Page::refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let bytes = body::collect(body, FORM_BYTES, state).await;
    let bytes = bytes.map_err(|ApiError { status, detail, .. }| Page::refused(status, &detail))?;
    Form::parse(&bytes).map_err(|wrong| match wrong {
        Wrong::Malformed => {
            Page::refused(StatusCode::BAD_REQUEST, "It was not sent by the form of this page.")
        }
        Wrong::LongComment => {
            Page::refused(StatusCode::BAD_REQUEST, "The comment is too long; shorten it.")
        }
    })
}

/// The page of an error.
fn no(error: &StoreError) -> Page {
    match error.refused() {
        Some(Code::InvalidToken) => Page::invalid(),
        Some(Code::NotFound | Code::WaitpointClosed) => Page::closed(),
        _ => {
            let ApiError { status, detail, .. } = error.clone().into();
            Page::refused(status, &detail)
        }
    }
}
