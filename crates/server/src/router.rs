//! The routes, and the OpenAPI document made from them.

use std::sync::Arc;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use ff_api::http::Problem;
use ff_api::http::schema::EventsFrom;
use ff_api::{CountConditionView, SignalConditionView};
use utoipa::openapi::schema::{Discriminator, Object, Schema};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, Ref, RefOr};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::{self, RouteAccess, Routes};
use crate::approve;
use crate::auth::authenticate;
use crate::dashboard;
use crate::error::ApiError;
use crate::middleware::finish;
use crate::routes::{
    bulk, claim, events, executions, flows, holder, lanes, limits, meta, named_tokens, operator,
    registry, schedules, steps, stops, streams, suspend, tokens, webhooks, workers,
};
use crate::state::AppState;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "FlowFabric",
        description = "A durable, resource-aware execution engine. A worker in any language needs \
                       only this API."
    ),
    tags(
        (name = "executions", description = "Submit work and read it."),
        (name = "flows", description = "Graphs of executions."),
        (name = "operator", description = "Control work from outside."),
        (name = "holder", description = "Calls of the holder of a lease."),
        (name = "workers", description = "Register, claim work and keep it."),
        (name = "lanes", description = "Pause, drain and resume queues."),
        (name = "budgets", description = "How much may be used in total."),
        (name = "quotas", description = "How many may start per window, and run at once."),
        (name = "schedules", description = "Submit work at moments known beforehand."),
        (name = "signals", description = "Answer what suspended work waits for, by token."),
        (name = "events", description = "Follow what happens."),
        (name = "webhooks", description = "Send what happens to an address outside."),
        (name = "tokens", description = "Who may do what."),
        (name = "meta", description = "The server itself."),
    ),
    components(schemas(Problem, CountConditionView, SignalConditionView, EventsFrom)),
    modifiers(&Bearer),
    security(("token" = []))
)]
struct Api;

/// The token, as the document describes it.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut Document) {
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some(
            "The token that the server was started with, or a named one. `x-roles` says which roles may \
             make a request; a server on loopback that was started without a token requires none."
                .into(),
        );
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// All routes of the server.
pub(crate) fn router(state: AppState) -> Router {
    let (guarded, document) = guarded().split_for_parts();
    let (open, _) = open().split_for_parts();
    let state = AppState { routes: Arc::new(Routes::of(&document)), ..state };
    guarded
        .layer(middleware::from_fn_with_state(state.clone(), authenticate))
        .merge(open)
        .merge(approve::routes())
        .merge(dashboard::routes())
        .fallback(|| async {
            let detail = "the server has no such path; see /openapi.json";
            ApiError::http(StatusCode::NOT_FOUND, "no_such_route", detail)
        })
        .layer(middleware::from_fn_with_state(state.clone(), finish))
        .with_state(state)
}

/// The OpenAPI document of the routes.
pub fn openapi() -> Document {
    let mut document = guarded().split_for_parts().1;
    document.merge(open().split_for_parts().1);
    name_forms(&mut document);
    access::describe(&mut document);
    document
}

/// Every route, and who may call it.
pub fn access() -> Vec<RouteAccess> {
    access::routes(&openapi())
}

/// Gives each variant of a tagged schema a named schema, and names the field that has the tag: a
/// generator then makes a type of each.
fn name_forms(document: &mut Document) {
    let components = document.components.get_or_insert_default();
    let mut forms = Vec::new();
    for (name, schema) in &mut components.schemas {
        let RefOr::T(Schema::OneOf(any)) = schema else { continue };
        let tags: Option<Vec<_>> = any.items.iter().map(tag).collect();
        let Some(tags) = tags.filter(|tags| !tags.is_empty()) else { continue };
        let field = tags[0].0.clone();
        let named = tags
            .iter()
            .map(|(_, word)| format!("{}{}", name.trim_end_matches("View"), camel(word)));
        let named: Vec<_> = named.collect();
        let references = named.iter().map(|form| RefOr::Ref(Ref::from_schema_name(form)));
        let items = std::mem::replace(&mut any.items, references.collect());
        let words = tags.into_iter().map(|(_, word)| word);
        let places = named.iter().map(|form| format!("#/components/schemas/{form}"));
        any.discriminator = Some(Discriminator::with_mapping(field, words.zip(places)));
        forms.extend(named.into_iter().zip(items));
    }
    components.schemas.extend(forms);
}

