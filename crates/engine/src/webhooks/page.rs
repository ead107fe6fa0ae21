//! Delivers a page of events: those of one execution one after the other, others at the same time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ff_api::EventView;
use ff_core::event::Event;
use ff_core::webhook::{DeadLetter, Webhook, reason};
use ff_store::{EngineBackend, StoreError};
use hyper::body::Bytes;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::DeliveryOptions;
use super::send::{Letter, Sender};
use super::sign::signatures;
use crate::metrics;

/// How many requests are under way to one target.
const AT_ONCE: usize = 8;

/// How often an event was tried, and why the last try failed.
type Failed = (u32, Box<str>);

/// What delivers the events of one webhook.
#[derive(Clone)]
pub(super) struct Delivering {
    pub(super) backend: Arc<dyn EngineBackend>,
    pub(super) sender: Arc<Sender>,
    pub(super) options: Arc<DeliveryOptions>,
    pub(super) webhook: Arc<Webhook>,
    /// How often the latest event that fails was tried, and why it failed.
    pub(super) failing: Arc<Mutex<Option<Failed>>>,
}

/// What became of a page.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    pub(super) count: u64,
    pub(super) letters: Vec<DeadLetter>,
}

impl Delivering {
    /// Delivers `events`, each until it is taken or given up.
    pub(super) async fn page(&self, events: Vec<Event>) -> Delivered {
        let mut groups = BTreeMap::<_, Vec<_>>::new();
        for event in events {
            groups.entry(event.execution()).or_default().push(event);
        }
        let (room, mut tasks) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
        for group in groups.into_values() {
            let (this, room) = (self.clone(), room.clone());
            tasks.spawn(async move {
                let _place = room.acquire_owned().await;
                this.group(group).await
            });
        }
        let mut all = Delivered::default();
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok(done) => {
                    all.count += done.count;
                    all.letters.extend(done.letters);
                }
                Err(gone) if gone.is_panic() => std::panic::resume_unwind(gone.into_panic()),
                // The runtime ends, and this group with it: the page was not delivered.
                Err(_) => std::future::pending().await,
            }
        }
        all
    }

    async fn group(&self, events: Vec<Event>) -> Delivered {
        let mut done = Delivered::default();
        for event in events {
            match self.event(&event).await {
                Ok(()) => done.count += 1,
                Err((tries, why)) => done.letters.push(DeadLetter {
                    event: event.id,
                    name: event.what.name(),
                    at: event.at,
                    tries,
                    why: reason(&why),
                }),
            }
        }
        done
    }

    /// Tries until it is taken, or often enough.
    async fn event(&self, event: &Event) -> Result<(), (u32, String)> {
        let body = serde_json::to_vec(&EventView::from(event)).unwrap_or_default();
        let (id, body) = (event.id.to_string(), Bytes::from(body));
        let mut pause = self.options.first_pause;
        let mut tries = 0;
        loop {
            let sent = self.once(&id, &body).await;
            metrics::delivery(sent.is_ok());
            let Err(why) = sent else {
                self.note(None);
                return Ok(());
            };
            tries += 1;
            tracing::debug!(event = id, tries, why, "an event was not delivered");
            if tries >= self.options.tries {
                metrics::given_up();
                return Err((tries, why));
            }
            self.note(Some((tries, reason(&why))));
            // Those that failed together do not come again together.
            let part = fastrand::f64().mul_add(0.5, 0.5);
            tokio::time::sleep(pause.mul_f64(part)).await;
            pause = (pause * 2).min(self.options.longest_pause);
        }
    }

    async fn once(&self, id: &str, body: &Bytes) -> Result<(), String> {
        let now = match self.now().await {
            Ok(now) => now,
            Err(error) => return Err(format!("the store did not answer: {error}")),
        };
        let timestamp = now.as_ms() / 1_000;
        let letter = Letter {
            id: id.to_owned(),
            timestamp,
            signatures: signatures(self.webhook.signing(now), id, timestamp, body),
            body: body.clone(),
        };
        self.sender.send(self.backend.reach(), &self.webhook.target.url, letter).await
    }

    async fn now(&self) -> Result<ff_core::Time, StoreError> {
        self.backend.store_time().await
    }

    fn note(&self, failing: Option<Failed>) {
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = failing;
    }

    /// Why deliveries fail now.
    pub(super) fn failing(&self) -> Option<Failed> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
