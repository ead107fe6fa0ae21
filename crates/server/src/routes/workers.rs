//! Keep work, end it, reserve it.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ff_api::http::schema::Name;
use ff_api::http::{
    BatchComplete, BeatStatus, BeatView, ClaimGrantedRequest, ClaimedView, ExitAnswer, ExitAnswers,
    GrantRequest, GrantedView, HeartbeatView, Leases,
};
use ff_core::machine::{Granted, LeaseRef, Renewed, Target};
use ff_core::record::Exited;
use ff_core::{Code, Namespace, Refusal, WorkerId};
use ff_store::StoreError;

use super::Problems;
use crate::body::{Json, PAYLOAD, SMALL};
use crate::error::{self, ApiError};
use crate::metrics;
use crate::params::{InPath, NamespaceQuery};
use crate::state::AppState;

/// Completes several executions; each gets a separate answer.
#[utoipa::path(post, path = "/v1/workers/{id}/complete", tag = "workers",
    operation_id = "complete_executions",
    params(("id" = Name, Path,
     description = "The worker that calls; the answer depends on the leases alone."), NamespaceQuery),
    request_body = BatchComplete, responses(
    (status = 200, description = "One answer per completion.", body = ExitAnswers),
    Problems
))]
pub(crate) async fn complete(
    State(state): State<AppState>,
    who: InPath<WorkerId>,
    Json(batch): Json<BatchComplete, { 2 * PAYLOAD }>,
) -> Result<JsonBody<ExitAnswers>, ApiError> {
    let commands = batch.completions.into_iter().map(|request| {
        let named = request.execution.ok_or_else(|| {
            Refusal::invalid("completions.execution", "is missing; name the execution")
        });
        request.command(Target { namespace: who.namespace.clone(), execution: named? })
    });
    let commands = commands.collect::<Result<_, _>>()?;
    Ok(JsonBody(exits(state.backend.complete(commands).await?)))
}

/// Renews leases and reports cancels; each gets a separate answer.
pub(super) async fn renew(
    state: &AppState,
    namespace: &Namespace,
    request: Leases,
) -> Result<HeartbeatView, ApiError> {
    if request.leases.is_empty() {
        return Ok(HeartbeatView { leases: Vec::new() });
    }
    let answers = state.backend.renew(holds(namespace, &request)?).await?;
    let leases = request.leases.iter().zip(answers);
    let leases = leases.map(|(hold, answer)| beat(hold.execution, answer));
    Ok(HeartbeatView { leases: leases.collect() })
}

fn beat(execution: ff_core::ExecutionId, answer: Result<Renewed, StoreError>) -> BeatView {
    let status = match &answer {
        Ok(renewed) if renewed.cancel_by.is_some() => BeatStatus::Cancelling,
        Ok(_) => BeatStatus::Renewed,
        Err(error) => match error.refused() {
            Some(Code::Cancelled) => BeatStatus::Cancelled,
            Some(_) => BeatStatus::Lost,
            None => BeatStatus::Unknown,
        },
    };
    metrics::renewal(status.as_str());
    BeatView {
        execution,
        status,
        until: answer.as_ref().ok().map(|renewed| renewed.until.into()),
        cancel_by: answer.as_ref().ok().and_then(|r| r.cancel_by).map(Into::into),
        code: answer.err().map(|error| error.code().to_owned()),
    }
}

/// Hands named leases back; each gets a separate answer.
pub(super) async fn hand_back(
    state: &AppState,
    namespace: &Namespace,
    request: Leases,
) -> Result<ExitAnswers, ApiError> {
    if request.leases.is_empty() {
        return Ok(ExitAnswers { answers: Vec::new() });
    }
    Ok(exits(state.backend.hand_back(holds(namespace, &request)?).await?))
}

/// Reserves work without starting its lease.
#[utoipa::path(post, path = "/v1/workers/{id}/grant", tag = "workers",
    operation_id = "grant_execution",
    params(("id" = Name, Path, description = "The worker."), NamespaceQuery),
    request_body = GrantRequest, responses(
    (status = 200, description = "A reservation.", body = GrantedView),
    (status = 204, description = "There is no work."),
    Problems
))]
pub(crate) async fn grant(
    State(state): State<AppState>,
    who: InPath<WorkerId>,
    Json(request): Json<GrantRequest, SMALL>,
) -> Result<Response, ApiError> {
    let grant = request.command(who.namespace, who.name)?;
    let granted = state.scheduler.grant(grant).await.inspect_err(metrics::refused)?;
    if granted == Granted::default() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(JsonBody(GrantedView::from(&granted)).into_response())
}

/// Takes reserved work.
#[utoipa::path(post, path = "/v1/workers/{id}/claim-granted", tag = "workers",
    operation_id = "claim_granted_execution",
    params(("id" = Name, Path, description = "The worker."), NamespaceQuery),
    request_body = ClaimGrantedRequest, responses(
    (status = 200, description = "The work.", body = ClaimedView),
    Problems
))]
pub(crate) async fn claim_granted(
    State(state): State<AppState>,
    who: InPath<WorkerId>,
    Json(request): Json<ClaimGrantedRequest, SMALL>,
) -> Result<JsonBody<ClaimedView>, ApiError> {
    let claim = request.command(who.namespace, who.name)?;
    let claimed = state.backend.claim_granted(claim).await.inspect_err(metrics::refused)?;
    Ok(JsonBody(ClaimedView::from(&claimed)))
}

fn holds(namespace: &Namespace, request: &Leases) -> Result<Vec<LeaseRef>, Refusal> {
    request.leases.iter().map(|hold| hold.hold(namespace)).collect()
}

fn exits(answers: Vec<Result<Exited, StoreError>>) -> ExitAnswers {
    let answers = answers.into_iter().map(|answer| match answer {
        Ok(exited) => ExitAnswer { exit: Some(exited.into()), error: None },
        Err(error) => {
            metrics::refused(&error);
            ExitAnswer { exit: None, error: Some(error::view(&error)) }
        }
    });
    ExitAnswers { answers: answers.collect() }
}
