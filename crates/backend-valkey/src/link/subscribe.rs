//! Sharded publish and subscribe, on connections of their own, one per primary.
//!
//! Whatever breaks, the channels concerned are subscribed anew with their owner of then, and a
//! [`Heard::Gap`] tells that something may have been missed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Pipeline, PushInfo, PushKind, Value};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::backoff::Backoff;
use super::dial::{Address, Live};
use super::{Link, slot};
use crate::error::{Fault, Kind};

/// How much may wait to be taken before it is dropped for a gap.
const BACKLOG: usize = 4_096;

/// How often a silent connection is asked whether it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);

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
    /// A connection is new: something may have been missed.
    Gap,
}

/// Begins to listen; it ends when the receiver is dropped.
pub(crate) fn start(link: &Link, channels: Vec<String>) -> mpsc::Receiver<Heard> {
    let (listener, receiver) = mpsc::channel(BACKLOG);
    let (pushed, pushes) = mpsc::unbounded_channel();
    let ear = Ear {
        link: link.clone(),
        listener,
        pushed,
        lines: HashMap::new(),
        missing: channels.into_iter().collect(),
        gap: false,
        serial: 0,
    };
    tokio::spawn(ear.listen(pushes));
    receiver
}

/// What one connection pushes, and which connection it is.
type Pushed = (u64, PushInfo);

struct Ear {
    link: Link,
    listener: mpsc::Sender<Heard>,
    pushed: mpsc::UnboundedSender<Pushed>,
    /// Connections by their serial numbers.
    lines: HashMap<u64, Line>,
    /// Channels that nobody listens to.
    missing: HashSet<String>,
    /// Whether the listener has yet to be told of a gap.
    gap: bool,
    serial: u64,
}

/// A connection and what it listens to.
struct Line {
    address: Address,
    live: Live,
    channels: HashSet<String>,
}

impl Ear {
    async fn listen(mut self, mut pushes: mpsc::UnboundedReceiver<Pushed>) {
        let mut backoff = Backoff::new(Duration::from_millis(20), Duration::from_secs(2));
        let mut retry = Instant::now();
        let mut heartbeat = Instant::now() + HEARTBEAT;
        let listener = self.listener.clone();
        loop {
            tokio::select! {
                () = listener.closed() => return,
                Some((line, push)) = pushes.recv() => self.take(line, push),
                Ok(room) = listener.reserve(), if self.gap => {
                    room.send(Heard::Gap);
                    self.gap = false;
                }
                () = sleep_until(retry), if !self.missing.is_empty() => {
                    self.subscribe().await;
                    if self.missing.is_empty() {
                        backoff.reset();
                    }
                    retry = Instant::now() + backoff.pause();
                }
                () = sleep_until(heartbeat) => {
                    self.check().await;
                    heartbeat = Instant::now() + HEARTBEAT;
                }
            }
        }
    }

    fn take(&mut self, line: u64, push: PushInfo) {
        match push.kind {
            PushKind::SMessage => {
                let mut data = push.data.into_iter();
                let (Some(channel), Some(payload)) = (data.next(), data.next()) else { return };
                let (Some(channel), Value::BulkString(payload)) = (text(channel), payload) else {
                    return;
                };
                self.tell(Heard::Message { channel, payload: payload.into() });
            }
            // Not at our wish: the slot of the channel has moved away.
            PushKind::SUnsubscribe => {
                if let (Some(channel), Some(line)) =
                    (push.data.into_iter().next().and_then(text), self.lines.get_mut(&line))
                    && line.channels.remove(&channel)
                {
                    self.missing.insert(channel);
                }
            }
            PushKind::Disconnection => self.hang_up(line),
            _ => {}
        }
    }

    /// Never waits: a slow listener loses messages until it has been told of the gap.
    fn tell(&mut self, heard: Heard) {
        self.gap = self.gap || self.listener.try_send(heard).is_err();
    }

    fn hang_up(&mut self, line: u64) {
        if let Some(line) = self.lines.remove(&line) {
            self.missing.extend(line.channels);
        }
    }

    /// Subscribes to what is missing, each channel where its slot is served now.
    async fn subscribe(&mut self) {
        let mut groups: HashMap<Address, HashSet<String>> = HashMap::new();
        let mut unserved = false;
        for channel in &self.missing {
            match self.link.0.nodes.owner(slot::of(channel.as_bytes())) {
                Ok(node) => {
                    groups.entry(node.address().clone()).or_default().insert(channel.clone());
                }
                Err(_) => unserved = true,
            }
        }
        let mut gained = false;
        for (address, channels) in groups {
            match self.add(&address, &channels).await {
                Ok(()) => {
                    self.missing.retain(|channel| !channels.contains(channel));
                    gained = true;
                }
                Err(fault) => {
                    tracing::warn!(error = fault.text, "cannot listen for work");
                    unserved = true;
                }
            }
        }
        if unserved {
            self.link.0.nodes.relearn().await;
        }
        if gained {
            self.tell(Heard::Gap);
        }
    }

    async fn add(&mut self, address: &Address, channels: &HashSet<String>) -> Result<(), Fault> {
        let line = match self.lines.iter().find(|(_, line)| line.address == *address) {
            Some((serial, _)) => *serial,
            None => self.open(address).await?,
        };
        let Some(entry) = self.lines.get_mut(&line) else { return Ok(()) };
        let mut commands = Pipeline::new();
        for channel in channels {
            commands.cmd("SSUBSCRIBE").arg(channel);
        }
        let replies =
            entry.live.connection().send_packed_commands(&commands, 0, commands.len()).await;
        let outcome = match replies {
            Ok(replies) => replies.iter().try_for_each(|reply| match reply {
                Value::ServerError(error) => Err(Fault::replied(error).at(address)),
                _ => Ok(()),
            }),
            Err(error) => Err(Fault::sent(&error).at(address)),
        };
        match outcome {
            Ok(()) => entry.channels.extend(channels.iter().cloned()),
            // Whatever it had subscribed to before is missing too.
            Err(_) => self.hang_up(line),
        }
        outcome
    }

    async fn open(&mut self, address: &Address) -> Result<u64, Fault> {
        self.serial += 1;
        let serial = self.serial;
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let live = self.link.0.dial.subscriptions(address, sender).await?;
        let pushed = self.pushed.clone();
        tokio::spawn(async move {
            while let Some(push) = receiver.recv().await {
                if pushed.send((serial, push)).is_err() {
                    return;
                }
            }
        });
        let line = Line { address: address.clone(), live, channels: HashSet::new() };
        self.lines.insert(serial, line);
        Ok(serial)
    }

    /// A connection that answers nothing is dead, whatever the network says.
    async fn check(&mut self) {
        let mut ping = Cmd::new();
        ping.arg("PING");
        let mut dead = Vec::new();
        for (serial, line) in &self.lines {
            let answer = line.live.connection().send_packed_command(&ping).await;
            if line.live.is_closed() || answer.is_err() {
                dead.push(*serial);
            }
        }
        for serial in dead {
            self.hang_up(serial);
        }
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}
