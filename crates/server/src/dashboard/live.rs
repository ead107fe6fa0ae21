//! Live pages: what changes on a page is sent to everybody who looks at it.
//!
//! A view is rendered once for all its viewers, every two seconds, and less often when many different
//! views are open, so that what the dashboard costs the store has a bound whatever is watched. A
//! viewer who reads slowly gets the newest state and skips those between.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{StatusCode, Uri};
use axum::response::Response;
use ff_core::Description;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::timeout;

use super::part::Part;
use super::view::View;
use super::visitor::Visitor;
use crate::error::ApiError;
use crate::sse::{self, Event, Sender};
use crate::state::AppState;
use crate::urlencoded::Fields;

/// How many different views are live at once.
const VIEWS: usize = 64;
/// How many viewers there are at once.
const VIEWERS: usize = 2_048;
/// How often a view is rendered.
const EVERY: Duration = Duration::from_secs(2);
/// How many views are rendered that often; more are rendered less often.
const BRISK: u32 = 4;

/// The views that somebody watches.
#[derive(Debug, Default)]
pub(super) struct Live {
    views: Mutex<HashMap<String, watch::Sender<Shown>>>,
}

/// What a view shows: its parts, or why it cannot be shown.
#[derive(Debug, Clone, Default)]
struct Shown {
    parts: Arc<Vec<Part>>,
    problem: Option<Arc<str>>,
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<Shown>>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many viewers there are.
    fn viewers(&self) -> usize {
        self.lock().values().map(watch::Sender::receiver_count).sum()
    }

    /// Where the states of `view` arrive; `None` if too much is watched.
    fn watch(&self, state: &AppState, view: View) -> Option<watch::Receiver<Shown>> {
        let key = format!("{view:?}");
        let mut views = self.lock();
        if let Some(sender) = views.get(&key) {
            return Some(sender.subscribe());
        }
        if views.len() >= VIEWS {
            return None;
        }
        let (sender, receiver) = watch::channel(Shown::default());
        views.insert(key.clone(), sender);
        drop(views);
        state.tasks.spawn(keep_rendering(state.clone(), view, key));
        Some(receiver)
    }
}

/// Renders a view until nobody watches it or the server stops.
async fn keep_rendering(state: AppState, view: View, key: String) {
    let mut last = None;
    loop {
        let shown = state.stopping.run_until_cancelled(render(&state, &view, &mut last)).await;
        let Some(shown) = shown else { break };
        let views = {
            let mut views = state.dashboard.live.lock();
            let Some(sender) = views.get(&key) else { return };
            if sender.is_closed() {
                views.remove(&key);
                return;
            }
            if let Some(shown) = shown {
                sender.send_replace(shown);
            }
            views.len()
        };
        let pause = tokio::time::sleep(pause(views));
        if state.stopping.run_until_cancelled(pause).await.is_none() {
            break;
        }
    }
    state.dashboard.live.lock().remove(&key);
}

/// What the view shows now; `None` if it shows an execution that has ended, which was `last` the same.
async fn render(state: &AppState, view: &View, last: &mut Option<Description>) -> Option<Shown> {
    let ended = view.ended(state).await;
    if ended.is_some() && ended == *last {
        return None;
    }
    *last = ended;
    Some(match view.render(state, true).await {
        Ok(rendered) => Shown { parts: Arc::new(rendered.parts), problem: None },
        Err(error) => Shown { parts: Arc::default(), problem: Some(error.detail.into()) },
    })
}

/// How long a view rests after it was rendered, while so many are watched.
fn pause(views: usize) -> Duration {
    EVERY.saturating_mul(u32::try_from(views).unwrap_or(u32::MAX).div_ceil(BRISK).max(1))
}

/// A change of a page, as the script reads it.
#[derive(Serialize)]
struct Change<'a> {
    id: &'a str,
    key: &'a str,
    html: &'a str,
}

/// Sends the changes of the page that the query names, as server-sent events.
pub(super) async fn stream(
    state: &AppState,
    visitor: Visitor,
    uri: &Uri,
) -> Result<Response, ApiError> {
    let fields = Fields::parse(uri.query().unwrap_or_default().as_bytes()).unwrap_or_default();
    let page = fields.get("page").and_then(|page| page.parse::<Uri>().ok()).ok_or_else(|| {
        ApiError::http(StatusCode::BAD_REQUEST, "invalid_query", "`page` names no page")
    })?;
    let view = View::of(state, &visitor, &page)?;
    let viewers = state.dashboard.live.viewers();
    let room = (viewers < VIEWERS).then(|| state.dashboard.live.watch(state, view)).flatten();
    let Some(changes) = room else {
        let detail = "too many pages are watched; reload this one now and then";
        return Err(ApiError::http(StatusCode::TOO_MANY_REQUESTS, "overloaded", detail));
    };
    let proof = state.dashboard.sessions.proof(visitor.session.as_ref());
    let viewer = Viewer { mark: state.dashboard.mark.clone(), proof, sent: HashMap::new() };
    Ok(sse::answer(state, visitor.shown(), async move |sender| {
        viewer.follow(changes, sender).await
    }))
}

/// One open page.
struct Viewer {
    /// Stands where the proof of the viewer's forms belongs.
    mark: String,
    proof: String,
    /// The keys of the parts as they were sent.
    sent: HashMap<&'static str, String>,
}

impl Viewer {
    /// Sends what changes until nothing more is to be sent.
    async fn follow(mut self, mut changes: watch::Receiver<Shown>, mut sender: Sender) {
        changes.mark_changed();
        loop {
            let goes_on = match timeout(sse::WAIT, changes.changed()).await {
                Ok(Ok(())) => {
                    let shown = changes.borrow_and_update().clone();
                    sender.send(&self.news(&shown)).await
                }
                Ok(Err(_)) => false,
                Err(_) => sender.rest().await,
            };
            if !goes_on {
                return;
            }
        }
    }

    /// The parts that differ from what was sent.
    fn news(&mut self, shown: &Shown) -> Vec<Event<'static>> {
        let problem = shown.problem.iter().map(|problem| event("problem", &**problem));
        let mut news: Vec<_> = problem.collect();
        for part in shown.parts.iter().filter(|part| part.live) {
            if self.sent.get(part.id).is_some_and(|key| *key == part.key) {
                continue;
            }
            self.sent.insert(part.id, part.key.clone());
            let html = part.html.replace(&self.mark, &self.proof);
            news.push(event("part", &Change { id: part.id, key: &part.key, html: &html }));
        }
        news
    }
}

/// One event; JSON has no line breaks.
fn event(kind: &'static str, data: &(impl Serialize + ?Sized)) -> Event<'static> {
    Event { kind: Some(kind), id: None, data: serde_json::to_string(data).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_rendered_in_a_second_has_a_bound_however_much_is_watched() {
        for views in 1..=VIEWS {
            let per_second = views as f64 / pause(views).as_secs_f64();
            assert!(per_second <= f64::from(BRISK) / EVERY.as_secs_f64(), "{views} views");
        }
        assert_eq!(pause(1), EVERY);
    }

    #[test]
    fn an_event_is_one_line_of_data() {
        let html = "a\n\r\nevent: x\n\n";
        let Event { data, .. } = event("part", &Change { id: "rows", key: "k", html });
        assert!(!data.contains(['\n', '\r']) && data.starts_with('{'), "{data}");
    }
}
