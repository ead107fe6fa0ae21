//! The lanes: what waits and runs in each, and its settings.

use askama::Template;
use ff_api::{LanePageView, LaneView};
use ff_core::Lane;

use crate::dashboard::part::Part;
use crate::dashboard::show;
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::encoded;

/// How many lanes a page has.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "lanes.html")]
struct Lanes<'a> {
    lanes: Vec<LaneRow>,
    next: Option<String>,
    first: Option<String>,
    operate: bool,
    proof: &'a str,
}

struct LaneRow {
    name: String,
    link: String,
    act: String,
    waiting: String,
    active: u64,
    limit: Option<u32>,
    /// What of the limit is used, drawn.
    gauge: Option<Markup>,
    blocked: u64,
    unroutable: u64,
    oldest: Option<Markup>,
    paused: bool,
    draining: bool,
    reason: Option<String>,
    since: Option<Markup>,
    has_policy: bool,
}

pub(in crate::dashboard) async fn render(
    scene: &Scene<'_>,
    after: Option<&str>,
) -> Result<Rendered, ApiError> {
    let cursor = after.map(str::parse::<Lane>).transpose()?;
    let (state, namespace) = (scene.state, &scene.view.namespace);
    let found = state.backend.lanes(namespace, cursor.as_ref(), PAGE).await?;
    let backlog = state.dashboard.backlog.get(&state.backend).await?;
    let page = LanePageView::with_work(&found, &backlog, namespace, cursor.as_ref(), PAGE);
    let next =
        page.next.as_ref().map(|lane| scene.link(&format!("/lanes?after={}", encoded(lane))));
    let lanes = Lanes {
        lanes: page.lanes.iter().map(|view| row(scene, view)).collect(),
        next,
        first: after.map(|_| scene.link("/lanes")),
        operate: scene.view.can.operate,
        proof: &state.dashboard.mark,
    };
    Ok(Rendered { title: "Lanes".to_owned(), parts: vec![Part::new("lanes", &lanes)] })
}

fn row(scene: &Scene<'_>, view: &LaneView) -> LaneRow {
    let work = view.work.clone().unwrap_or_default();
    let lane = encoded(view.lane.as_str());
    let share = |limit: u32| work.active as f64 / f64::from(limit.max(1));
    LaneRow {
        name: view.lane.to_string(),
        link: scene.link(&format!("/executions?lane={lane}")),
        act: scene.link(&format!("/lanes/{lane}")),
        waiting: show::count(work.waiting),
        active: work.active,
        limit: view.max_active,
        gauge: view.max_active.map(|limit| {
            let class = if share(limit) >= 1.0 { "full" } else { "" };
            crate::dashboard::charts::gauge(class, share(limit), 0.0, None)
        }),
        blocked: work.blocked,
        unroutable: work.unroutable,
        oldest: work.oldest.map(|at| show::moment(at.0, scene.now)),
        paused: view.paused,
        draining: view.draining,
        reason: view.reason.clone(),
        since: view.since.map(|at| show::moment(at.0, scene.now)),
        has_policy: view.policy.is_some(),
    }
}
