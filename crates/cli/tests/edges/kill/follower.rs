//! A subscriber that keeps its cursor, through every kill of the server and of the store.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ff_api::client::HttpClient;
use ff_core::event::{EventId, EventName};
use ff_core::{Code, ExecutionId, Millis, Namespace};
use ff_store::events::{EventFilter, EventsPage, EventsRequest, StartAt};
use ff_store::{EventsBackend, StoreError};

use super::acknowledged::Acknowledged;

/// What it has seen.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    /// What a restarted subscriber would have kept.
    cursor: Option<String>,
    ids: BTreeSet<EventId>,
    told: BTreeSet<(ExecutionId, EventName)>,
    pub(crate) repeated: usize,
    /// How often its cursor had expired.
    pub(crate) expired: usize,
}

impl Follower {
    /// Switches the feed on, and begins there.
    pub(crate) async fn begin(&mut self, backend: &(impl EventsBackend + ?Sized)) {
        let page = backend.events(request(StartAt::Now, Millis::ZERO)).await.unwrap();
        self.note(page);
    }

    /// Follows through a server until `over`, whatever fails meanwhile.
    pub(crate) async fn follow(
        mut self,
        client: Arc<HttpClient>,
        over: Arc<AtomicBool>,
    ) -> Follower {
        while !over.load(Ordering::SeqCst) {
            let from = self.from();
            let read = client.events(request(from, Millis::from_secs(1))).await;
            self.take(read);
            tokio::task::yield_now().await;
        }
        self
    }

    /// Reads everything that is left.
    pub(crate) async fn catch_up(&mut self, backend: &(impl EventsBackend + ?Sized)) {
        loop {
            let read = backend.events(request(self.from(), Millis::ZERO)).await;
            let is_last = matches!(&read, Ok(page) if !page.more && page.events.is_empty());
            self.take(read);
            if is_last {
                return;
            }
        }
    }

    fn take(&mut self, read: Result<EventsPage, StoreError>) {
        match read {
            Ok(page) => self.note(page),
            Err(error) if error.refused() == Some(Code::CursorExpired) => {
                self.expired += 1;
                self.cursor = None;
            }
            Err(error) => assert_eq!(error.refused(), None, "{error}"),
        }
    }

    fn from(&self) -> StartAt {
        match &self.cursor {
            Some(cursor) => StartAt::After(cursor.parse().unwrap()),
            None => StartAt::Oldest,
        }
    }

    fn note(&mut self, page: EventsPage) {
        for event in page.events {
            self.repeated += usize::from(!self.ids.insert(event.id));
            self.told.insert((event.execution(), event.what.name()));
        }
        self.cursor = Some(page.cursor.to_string());
    }

    pub(crate) fn count(&self) -> usize {
        self.ids.len()
    }

    /// What was acknowledged and never told.
    pub(crate) fn missed(&self, all: &Acknowledged) -> Vec<(ExecutionId, EventName)> {
        let submitted = all.submitted.keys().map(|id| (*id, EventName::Submitted));
        let completed = all.completed.keys().map(|id| (*id, EventName::Completed));
        submitted.chain(completed).filter(|one| !self.told.contains(one)).collect()
    }
}

fn request(from: StartAt, wait: Millis) -> EventsRequest {
    let (namespace, filter) = (Namespace::default(), EventFilter::default());
    EventsRequest { namespace, from, filter, limit: 1_000, wait }
}
