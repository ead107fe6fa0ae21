//! The waiting claim: look, and while there is nothing, sleep until called.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::Millis;
use ff_core::machine::{Claim, Claimed, HandBack};
use tokio_util::task::TaskTracker;

use crate::admission;
use crate::error::StoreError;
use crate::store::Store;
use crate::wakeups::{Call, Ticket};
use crate::{meter, mint, settlement};

/// Claims, waiting up to `wait` for work to appear. `tasks` has what goes on without the caller.
pub(crate) async fn claim<S: Store>(
    store: &Arc<S>,
    tasks: &TaskTracker,
    claim: Claim,
    wait: Millis,
) -> Result<Claimed, StoreError> {
    let queue = (claim.namespace.clone(), claim.lane.clone());
    let ticket = store.wakeups().ticket(queue, claim.capabilities.clone());
    let give_up = tokio::time::Instant::now() + Duration::from_millis(wait.get());
    let mut call = Call::Announced;
    loop {
        let claimed = look(store, tasks, &claim, &ticket).await?;
        if !claimed.assignments.is_empty() {
            if call == Call::Net || claimed.again {
                ticket.pass_on();
            }
            return Ok(claimed);
        }
        if claimed.again {
            continue;
        }
        match tokio::time::timeout_at(give_up, ticket.called()).await {
            Ok(by) => call = by,
            Err(_) => return Ok(claimed),
        }
    }
}

async fn look<S: Store>(
    store: &Arc<S>,
    tasks: &TaskTracker,
    claim: &Claim,
    ticket: &Ticket,
) -> Result<Claimed, StoreError> {
    ticket.join();
    let began = Instant::now();
    let claimed = claim_or_hand_back(store, tasks, claim.clone()).await;
    ticket.looked();
    let outcome = match &claimed {
        Ok(claimed) if !claimed.assignments.is_empty() => "claimed",
        Ok(claimed) if claimed.withheld.is_some() => "withheld",
        Ok(_) => "empty",
        Err(_) => "error",
    };
    meter::claim(&claim.lane, outcome, began.elapsed());
    claimed
}

/// Claims in a task of its own: when the caller goes away before it has the answer, what was taken
/// is handed back at once instead of waiting for its lease to run out.
async fn claim_or_hand_back<S: Store>(
    store: &Arc<S>,
    tasks: &TaskTracker,
    claim: Claim,
) -> Result<Claimed, StoreError> {
    let (answer, receive) = tokio::sync::oneshot::channel();
    let (store, handing_back) = (store.clone(), tasks.clone());
    tasks.spawn(async move {
        let claimed = admission::claim(&*store, claim).await;
        settlement::settle_stopped(&*store).await;
        let _ = answer.send(claimed.map(|claimed| Taken { store, tasks: handing_back, claimed }));
    });
    let gone = |_| StoreError::Unavailable("the runtime is shutting down".into());
    receive.await.map_err(gone)?.map(Taken::accept)
}

/// What a claim took, until its caller has it. An answer can be lost after it was sent, so it is the
/// drop that hands back.
struct Taken<S: Store> {
    store: Arc<S>,
    tasks: TaskTracker,
    claimed: Claimed,
}

impl<S: Store> Taken<S> {
    fn accept(mut self) -> Claimed {
        std::mem::take(&mut self.claimed)
    }
}

impl<S: Store> Drop for Taken<S> {
    fn drop(&mut self) {
        let orphaned = std::mem::take(&mut self.claimed.assignments);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if orphaned.is_empty() {
            return;
        }
        let store = self.store.clone();
        let handing_back = async move {
            let holds = orphaned.iter().map(|assignment| assignment.hold());
            let commands = holds.map(|hold| mint::command(HandBack { hold })).collect();
            for error in store.execute(commands).await.into_iter().filter_map(Result::err) {
                tracing::warn!(%error, "an orphaned claim stays leased until its lease ends");
            }
            settlement::settle_stopped(&*store).await;
        };
        self.tasks.spawn_on(handing_back, &runtime);
    }
}
