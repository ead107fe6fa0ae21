//! Subscriptions to what happens in a namespace.

use ff_core::ExecutionId;
use ff_core::event::{Event, EventName};
use ff_core::{Kind, Lane, TagKey, TagValue};
use ff_store::ClientBackend;
use ff_store::events::{Cursor, EventFilter, StartAt, Subscription};

use crate::client::Client;
use crate::error::SdkError;

/// Describes a subscription. Made by [`Client::subscribe`]; begun by [`EventStream::open`].
#[must_use = "nothing is read before `open()`"]
pub struct EventStream {
    client: Client,
    filter: EventFilter,
    from: StartAt,
}

/// Events, one after the other. See [`Client::subscribe`].
pub struct Events(Subscription<dyn ClientBackend>);

impl Client {
    /// Follows what happens in the namespace. A subscriber misses nothing from its beginning, or from the
    /// cursor that it gives, and may see an event again, under the same id; so it acts on each id once,
    /// or in a way that can be repeated. The first subscriber switches the log of the namespace on.
    pub fn subscribe(&self) -> EventStream {
        EventStream { client: self.clone(), filter: EventFilter::default(), from: StartAt::Now }
    }

    /// Follows the ends of executions: completed, failed, cancelled, expired.
    pub fn subscribe_completions(&self) -> EventStream {
        self.subscribe().on(EventName::ENDS)
    }
}

impl EventStream {
    /// Only these events.
    pub fn on(mut self, names: impl IntoIterator<Item = EventName>) -> EventStream {
        self.filter.names.extend(names);
        self
    }

    /// Only of executions in this lane.
    pub fn lane(mut self, lane: Lane) -> EventStream {
        self.filter.lane = Some(lane);
        self
    }

    /// Only of executions of this kind.
    pub fn kind(mut self, kind: Kind) -> EventStream {
        self.filter.kind = Some(kind);
        self
    }

    /// Only of this execution.
    pub fn execution(mut self, execution: ExecutionId) -> EventStream {
        self.filter.execution = Some(execution);
        self
    }

    /// Only of executions with this tag. It may be called again for more.
    pub fn tag(mut self, key: TagKey, value: TagValue) -> EventStream {
        self.filter.tags.push((key, value));
        self
    }

    /// Begins with the oldest event that is kept.
    pub fn from_oldest(mut self) -> EventStream {
        self.from = StartAt::Oldest;
        self
    }

    /// Begins where an earlier subscription was.
    pub fn after(mut self, cursor: Cursor) -> EventStream {
        self.from = StartAt::After(cursor);
        self
    }

    /// Begins: what happens from now on is not missed.
    pub async fn open(self) -> Result<Events, SdkError> {
        let EventStream { client, filter, from } = self;
        let (backend, namespace) = (client.backend().clone(), client.namespace.clone());
        let mut subscription = Subscription::new(backend, namespace, filter, from);
        subscription.begin().await?;
        Ok(Events(subscription))
    }
}

impl Events {
    /// The next event. A server or store that does not answer is waited for. A cursor that the log no
    /// longer reaches is an error whose code is `cursor_expired`.
    pub async fn next(&mut self) -> Result<Event, SdkError> {
        Ok(self.0.next().await?)
    }

    /// Where a later subscription begins that misses nothing of what this one has not given yet.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.0.cursor()
    }
}
