//! Who may call which route: one table, from which the server decides and its documents are written.
//!
//! A route that the table does not name is only for root, and a test fails by its name.

use std::collections::HashMap;

use axum::http::{Method, StatusCode, Uri};
use ff_core::credential::{Role, Scope};
use ff_core::{Actor, Namespace, Refusal};
use ff_store::Failure;
use serde::Deserialize;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::Operation;
use utoipa::openapi::{OpenApi as Document, PathItem};

use crate::error::ApiError;
use crate::params;

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Everybody, without a token.
    Anyone,
    /// Who shows a token, whatever it may do.
    AnyToken,
    /// These roles, in their namespaces.
    Roles(&'static [Role]),
    /// These roles, if they reach every namespace: it tells of all of them.
    Everywhere(&'static [Role]),
    /// Who shows the token that the server was started with.
    Root,
}

use Who::{AnyToken, Anyone, Everywhere, Roles, Root};

const READ: Who = Roles(Role::ALL);
const PRODUCE: Who = Roles(&[Role::Producer, Role::Operator]);
const WORK: Who = Roles(&[Role::Worker, Role::Operator]);
const DECIDE: Who = Roles(&[Role::Operator, Role::Approver]);
const OPERATE: Who = Roles(&[Role::Operator]);

/// Every operation, and who may call it.
#[rustfmt::skip]
const TABLE: &[(&str, Who)] = &[
    ("submit_execution",         PRODUCE),
    ("submit_executions",        PRODUCE),
    ("cancel_execution",         PRODUCE),
    ("replay_execution",         PRODUCE),
    ("set_execution_priority",   PRODUCE),
    ("set_execution_tags",       PRODUCE),
    ("submit_flow",              PRODUCE),
    ("cancel_flow",              PRODUCE),
    ("run_schedule",             PRODUCE),
    ("replay_flow",              PRODUCE),

    ("list_executions",          READ),
    ("get_execution",            READ),
    ("explain_execution",        READ),
    ("get_execution_input",      READ),
    ("get_execution_result",     READ),
    ("list_execution_attempts",  READ),
    ("list_execution_steps",     READ),
    ("read_stream",              READ),
    ("get_summary",              READ),
    ("get_waitpoints",           READ),
    ("list_signals",             READ),
    ("list_flows",               READ),
    ("get_flow",                 READ),
    ("get_upstream_result",      READ),
    ("list_workers",             READ),
    ("list_lanes",               READ),
    ("get_lane",                 READ),
    ("list_schedules",           READ),
    ("get_schedule",             READ),
    ("list_budgets",             READ),
    ("get_budget",               READ),
    ("list_quotas",              READ),
    ("get_quota",                READ),
    ("read_events",              READ),
    ("get_feed",                 READ),

    ("claim_executions",         WORK),
    ("grant_execution",          WORK),
    ("claim_granted_execution",  WORK),
    ("register_worker",          WORK),
    ("send_heartbeat",           WORK),
    ("disconnect_worker",        WORK),
    ("wait_for_stops",           WORK),
    ("complete_execution",       WORK),
    ("complete_executions",      WORK),
    ("fail_execution",           WORK),
    ("delay_execution",          WORK),
    ("cancel_held_execution",    WORK),
    ("report_progress",          WORK),
    ("report_usage",             WORK),
    ("record_step",              WORK),
    ("append_frames",            WORK),
    ("patch_summary",            WORK),
    ("open_waitpoint",           WORK),
    ("close_waitpoint",          WORK),
    ("suspend_execution",        WORK),
    ("create_waitpoint_token",   WORK),

    ("signal_execution",         DECIDE),

    ("bulk_executions",          OPERATE),
    ("delete_execution",         OPERATE),
    ("revoke_lease",             OPERATE),
    ("resume_execution",         OPERATE),
    ("update_lane",              OPERATE),
    ("update_feed",              OPERATE),
    ("get_webhooks",             OPERATE),
    ("get_webhook",              OPERATE),
    ("put_webhook",              OPERATE),
    ("delete_webhook",           OPERATE),
    ("put_schedule",             OPERATE),
    ("pause_schedule",           OPERATE),
    ("resume_schedule",          OPERATE),
    ("backfill_schedule",        OPERATE),
    ("delete_schedule",          OPERATE),
    ("put_budget",               OPERATE),
    ("reset_budget",             OPERATE),
    ("delete_budget",            OPERATE),
    ("put_quota",                OPERATE),
    ("delete_quota",             OPERATE),

    ("create_token",             Root),
    ("list_tokens",              Root),
    ("revoke_token",             Root),

    ("get_metrics",              Everywhere(&[Role::Operator, Role::Reader])),
    ("get_openapi",              AnyToken),
    ("get_liveness",             Anyone),
    ("get_readiness",            Anyone),
    ("get_health",               Anyone),
    ("get_error_page",           Anyone),
    ("signal_by_token",          Anyone),
];

/// Who may call an operation; `None` if the table does not name it.
fn named(operation: &str) -> Option<Who> {
    TABLE.iter().find(|(name, _)| *name == operation).map(|(_, who)| *who)
}

/// A route, and who may call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteAccess {
    /// The method.
    pub method: Method,
    /// The path, with its parameters in braces.
    pub path: String,
    /// The name of the operation.
    pub operation: String,
    /// Who may call it; `None` if the table does not name it, and then root alone.
    pub who: Option<Who>,
}

