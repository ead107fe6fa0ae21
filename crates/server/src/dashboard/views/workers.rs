//! The registered workers.

use askama::Template;
use ff_core::WorkerInstanceId;

use crate::dashboard::part::Part;
use crate::dashboard::show;
use crate::dashboard::view::{Rendered, Scene};
use crate::error::ApiError;
use crate::html::Markup;
use crate::urlencoded::encoded;

/// How many workers a page has.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "workers.html")]
struct Workers {
    workers: Vec<WorkerRow>,
    next: Option<String>,
    first: Option<String>,
}

struct WorkerRow {
    instance: String,
    name: String,
    alive: bool,
    lanes: Vec<(String, String)>,
    capabilities: Vec<String>,
    registered: Markup,
    last_seen: Markup,
}

pub(in crate::dashboard) async fn render(
    scene: &Scene<'_>,
    after: Option<&str>,
) -> Result<Rendered, ApiError> {
    let cursor = after.map(str::parse::<WorkerInstanceId>).transpose()?;
    let namespace = &scene.view.namespace;
    let found = scene.state.backend.workers(namespace, cursor.as_ref(), PAGE).await?;
    let last = found.last().filter(|_| found.len() == PAGE);
    let lane = |lane: &ff_core::Lane| {
        let address = format!("/executions?lane={}", encoded(lane.as_str()));
        (lane.to_string(), scene.link(&address))
    };
    let row = |worker: &ff_core::resource::Registration| WorkerRow {
        instance: worker.worker.instance.to_string(),
        name: worker.worker.id.to_string(),
        alive: worker.until() > scene.now,
        lanes: worker.lanes.iter().map(lane).collect(),
        capabilities: worker.capabilities.tokens().map(str::to_owned).collect(),
        registered: show::moment(worker.registered_at, scene.now),
        last_seen: show::moment(worker.last_seen, scene.now),
    };
    let page = Workers {
        workers: found.iter().map(row).collect(),
        next: last.map(|last| {
            scene.link(&format!("/workers?after={}", encoded(last.worker.instance.as_str())))
        }),
        first: after.map(|_| scene.link("/workers")),
    };
    Ok(Rendered { title: "Workers".to_owned(), parts: vec![Part::new("workers", &page)] })
}
