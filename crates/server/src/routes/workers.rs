//! Claim work and keep it.

use std::time::Duration;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ff_api::ErrorView;
use ff_api::http::{
    BatchComplete, BeatStatus, BeatView, ClaimGrantedRequest, ClaimRequest, ClaimedView,
    ExitAnswer, ExitAnswers, ExitView, GrantRequest, GrantView, HeartbeatView, Leases,
};
use ff_core::machine::{Claimed, Hold, Renewed, Target};
use ff_core::record::Exited;
use ff_core::{Code, Millis, Namespace, Refusal};
use ff_store::StoreError;

use super::Problems;
use crate::body::{Json, PAYLOAD, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{As, Scope};
use crate::state::AppState;

/// Takes work, waiting for some to appear. A client that goes away gives back what was taken.
#[utoipa::path(post, path = "/v1/workers/{id}/claim", tag = "workers",
    params(("id" = String, Path, description = "The worker."), Scope),
    request_body = ClaimRequest, responses(
    (status = 200, description = "Work.", body = ClaimedView),
    (status = 204, description = "There is none."),
    Problems
))]
pub(crate) async fn claim(
    State(state): State<AppState>,
    who: As,
    Json(request): Json<ClaimRequest, SMALL>,
) -> Result<Response, ApiError> {
    let claim = request.command(who.namespace, who.worker)?;
    let permit = match request.wait_ms {
        0 => None,
        _ => Some(state.waiting.clone().try_acquire_owned().map_err(|_| overloaded())?),
    };
    let claimed = tokio::select! {
        claimed = state.backend.claim(claim, Millis::new(request.wait_ms)) => {
            claimed.inspect_err(metrics::refused)?
        }
        () = stopping(&state, request.wait_ms) => Claimed::nothing(),
    };
    drop(permit);
    metrics::claimed(&claimed);
    if claimed.assignments.is_empty() && !claimed.again {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(JsonBody(ClaimedView::from(&claimed)).into_response())
}

/// Waits for the server to stop; a claim that does not wait is let finish.
async fn stopping(state: &AppState, wait_ms: u64) {
    state.stopping.cancelled().await;
    if wait_ms == 0 {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

fn overloaded() -> ApiError {
    let detail = "too many claims are waiting; try again after a pause";
    ApiError::http(StatusCode::TOO_MANY_REQUESTS, "overloaded", detail)
}

/// Completes several executions; each gets its own answer.
#[utoipa::path(post, path = "/v1/workers/{id}/complete", tag = "workers",
    params(("id" = String, Path, description = "The worker."), Scope),
    request_body = BatchComplete, responses(
    (status = 200, description = "One answer per completion.", body = ExitAnswers),
    Problems
))]
pub(crate) async fn complete(
    State(state): State<AppState>,
    who: As,
    Json(batch): Json<BatchComplete, { 2 * PAYLOAD }>,
) -> Result<JsonBody<ExitAnswers>, ApiError> {
    let commands = batch.completions.iter().map(|request| {
        let named = request.execution.ok_or_else(|| {
            Refusal::invalid("completions.execution", "is missing; name the execution")
        });
        request.command(Target { namespace: who.namespace.clone(), execution: named? })
    });
    let commands = commands.collect::<Result<_, _>>()?;
    Ok(JsonBody(exits(state.backend.complete(commands).await?)))
}

/// Renews leases and hears of cancels; each gets its own answer.
#[utoipa::path(post, path = "/v1/workers/{id}/heartbeat", tag = "workers",
    params(("id" = String, Path, description = "The worker."), Scope),
    request_body = Leases, responses(
    (status = 200, description = "One answer per lease.", body = HeartbeatView),
    Problems
))]
pub(crate) async fn heartbeat(
    State(state): State<AppState>,
    who: As,
    Json(request): Json<Leases, SMALL>,
) -> Result<JsonBody<HeartbeatView>, ApiError> {
    let holds = holds(&who.namespace, &request)?;
    let answers = state.backend.renew(holds).await?;
    let leases = request.leases.iter().zip(answers);
    let leases = leases.map(|(hold, answer)| beat(hold.execution, answer));
    Ok(JsonBody(HeartbeatView { leases: leases.collect() }))
}