/// The routes of `document`, in the order of their paths.
pub(crate) fn routes(document: &Document) -> Vec<RouteAccess> {
    let mut routes = Vec::new();
    for (path, item) in &document.paths.paths {
        for (method, operation) in operations(item) {
            let operation = operation.operation_id.clone().unwrap_or_default();
            let who = named(&operation);
            routes.push(RouteAccess { method, path: path.clone(), operation, who });
        }
    }
    routes
}

fn operations(item: &PathItem) -> impl Iterator<Item = (Method, &Operation)> {
    let methods = [
        (Method::GET, &item.get),
        (Method::POST, &item.post),
        (Method::PUT, &item.put),
        (Method::PATCH, &item.patch),
        (Method::DELETE, &item.delete),
    ];
    methods.into_iter().filter_map(|(method, operation)| Some((method, operation.as_ref()?)))
}

/// Says in `document` who may call what.
pub(crate) fn describe(document: &mut Document) {
    for item in document.paths.paths.values_mut() {
        let methods =
            [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        for operation in methods.into_iter().flatten() {
            let who = named(operation.operation_id.as_deref().unwrap_or_default());
            let words = who.unwrap_or(Root).words();
            if !words.is_empty() {
                let roles = ExtensionsBuilder::new().add("x-roles", words).build();
                operation.extensions.get_or_insert_default().merge(roles);
            }
        }
    }
}

impl Who {
    /// The roles that may, in the words of the documents; root always may.
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Anyone => Vec::new(),
            AnyToken => Role::ALL.iter().map(|role| role.as_str()).collect(),
            Roles(roles) | Everywhere(roles) => roles.iter().map(|role| role.as_str()).collect(),
            Root => vec!["root"],
        }
    }

    /// Who may, in a sentence.
    fn sentence(self) -> String {
        let may = self.words().join(", ");
        match self {
            Everywhere(_) => format!("{may} with every namespace, and root may"),
            Root => "only root, who shows the token that the server was started with, may".into(),
            _ => format!("{may} and root may"),
        }
    }
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// Under which name what it does is kept.
    pub(crate) actor: Actor,
    /// What it may do.
    pub(crate) rights: Rights,
}

/// What a caller may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rights {
    /// Everything.
    Root,
    /// What its token says.
    Token(Role, Scope),
}

impl Caller {
    /// Who shows the token that the server was started with.
    pub(crate) fn root() -> Caller {
        Caller { actor: Actor::root(), rights: Rights::Root }
    }

