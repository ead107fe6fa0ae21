//! The turn of one webhook: read what comes after its cursor, deliver it, move the cursor.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_core::bounds::WEBHOOK_PAGE;
use ff_core::webhook::DeliveryReport;
use ff_core::{Code, Millis, ResourceKey};
use ff_store::events::{EventFilter, EventsPage, EventsRequest, StartAt};
use ff_store::webhooks::Turn;
use ff_store::{EngineBackend, StoreError};
use tokio_util::sync::CancellationToken;

use super::DeliveryOptions;
use super::page::{Delivered, Delivering};
use super::send::Sender;

/// The pause after the store did not answer.
const REST: Duration = Duration::from_secs(1);

/// A webhook that this process delivers.
pub(super) struct Taking {
    backend: Arc<dyn EngineBackend>,
    key: ResourceKey,
    turn: u64,
    delivering: Delivering,
    keep: Duration,
}

/// The turn is over.
struct Over;

impl Taking {
    pub(super) fn new(
        backend: Arc<dyn EngineBackend>,
        sender: Arc<Sender>,
        options: Arc<DeliveryOptions>,
        turn: Turn,
    ) -> Taking {
        let Turn { key, webhook } = turn;
        let (number, keep) = (webhook.turn, options.keep);
        let failing = Arc::new(Mutex::new(None));
        let (webhook, backend_) = (Arc::new(webhook), backend.clone());
        let delivering = Delivering { backend: backend_, sender, options, webhook, failing };
        Taking { backend, key, turn: number, delivering, keep }
    }

    /// Delivers until another turn begins, the webhook is removed, or the process stops.
    pub(super) async fn run(self, stop: CancellationToken) {
        let over = stop.run_until_cancelled(self.take()).await;
        if over.is_none() {
            // Another process continues at once, where this one is.
            let leaves = DeliveryReport { leaves: true, ..self.keeping() };
            let _ = self.backend.report_delivery(&self.key, self.turn, leaves).await;
        }
    }

    async fn take(&self) -> Over {
        let begin = self.delivering.webhook.cursor.parse();
        // A cursor that another release wrote is one that the log does not reach.
        let mut from = begin.map_or(StartAt::Oldest, StartAt::After);
        let mut gap = from == StartAt::Oldest;
        loop {
            let page = match self.read(&from).await {
                Ok(page) => page,
                Err(error) if error.refused() == Some(Code::CursorExpired) => {
                    if from == StartAt::Oldest {
                        // The feed was switched a moment ago, and its reader has not seen that.
                        tokio::time::sleep(REST).await;
                    }
                    tracing::warn!(webhook = ?self.key, "events were removed before they were sent");
                    (from, gap) = (StartAt::Oldest, true);
                    continue;
                }
                Err(error) => {
                    tracing::debug!(webhook = ?self.key, %error, "events are not read");
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            let EventsPage { events, cursor, .. } = page;
            let moved = from != StartAt::After(cursor.clone());
            let done = match self.deliver(events).await {
                Ok(done) => done,
                Err(over) => return over,
            };
            let report = DeliveryReport {
                cursor: moved.then(|| cursor.to_string().into()),
                delivered: done.count,
                letters: done.letters,
                gap,
                failing: self.delivering.failing(),
                leaves: false,
            };
            if let Err(over) = self.report(report).await {
                return over;
            }
            (from, gap) = (StartAt::After(cursor), false);
        }
    }

    async fn read(&self, from: &StartAt) -> Result<EventsPage, StoreError> {
        let target = &self.delivering.webhook.target;
        let filter = EventFilter {
            names: target.names.clone(),
            lane: target.lane.clone(),
            kind: target.kind.clone(),
            ..EventFilter::default()
        };
        let request = EventsRequest {
            namespace: self.key.namespace.clone(),
            from: from.clone(),
            filter,
            limit: WEBHOOK_PAGE,
            wait: Millis::new(self.keep.as_millis() as u64),
        };
        self.backend.events(request).await
    }

    /// Delivers a page, and says meanwhile that the turn is alive.
    async fn deliver(&self, events: Vec<ff_core::event::Event>) -> Result<Delivered, Over> {
        let mut delivering = Box::pin(self.delivering.page(events));
        loop {
            tokio::select! {
                done = &mut delivering => return Ok(done),
                () = tokio::time::sleep(self.keep) => self.report(self.keeping()).await?,
            }
        }
    }

    /// Nothing but that it is alive, and how it goes.
    fn keeping(&self) -> DeliveryReport {
        DeliveryReport { failing: self.delivering.failing(), ..DeliveryReport::default() }
    }

    /// Reports until the store has it. What it already has is not counted again.
    async fn report(&self, report: DeliveryReport) -> Result<(), Over> {
        loop {
            match self.backend.report_delivery(&self.key, self.turn, report.clone()).await {
                Ok(webhook) if webhook.turn == self.turn => return Ok(()),
                Ok(_) => return Err(Over),
                Err(error) if error.refused().is_some() => return Err(Over),
                Err(error) => {
                    tracing::debug!(webhook = ?self.key, %error, "a delivery is not reported");
                    tokio::time::sleep(REST).await;
                }
            }
        }
    }
}
