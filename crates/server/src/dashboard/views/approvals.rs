//! The inbox: what waits for the decision of a person.

use askama::Template;
use ff_core::state::State;
use ff_core::suspension::SuspendReason;
use ff_store::listing::{Filter, Listing};

use crate::dashboard::part::Part;
use crate::dashboard::show;
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use crate::html::Markup;

/// How many questions the page has.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "approvals.html")]
struct Approvals<'a> {
    asked: Vec<Asked>,
    more: bool,
    decide: bool,
    all: String,
    proof: &'a str,
}

struct Asked {
    id: String,
    link: String,
    act: String,
    kind: String,
    lane: String,
    message: Option<String>,
    since: Markup,
    until: Option<Markup>,
    answers: usize,
}

pub(in crate::dashboard) async fn render(scene: &Scene<'_>) -> Result<Rendered, ApiError> {
    let reason = SuspendReason::Approval;
    let listing = Listing {
        namespace: scene.view.namespace.clone(),
        filter: Filter { suspended_for: Some(reason), ..Filter::default() },
        after: None,
        limit: PAGE,
    };
    let page = scene.state.backend.list(&listing).await?;
    let asked = page.executions.iter().filter_map(|record| {
        let State::Suspended { suspension } = &record.state else { return None };
        let path = format!("/executions/{}", record.id);
        Some(Asked {
            id: record.id.to_string(),
            link: scene.link(&path),
            act: scene.link(&format!("{path}/decide")),
            kind: record.spec.kind.to_string(),
            lane: record.spec.lane.to_string(),
            message: suspension.message.as_deref().map(str::to_owned),
            since: show::moment(suspension.since, scene.now),
            until: suspension.until.map(|until| show::moment(until, scene.now)),
            answers: suspension.signals().len(),
        })
    });
    let inbox = Approvals {
        asked: asked.collect(),
        more: page.next.is_some(),
        decide: scene.view.can.decide,
        all: scene.link("/executions?reason=approval"),
        proof: &scene.state.dashboard.mark,
    };
    Ok(Rendered { title: "Approvals".to_owned(), parts: vec![Part::new("inbox", &inbox)] })
}
