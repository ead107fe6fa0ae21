//! Sharded publish and subscribe: who is listened to, for which channels. These may change.
//!
//! Whatever breaks, the affected channels are subscribed again at their current owner, and a
//! [`SubscriptionEvent::Gap`] reports that something may have been missed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ff_store::retry::Backoff;
use tokio::sync::{mpsc, watch};
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
    /// A connection listens to these channels too from now on.
    Joined {
        /// Which.
        channels: Vec<String>,
    },
}

/// Channels to listen to.
pub(crate) type Channels = BTreeSet<String>;

/// Begins to listen to what is `wanted`; it ends when the receiver is dropped.
pub(crate) fn start(
    link: &Link,
    mut wanted: watch::Receiver<Channels>,
) -> mpsc::Receiver<SubscriptionEvent> {
    let (listener, receiver) = mpsc::channel(BACKLOG);
    let missing = wanted.borrow_and_update().clone();
    let subscriptions = Subscriptions {
        link: link.clone(),
        listener,
        tasks: JoinSet::new(),
        subscribers: HashMap::new(),
        wanted,
        missing,
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
    wanted: watch::Receiver<Channels>,
    /// Channels that nobody listens to.
    missing: Channels,
}

/// A connection and its channels.
struct Subscriber {
    address: Address,
    channels: watch::Sender<Channels>,
    task: AbortHandle,
}

impl Subscriptions {
    async fn listen(mut self) {
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let mut retry = Instant::now();
        let listener = self.listener.clone();
        let mut may_change = true;
        loop {
            tokio::select! {
                () = listener.closed() => return,
                changed = self.wanted.changed(), if may_change => match changed {
                    Ok(()) => {
                        self.want();
                        retry = Instant::now();
                    }
                    Err(_) => may_change = false,
                },
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

    /// Takes note of what is wanted now. Connections leave what is not; one without channels is closed.
    fn want(&mut self) {
        let mut missing = self.wanted.borrow_and_update().clone();
        self.subscribers.retain(|_, subscriber| {
            let before = subscriber.channels.borrow().len();
            let kept: Channels =
                subscriber.channels.borrow().intersection(&missing).cloned().collect();
            missing.retain(|channel| !kept.contains(channel));
            let is_used = !kept.is_empty();
            match is_used {
                true if kept.len() < before => drop(subscriber.channels.send_replace(kept)),
                true => {}
                false => subscriber.task.abort(),
            }
            is_used
        });
        self.missing = missing;
    }

    /// Gives every missing channel to a connection to its owner, one connection for each owner.
    fn assign(&mut self) {
        let mut groups: HashMap<Address, Channels> = HashMap::new();
        for channel in std::mem::take(&mut self.missing) {
            let owner = self.link.0.nodes.owner(slot::of(channel.as_bytes()));
            let group = match &owner {
                Ok(node) => groups.entry(node.address().clone()).or_default(),
                Err(_) => &mut self.missing,
            };
            group.insert(channel);
        }
        for (address, channels) in groups {
            match self.subscribers.values().find(|subscriber| subscriber.address == address) {
                Some(subscriber) => subscriber.channels.send_modify(|of| of.extend(channels)),
                None => self.open(address, channels),
            }
        }
    }

    fn open(&mut self, address: Address, channels: Channels) {
        let dial = Arc::clone(&self.link.0.dial);
        let (listener, to) = (self.listener.clone(), address.clone());
        let (channels, of) = watch::channel(channels);
        let task =
            self.tasks.spawn(async move { subscriber::run(&dial, &to, of, &listener).await });
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
        // One that was replaced is not known any more.
        if let Some(subscriber) = self.subscribers.remove(&id) {
            self.missing.extend(subscriber.channels.borrow().iter().cloned());
        }
        worked
    }
}
