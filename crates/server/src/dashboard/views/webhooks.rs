//! Where the events of a namespace are sent, and how that goes.

use askama::Template;
use ff_api::{DeadLetterView, WebhookView};
use ff_core::ExecutionId;

use super::executions::cut;
use crate::dashboard::part::Part;
use crate::dashboard::show;
use crate::dashboard::view::Scene;
use crate::error::ApiError;
use crate::html::Markup;

/// How many characters of an address or a reason are shown.
const TEXT: usize = 120;
/// How many events that were given up are shown.
const LETTERS: usize = 10;

#[derive(Template)]
#[template(path = "webhooks.html")]
struct Webhooks {
    webhooks: Vec<WebhookRow>,
    letters: Vec<Letter>,
}

struct WebhookRow {
    name: String,
    url: String,
    /// What is sent.
    what: String,
    delivered: String,
    last: Option<Markup>,
    /// Why deliveries fail, after how many tries, and since when.
    failing: Option<(String, u32, Markup)>,
    dead: u64,
    gaps: u64,
}

/// An event that was given up.
struct Letter {
    webhook: String,
    event: String,
    at: Markup,
    tries: u32,
    reason: String,
    /// The execution and its page.
    execution: Option<(String, String)>,
}

/// All webhooks, and the latest events that they gave up.
pub(super) async fn part(scene: &Scene<'_>) -> Result<Part, ApiError> {
    let found = scene.state.backend.webhooks(&scene.view.namespace).await?;
    let views: Vec<_> = found.iter().map(WebhookView::from).collect();
    let mut letters: Vec<_> = views
        .iter()
        .flat_map(|view| view.dead_letters.iter().map(move |letter| (view, letter)))
        .collect();
    letters.sort_by_key(|(_, letter)| std::cmp::Reverse(letter.at.0));
    let letters = letters.into_iter().take(LETTERS);
    let webhooks = Webhooks {
        webhooks: views.iter().map(|view| row(scene, view)).collect(),
        letters: letters.map(|(view, letter)| given_up(scene, view, letter)).collect(),
    };
    Ok(Part::new("webhooks", &webhooks))
}

fn row(scene: &Scene<'_>, view: &WebhookView) -> WebhookRow {
    let names: Vec<_> = view.events.iter().map(|name| show::words(name.as_str())).collect();
    let mut what = if names.is_empty() { "everything".to_owned() } else { names.join(", ") };
    if let Some(lane) = &view.lane {
        what += &format!(" in lane {lane}");
    }
    if let Some(kind) = &view.kind {
        what += &format!(" of kind {kind}");
    }
    WebhookRow {
        name: view.webhook.to_string(),
        url: cut(&view.url, TEXT),
        what,
        delivered: show::count(view.delivered),
        last: view.last_delivered.map(|at| show::moment(at.0, scene.now)),
        failing: view.failing.as_ref().map(|failing| {
            (cut(&failing.reason, TEXT), failing.tries, show::moment(failing.since.0, scene.now))
        }),
        dead: view.dead,
        gaps: view.gaps,
    }
}

fn given_up(scene: &Scene<'_>, view: &WebhookView, letter: &DeadLetterView) -> Letter {
    let id = letter.id.rsplit_once('-').and_then(|(id, _)| id.parse::<ExecutionId>().ok());
    Letter {
        webhook: view.webhook.to_string(),
        event: show::words(letter.event.as_str()),
        at: show::moment(letter.at.0, scene.now),
        tries: letter.tries,
        reason: cut(&letter.reason, TEXT),
        execution: id.map(|id| (show::short(id), scene.link(&format!("/executions/{id}")))),
    }
}
