//! Webhooks: set, read, removed.

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use ff_api::http::WebhookRequest;
use ff_api::http::schema::Name;
use ff_api::{WebhookView, WebhooksView};
use ff_core::ResourceName;

use super::Problems;
use crate::auth::Acting;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::metrics;
use crate::params::{InPath, NamespaceQuery, Params};
use crate::state::AppState;

/// The webhooks of a namespace, in the order of their names, without their secrets.
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks",
    operation_id = "get_webhooks", params(NamespaceQuery), responses(
    (status = 200, description = "All of them.", body = WebhooksView),
    Problems
))]
pub(crate) async fn list_webhooks(
    State(state): State<AppState>,
    Params(NamespaceQuery { namespace }): Params<NamespaceQuery>,
) -> Result<JsonBody<WebhooksView>, ApiError> {
    let found = state.backend.webhooks(&namespace).await?;
    Ok(JsonBody(WebhooksView { webhooks: found.iter().map(WebhookView::from).collect() }))
}

/// A webhook, how its deliveries go, and the latest events that were given up.
#[utoipa::path(get, path = "/v1/webhooks/{name}", tag = "webhooks", operation_id = "get_webhook",
    params(("name" = Name, Path, description = "The webhook."), NamespaceQuery), responses(
    (status = 200, description = "The webhook.", body = WebhookView),
    Problems
))]
pub(crate) async fn webhook(
    State(state): State<AppState>,
    InPath { namespace, name }: InPath<ResourceName>,
) -> Result<JsonBody<WebhookView>, ApiError> {
    Ok(JsonBody((&state.backend.webhook(&namespace, &name).await?).into()))
}

/// Creates a webhook, which sends what happens from now on, or changes what one sends where. The same call
/// again changes nothing. A secret replaces the one before it, which signs too for a while.
#[utoipa::path(put, path = "/v1/webhooks/{name}", tag = "webhooks",
    params(("name" = Name, Path, description = "The webhook."), NamespaceQuery),
    request_body = WebhookRequest, responses(
    (status = 200, description = "What holds now.", body = WebhookView),
    Problems
))]
pub(crate) async fn put_webhook(
    Acting(backend): Acting,
    InPath { namespace, name }: InPath<ResourceName>,
    Json(request): Json<WebhookRequest, SMALL>,
) -> Result<JsonBody<WebhookView>, ApiError> {
    let set = backend.set_webhook(request.update(namespace, name)?).await;
    Ok(JsonBody((&set.inspect_err(metrics::refused)?).into()))
}

/// Removes a webhook. What is on its way still arrives.
#[utoipa::path(delete, path = "/v1/webhooks/{name}", tag = "webhooks",
    params(("name" = Name, Path, description = "The webhook."), NamespaceQuery), responses(
    (status = 204, description = "It is gone."),
    Problems
))]
pub(crate) async fn delete_webhook(
    State(state): State<AppState>,
    InPath { namespace, name }: InPath<ResourceName>,
) -> Result<StatusCode, ApiError> {
    state.backend.delete_webhook(&namespace, &name).await.inspect_err(metrics::refused)?;
    Ok(StatusCode::NO_CONTENT)
}
