//! The dashboard: pages about the work of a store, at `/`.
//!
//! Pages are written by the server and readable without scripts; a script of our own replaces the parts
//! that change. Whatever is shown is escaped by one function that every template uses
//! ([`Escape`](crate::html::Escape)), and the policy of each page allows nothing inline. What a visitor may
//! see and do is decided by the table of the API's routes ([`access`](crate::access)), never here.

mod act;
mod assets;
mod backlog;
mod bulk;
mod charts;
mod flows;
mod history;
mod jobs;
mod live;
mod login;
mod output;
mod page;
mod part;
mod payload;
mod sessions;
mod show;
mod timeline;
mod view;
mod views;
mod visitor;

use axum::Router;
use axum::routing::{get, post};

pub(crate) use history::keep as keep_history;

use crate::state::AppState;
use history::History;
use jobs::Jobs;
use live::Live;
use sessions::Sessions;

/// What the dashboard of one server keeps.
pub(crate) struct Dashboard {
    sessions: Sessions,
    live: Live,
    history: History,
    jobs: Jobs,
    backlog: backlog::Shared,
    flows: flows::Flows,
    /// Stands in a rendered part for the proof of a form, which differs between sessions. It is random, so
    /// no text of a user contains it.
    mark: String,
}

impl Default for Dashboard {
    fn default() -> Dashboard {
        Dashboard {
            sessions: Sessions::new(),
            live: Live::default(),
            history: History::default(),
            jobs: Jobs::default(),
            backlog: backlog::Shared::default(),
            flows: flows::Flows::default(),
            mark: sessions::random(),
        }
    }
}

/// The pages, and what their forms post to.
pub(crate) fn routes() -> Router<AppState> {
    Router::new()
        .route("/", get(page::show))
        .route("/executions", get(page::show))
        .route("/executions/{id}", get(page::show))
        .route("/executions/{id}/output", get(output::follow))
        .route("/executions/{id}/input", get(payload::input))
        .route("/executions/{id}/result", get(payload::result))
        .route("/executions/{id}/act", post(act::execution))
        .route("/executions/{id}/decide", post(act::decide))
        .route("/flows", get(page::show))
        .route("/flows/{id}", get(page::show))
        .route("/flows/{id}/act", post(act::flow))
        .route("/approvals", get(page::show))
        .route("/workers", get(page::show))
        .route("/lanes", get(page::show))
        .route("/lanes/{lane}", post(act::lane))
        .route("/limits", get(page::show))
        .route("/limits/{name}/reset", post(act::reset))
        .route("/events", get(page::show))
        .route("/events/feed", post(act::feed))
        .route("/bulk", post(bulk::ask))
        .route("/bulk/start", post(bulk::begin))
        .route("/jobs/{id}", get(page::show))
        .route("/live", get(page::live))
        .route("/login", get(login::form).post(login::begin))
        .route("/logout", post(login::end))
        .route("/assets/{name}", get(assets::asset))
}
