//! One connection that listens to some channels, from its beginning to its end.

use std::time::Duration;

use redis::{Pipeline, PushInfo, PushKind, Value};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;

use super::dial::{Address, Dial, Live};
use super::subscribe::Heard;
use crate::error::{Fault, Kind};

/// How often one channel is subscribed to again, which tells that the connection lives. A node that
/// gives a slot away says so by itself.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How a connection ended.
pub(super) struct Ended {
    /// Whether it ever listened.
    pub(super) worked: bool,
    pub(super) why: Fault,
}

/// Listens until something breaks.
pub(super) async fn run(
    dial: &Dial,
    address: &Address,
    channels: &[String],
    listener: &Sender<Heard>,
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
        why = hear(&mut pushes, listener) => why,
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

/// Passes on what arrives, until nothing can any more.
async fn hear(pushes: &mut UnboundedReceiver<PushInfo>, listener: &Sender<Heard>) -> Fault {
    let mut heard = Some(Heard::Gap);
    loop {
        if let Some(heard) = heard.take()
            && let Err(TrySendError::Full(_)) = listener.try_send(heard)
            && let Some(end) = overflow(pushes, listener).await
        {
            return end;
        }
        let push = pushes.recv().await;
        if let Some(end) = end(push.as_ref()) {
            return end;
        }
        heard = push.and_then(message);
    }
}

/// A listener that is too slow loses what arrives until it has room to be told of the gap.
async fn overflow(
    pushes: &mut UnboundedReceiver<PushInfo>,
    listener: &Sender<Heard>,
) -> Option<Fault> {
    loop {
        tokio::select! {
            room = listener.reserve() => {
                if let Ok(room) = room {
                    room.send(Heard::Gap);
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
        // Not at our wish: the slot of a channel has moved away.
        Some(PushKind::SUnsubscribe) => {
            Some(Fault::new(Kind::Strayed, "a channel has moved to another node"))
        }
        None | Some(PushKind::Disconnection) => {
            Some(Fault::new(Kind::Lost, "the connection was closed"))
        }
        Some(_) => None,
    }
}

fn message(push: PushInfo) -> Option<Heard> {
    if push.kind != PushKind::SMessage {
        return None;
    }
    let mut data = push.data.into_iter();
    let (Value::BulkString(channel), Value::BulkString(payload)) = (data.next()?, data.next()?)
    else {
        return None;
    };
    Some(Heard::Message { channel: String::from_utf8(channel).ok()?, payload: payload.into() })
}