    /// Who calls a server that requires no token: it may do everything, under the name of somebody on
    /// this machine.
    pub(crate) fn local() -> Caller {
        Caller { actor: Actor::local(), rights: Rights::Root }
    }
}

/// The routes of the server, to decide by.
#[derive(Debug, Default)]
pub(crate) struct Routes(HashMap<String, Vec<(Method, Who)>>);

impl Routes {
    /// The routes of `document`.
    pub(crate) fn of(document: &Document) -> Routes {
        let mut routes = Routes::default();
        for RouteAccess { method, path, who, .. } in self::routes(document) {
            routes.0.entry(path).or_default().push((method, who.unwrap_or(Root)));
        }
        routes
    }

    /// Refuses what `caller` may not do. A method that the path does not take is not refused here: no
    /// handler runs for it.
    pub(crate) fn check(
        &self,
        caller: &Caller,
        method: &Method,
        path: &str,
        uri: &Uri,
    ) -> Result<(), ApiError> {
        let Rights::Token(role, scope) = &caller.rights else { return Ok(()) };
        let method = if method == Method::HEAD { &Method::GET } else { method };
        let methods = self.0.get(path).map_or(&[][..], Vec::as_slice);
        let Some((_, who)) = methods.iter().find(|(known, _)| known == method) else {
            return Ok(());
        };
        match who {
            Anyone | AnyToken => Ok(()),
            Roles(_) if !scope.has(&namespace(uri)?) => Err(absent(path)),
            Roles(roles) if roles.contains(role) => Ok(()),
            Everywhere(roles) if roles.contains(role) && *scope == Scope::Every => Ok(()),
            _ => Err(forbidden(*role, *who)),
        }
    }
}

/// The namespace of a request, read as every handler reads it.
pub(crate) fn namespace(uri: &Uri) -> Result<Namespace, ApiError> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        namespace: Namespace,
    }
    params::read::<Named>(uri).map(|named| named.namespace)
}

/// What a request for another namespace is answered, whatever that namespace has: the answer for
/// what is not there. No store is asked.
fn absent(path: &str) -> ApiError {
    if path.starts_with("/v1/executions/{id}") || path.starts_with("/v1/flows/{id}") {
        return Refusal::NotFound.into();
    }
    let what = match path.strip_prefix("/v1/") {
        Some(path) if path.starts_with("budgets/{") => "budget",
        Some(path) if path.starts_with("quotas/{") => "quota",
        _ => return ApiError::http(StatusCode::NOT_FOUND, "not_found", "no such namespace"),
    };
    Refusal::NoSuch { what }.into()
}

fn forbidden(role: Role, who: Who) -> ApiError {
    let detail = format!("the role {role} may not do this; {}", who.sentence());
    ApiError::http(StatusCode::FORBIDDEN, Failure::Forbidden.code(), detail)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_route_is_in_the_table_and_every_line_has_a_route() {
        let routes = routes(&crate::openapi());
        for route in &routes {
            assert!(route.who.is_some(), "{} {} is not in the table", route.method, route.path);
        }
        let known: BTreeSet<_> = routes.iter().map(|route| route.operation.as_str()).collect();
        for (operation, _) in TABLE {
            assert!(known.contains(operation), "{operation} is no operation");
        }
        assert_eq!(routes.len(), TABLE.len(), "an operation is in the table twice");
    }

    #[test]
    fn a_route_that_the_table_does_not_name_is_for_root_alone() {
        assert_eq!(named("made_up"), None);
        let mut routes = Routes::default();
        routes.0.insert("/made/up".into(), vec![(Method::GET, named("made_up").unwrap_or(Root))]);
        let rights = Rights::Token(Role::Operator, Scope::Every);
        let operator = Caller { actor: Actor::local(), rights };
        let check =
            |caller| routes.check(caller, &Method::GET, "/made/up", &Uri::from_static("/made/up"));
        assert_eq!(check(&operator).unwrap_err().code, "forbidden");
        assert!(check(&Caller::root()).is_ok());
    }
}
