//! The log of events: reads over all partitions, trimming, and hints of what other processes log.

use std::sync::Arc;
use std::time::Duration;

use ff_core::Namespace;
use ff_core::feed::Trim;
use ff_store::StoreError;
use ff_store::events::{LogPage, LogScan, PartLog, Place, Positions};
use redis::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::link::{Arg, Channels, SubscriptionEvent};
use crate::store::Shared;
use crate::{codec, query, reply};

/// How often it is checked whether anybody still follows events.
const IDLE: Duration = Duration::from_secs(2);

/// What one partition answers.
struct Part {
    partition: u16,
    /// The place of its last event ever.
    last: Place,
    /// The last one that was removed.
    removed: Place,
    /// The places and bytes of events.
    entries: Vec<(Place, Value)>,
}

/// Events after some places. Every partition must answer: what is skipped is never read again.
pub(crate) async fn read(store: &Shared, scan: LogScan) -> Result<LogPage, StoreError> {
    let each = query::part(store, scan.limit);
    let parts = call(store, &scan.namespace, &scan.after, each).await?;
    let parts: Vec<_> = parts
        .into_iter()
        .map(|part| {
            let (partition, after) = (part.partition, scan.after.of(part.partition));
            let behind = (after < part.removed).then_some(part.removed);
            let last = part.entries.last().map(|(place, _)| *place).or(behind);
            let more = part.entries.len() == each;
            let read = |(place, bytes): (Place, Value)| {
                let event = reply::bytes(bytes).and_then(|bytes| {
                    let event = codec::event(&scan.namespace, &bytes);
                    event.map_err(|error| StoreError::Corrupt(error.to_string()))
                });
                event
                    .map(|event| (place, event))
                    .inspect_err(|error| {
                        tracing::error!(namespace = %scan.namespace, partition, ?place, %error,
                            "an event cannot be read");
                    })
                    .ok()
            };
            PartLog {
                partition,
                events: part.entries.into_iter().filter_map(read).collect(),
                last,
                expired: after < part.removed || after > part.last,
                more,
            }
        })
        .collect();
    Ok(LogPage::of(scan.after, parts))
}

/// The last place of each partition.
pub(crate) async fn heads(store: &Shared, namespace: &Namespace) -> Result<Positions, StoreError> {
    let parts = call(store, namespace, &Positions::default(), 0).await?;
    Ok(parts.into_iter().map(|part| (part.partition, part.last)).collect())
}

/// Removes old events, and tells whether there is more to remove.
pub(crate) async fn trim(
    store: &Shared,
    namespace: &Namespace,
    trim: Trim,
) -> Result<bool, StoreError> {
    let most = trim.most.div_ceil(store.keys.partitions().into());
    let args: [Arg<'_>; 3] = [
        namespace.as_str().as_bytes().into(),
        trim.before.as_ms().to_string().into_bytes().into(),
        most.to_string().into_bytes().into(),
    ];
    let mut more = false;
    for answer in store.link.call_each("trim_events", &store.keys.routes(), &args).await? {
        for part in reply::list(answer)? {
            more |= reply::number(&part)? == 1;
        }
    }
    Ok(more)
}

async fn call(
    store: &Shared,
    namespace: &Namespace,
    after: &Positions,
    each: usize,
) -> Result<Vec<Part>, StoreError> {
    let places: Vec<_> = after
        .iter()
        .map(|(partition, place)| format!("{partition} {}-{}", place.major, place.minor))
        .collect();
    let args: [Arg<'_>; 3] = [
        namespace.as_str().as_bytes().into(),
        each.to_string().into_bytes().into(),
        places.join(" ").into_bytes().into(),
    ];
    let mut parts = Vec::new();
    for answer in store.link.call_each("events", &store.keys.routes(), &args).await? {
        for part in reply::list(answer)? {
            let mut values = reply::list(part)?.into_iter();
            let mut next = || values.next().ok_or_else(reply::missing);
            let partition = store.keys.routed(&reply::bytes(next()?)?);
            let partition = partition.ok_or_else(reply::missing)?;
            let (last, removed) = (place(next()?)?, place(next()?)?);
            let mut entries = Vec::with_capacity(values.len() / 2);
            while let (Some(id), Some(bytes)) = (values.next(), values.next()) {
                entries.push((place(id)?, bytes));
            }
            parts.push(Part { partition, last, removed, entries });
        }
    }
    // Which primary answers first changes nothing.
    parts.sort_by_key(|part| part.partition);
    Ok(parts)
}

/// The place of the entry that `id` names.
fn place(id: Value) -> Result<Place, StoreError> {
    let text = reply::text(id)?;
    let parsed = text.split_once('-').and_then(|(major, minor)| {
        Some(Place { major: major.parse().ok()?, minor: minor.parse().ok()? })
    });
    parsed.ok_or_else(|| StoreError::Corrupt(format!("an event is at {text}")))
}

/// Listens to what is logged while anybody in this process follows events, until aborted.
pub(crate) fn start(shared: &Arc<Shared>) -> AbortHandle {
    let arrivals = shared.wakeups.events().arrivals();
    tokio::spawn(listen(shared.clone(), arrivals)).abort_handle()
}

async fn listen(shared: Arc<Shared>, mut arrivals: mpsc::Receiver<()>) {
    while arrivals.recv().await.is_some() {
        let channels: Channels = (0..shared.keys.partitions())
            .map(|partition| shared.keys.logged_channel(partition))
            .collect();
        let (_wanted, follows) = watch::channel(channels);
        let mut heard = shared.link.follow(follows);
        let hints = shared.wakeups.events();
        while hints.is_followed() {
            tokio::select! {
                news = heard.recv() => match news {
                    Some(SubscriptionEvent::Message { payload, .. }) => {
                        if let Ok(namespace) = std::str::from_utf8(&payload) {
                            hints.hint(namespace);
                        }
                    }
                    // Something may have been logged before it was joined, or meanwhile.
                    Some(_) => hints.hint_all(),
                    None => break,
                },
                () = sleep(IDLE) => {}
            }
        }
    }
}
