//! Doing the same to many executions: first a count, then a confirmation, then progress.

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use ff_core::Refusal;
use ff_store::roles::BulkVerb;
use ff_store::{Clock, SystemClock};

use super::act::{reason, tell};
use super::jobs::{self, Order, Which};
use super::page;
use super::part::Part;
use super::show;
use super::view::link;
use super::views::executions::Chosen;
use super::visitor::Posted;
use crate::error::ApiError;
use crate::state::AppState;
use crate::urlencoded::Fields;

/// Most executions of a selection.
const SELECTED: usize = 200;

#[derive(Template)]
#[template(path = "bulk.html")]
struct Confirm<'a> {
    verb: BulkVerb,
    count: String,
    none: bool,
    one: bool,
    selected: bool,
    /// The filter in words, and as a query.
    filter: String,
    ids: Vec<String>,
    act: String,
    back: String,
    proof: &'a str,
}

/// Counts what would be changed, and asks.
pub(super) async fn ask(State(state): State<AppState>, request: Request) -> Response {
    page::posted(&state, request, async |posted| {
        posted.check(&state, &Method::POST, "/v1/executions/bulk")?;
        let order = order(&posted)?;
        let (count, more) = jobs::count(&state, &order).await?;
        let ids = match &order.which {
            Which::Ids(ids) => ids.iter().map(ToString::to_string).collect(),
            Which::Filter(_) => Vec::new(),
        };
        let path = format!("/executions?{}", order.query);
        let confirm = Confirm {
            verb: order.verb,
            count: format!("{}{}", show::count(count), if more { " or more" } else { "" }),
            none: count == 0,
            one: count == 1,
            selected: !ids.is_empty(),
            filter: order.query.clone(),
            ids,
            act: link(&order.namespace, "/bulk/start"),
            back: link(&order.namespace, &path),
            proof: &state.dashboard.mark,
        };
        let parts = vec![Part::still("confirm", &confirm)];
        let title = format!("Bulk {}", order.verb);
        let uri = &posted.uri;
        Ok(page::whole(&state, &posted.visitor, uri, "executions", &title, &parts, StatusCode::OK))
    })
    .await
}

/// Starts what was confirmed.
pub(super) async fn begin(State(state): State<AppState>, request: Request) -> Response {
    page::posted(&state, request, async |posted| {
        posted.check(&state, &Method::POST, "/v1/executions/bulk")?;
        let order = order(&posted)?;
        let (count, more) = jobs::count(&state, &order).await?;
        let (verb, namespace) = (order.verb, order.namespace.clone());
        let id = jobs::start(&state, order, (!more).then_some(count))?;
        tell(&posted, verb.as_str(), "many executions");
        Ok(Redirect::to(&link(&namespace, &format!("/jobs/{id}"))).into_response())
    })
    .await
}

/// What the form asks for.
fn order(posted: &Posted) -> Result<Order, ApiError> {
    let fields = &posted.fields;
    let verb = BulkVerb::parse(fields.get("action").unwrap_or_default());
    let verb = verb.ok_or_else(|| Refusal::invalid("action", "is unknown; reload the page"))?;
    let query = fields.get("filter").unwrap_or_default();
    let of_filter = Fields::parse(query.as_bytes());
    let of_filter = of_filter.ok_or_else(|| Refusal::invalid("filter", "cannot be read"))?;
    let chosen = Chosen::read(&of_filter)?;
    let which = match fields.get("scope") {
        Some("filter") if chosen.is_all() => {
            let why =
                "matches every execution; choose a state, a lane, a kind, a tag or a time first";
            return Err(Refusal::invalid("filter", why).into());
        }
        Some("filter") => Which::Filter(chosen.filter(SystemClock.now())),
        _ => {
            let ids: Vec<_> = fields.all("id").map(str::parse).collect::<Result<_, _>>()?;
            if ids.is_empty() || ids.len() > SELECTED {
                let why = format!("has {} executions; select 1 to {SELECTED}", ids.len());
                return Err(Refusal::invalid("selection", why).into());
            }
            Which::Ids(ids)
        }
    };
    let (namespace, query) = (posted.namespace()?, chosen.query());
    let by = posted.visitor.caller.actor.clone();
    Ok(Order { by, namespace, verb, which, reason: reason(posted)?, query })
}
