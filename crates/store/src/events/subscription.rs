//! A subscription: events one after the other, through lost replies and servers that come and go.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ff_core::Namespace;
use ff_core::bounds::EVENTS_WAIT_MAX;
use ff_core::event::Event;

use super::cursor::Cursor;
use super::filter::EventFilter;
use super::follow::{EventsRequest, StartAt};
use crate::error::StoreError;
use crate::retry::{Backoff, repeated};
use crate::roles::EventsBackend;

/// How many events one call asks for.
const PAGE: usize = 200;

/// Follows the events of a namespace. It misses nothing, and may give an event again, under the same id,
/// to one that begins again at its [cursor](Subscription::cursor).
pub struct Subscription<B: ?Sized> {
    backend: Arc<B>,
    namespace: Namespace,
    filter: EventFilter,
    from: StartAt,
    /// What was read and not given yet, and where that ends.
    read: VecDeque<Event>,
    ends: Option<Cursor>,
    /// Everything before it was given.
    cursor: Option<Cursor>,
}

impl<B: EventsBackend + ?Sized> Subscription<B> {
    /// A subscription to some events of `namespace`, from a place on.
    pub fn new(
        backend: Arc<B>,
        namespace: Namespace,
        filter: EventFilter,
        from: StartAt,
    ) -> Subscription<B> {
        let cursor = match &from {
            StartAt::After(cursor) => Some(cursor.clone()),
            _ => None,
        };
        let (read, ends) = (VecDeque::new(), None);
        Subscription { backend, namespace, filter, from, read, ends, cursor }
    }

    /// Reads the place at which it begins, and so promises what happens from then on.
    pub async fn begin(&mut self) -> Result<(), StoreError> {
        if self.cursor.is_none() && self.read.is_empty() && self.from == StartAt::Now {
            self.read(Duration::ZERO).await?;
        }
        Ok(())
    }

    /// The next event. A failure that may pass is waited out.
    pub async fn next(&mut self) -> Result<Event, StoreError> {
        loop {
            if let Some(event) = self.read.pop_front() {
                self.note();
                return Ok(event);
            }
            self.read(Duration::from_millis(EVENTS_WAIT_MAX.get())).await?;
        }
    }

    /// Where one that begins again misses nothing of what was not given yet. `None` before the first
    /// read.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.cursor.as_ref()
    }

    async fn read(&mut self, wait: Duration) -> Result<(), StoreError> {
        let wait = ff_core::Millis::new(wait.as_millis() as u64);
        let request = EventsRequest {
            namespace: self.namespace.clone(),
            from: self.from.clone(),
            filter: self.filter.clone(),
            limit: PAGE,
            wait,
        };
        let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        let again = |error: &StoreError, _| error.is_retryable();
        let page = repeated(backoff, again, |_| self.backend.events(request.clone())).await?;
        self.from = StartAt::After(page.cursor.clone());
        self.ends = Some(page.cursor);
        self.read.extend(page.events);
        self.note();
        Ok(())
    }

    /// Once all that was read is given, the next one begins behind it.
    fn note(&mut self) {
        if self.read.is_empty() {
            self.cursor = self.ends.take().or(self.cursor.take());
        }
    }
}

impl<B: ?Sized> std::fmt::Debug for Subscription<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