/// The field of a variant that has exactly one value, and the value.
fn tag(form: &RefOr<Schema>) -> Option<(String, String)> {
    let RefOr::T(Schema::Object(Object { properties, .. })) = form else { return None };
    properties.iter().find_map(|(field, schema)| {
        let RefOr::T(Schema::Object(Object { enum_values: Some(words), .. })) = schema else {
            return None;
        };
        let [word] = words.as_slice() else { return None };
        Some((field.clone(), word.as_str()?.to_owned()))
    })
}

/// `lane_paused` as `LanePaused`.
fn camel(word: &str) -> String {
    let parts = word.split('_').map(|part| {
        let (first, rest) = part.split_at(part.len().min(1));
        first.to_uppercase() + rest
    });
    parts.collect()
}

/// Routes that require the token.
fn guarded() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(executions::submit, executions::list))
        .routes(routes!(executions::submit_batch))
        .routes(routes!(executions::describe, bulk::delete_execution))
        .routes(routes!(bulk::bulk_executions))
        .routes(routes!(executions::explain))
        .routes(routes!(executions::input))
        .routes(routes!(executions::result))
        .routes(routes!(executions::attempts))
        .routes(routes!(steps::steps, steps::record_step))
        .routes(routes!(streams::append_frames))
        .routes(routes!(streams::stream))
        .routes(routes!(streams::summary, streams::patch_summary))
        .routes(routes!(flows::submit_flow, flows::list_flows))
        .routes(routes!(flows::flow))
        .routes(routes!(flows::cancel_flow))
        .routes(routes!(flows::replay_flow))
        .routes(routes!(flows::upstream))
        .routes(routes!(operator::cancel))
        .routes(routes!(operator::replay))
        .routes(routes!(operator::priority))
        .routes(routes!(operator::tags))
        .routes(routes!(operator::revoke))
        .routes(routes!(holder::complete))
        .routes(routes!(holder::fail))
        .routes(routes!(holder::delay))
        .routes(routes!(holder::progress))
        .routes(routes!(holder::usage))
        .routes(routes!(holder::cancel_held))
        .routes(routes!(suspend::waitpoints, suspend::open_waitpoint))
        .routes(routes!(suspend::close_waitpoint))
        .routes(routes!(suspend::suspend))
        .routes(routes!(suspend::signals, suspend::signal))
        .routes(routes!(suspend::resume))
        .routes(routes!(tokens::waitpoint_token))
        .routes(routes!(claim::claim))
        .routes(routes!(workers::complete))
        .routes(routes!(registry::list_workers))
        .routes(routes!(registry::register))
        .routes(routes!(registry::heartbeat))
        .routes(routes!(registry::disconnect))
        .routes(routes!(stops::stops))
        .routes(routes!(workers::grant))
        .routes(routes!(workers::claim_granted))
        .routes(routes!(lanes::list_lanes))
        .routes(routes!(lanes::lane, lanes::update_lane))
        .routes(routes!(schedules::list_schedules))
        .routes(routes!(schedules::schedule, schedules::put_schedule, schedules::delete_schedule))
        .routes(routes!(schedules::pause_schedule))
        .routes(routes!(schedules::resume_schedule))
        .routes(routes!(schedules::run_schedule))
        .routes(routes!(schedules::backfill_schedule))
        .routes(routes!(limits::list_budgets))
        .routes(routes!(limits::budget, limits::put_budget, limits::delete_budget))
        .routes(routes!(limits::reset_budget))
        .routes(routes!(limits::list_quotas))
        .routes(routes!(limits::quota, limits::put_quota, limits::delete_quota))
        .routes(routes!(named_tokens::create_token, named_tokens::list_tokens))
        .routes(routes!(named_tokens::revoke_token))
        .routes(routes!(events::events))
        .routes(routes!(events::feed, events::update_feed))
        .routes(routes!(webhooks::list_webhooks))
        .routes(routes!(webhooks::webhook, webhooks::put_webhook, webhooks::delete_webhook))
        .routes(routes!(meta::metrics))
        .routes(routes!(meta::openapi))
}

/// Routes that do not.
fn open() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(meta::livez))
        .routes(routes!(meta::readyz))
        .routes(routes!(meta::healthz))
        .routes(routes!(meta::error_page))
        .routes(routes!(tokens::signal_by_token))
}
