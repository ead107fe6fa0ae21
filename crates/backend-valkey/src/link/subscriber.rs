//! One connection that is subscribed to some channels, from its beginning to its end.

use std::time::Duration;

use redis::{Pipeline, PushInfo, PushKind, Value};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::time::sleep;

use super::dial::{Address, Dial, Live};
use super::subscribe::{Channels, SubscriptionEvent};
use crate::error::{Fault, Kind};

/// How often one channel is subscribed to again, which proves that the connection lives. A node that
/// loses a slot reports that by itself.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How a connection ended.
pub(super) struct Ended {
    /// Whether it was ever subscribed.
    pub(super) worked: bool,
    pub(super) why: Fault,
}

/// Listens to `channels`, as they change, until something breaks.
pub(super) async fn run(
    dial: &Dial,
    address: &Address,
    mut channels: watch::Receiver<Channels>,
    listener: &Sender<SubscriptionEvent>,
) -> Ended {
    let (pushed, mut pushes) = unbounded_channel();
    let first = channels.borrow_and_update().clone();
    let begun = async {
        let live = dial.subscriptions(address, pushed).await?;
        each(&live, "SSUBSCRIBE", &first).await?;
        Ok(live)
    };
    let live = match begun.await {
        Ok(live) => live,
        Err(why) => return Ended { worked: false, why },
    };
    let why = tokio::select! {
        why = receive(&mut pushes, &channels, listener) => why,
        why = watch(&live, &channels) => why,
        why = follow(&live, channels.clone(), first, listener) => why,
    };
    Ended { worked: true, why: why.at(address) }
}

/// Joins and leaves channels as they change.
async fn follow(
    live: &Live,
    mut channels: watch::Receiver<Channels>,
    mut joined: Channels,
    listener: &Sender<SubscriptionEvent>,
) -> Fault {
    loop {
        if channels.changed().await.is_err() {
            // The sender of changes has gone, and with it the listener.
            return std::future::pending().await;
        }
        let wanted = channels.borrow_and_update().clone();
        let (left, new) = (&joined - &wanted, &wanted - &joined);
        let changed = async {
            each(live, "SUNSUBSCRIBE", &left).await?;
            each(live, "SSUBSCRIBE", &new).await
        };
        if let Err(fault) = changed.await {
            return fault;
        }
        joined = wanted;
        if !new.is_empty() {
            // A listener that cannot be reached has gone.
            let _ = listener
                .send(SubscriptionEvent::Joined { channels: new.into_iter().collect() })
                .await;
        }
    }
}

/// Sends `command` for each of the channels.
async fn each(live: &Live, command: &str, channels: &Channels) -> Result<(), Fault> {
    if channels.is_empty() {
        return Ok(());
    }
    let mut commands = Pipeline::with_capacity(channels.len());
    for channel in channels {
        commands.cmd(command).arg(channel);
    }
    let replies = live.connection().send_packed_commands(&commands, 0, commands.len()).await;
    let replies = replies.map_err(|error| Fault::sent(&error))?;
    replies.iter().try_for_each(|reply| match reply {
        Value::ServerError(error) => Err(Fault::replied(error)),
        _ => Ok(()),
    })
}

/// A connection that answers nothing is dead, whatever the network says.
async fn watch(live: &Live, channels: &watch::Receiver<Channels>) -> Fault {
    loop {
        sleep(HEARTBEAT).await;
        let one = channels.borrow().iter().take(1).cloned().collect();
        if let Err(fault) = each(live, "SSUBSCRIBE", &one).await {
            return fault;
        }
    }
}

/// Passes on what arrives, until nothing can any more.
async fn receive(
    pushes: &mut UnboundedReceiver<PushInfo>,
    channels: &watch::Receiver<Channels>,
    listener: &Sender<SubscriptionEvent>,
) -> Fault {
    let mut event = Some(SubscriptionEvent::Gap);
    loop {
        if let Some(event) = event.take()
            && let Err(TrySendError::Full(_)) = listener.try_send(event)
            && let Some(end) = overflow(pushes, channels, listener).await
        {
            return end;
        }
        let push = pushes.recv().await;
        if let Some(end) = end(push.as_ref(), channels) {
            return end;
        }
        event = push.and_then(message);
    }
}

/// A listener that is too slow loses what arrives until there is space to report the gap.
async fn overflow(
    pushes: &mut UnboundedReceiver<PushInfo>,
    channels: &watch::Receiver<Channels>,
    listener: &Sender<SubscriptionEvent>,
) -> Option<Fault> {
    loop {
        tokio::select! {
            permit = listener.reserve() => {
                if let Ok(permit) = permit {
                    permit.send(SubscriptionEvent::Gap);
                }
                return None;
            }
            push = pushes.recv() => {
                if let Some(end) = end(push.as_ref(), channels) {
                    return Some(end);
                }
            }
        }
    }
}

/// Whether a push is the last.
fn end(push: Option<&PushInfo>, channels: &watch::Receiver<Channels>) -> Option<Fault> {
    let lost = || Some(Fault::new(Kind::Lost, "the connection was closed"));
    let Some(push) = push else { return lost() };
    match (&push.kind, push.data.first()) {
        // Not at our wish: the slot of a channel has moved away.
        (PushKind::SUnsubscribe, channel) if is_wanted(channel, channels) => {
            Some(Fault::new(Kind::Strayed, "a channel has moved to another node"))
        }
        (PushKind::Disconnection, _) => lost(),
        _ => None,
    }
}

fn is_wanted(channel: Option<&Value>, channels: &watch::Receiver<Channels>) -> bool {
    match channel {
        Some(Value::BulkString(name)) => {
            std::str::from_utf8(name).is_ok_and(|name| channels.borrow().contains(name))
        }
        _ => true,
    }
}

fn message(push: PushInfo) -> Option<SubscriptionEvent> {
    if push.kind != PushKind::SMessage {
        return None;
    }
    let mut data = push.data.into_iter();
    let (Value::BulkString(channel), Value::BulkString(payload)) = (data.next()?, data.next()?)
    else {
        return None;
    };
    Some(SubscriptionEvent::Message {
        channel: String::from_utf8(channel).ok()?,
        payload: payload.into(),
    })
}
