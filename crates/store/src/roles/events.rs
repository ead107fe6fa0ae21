//! What subscribers and operators do with the log of a namespace.

use async_trait::async_trait;
use ff_core::Namespace;
use ff_core::feed::FeedState;

use super::Engine;
use crate::error::StoreError;
use crate::events::{self, EventsPage, EventsRequest, FeedUpdate, feed};
use crate::store::Store;

/// Follows what happens in a namespace.
#[async_trait]
pub trait EventsBackend: Send + Sync {
    /// Events after a place, as soon as there are any; an empty answer has a cursor to continue from
    /// too. The feed is switched on if it is not, and events are promised from then on. A cursor that
    /// the log no longer reaches is refused with `cursor_expired`.
    async fn events(&self, request: EventsRequest) -> Result<EventsPage, StoreError>;

    /// Whether the events of a namespace are logged, and for how long.
    async fn feed(&self, namespace: &Namespace) -> Result<FeedState, StoreError>;

    /// Changes that. It is acknowledged when every partition goes by it.
    async fn set_feed(&self, update: FeedUpdate) -> Result<FeedState, StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> EventsBackend for Engine<S> {
    async fn events(&self, request: EventsRequest) -> Result<EventsPage, StoreError> {
        // A reader that goes away takes its wait along.
        events::follow(&self.0, request).await
    }

    async fn feed(&self, namespace: &Namespace) -> Result<FeedState, StoreError> {
        feed::state(&self.0, namespace).await
    }

    async fn set_feed(&self, update: FeedUpdate) -> Result<FeedState, StoreError> {
        let process = self.0.clone();
        self.0.call(async move { feed::set(&process, update).await }).await
    }
}
