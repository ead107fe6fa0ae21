//! Whole pages: the frame around the parts, what was done, and what went wrong.

use std::sync::LazyLock;

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use ff_core::{Actor, Namespace};
use ff_store::{Clock, SystemClock};

use super::part::Part;
use super::view::{View, link};
use super::visitor::{Posted, Visitor};
use super::{assets, login};
use crate::access::{Rights, namespace};
use crate::error::ApiError;
use crate::html::{self, Markup};
use crate::state::AppState;
use crate::urlencoded::{Fields, encoded};

/// What a page may do: load the style, the script and the icon of this server, follow its live changes,
/// and post to it. Nothing inline, nothing from anywhere else, in no frame.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        .to_owned()
});

ff_core::words!(
    /// What a form has done, for the page that follows.
    Note {
        /// Cancelled.
        Cancelled = "cancelled",
        /// Replayed.
        Replayed = "replayed",
        /// A flow is cancelled.
        FlowCancelled = "flow_cancelled",
        /// A flow is replayed.
        FlowReplayed = "flow_replayed",
        /// Revoked.
        Revoked = "revoked",
        /// Resumed.
        Resumed = "resumed",
        /// Deleted.
        Deleted = "deleted",
        /// Approved.
        Approved = "approved",
        /// Rejected.
        Rejected = "rejected",
        /// Recorded.
        Recorded = "recorded",
        /// Decided before.
        Duplicate = "duplicate",
        /// Too late.
        TooLate = "too_late",
        /// The lane is changed.
        LaneChanged = "lane_changed",
        /// The budget is reset.
        BudgetReset = "budget_reset",
        /// The feed is on.
        FeedOn = "feed_on",
        /// The feed is off.
        FeedOff = "feed_off",
    }
);

impl Note {
    fn text(self) -> &'static str {
        match self {
            Note::Cancelled => {
                "The execution is cancelled; if a worker holds it, it is told to stop."
            }
            Note::FlowCancelled => {
                "The flow is cancelled: nothing more of it starts, and its nodes end one after the other."
            }
            Note::FlowReplayed => "A new run has started: what did not complete runs again.",
            Note::Replayed => "A new run has started.",
            Note::Revoked => "The lease is revoked; the execution is back in its queue.",
            Note::Resumed => "The execution continues without an answer.",
            Note::Deleted => "The execution is removed, with its payloads and attempts.",
            Note::Approved => "Approved. The execution continues.",
            Note::Rejected => "Rejected. The execution continues and learns so.",
            Note::Recorded => {
                "Your decision was recorded; the execution waits for others to decide."
            }
            Note::Duplicate => "You have decided before; your first decision stands.",
            Note::TooLate => "Too late: the time to decide was over. Nothing was changed.",
            Note::LaneChanged => "The settings of the lane hold for every claim and submit.",
            Note::FeedOn => "The feed is on: whatever happens from now on is logged.",
            Note::FeedOff => "The feed is off: nothing is logged until somebody reads events.",
            Note::BudgetReset => {
                "The usage of the budget is forgotten; waiting executions are evaluated again."
            }
        }
    }
}

#[derive(Template)]
#[template(path = "layout.html")]
struct Layout<'a> {
    title: &'a str,
    style: &'a str,
    script: &'a str,
    icon: &'a str,
    now: u64,
    /// The address whose changes are followed, if any are.
    live: Option<String>,
    menu: Vec<MenuItem>,
    namespace: &'a str,
    namespaces: Vec<String>,
    path: &'a str,
    who: String,
    session: bool,
    logout: &'a str,
    proof: &'a str,
    note: Option<&'static str>,
    section: &'a str,
    parts: Vec<(&'static str, &'a str, Markup)>,
}

struct MenuItem {
    icon: &'static str,
    name: &'static str,
    section: &'static str,
    link: String,
    current: bool,
}

