//! One connection that is subscribed to some channels, from its beginning to its end.

use std::time::Duration;

use redis::{Pipeline, PushInfo, PushKind, Value};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;

use super::dial::{Address, Dial, Live};
use super::subscribe::SubscriptionEvent;
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

/// Receives until something breaks.
pub(super) async fn run(
    dial: &Dial,
    address: &Address,
    channels: &[String],
    listener: &Sender<SubscriptionEvent>,
) -> Ended {
    let (pushed, mut pushes) = unbounded_channel();
    let begun = async {
        let live = dial.subscriptions(address, pushed).await?;
        subscribe(&live, channels).await?;
        Ok(live)
    };
    let live = match begun.await {
        Ok(live) => live,
        Err(why) => return Ended { worked: false, why },
    };
    let why = tokio::select! {
        why = receive(&mut pushes, listener) => why,
        why = watch(&live, channels) => why,
    };
    Ended { worked: true, why: why.at(address) }
}

async fn subscribe(live: &Live, channels: &[String]) -> Result<(), Fault> {
    let mut commands = Pipeline::with_capacity(channels.len());
    for channel in channels {
        commands.cmd("SSUBSCRIBE").arg(channel);
    }
    let replies = live.connection().send_packed_commands(&commands, 0, commands.len()).await;
    let replies = replies.map_err(|error| Fault::sent(&error))?;
    replies.iter().try_for_each(|reply| match reply {
        Value::ServerError(error) => Err(Fault::replied(error)),
        _ => Ok(()),
    })
}

/// A connection that answers nothing is dead, whatever the network says.
async fn watch(live: &Live, channels: &[String]) -> Fault {
    loop {
        sleep(HEARTBEAT).await;
        if let Err(fault) = subscribe(live, &channels[..channels.len().min(1)]).await {
            return fault;
        }
    }
}

/// Passes on what arrives, until the connection ends.
async fn receive(
    pushes: &mut UnboundedReceiver<PushInfo>,
    listener: &Sender<SubscriptionEvent>,
) -> Fault {
    let mut event = Some(SubscriptionEvent::Gap);
    loop {
        if let Some(event) = event.take()
            && let Err(TrySendError::Full(_)) = listener.try_send(event)
            && let Some(end) = overflow(pushes, listener).await
        {
            return end;
        }
        let push = pushes.recv().await;
        if let Some(end) = end(push.as_ref()) {
            return end;
        }
        event = push.and_then(message);
    }
}

/// A listener that is too slow loses what arrives until there is space to report the gap.
async fn overflow(
    pushes: &mut UnboundedReceiver<PushInfo>,
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
                if let Some(end) = end(push.as_ref()) {
                    return Some(end);
                }
            }
        }
    }
}

/// Whether a push is the last.
fn end(push: Option<&PushInfo>) -> Option<Fault> {
    match push.map(|push| &push.kind) {
        // Not requested: the slot of a channel has moved away.
        Some(PushKind::SUnsubscribe) => {
            Some(Fault::new(Kind::Strayed, "a channel has moved to another node"))
        }
        None | Some(PushKind::Disconnection) => {
            Some(Fault::new(Kind::Lost, "the connection was closed"))
        }
        Some(_) => None,
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
