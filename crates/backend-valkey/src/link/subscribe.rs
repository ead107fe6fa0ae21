//! Sharded publish and subscribe: who is listened to, for which channels.
//!
//! Whatever breaks, the affected channels are subscribed again at their current owner, and a
//! [`Heard::Gap`] tells that something may have been missed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ff_store::retry::Backoff;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

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
}

/// Begins to listen; it ends when the receiver is dropped.
pub(crate) fn start(link: &Link, channels: Vec<String>) -> mpsc::Receiver<Heard> {
    let (listener, receiver) = mpsc::channel(BACKLOG);
    let ears = Ears {
        link: link.clone(),
        listener,
        tasks: JoinSet::new(),
        lines: HashMap::new(),
        missing: channels,
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
    /// Channels that nobody listens to.
    missing: Vec<String>,
}

/// A connection and what it listens to.
struct Line {
    address: Address,
    channels: Arc<[String]>,
    task: AbortHandle,
}

impl Ears {
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

    /// Gives every missing channel to a connection to its owner, one connection for each owner.
    fn assign(&mut self) {
        let mut groups: HashMap<Address, Vec<String>> = HashMap::new();
        for channel in std::mem::take(&mut self.missing) {
            match self.link.0.nodes.owner(slot::of(channel.as_bytes())) {
                Ok(node) => groups.entry(node.address().clone()).or_default().push(channel),
                Err(_) => self.missing.push(channel),
            }
        }
        for (address, mut channels) in groups {
            let known = self.lines.iter().find(|(_, line)| line.address == address);
            if let Some(line) = known.map(|(id, _)| *id).and_then(|id| self.lines.remove(&id)) {
                line.task.abort();
                channels.extend(line.channels.iter().cloned());
            }
            self.open(address, channels.into());
        }
    }

    fn open(&mut self, address: Address, channels: Arc<[String]>) {
        let dial = Arc::clone(&self.link.0.dial);
        let listener = self.listener.clone();
        let (to, of) = (address.clone(), Arc::clone(&channels));
        let task = self.tasks.spawn(async move { line::run(&dial, &to, &of, &listener).await });
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
            self.missing.extend(line.channels.iter().cloned());
        }
        worked
    }
}
