//! Which page: read from its address, rendered part by part.

use axum::http::{Method, StatusCode, Uri};
use ff_core::machine::Target;
use ff_core::{Description, Namespace, Time};
use ff_store::{Clock, SystemClock};

use super::part::Part;
use super::views::executions::Chosen;
use super::views::{
    approvals, events, execution, executions, flow, flows, job, lanes, limits, overview, workers,
};
use super::visitor::{Can, Visitor};
use crate::access::namespace;
use crate::error::ApiError;
use crate::state::AppState;
use crate::urlencoded::{Fields, encoded};

/// A page, with all that its address says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct View {
    pub(super) namespace: Namespace,
    pub(super) what: What,
    /// What the visitor may do.
    pub(super) can: Can,
}

/// Which page.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    Overview,
    Executions(Box<Chosen>),
    Execution(Target, execution::Pages),
    Flows(Box<Chosen>),
    Flow(Target, flow::Pages),
    Approvals,
    Workers { after: Option<String> },
    Lanes { after: Option<String> },
    Limits(limits::Pages),
    Events(Box<events::Chosen>),
    Job(String),
}

/// What a page shows.
pub(super) struct Rendered {
    pub(super) title: String,
    pub(super) parts: Vec<Part>,
}

/// What is needed to render.
pub(super) struct Scene<'a> {
    pub(super) state: &'a AppState,
    pub(super) view: &'a View,
    pub(super) now: Time,
    /// Whether only parts that change are needed.
    pub(super) live: bool,
}

impl View {
    /// The page at `uri`, if the visitor may read it.
    pub(super) fn of(state: &AppState, visitor: &Visitor, uri: &Uri) -> Result<View, ApiError> {
        let fields =
            Fields::parse(uri.query().unwrap_or_default().as_bytes()).ok_or_else(|| {
                let detail = "the address cannot be read; check it";
                ApiError::http(StatusCode::BAD_REQUEST, "invalid_query", detail)
            })?;
        let namespace = namespace(uri)?;
        let after = || fields.get("after").map(str::to_owned);
        let path: Vec<&str> = uri.path().trim_start_matches('/').split('/').collect();
        let (route, what) = match path.as_slice() {
            [""] => ("/v1/lanes", What::Overview),
            ["executions"] => {
                let chosen = Chosen::read(&fields)?;
                ("/v1/executions", What::Executions(Box::new(chosen)))
            }
            ["executions", id] => {
                let target = Target { namespace: namespace.clone(), execution: id.parse()? };
                ("/v1/executions/{id}", What::Execution(target, execution::Pages::read(&fields)?))
            }
            ["flows"] => ("/v1/flows", What::Flows(Box::new(Chosen::read(&fields)?))),
            ["flows", id] => {
                let target = Target { namespace: namespace.clone(), execution: id.parse()? };
                ("/v1/flows/{id}", What::Flow(target, flow::Pages::read(&fields)?))
            }
            ["approvals"] => ("/v1/executions", What::Approvals),
            ["workers"] => ("/v1/workers", What::Workers { after: after() }),
            ["lanes"] => ("/v1/lanes", What::Lanes { after: after() }),
            ["limits"] => ("/v1/budgets", What::Limits(limits::Pages::read(&fields)?)),
            ["events"] => ("/v1/events", What::Events(Box::new(events::Chosen::read(&fields)?))),
            ["jobs", id] => ("/v1/executions", What::Job((*id).to_owned())),
            _ => {
                let detail = "there is no such page";
                return Err(ApiError::http(StatusCode::NOT_FOUND, "no_such_route", detail));
            }
        };
        visitor.check(state, &Method::GET, route, uri)?;
        Ok(View { namespace, what, can: visitor.can(state, uri) })
    }

    /// Renders it from what the store has now; `live` leaves out what stays as it is.
    pub(super) async fn render(&self, state: &AppState, live: bool) -> Result<Rendered, ApiError> {
        let scene = Scene { state, view: self, now: SystemClock.now(), live };
        match &self.what {
            What::Overview => overview::render(&scene).await,
            What::Executions(chosen) => executions::render(&scene, chosen).await,
            What::Execution(target, pages) => execution::render(&scene, target, pages).await,
            What::Flows(chosen) => flows::render(&scene, chosen).await,
            What::Flow(target, pages) => flow::render(&scene, target, pages).await,
            What::Approvals => approvals::render(&scene).await,
            What::Workers { after } => workers::render(&scene, after.as_deref()).await,
            What::Lanes { after } => lanes::render(&scene, after.as_deref()).await,
            What::Limits(pages) => limits::render(&scene, pages).await,
            What::Events(chosen) => events::render(&scene, chosen).await,
            What::Job(id) => job::render(&scene, id),
        }
    }

    /// The execution or the flow that it shows, if that has ended: nothing more happens to it by itself.
    pub(super) async fn ended(&self, state: &AppState) -> Option<Description> {
        let (What::Execution(target, _) | What::Flow(target, _)) = &self.what else { return None };
        let record = state.backend.describe(target).await.ok()?;
        record.outcome().is_some().then_some(record)
    }

    /// The name of its section in the menu.
    pub(super) fn section(&self) -> &'static str {
        match self.what {
            What::Overview => "overview",
            What::Executions(_) | What::Execution(..) | What::Job(_) => "executions",
            What::Flows(_) | What::Flow(..) => "flows",
            What::Approvals => "approvals",
            What::Workers { .. } => "workers",
            What::Lanes { .. } => "lanes",
            What::Limits(_) => "limits",
            What::Events(_) => "events",
        }
    }
}

impl Scene<'_> {
    /// The address of a page of the same namespace; `path` may have a query.
    pub(super) fn link(&self, path: &str) -> String {
        link(&self.view.namespace, path)
    }
}

/// The address of a page of `namespace`; `path` may have a query.
pub(super) fn link(namespace: &Namespace, path: &str) -> String {
    if *namespace == Namespace::default() {
        return path.to_owned();
    }
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}namespace={}", encoded(namespace.as_str()))
}
