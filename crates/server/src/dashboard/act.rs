//! What forms change. Each asks the table of all routes whether the visitor may call the route that does
//! the same, and names what it did in the log.

use axum::extract::{Path, Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use ff_api::ApprovalView;
use ff_core::approval::Decision;
use ff_core::bounds::MESSAGE_BYTES;
use ff_core::flow::HeldMembers;
use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Cancel, CancelFlow, Delete, Replay, Resume, Revoke, Signal, Target, WaitpointRef,
};
use ff_core::signal::SignalEffect;
use ff_core::state::State as ExecutionState;
use ff_core::{Lane, Millis, Patch, Refusal, ResourceName, WaitpointKey};
use ff_store::events::FeedUpdate;
use ff_store::roles::LaneUpdate;

use super::page::{self, Note};
use super::view::link;
use super::visitor::Posted;
use crate::error::ApiError;
use crate::metrics;
use crate::state::AppState;

/// How long a worker may still work on what is cancelled, if it may.
const GRACE: Millis = Millis::from_secs(30);

/// Does something to one execution.
pub(super) async fn execution(
    State(state): State<AppState>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    page::posted(&state, request, async |posted| act(&state, &posted, &id).await).await
}

async fn act(state: &AppState, posted: &Posted, id: &str) -> Result<Response, ApiError> {
    let target = Target { namespace: posted.namespace()?, execution: id.parse()? };
    let back = format!("/executions/{}", target.execution);
    let action = posted.fields.get("action").unwrap_or_default();
    let (method, route) = match action {
        "cancel" => (Method::POST, "/v1/executions/{id}/cancel"),
        "replay" => (Method::POST, "/v1/executions/{id}/replay"),
        "revoke" => (Method::POST, "/v1/executions/{id}/revoke"),
        "resume" => (Method::POST, "/v1/executions/{id}/resume"),
        "delete" => (Method::DELETE, "/v1/executions/{id}"),
        _ => return Err(Refusal::invalid("action", "is unknown; reload the page").into()),
    };
    posted.check(state, &method, route)?;
    let backend = posted.acting(state);
    let (done, note) = match action {
        "cancel" => {
            let grace = posted.fields.get("grace").map(|_| GRACE);
            let cancel = Cancel { target, grace, reason: reason(posted)? };
            (backend.cancel(cancel).await.map(drop), Note::Cancelled)
        }
        "replay" => {
            let run = number(posted, "run")?;
            let replay = Replay { target, run, journal: ReplayJournal::Keep };
            (backend.replay(replay).await.map(drop), Note::Replayed)
        }
        "revoke" => {
            let lease = posted.fields.get("lease").unwrap_or_default().parse()?;
            (backend.revoke(Revoke { target, lease }).await.map(drop), Note::Revoked)
        }
        "resume" => (backend.resume(Resume { target }).await.map(drop), Note::Resumed),
        _ => (backend.delete(Delete { target }).await, Note::Deleted),
    };
    done.inspect_err(metrics::refused)?;
    tell(posted, action, id);
    let back = if note == Note::Deleted { "/executions".to_owned() } else { back };
    onward(posted, &back, note)
}

/// Does something to a flow.
pub(super) async fn flow(
    State(state): State<AppState>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    page::posted(&state, request, async |posted| act_on_flow(&state, &posted, &id).await).await
}

