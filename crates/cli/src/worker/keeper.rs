//! Renews one lease, at a third of its length, until its end is acknowledged, and hears from the
//! store when the work is to stop.

use std::sync::Arc;
use std::time::Duration;

use ff_core::machine::{self, Assignment, Renewed};
use ff_core::{Code, Millis, Time};
use ff_store::StoreError;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout_at};

use super::Context;

/// The store has at least this long to answer, also when the lease is about to end: it decides
/// whether the lease is lost, not this process's clock.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// Why the work is to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// It is to be cancelled, and this holder is left some time.
    Stop {
        /// When the hold ends.
        by: Instant,
    },
    /// It was cancelled.
    Cancelled,
    /// The lease is gone, and why.
    Lost(String),
}

#[derive(Debug, Clone)]
struct LeaseRef {
    /// None while the work may go on.
    order: Option<Order>,
    /// When the lease ends unless renewed, by this process's clock.
    ends: Instant,
}

/// Keeps one lease. Dropping it stops the renewals.
pub(super) struct Keeper {
    hold: watch::Receiver<LeaseRef>,
    task: JoinHandle<()>,
}

impl Keeper {
    /// Begins to renew what `assignment` holds.
    pub(super) fn start(context: &Arc<Context>, assignment: &Assignment) -> Keeper {
        let now = Instant::now();
        let since_claim = |at: Time| now + span(at.since(assignment.claimed_at));
        let (publish, hold) =
            watch::channel(LeaseRef { order: None, ends: since_claim(assignment.until) });
        let renewals = Renewals {
            context: context.clone(),
            hold: assignment.hold(),
            ttl: assignment.lease_ttl,
            times_out: assignment.timeout_at.map(since_claim),
            publish,
        };
        Keeper { hold, task: tokio::spawn(renewals.run()) }
    }

    /// Waits until the work is to stop.
    pub(super) async fn order(&mut self) -> Order {
        let told = self.hold.wait_for(|hold| hold.order.is_some()).await;
        let order = told.ok().and_then(|hold| hold.order.clone());
        order.unwrap_or_else(|| Order::Lost("its renewals have stopped".to_owned()))
    }

    /// Whether the lease may still be alive, as far as this process knows.
    pub(super) fn may_hold(&self) -> bool {
        Instant::now() < self.hold.borrow().ends
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Renewals {
    context: Arc<Context>,
    hold: machine::LeaseRef,
    ttl: Millis,
    times_out: Option<Instant>,
    publish: watch::Sender<LeaseRef>,
}

impl Renewals {
    async fn run(self) {
        let every = span(self.ttl) / 3;
        let mut ticks = interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = at(self.times_out) => {
                    return self.order(Order::Lost("the attempt ran past its timeout".to_owned()));
                }
            }
            let sent = Instant::now();
            let ends = self.publish.borrow().ends;
            match timeout_at(ends.max(sent + LEAST_PATIENCE), self.renew()).await {
                Ok(Ok(renewed)) => self.renewed(renewed, sent),
                Ok(Err(error)) => match error.refused() {
                    Some(Code::Cancelled) => return self.order(Order::Cancelled),
                    None if Instant::now() < ends => ticks.reset_after(every / 4),
                    _ => return self.order(Order::Lost(error.to_string())),
                },
                Err(_) => {
                    return self.order(Order::Lost("the store did not answer in time".to_owned()));
                }
            }
        }
    }

    async fn renew(&self) -> Result<Renewed, StoreError> {
        let answers = self.context.backend.renew(vec![self.hold.clone()]).await?;
        let none = || Err(StoreError::Corrupt("a renewal was not answered".to_owned()));
        answers.into_iter().next().unwrap_or_else(none)
    }

    fn renewed(&self, renewed: Renewed, sent: Instant) {
        let order = renewed.cancel_by.map(|by| {
            // The store renewed from its own now.
            let store_now = renewed.until - self.ttl;
            Order::Stop { by: sent + span(by.since(store_now)) }
        });
        let ends = sent + span(self.ttl);
        self.publish.send_replace(LeaseRef { order, ends });
    }

    fn order(&self, order: Order) {
        self.publish.send_modify(|hold| hold.order = Some(order));
    }
}

fn span(length: Millis) -> Duration {
    Duration::from_millis(length.get())
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
