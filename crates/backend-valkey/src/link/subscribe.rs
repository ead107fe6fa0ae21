//! Sharded publish and subscribe: who is listened to, for which channels. These may change.
//!
//! Whatever breaks, the affected channels are subscribed again at their current owner, and a
//! [`Heard::Gap`] tells that something may have been missed.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::backoff::Backoff;
use super::dial::Address;
use super::line::{self, Ended};
use super::{Link, slot};

/// How much may wait to be taken before it is dropped for a gap.
const BACKLOG: usize = 4_096;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What a subscription brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Something was published.
    Message {
        /// Where.
        channel: String,
        /// What.
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
pub(crate) fn start(link: &Link, mut wanted: watch::Receiver<Channels>) -> mpsc::Receiver<Heard> {
    let (listener, receiver) = mpsc::channel(BACKLOG);
    let missing = wanted.borrow_and_update().clone();
    let ears = Ears {
        link: link.clone(),
        listener,
        tasks: JoinSet::new(),
        lines: HashMap::new(),
        wanted,
        missing,
    };
    tokio::spawn(ears.listen());
    receiver
}

struct Ears {
    link: Link,
    listener: mpsc::Sender<Heard>,
    /// One for each connection.
    tasks: JoinSet<Ended>,
    lines: HashMap<Id, Line>,
    wanted: watch::Receiver<Channels>,
    /// Channels that nobody listens to.
    missing: Channels,
}

/// A connection and what it listens to.
struct Line {
    address: Address,
    channels: watch::Sender<Channels>,
    task: AbortHandle,
}

impl Ears {
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
        self.lines.retain(|_, line| {
            let before = line.channels.borrow().len();
            let kept: Channels = line.channels.borrow().intersection(&missing).cloned().collect();
            missing.retain(|channel| !kept.contains(channel));
            let is_used = !kept.is_empty();
            match is_used {
                true if kept.len() < before => drop(line.channels.send_replace(kept)),
                true => {}
                false => line.task.abort(),
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
            match self.lines.values().find(|line| line.address == address) {
                Some(line) => line.channels.send_modify(|of| of.extend(channels)),
                None => self.open(address, channels),
            }
        }
    }

    fn open(&mut self, address: Address, channels: Channels) {
        let dial = Arc::clone(&self.link.0.dial);
        let (listener, to) = (self.listener.clone(), address.clone());
        let (channels, of) = watch::channel(channels);
        let task = self.tasks.spawn(async move { line::run(&dial, &to, of, &listener).await });
        self.lines.insert(task.id(), Line { address, channels, task });
    }

    /// Takes note that a connection has ended; says whether it ever worked.
    fn lost(&mut self, done: Result<(Id, Ended), JoinError>) -> bool {
        let (id, worked) = match done {
            Ok((id, ended)) => {
                tracing::debug!(error = ended.why.text, "no longer listening for work");
                (id, ended.worked)
            }
            Err(error) => (error.id(), false),
        };
        // One that was replaced is not known any more.
        if let Some(line) = self.lines.remove(&id) {
            self.missing.extend(line.channels.borrow().iter().cloned());
        }
        worked
    }
}