async fn act_on_flow(state: &AppState, posted: &Posted, id: &str) -> Result<Response, ApiError> {
    let target = Target { namespace: posted.namespace()?, execution: id.parse()? };
    let back = format!("/flows/{}", target.execution);
    let action = posted.fields.get("action").unwrap_or_default();
    let note = match action {
        "cancel" => {
            posted.check(state, &Method::POST, "/v1/flows/{id}/cancel")?;
            let held = match posted.fields.get("held") {
                Some("grace") => HeldMembers::Grace(GRACE),
                Some("finish") => HeldMembers::Finish,
                _ => HeldMembers::Cancel,
            };
            let cancel = CancelFlow { target, held, reason: reason(posted)? };
            posted.acting(state).cancel_flow(cancel).await.inspect_err(metrics::refused)?;
            Note::FlowCancelled
        }
        "replay" => {
            posted.check(state, &Method::POST, "/v1/flows/{id}/replay")?;
            let run = number(posted, "run")?;
            let replayed = posted.acting(state).replay_flow(&target, run).await;
            replayed.inspect_err(metrics::refused)?;
            Note::FlowReplayed
        }
        _ => return Err(Refusal::invalid("action", "is unknown; reload the page").into()),
    };
    tell(posted, action, id);
    onward(posted, &back, note)
}

/// Takes the decision of a person.
pub(super) async fn decide(
    State(state): State<AppState>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    page::posted(&state, request, async |posted| approve(&state, &posted, &id).await).await
}

async fn approve(state: &AppState, posted: &Posted, id: &str) -> Result<Response, ApiError> {
    posted.check(state, &Method::POST, "/v1/executions/{id}/signals")?;
    let target = Target { namespace: posted.namespace()?, execution: id.parse()? };
    let approved = match posted.fields.get("decision") {
        Some("approve") => true,
        Some("reject") => false,
        _ => return Err(Refusal::invalid("decision", "is unknown; reload the page").into()),
    };
    let comment = text(posted, "comment")?;
    let source = posted.visitor.caller.actor.clone().into();
    let decided = ApprovalView { approved, comment: comment.map(Into::into) };
    let signal = Signal {
        waitpoint: WaitpointRef::ByKey(awaited(state, &target).await?),
        target,
        // Without one, the first decision of a source stands.
        key: None,
        name: Some(Decision::of(approved).name()?),
        category: Some(Decision::category()?),
        source,
        payload: decided.payload(),
    };
    let signalled = posted.acting(state).signal(signal).await.inspect_err(metrics::refused)?;
    tell(posted, if approved { "approve" } else { "reject" }, id);
    let note = match signalled.effect {
        SignalEffect::Resumed if approved => Note::Approved,
        SignalEffect::Resumed => Note::Rejected,
        SignalEffect::Recorded => Note::Recorded,
        SignalEffect::Duplicate => Note::Duplicate,
        SignalEffect::TooLate => Note::TooLate,
    };
    let back = match posted.fields.get("from") {
        Some("inbox") => "/approvals".to_owned(),
        _ => format!("/executions/{id}"),
    };
    onward(posted, &back, note)
}

/// The one waitpoint at which the execution waits.
async fn awaited(state: &AppState, target: &Target) -> Result<WaitpointKey, ApiError> {
    let record = state.backend.describe(target).await?;
    let closed = || Refusal::invalid("execution", "waits for no decision any more");
    let ExecutionState::Suspended { suspension } = &record.state else {
        return Err(closed().into());
    };
    let open = state.backend.waitpoints(target).await?;
    let mut keys = open.into_iter().filter(|one| one.of == Some(suspension.number));
    match (keys.next(), keys.next()) {
        (Some(only), None) => Ok(only.key),
        (None, _) => Err(closed().into()),
        (Some(_), Some(_)) => {
            let why = "waits at several waitpoints; name one with `ff approve ID WAITPOINT`";
            Err(Refusal::invalid("execution", why).into())
        }
    }
}

/// Changes the settings of a lane.
pub(super) async fn lane(
    State(state): State<AppState>,
    Path(lane): Path<String>,
    request: Request,
) -> Response {
    page::posted(&state, request, async |posted| steer(&state, &posted, &lane).await).await
}

