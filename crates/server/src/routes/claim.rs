//! Claim work, waiting for some to appear.

use std::sync::Arc;
use std::time::Duration;

use axum::Json as JsonBody;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use ff_api::http::schema::Name;
use ff_api::http::{ClaimRequest, ClaimedView};
use ff_core::bounds::CLAIM_WAIT_MAX;
use ff_core::machine::Claimed;
use ff_core::{Millis, WorkerId};
use ff_store::EngineBackend;
use tokio_util::task::TaskTracker;

use super::Problems;
use crate::body::{Json, SMALL};
use crate::error::ApiError;
use crate::flight::Waiting;
use crate::metrics;
use crate::params::{InPath, NamespaceQuery};
use crate::state::AppState;

/// Claims work, waiting for some to appear. What was claimed for a client that disconnects is
/// handed back.
#[utoipa::path(post, path = "/v1/workers/{id}/claim", tag = "workers",
    operation_id = "claim_executions",
    params(("id" = Name, Path, description = "The worker."), NamespaceQuery),
    request_body = ClaimRequest, responses(
    (status = 200, description = "Work.", body = ClaimedView),
    (status = 204, description = "There is none."),
    Problems
))]
pub(crate) async fn claim(
    State(state): State<AppState>,
    who: InPath<WorkerId>,
    waiting: Waiting,
    Json(request): Json<ClaimRequest, SMALL>,
) -> Result<Response, ApiError> {
    let claim = request.command(who.namespace, who.name)?;
    let wait = Millis::new(request.wait_ms).within("wait_ms", Millis::ZERO, CLAIM_WAIT_MAX)?;
    let wait = wait.min(state.config.longest_wait);
    let permit = match wait {
        Millis::ZERO => None,
        _ => Some(waiting.begin(&state.waiting, "claims")?),
    };
    let claimed = tokio::select! {
        biased;
        // A waiting claim takes nothing more once the server stops.
        () = stopping(&state, wait) => Claimed::default(),
        claimed = state.backend.claim(claim, wait) => {
            claimed.inspect_err(metrics::refused)?
        }
    };
    drop(permit);
    let taken = Taken { backend: state.backend, tasks: state.tasks, claimed };
    // Yields to the connection: if its client has disconnected, the claim ends here.
    tokio::task::yield_now().await;
    let claimed = taken.delivered();
    if claimed == Claimed::default() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(JsonBody(ClaimedView::from(&claimed)).into_response())
}

/// Waits for the server to stop; a claim that does not wait may finish.
async fn stopping(state: &AppState, wait: Millis) {
    state.stopping.cancelled().await;
    if wait == Millis::ZERO {
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

/// What was claimed for a client that may have disconnected. Dropping it hands everything back.
struct Taken {
    backend: Arc<dyn EngineBackend>,
    tasks: TaskTracker,
    claimed: Claimed,
}

impl Taken {
    fn delivered(mut self) -> Claimed {
        std::mem::take(&mut self.claimed)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let holds: Vec<_> = self.claimed.assignments.iter().map(|taken| taken.hold()).collect();
        if holds.is_empty() {
            return;
        }
        let backend = self.backend.clone();
        self.tasks.spawn(async move {
            let answers = backend.hand_back(holds).await.unwrap_or_else(|error| vec![Err(error)]);
            for error in answers.into_iter().filter_map(Result::err) {
                tracing::warn!(%error, "an orphaned claim stays leased until its lease ends");
            }
        });
    }
}
