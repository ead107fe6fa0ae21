//! What a bulk operation has done so far.

use askama::Template;

use crate::dashboard::part::Part;
use crate::dashboard::show;
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use ff_core::Refusal;

#[derive(Template)]
#[template(path = "job.html")]
struct Shown {
    verb: String,
    total: Option<u64>,
    seen: u64,
    done: String,
    refused: u64,
    refusals: Vec<(String, String, String)>,
    ended: bool,
    problem: Option<String>,
    back: String,
}

pub(in crate::dashboard) fn render(scene: &Scene<'_>, id: &str) -> Result<Rendered, ApiError> {
    let found = scene.state.dashboard.jobs.get(id, &scene.view.namespace);
    let Some(job) = found else {
        return Err(Refusal::NoSuch { what: "bulk operation" }.into());
    };
    let refusals = job.slice.refusals.iter().map(|(id, error)| {
        let id = id.to_string();
        let link = scene.link(&format!("/executions/{id}"));
        (id, link, error.to_string())
    });
    let shown = Shown {
        verb: job.verb.to_string(),
        total: job.total.map(|total| total.max(job.slice.matched)),
        seen: job.slice.matched,
        done: show::count(job.slice.done),
        refused: job.slice.refused,
        refusals: refusals.collect(),
        ended: job.ended,
        problem: job.problem.clone(),
        back: scene.link(&format!("/executions?{}", job.query)),
    };
    let title = format!("Bulk {}", job.verb);
    Ok(Rendered { title, parts: vec![Part::new("job", &shown)] })
}