/// The pages of the menu: section, name, address, and the drawing of its icon.
const MENU: [(&str, &str, &str, &str); 8] = [
    ("overview", "Overview", "/", "M2 13V8m4 5V4m4 9V9m4 4V6"),
    (
        "executions",
        "Executions",
        "/executions",
        "M5.5 4H14M5.5 8H14m-8.5 4H14M2 4h.01M2 8h.01M2 12h.01",
    ),
    (
        "flows",
        "Flows",
        "/flows",
        "M2 6.5h3v3H2zM11 2h3v3h-3zM11 11h3v3h-3zM5 8h3m0 0V3.5h3M8 8v4.5h3",
    ),
    ("approvals", "Approvals", "/approvals", "M2.5 8.5l3.5 3.5 7.5-8"),
    (
        "lanes",
        "Lanes",
        "/lanes",
        "M2 5h10m0 0L9.5 2.5M12 5 9.5 7.5M14 11H4m0 0l2.5-2.5M4 11l2.5 2.5",
    ),
    ("workers", "Workers", "/workers", "M2.5 3h11v7h-11zM5.5 13.5h5M8 10v3.5"),
    ("limits", "Limits", "/limits", "M2.5 12a5.5 5.5 0 1 1 11 0M8 12l2.5-4"),
    ("events", "Events", "/events", "M2 8h2.5l2-4.5 3 9 2-4.5H14"),
];

/// How many namespaces the menu offers.
const NAMESPACES: usize = 50;

/// Shows the page at the address.
pub(super) async fn show(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let visitor = match Visitor::of(&state, &parts.headers).await {
        Ok(Some(visitor)) => visitor,
        Ok(None) => return login::required(&parts.uri, &parts.headers),
        Err(error) => return problem(&state, None, &parts.uri, error),
    };
    let shown = async {
        let view = View::of(&state, &visitor, &parts.uri)?;
        let rendered = view.render(&state, false).await?;
        Ok::<_, ApiError>((view.section(), rendered))
    };
    match shown.await {
        Ok((section, rendered)) => {
            // What came with the namespaces' names is fresh enough for the menu.
            let (title, status) = (&rendered.title, StatusCode::OK);
            whole(&state, &visitor, &parts.uri, section, title, &rendered.parts, status)
        }
        Err(error) => problem(&state, Some(&visitor), &parts.uri, error),
    }
}

/// Follows the changes of a page.
pub(super) async fn live(State(state): State<AppState>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let followed = async {
        let Some(visitor) = Visitor::of(&state, &parts.headers).await? else {
            let detail = "log in first";
            return Err(ApiError::http(StatusCode::UNAUTHORIZED, "unauthenticated", detail));
        };
        super::live::stream(&state, visitor, &parts.uri).await
    };
    followed.await.unwrap_or_else(IntoResponse::into_response)
}

/// Runs what a form asks for; whatever goes wrong is a page.
pub(super) async fn posted(
    state: &AppState,
    request: Request,
    act: impl AsyncFnOnce(Posted) -> Result<Response, ApiError>,
) -> Response {
    let (uri, headers) = (request.uri().clone(), request.headers().clone());
    let posted = match Posted::of(state, request).await {
        Ok(Some(posted)) => posted,
        Ok(None) => return login::required(&Uri::from_static("/"), &headers),
        Err(error) => return problem(state, None, &uri, error),
    };
    let visitor = posted.visitor.clone();
    match act(posted).await {
        Ok(response) => response,
        Err(error) => problem(state, Some(&visitor), &uri, error),
    }
}

