//! Budgets and quotas: created, read, changed, removed.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use ff_api::http::schema::Name;
use ff_api::http::{BudgetRequest, QuotaRequest, ResetRequest};
use ff_api::{BudgetPageView, BudgetView, QuotaPageView, QuotaView};

use super::Problems;
use crate::auth::Acting;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{InPath, NamespaceQuery, Page, Params};
use crate::state::AppState;
use ff_core::ResourceName;

/// The budgets of a namespace, in the order of their names.
#[utoipa::path(get, path = "/v1/budgets", tag = "budgets", params(Page), responses(
    (status = 200, description = "One page.", body = BudgetPageView),
    Problems
))]
pub(crate) async fn list_budgets(
    State(state): State<AppState>,
    Params(page): Params<Page>,
) -> Result<JsonBody<BudgetPageView>, ApiError> {
    let Page { namespace, cursor, limit } = page;
    let found = state.backend.budgets(&namespace, cursor.as_ref(), limit).await?;
    Ok(JsonBody(BudgetPageView::new(&found, limit)))
}

/// A budget and what was used of it.
#[utoipa::path(get, path = "/v1/budgets/{name}", tag = "budgets", operation_id = "get_budget",
    params(("name" = Name, Path, description = "The budget."), NamespaceQuery), responses(
    (status = 200, description = "The budget.", body = BudgetView),
    Problems
))]
pub(crate) async fn budget(
    State(state): State<AppState>,
    InPath { namespace, name }: InPath<ResourceName>,
) -> Result<JsonBody<BudgetView>, ApiError> {
    Ok(JsonBody((&state.backend.budget(&namespace, &name).await?).into()))
}

/// Creates a budget, or changes what it allows; usage is kept. Waiting executions are re-evaluated.
#[utoipa::path(put, path = "/v1/budgets/{name}", tag = "budgets",
    params(("name" = Name, Path, description = "The budget."), NamespaceQuery),
    request_body = BudgetRequest, responses(
    (status = 200, description = "What holds now.", body = BudgetView),
    Problems
))]
pub(crate) async fn put_budget(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(request): Json<BudgetRequest, SMALL>,
) -> Result<JsonBody<BudgetView>, ApiError> {
    let put = backend.put_budget(&namespace, &name, request.limits()).await;
    Ok(JsonBody((&put.inspect_err(metrics::refused)?).into()))
}

/// Resets the usage of a budget. Waiting executions are re-evaluated.
#[utoipa::path(post, path = "/v1/budgets/{name}/reset", tag = "budgets",
    params(("name" = Name, Path, description = "The budget."), NamespaceQuery),
    request_body = ResetRequest, responses(
    (status = 200, description = "What holds now.", body = BudgetView),
    Problems
))]
pub(crate) async fn reset_budget(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(ResetRequest {}): Json<ResetRequest, SMALL>,
) -> Result<JsonBody<BudgetView>, ApiError> {
    let reset = backend.reset_budget(&namespace, &name).await;
    Ok(JsonBody((&reset.inspect_err(metrics::refused)?).into()))
}

/// Removes a budget. Executions that name it wait until it exists again.
#[utoipa::path(delete, path = "/v1/budgets/{name}", tag = "budgets",
    params(("name" = Name, Path, description = "The budget."), NamespaceQuery), responses(
    (status = 204, description = "It is gone."),
    Problems
))]
pub(crate) async fn delete_budget(
    State(state): State<AppState>,
    InPath { namespace, name }: InPath<ResourceName>,
) -> Result<StatusCode, ApiError> {
    state.backend.delete_budget(&namespace, &name).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}

/// The quotas of a namespace, in the order of their names.
#[utoipa::path(get, path = "/v1/quotas", tag = "quotas", params(Page), responses(
    (status = 200, description = "One page.", body = QuotaPageView),
    Problems
))]
pub(crate) async fn list_quotas(
    State(state): State<AppState>,
    Params(page): Params<Page>,
) -> Result<JsonBody<QuotaPageView>, ApiError> {
    let Page { namespace, cursor, limit } = page;
    let found = state.backend.quotas(&namespace, cursor.as_ref(), limit).await?;
    Ok(JsonBody(QuotaPageView::new(&found, limit)))
}

/// A quota and what it has admitted.
#[utoipa::path(get, path = "/v1/quotas/{name}", tag = "quotas", operation_id = "get_quota",
    params(("name" = Name, Path, description = "The quota."), NamespaceQuery), responses(
    (status = 200, description = "The quota.", body = QuotaView),
    Problems
))]
pub(crate) async fn quota(
    State(state): State<AppState>,
    InPath { namespace, name }: InPath<ResourceName>,
) -> Result<JsonBody<QuotaView>, ApiError> {
    Ok(JsonBody((&state.backend.quota(&namespace, &name).await?).into()))
}

/// Creates a quota, or replaces its limits; recorded starts are kept, and executions that wait for it
/// are re-evaluated.
#[utoipa::path(put, path = "/v1/quotas/{name}", tag = "quotas",
    params(("name" = Name, Path, description = "The quota."), NamespaceQuery),
    request_body = QuotaRequest, responses(
    (status = 200, description = "What holds now.", body = QuotaView),
    Problems
))]
pub(crate) async fn put_quota(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(request): Json<QuotaRequest, SMALL>,
) -> Result<JsonBody<QuotaView>, ApiError> {
    let put = backend.put_quota(&namespace, &name, request.limits()).await;
    Ok(JsonBody((&put.inspect_err(metrics::refused)?).into()))
}

/// Removes a quota. Executions that name it wait until it exists again.
#[utoipa::path(delete, path = "/v1/quotas/{name}", tag = "quotas",
    params(("name" = Name, Path, description = "The quota."), NamespaceQuery), responses(
    (status = 204, description = "It is gone."),
    Problems
))]
pub(crate) async fn delete_quota(
    State(state): State<AppState>,
    InPath { namespace, name }: InPath<ResourceName>,
) -> Result<StatusCode, ApiError> {
    state.backend.delete_quota(&namespace, &name).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}