fn beat(execution: ff_core::ExecutionId, answer: Result<Renewed, StoreError>) -> BeatView {
    let (status, word) = match &answer {
        Ok(renewed) if renewed.cancel_by.is_some() => (BeatStatus::Cancelling, "cancelling"),
        Ok(_) => (BeatStatus::Renewed, "renewed"),
        Err(error) => match error.refused() {
            Some(Code::Cancelled) => (BeatStatus::Cancelled, "cancelled"),
            Some(_) => (BeatStatus::Lost, "lost"),
            None => (BeatStatus::Unknown, "unknown"),
        },
    };
    metrics::renewal(word);
    BeatView {
        execution,
        status,
        until: answer.as_ref().ok().map(|renewed| renewed.until.into()),
        cancel_by: answer.as_ref().ok().and_then(|r| r.cancel_by).map(Into::into),
        code: answer.err().map(|error| error.code().to_owned()),
    }
}

/// Hands named leases back at once, without spending a retry.
#[utoipa::path(post, path = "/v1/workers/{id}/disconnect", tag = "workers",
    params(("id" = String, Path, description = "The worker."), Scope),
    request_body = Leases, responses(
    (status = 200, description = "One answer per lease.", body = ExitAnswers),
    Problems
))]
pub(crate) async fn disconnect(
    State(state): State<AppState>,
    who: As,
    Json(request): Json<Leases, SMALL>,
) -> Result<JsonBody<ExitAnswers>, ApiError> {
    if request.leases.is_empty() {
        return Ok(JsonBody(ExitAnswers { answers: Vec::new() }));
    }
    let holds = holds(&who.namespace, &request)?;
    Ok(JsonBody(exits(state.backend.hand_back(holds).await?)))
}

/// Reserves work without starting its lease.
#[utoipa::path(post, path = "/v1/workers/{id}/grant", tag = "workers",
    params(("id" = String, Path, description = "The worker."), Scope),
    request_body = GrantRequest, responses(
    (status = 200, description = "A reservation.", body = GrantView),
    (status = 204, description = "There is no work."),
    Problems
))]
pub(crate) async fn grant(
    State(state): State<AppState>,
    who: As,
    Json(request): Json<GrantRequest, SMALL>,
) -> Result<Response, ApiError> {
    let grant = request.command(who.namespace, who.worker)?;
    let granted = state.backend.grant(grant).await.inspect_err(metrics::refused)?;
    Ok(match &granted.offer {
        Some(offer) => JsonBody(GrantView::from(offer)).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

/// Takes reserved work.
#[utoipa::path(post, path = "/v1/workers/{id}/claim-granted", tag = "workers",
    params(("id" = String, Path, description = "The worker."), Scope),
    request_body = ClaimGrantedRequest, responses(
    (status = 200, description = "The work.", body = ClaimedView),
    Problems
))]
pub(crate) async fn claim_granted(
    State(state): State<AppState>,
    who: As,
    Json(request): Json<ClaimGrantedRequest, SMALL>,
) -> Result<JsonBody<ClaimedView>, ApiError> {
    let claim = request.command(who.namespace, who.worker)?;
    let claimed = state.backend.claim_granted(claim).await.inspect_err(metrics::refused)?;
    metrics::claimed(&claimed);
    Ok(JsonBody(ClaimedView::from(&claimed)))
}

fn holds(namespace: &Namespace, request: &Leases) -> Result<Vec<Hold>, Refusal> {
    request.leases.iter().map(|hold| hold.hold(namespace)).collect()
}

fn exits(answers: Vec<Result<Exited, StoreError>>) -> ExitAnswers {
    let answers = answers.into_iter().map(|answer| match answer {
        Ok(exited) => {
            let exit = ExitView::from(exited);
            metrics::exit(&exit.outcome);
            ExitAnswer { exit: Some(exit), error: None }
        }
        Err(error) => {
            metrics::refused(&error);
            ExitAnswer { exit: None, error: Some(ErrorView::from(&error)) }
        }
    });
    ExitAnswers { answers: answers.collect() }
}