/// The page of these parts.
pub(super) fn whole(
    state: &AppState,
    visitor: &Visitor,
    uri: &Uri,
    section: &str,
    title: &str,
    parts: &[Part],
    status: StatusCode,
) -> Response {
    let proof = state.dashboard.sessions.proof(visitor.session.as_ref());
    let namespace = namespace(uri).unwrap_or_default();
    let fields = Fields::parse(uri.query().unwrap_or_default().as_bytes()).unwrap_or_default();
    let note = fields.get("note").and_then(Note::parse);
    let filled = |part: &Part| Safe(part.html.replace(&state.dashboard.mark, &proof));
    let is_live = parts.iter().any(|part| part.live);
    let page = uri.path_and_query().map_or("/", |page| page.as_str());
    let assets::Assets { style, script, icon } = assets::addresses();
    let layout = Layout {
        title,
        style,
        script,
        icon,
        now: SystemClock.now().as_ms(),
        live: is_live.then(|| format!("/live?page={}", encoded(page))),
        menu: menu(&namespace, section),
        namespace: namespace.as_str(),
        namespaces: namespaces(state, visitor),
        path: MENU.iter().find(|(known, ..)| *known == section).map_or("/", |(_, _, path, _)| path),
        who: who(visitor),
        session: visitor.session.is_some(),
        logout: "/logout",
        proof: &proof,
        note: note.map(Note::text),
        section,
        parts: parts.iter().map(|part| (part.id, part.key.as_str(), filled(part))).collect(),
    };
    respond(status, &layout)
}

fn menu(namespace: &Namespace, section: &str) -> Vec<MenuItem> {
    let item = |(of, name, path, icon)| MenuItem {
        icon,
        name,
        section: of,
        link: link(namespace, path),
        current: of == section,
    };
    MENU.into_iter().map(item).collect()
}

/// The namespaces that the visitor may choose from: those of the token, or those that have work.
fn namespaces(state: &AppState, visitor: &Visitor) -> Vec<String> {
    let known = match &visitor.caller.rights {
        Rights::Token(_, ff_core::credential::Scope::Only(these)) => {
            these.iter().map(ToString::to_string).collect()
        }
        _ => state.dashboard.backlog.namespaces(),
    };
    let mut names: Vec<_> = known;
    names.truncate(NAMESPACES);
    names
}

/// Who is logged in, for people.
fn who(visitor: &Visitor) -> String {
    match &visitor.caller.rights {
        Rights::Root if visitor.caller.actor == Actor::local() => "local".to_owned(),
        Rights::Root => "root".to_owned(),
        Rights::Token(role, _) => format!("{} ({role})", visitor.caller.actor),
    }
}

#[derive(Template)]
#[template(path = "problem.html")]
struct Problem<'a> {
    status: u16,
    title: String,
    detail: &'a str,
    retry: bool,
    home: String,
}

/// The page of something that went wrong.
pub(super) fn problem(
    state: &AppState,
    visitor: Option<&Visitor>,
    uri: &Uri,
    error: ApiError,
) -> Response {
    let namespace = namespace(uri).unwrap_or_default();
    let shown = Problem {
        status: error.status.as_u16(),
        title: error.code.replace('_', " "),
        detail: &error.detail,
        retry: error.retryable,
        home: link(&namespace, "/"),
    };
    let parts = [Part::still("problem", &shown)];
    match visitor {
        Some(visitor) => whole(state, visitor, uri, "", "Not done", &parts, error.status),
        None => bare(error.status, "Not done", &parts[0].html),
    }
}

#[derive(Template)]
#[template(path = "bare.html")]
struct Bare<'a> {
    title: &'a str,
    style: &'a str,
    script: &'a str,
    icon: &'a str,
    content: Markup,
    /// Load the page once more, from here.
    again: bool,
}

/// A page without a menu, for visitors that are not known.
pub(super) fn bare(status: StatusCode, title: &str, content: &str) -> Response {
    bare_again(status, title, content, false)
}

pub(super) fn bare_again(status: StatusCode, title: &str, content: &str, again: bool) -> Response {
    let assets::Assets { style, script, icon } = assets::addresses();
    let content = Safe(content.to_owned());
    respond(status, &Bare { title, style, script, icon, content, again })
}

fn respond(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(html) => html::page(status, html, &POLICY, "same-origin"),
        Err(error) => {
            tracing::error!(%error, "a page was not written");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// Sends the browser to `address`, with a cookie.
pub(super) fn redirect_with(address: &str, cookie: &str) -> Response {
    let mut response = Redirect::to(address).into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
