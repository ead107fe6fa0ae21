//! The waiting claim: reads the queue, and while there is nothing, sleeps until it is woken.

use std::sync::Arc;
use std::time::Duration;

use ff_core::Millis;
use ff_core::machine::{ClaimRequest, Claimed, HandBack};

use crate::admission::{claim as admitting, settle};
use crate::error::StoreError;
use crate::process::Process;
use crate::wakeups::{Subscription, Wake};
use crate::{metrics, mint};

/// Claims, waiting up to `wait` for work to appear. A claim that its caller leaves is finished by
/// `process`.
pub(crate) async fn claim(
    process: &Arc<Process>,
    mut claim: ClaimRequest,
    wait: Millis,
) -> Result<Claimed, StoreError> {
    let queue = (claim.namespace.clone(), claim.lane.clone());
    let waiting = process.store.wakeups().subscribe(queue, claim.capabilities.clone());
    let give_up = tokio::time::Instant::now() + Duration::from_millis(wait.get());
    let mut wake = Wake::Announced;
    loop {
        let claimed = try_claim(process, &claim, &waiting).await?;
        if !claimed.assignments.is_empty() {
            if wake == Wake::Poll || claimed.again {
                waiting.pass_on();
            }
            return Ok(claimed);
        }
        // Leases of an earlier send of this request were found above, if there are any.
        claim.retry = false;
        if claimed.again {
            continue;
        }
        match tokio::time::timeout_at(give_up, waiting.woken()).await {
            Ok(by) => wake = by,
            Err(_) => return Ok(claimed),
        }
    }
}

async fn try_claim(
    process: &Arc<Process>,
    claim: &ClaimRequest,
    waiting: &Subscription,
) -> Result<Claimed, StoreError> {
    waiting.register();
    let measured = metrics::ClaimTimer::start(&claim.lane);
    let claimed = claim_or_hand_back(process, claim.clone()).await;
    waiting.has_read();
    match &claimed {
        Ok(claimed) if !claimed.assignments.is_empty() => measured.end("claimed"),
        Ok(claimed) if claimed.withheld.is_some() => measured.end("withheld"),
        Ok(_) => measured.end("empty"),
        Err(error) => measured.fail(error),
    }
    claimed
}

/// Claims in a task of its own: when the caller goes away before it has the answer, what was taken
/// is handed back at once instead of waiting for its lease to run out.
async fn claim_or_hand_back(
    process: &Arc<Process>,
    claim: ClaimRequest,
) -> Result<Claimed, StoreError> {
    let (answer, receive) = tokio::sync::oneshot::channel();
    let owner = process.clone();
    process.own(async move {
        let claimed = admitting::claim(&owner, claim).await;
        let taken = claimed.map(|claimed| Taken { process: owner.clone(), claimed });
        let _ = answer.send(taken);
    });
    let gone = |_| StoreError::Unavailable("the process is shutting down".into());
    receive.await.map_err(gone)?.map(Taken::accept)
}

/// What a claim took, until its caller has it. An answer can be lost after it was sent, so it is the
/// drop that hands back.
struct Taken {
    process: Arc<Process>,
    claimed: Claimed,
}

impl Taken {
    fn accept(mut self) -> Claimed {
        std::mem::take(&mut self.claimed)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let orphaned = std::mem::take(&mut self.claimed.assignments);
        if orphaned.is_empty() {
            return;
        }
        let owner = self.process.clone();
        self.process.own(async move {
            let holds = orphaned.iter().map(|assignment| assignment.hold());
            let commands = holds.map(|hold| mint::command(HandBack { hold })).collect();
            for error in owner.store.execute(commands).await.into_iter().filter_map(Result::err) {
                tracing::warn!(%error, "an orphaned claim stays leased until its lease ends");
            }
            settle::settle_unnoticed(&owner).await;
        });
    }
}
