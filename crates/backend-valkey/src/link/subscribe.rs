//! Sharded publish and subscribe: which nodes are subscribed to, for which channels.
//!
//! Whatever breaks, the affected channels are subscribed again at their current owner, and a
//! [`SubscriptionEvent::Gap`] reports that something may have been missed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ff_store::retry::Backoff;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::dial::Address;
use super::subscriber::{self, Ended};
use super::{Link, slot};

/// How many messages may wait before they are dropped for a gap.
const BACKLOG: usize = 4_096;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// An event of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubscriptionEvent {
    /// A message.
    Message {
        /// Its channel.
        channel: String,
        /// Its content.
        payload: Bytes,
    },
    /// A connection is new, or the listener was too slow: something may have been missed.
    Gap,
}

/// Starts to listen; it ends when the receiver is dropped.
pub(crate) fn start(link: &Link, channels: Vec<String>) -> mpsc::Receiver<SubscriptionEvent> {
    let (listener, receiver) = mpsc::channel(BACKLOG);
    let subscriptions = Subscriptions {
        link: link.clone(),
        listener,
        tasks: JoinSet::new(),
        subscribers: HashMap::new(),
        missing: channels,
    };
    tokio::spawn(subscriptions.listen());
    receiver
}

struct Subscriptions {
    link: Link,
    listener: mpsc::Sender<SubscriptionEvent>,
    /// One for each connection.
    tasks: JoinSet<Ended>,
    subscribers: HashMap<Id, Subscriber>,
    /// Channels without a subscription.
    missing: Vec<String>,
}

/// A connection and its channels.
struct Subscriber {
    address: Address,
    channels: Arc<[String]>,
    task: AbortHandle,
}

impl Subscriptions {
    async fn listen(mut self) {
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let mut retry = Instant::now();
        let listener = self.listener.clone();
        loop {
            tokio::select! {
                () = listener.closed() => return,
                () = sleep_until(retry), if !self.missing.is_empty() => {
                    self.assign();
                    if !self.missing.is_empty() {
                        self.link.0.nodes.relearn().await;
                    }
                    retry = Instant::now() + backoff.pause();
                }
                Some(done) = self.tasks.join_next_with_id() => {
                    if self.lost(done) {
                        backoff.reset();
                    }
                    retry = Instant::now() + backoff.pause();
                    self.link.0.nodes.relearn().await;
                }
            }
        }
    }

    /// Assigns every missing channel to a connection to its owner, one connection for each owner.
    fn assign(&mut self) {
        let mut groups: HashMap<Address, Vec<String>> = HashMap::new();
        for channel in std::mem::take(&mut self.missing) {
            match self.link.0.nodes.owner(slot::of(channel.as_bytes())) {
                Ok(node) => groups.entry(node.address().clone()).or_default().push(channel),
                Err(_) => self.missing.push(channel),
            }
        }
        for (address, mut channels) in groups {
            let known =
                self.subscribers.iter().find(|(_, subscriber)| subscriber.address == address);
            if let Some(subscriber) =
                known.map(|(id, _)| *id).and_then(|id| self.subscribers.remove(&id))
            {
                subscriber.task.abort();
                channels.extend(subscriber.channels.iter().cloned());
            }
            self.open(address, channels.into());
        }
    }

    fn open(&mut self, address: Address, channels: Arc<[String]>) {
        let dial = Arc::clone(&self.link.0.dial);
        let listener = self.listener.clone();
        let (to, of) = (address.clone(), Arc::clone(&channels));
        let task =
            self.tasks.spawn(async move { subscriber::run(&dial, &to, &of, &listener).await });
        self.subscribers.insert(task.id(), Subscriber { address, channels, task });
    }

    /// Records that a connection has ended; answers whether it ever worked.
    fn lost(&mut self, done: Result<(Id, Ended), JoinError>) -> bool {
        let (id, worked) = match done {
            Ok((id, ended)) => {
                tracing::debug!(error = ended.why.text, "no longer listening for work");
                (id, ended.worked)
            }
            Err(error) => (error.id(), false),
        };
        // A connection that was replaced is not known any more.
        if let Some(subscriber) = self.subscribers.remove(&id) {
            self.missing.extend(subscriber.channels.iter().cloned());
        }
        worked
    }
}
