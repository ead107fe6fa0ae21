//! How waiters, and those who follow a stream, learn of what other processes do to an execution.
//!
//! Each partition has a channel for ends. The store subscribes to it only while the partition has waiters,
//! and for a moment after. Once a channel is joined, its waiters read their records again, so each of them
//! either reads the end or receives it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ff_core::ExecutionId;
use ff_store::wakeups::Announcement;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::keys::{self, ID};
use crate::link::{Channels, SubscriptionEvent};
use crate::store::Shared;

/// The channel of a partition without waiters is left after this long.
const IDLE: Duration = Duration::from_secs(2);

/// Listens to the partitions that have waiters, until aborted.
pub(crate) fn start(shared: &Arc<Shared>) -> AbortHandle {
    let arrivals = shared.wakeups.ends().arrivals();
    tokio::spawn(listen(shared.clone(), arrivals)).abort_handle()
}

async fn listen(shared: Arc<Shared>, mut arrivals: mpsc::Receiver<ExecutionId>) {
    while let Some(first) = arrivals.recv().await {
        listen_while_waited(&shared, first, &mut arrivals).await;
    }
}

/// Listens from the first wait until there have been no waiters for a while.
async fn listen_while_waited(
    shared: &Shared,
    first: ExecutionId,
    arrivals: &mut mpsc::Receiver<ExecutionId>,
) {
    let partition = |id: ExecutionId| shared.keys.partition(id);
    let channels = |partitions: &BTreeSet<u16>| -> Channels {
        partitions.iter().map(|partition| shared.keys.ended_channel(*partition)).collect()
    };
    let mut listened = BTreeSet::from([partition(first)]);
    let mut waited = listened.clone();
    let (wanted, follows) = watch::channel(channels(&listened));
    let mut events = shared.link.follow(follows);
    let mut sweep = interval_at(Instant::now() + IDLE, IDLE);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !listened.is_empty() {
        tokio::select! {
            arrival = arrivals.recv() => {
                let Some(arrival) = arrival else { return };
                waited.insert(partition(arrival));
                if listened.insert(partition(arrival)) {
                    wanted.send_replace(channels(&listened));
                }
            }
            news = events.recv() => match news {
                Some(news) => shared.hear_of_ends(news),
                None => return,
            },
            _ = sweep.tick() => {
                waited.extend(shared.wakeups.ends().waited_for().into_iter().map(partition));
                listened = std::mem::take(&mut waited);
                wanted.send_replace(channels(&listened));
            }
        }
    }
}

/// What a message begins with that is about new frames and not about ends. No id does.
const FRAMES: &[u8] = b"+";

impl Shared {
    /// Executions have new frames; the first bytes say by which process.
    fn hear_of_frames(&self, payload: &[u8]) {
        let Some((origin, ids)) = payload.split_at_checked(self.origin.len()) else { return };
        if origin != self.origin {
            let ids = ids.chunks(ID).filter_map(keys::parse_id);
            self.wakeups.announce(ids.map(Announcement::Frames));
        }
    }

    fn hear_of_ends(&self, news: SubscriptionEvent) {
        let ends = self.wakeups.ends();
        match news {
            SubscriptionEvent::Message { payload, .. } if payload.starts_with(FRAMES) => {
                self.hear_of_frames(&payload[FRAMES.len()..]);
            }
            SubscriptionEvent::Message { payload, .. } => {
                payload.chunks(ID).filter_map(keys::parse_id).for_each(|id| ends.hint(id));
            }
            SubscriptionEvent::Joined { channels } => {
                let joined: BTreeSet<_> = channels
                    .iter()
                    .filter_map(|channel| self.keys.partition_of_channel(channel))
                    .collect();
                ends.hint_where(|id| joined.contains(&self.keys.partition(id)));
            }
            SubscriptionEvent::Gap => ends.hint_where(|_| true),
        }
    }
}
