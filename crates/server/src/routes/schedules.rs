//! Schedules: created, read, paused, run, removed.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use ff_api::http::schema::Name;
use ff_api::http::{
    BackfillRequest, PauseScheduleRequest, ResumeScheduleRequest, RunScheduleRequest,
    ScheduleRequest,
};
use ff_api::{SchedulePageView, ScheduleView, SubmittedView};
use ff_core::ResourceName;
use ff_store::mint;

use super::Problems;
use crate::auth::Acting;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{InPath, NamespaceQuery, Page, Params};
use crate::state::AppState;

/// The largest body that sets a schedule: its input may have 64 KiB, which base64 and escapes make longer.
const SPEC: usize = 512 << 10;

/// The schedules of a namespace, in the order of their names, each with its next moment.
#[utoipa::path(get, path = "/v1/schedules", tag = "schedules", params(Page), responses(
    (status = 200, description = "One page.", body = SchedulePageView),
    Problems
))]
pub(crate) async fn list_schedules(
    State(state): State<AppState>,
    Params(page): Params<Page>,
) -> Result<JsonBody<SchedulePageView>, ApiError> {
    let Page { namespace, cursor, limit } = page;
    let found = state.backend.schedules(&namespace, cursor.as_ref(), limit).await?;
    Ok(JsonBody(SchedulePageView::new(&found, limit)))
}

/// A schedule, what became of its latest moments, and its next ten.
#[utoipa::path(get, path = "/v1/schedules/{name}", tag = "schedules", operation_id = "get_schedule",
    params(("name" = Name, Path, description = "The schedule."), NamespaceQuery), responses(
    (status = 200, description = "The schedule.", body = ScheduleView),
    Problems
))]
pub(crate) async fn schedule(
    State(state): State<AppState>,
    InPath { namespace, name }: InPath<ResourceName>,
) -> Result<JsonBody<ScheduleView>, ApiError> {
    Ok(JsonBody((&state.backend.schedule(&namespace, &name).await?).into()))
}

/// Creates a schedule, or changes what it does from now on. The same call again changes nothing. Moments
/// that have passed are not run.
#[utoipa::path(put, path = "/v1/schedules/{name}", tag = "schedules",
    params(("name" = Name, Path, description = "The schedule."), NamespaceQuery),
    request_body = ScheduleRequest, responses(
    (status = 200, description = "What holds now.", body = ScheduleView),
    Problems
))]
pub(crate) async fn put_schedule(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(request): Json<ScheduleRequest, SPEC>,
) -> Result<JsonBody<ScheduleView>, ApiError> {
    let set = backend.set_schedule(&namespace, &name, request.spec()?).await;
    Ok(JsonBody((&set.inspect_err(metrics::refused)?).into()))
}

/// Pauses a schedule: nothing of it runs until it is resumed, but what somebody asks for.
#[utoipa::path(post, path = "/v1/schedules/{name}/pause", tag = "schedules",
    params(("name" = Name, Path, description = "The schedule."), NamespaceQuery),
    request_body = PauseScheduleRequest, responses(
    (status = 200, description = "What holds now.", body = ScheduleView),
    Problems
))]
pub(crate) async fn pause_schedule(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(request): Json<PauseScheduleRequest, SMALL>,
) -> Result<JsonBody<ScheduleView>, ApiError> {
    let reason = request.reason.map(Into::into);
    let set = backend.pause_schedule(&namespace, &name, true, reason).await;
    Ok(JsonBody((&set.inspect_err(metrics::refused)?).into()))
}

/// Lets a schedule continue with the moments from now on.
#[utoipa::path(post, path = "/v1/schedules/{name}/resume", tag = "schedules",
    params(("name" = Name, Path, description = "The schedule."), NamespaceQuery),
    request_body = ResumeScheduleRequest, responses(
    (status = 200, description = "What holds now.", body = ScheduleView),
    Problems
))]
pub(crate) async fn resume_schedule(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(ResumeScheduleRequest {}): Json<ResumeScheduleRequest, SMALL>,
) -> Result<JsonBody<ScheduleView>, ApiError> {
    let set = backend.pause_schedule(&namespace, &name, false, None).await;
    Ok(JsonBody((&set.inspect_err(metrics::refused)?).into()))
}

/// Submits a run of a schedule now, whatever its moments and its overlap, and whether or not it is paused.
#[utoipa::path(post, path = "/v1/schedules/{name}/run", tag = "schedules",
    params(("name" = Name, Path, description = "The schedule."), NamespaceQuery),
    request_body = RunScheduleRequest, responses(
    (status = 200, description = "The run, made by this call or by the same one before.",
        body = SubmittedView),
    Problems
))]
pub(crate) async fn run_schedule(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(request): Json<RunScheduleRequest, SMALL>,
) -> Result<JsonBody<SubmittedView>, ApiError> {
    let request = request.request.unwrap_or_else(mint::request_id);
    let run = backend.run_schedule(&namespace, &name, request).await;
    Ok(JsonBody((&run.inspect_err(metrics::refused)?).into()))
}

/// Runs the moments of a range of the past, one after the other, whatever the overlap. A moment that has a
/// run is not run again.
#[utoipa::path(post, path = "/v1/schedules/{name}/backfill", tag = "schedules",
    params(("name" = Name, Path, description = "The schedule."), NamespaceQuery),
    request_body = BackfillRequest, responses(
    (status = 200, description = "What holds now.", body = ScheduleView),
    Problems
))]
pub(crate) async fn backfill_schedule(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(request): Json<BackfillRequest, SMALL>,
) -> Result<JsonBody<ScheduleView>, ApiError> {
    let set = backend.backfill_schedule(&namespace, &name, request.range()).await;
    Ok(JsonBody((&set.inspect_err(metrics::refused)?).into()))
}

/// Removes a schedule. Its runs stay.
#[utoipa::path(delete, path = "/v1/schedules/{name}", tag = "schedules",
    params(("name" = Name, Path, description = "The schedule."), NamespaceQuery), responses(
    (status = 204, description = "It is gone."),
    Problems
))]
pub(crate) async fn delete_schedule(
    State(state): State<AppState>,
    InPath { namespace, name }: InPath<ResourceName>,
) -> Result<StatusCode, ApiError> {
    state.backend.delete_schedule(&namespace, &name).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}