async fn steer(state: &AppState, posted: &Posted, name: &str) -> Result<Response, ApiError> {
    posted.check(state, &Method::PATCH, "/v1/lanes/{lane}")?;
    let lane: Lane = name.parse()?;
    let action = posted.fields.get("action").unwrap_or_default();
    let mut update = LaneUpdate {
        namespace: posted.namespace()?,
        lane,
        reason: reason(posted)?,
        ..LaneUpdate::default()
    };
    match action {
        "pause" => update.paused = Some(true),
        "resume" => update.paused = Some(false),
        "drain" => update.draining = Some(true),
        "open" => update.draining = Some(false),
        "limit" => update.max_active = Patch::Set(number(posted, "limit")?),
        "unlimit" => update.max_active = Patch::Clear,
        _ => return Err(Refusal::invalid("action", "is unknown; reload the page").into()),
    }
    posted.acting(state).update_lane(update).await.inspect_err(metrics::refused)?;
    tell(posted, action, name);
    onward(posted, "/lanes", Note::LaneChanged)
}

/// Forgets what was used of a budget.
pub(super) async fn reset(
    State(state): State<AppState>,
    Path(name): Path<String>,
    request: Request,
) -> Response {
    page::posted(&state, request, async |posted| {
        posted.check(&state, &Method::POST, "/v1/budgets/{name}/reset")?;
        let budget: ResourceName = name.parse()?;
        let reset = posted.acting(&state).reset_budget(&posted.namespace()?, &budget).await;
        reset.inspect_err(metrics::refused)?;
        tell(&posted, "reset", &name);
        onward(&posted, "/limits", Note::BudgetReset)
    })
    .await
}

/// Switches the feed of a namespace.
pub(super) async fn feed(State(state): State<AppState>, request: Request) -> Response {
    page::posted(&state, request, async |posted| {
        posted.check(&state, &Method::PATCH, "/v1/feed")?;
        let action = posted.fields.get("action").unwrap_or_default();
        let (on, note) = match action {
            "on" => (true, Note::FeedOn),
            "off" => (false, Note::FeedOff),
            _ => return Err(Refusal::invalid("action", "is unknown; reload the page").into()),
        };
        let namespace = posted.namespace()?;
        tell(&posted, action, "feed");
        let update = FeedUpdate { namespace, on: Some(on), ..FeedUpdate::default() };
        posted.acting(&state).set_feed(update).await.inspect_err(metrics::refused)?;
        onward(&posted, "/events", note)
    })
    .await
}

/// Back to a page, which says what was done.
pub(super) fn onward(posted: &Posted, path: &str, note: Note) -> Result<Response, ApiError> {
    let sign = if path.contains('?') { '&' } else { '?' };
    let address = link(&posted.namespace()?, &format!("{path}{sign}note={}", note.as_str()));
    Ok(Redirect::to(&address).into_response())
}

/// Names who did what.
pub(super) fn tell(posted: &Posted, action: &str, what: &str) {
    let by = &posted.visitor.caller.actor;
    tracing::info!(%by, action, what, "changed from the dashboard");
}

/// Why, for people.
pub(super) fn reason(posted: &Posted) -> Result<Option<Box<str>>, ApiError> {
    text(posted, "reason")
}

fn text(posted: &Posted, field: &'static str) -> Result<Option<Box<str>>, ApiError> {
    // A browser ends each line of a text area with both.
    let text = posted.fields.get(field).map(|text| text.replace("\r\n", "\n"));
    let text = text.filter(|text| !text.is_empty());
    if text.as_ref().is_some_and(|text| text.len() > MESSAGE_BYTES) {
        let why = format!("is longer than {MESSAGE_BYTES} bytes; shorten it");
        return Err(Refusal::invalid(field, why).into());
    }
    Ok(text.map(Into::into))
}

fn number(posted: &Posted, field: &'static str) -> Result<u32, ApiError> {
    let text = posted.fields.get(field).unwrap_or_default();
    text.parse().map_err(|_| {
        let error: ApiError =
            Refusal::invalid(field, "is not a number; give a whole number").into();
        ApiError { status: StatusCode::BAD_REQUEST, ..error }
    })
}
