//! The one reader of a namespace in this process, which all its subscribers share.
//!
//! It reads what is new when it is hinted at, and once a second without a hint, and keeps the latest
//! events. A subscriber that is up to date is served from these; one that is behind reads the store
//! itself until it has caught up. The reader runs while anybody subscribes, and a little longer.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use ff_core::bounds::EVENTS_PAGE;
use ff_core::{Namespace, Refusal};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

use super::feed;
use super::log::{LogPage, LogScan, Logged, Positions};
use crate::error::StoreError;
use crate::lock::lock;
use crate::process::Process;
use crate::wakeups::POLL_INTERVAL;

/// How many of the latest events of a namespace a process keeps.
pub(crate) const KEPT: usize = 4_096;
/// How many namespaces a process follows at once.
pub(crate) const NAMESPACES: usize = 1_024;
/// How many calls of one process wait for events at once.
pub(crate) const WAITING: usize = 8_192;
/// How long a reader outlives its last subscriber.
const LINGER: Duration = Duration::from_secs(5);
/// How far apart two reads are at least: what comes in between is read together.
const PAUSE: Duration = Duration::from_millis(5);

/// The readers of a process.
#[derive(Debug, Default)]
pub(crate) struct Tails(Mutex<HashMap<Namespace, Arc<Tail>>>);

/// One namespace.
#[derive(Debug)]
pub(crate) struct Tail {
    namespace: Namespace,
    hint: Arc<Notify>,
    /// Grows whenever subscribers should look.
    news: watch::Sender<u64>,
    latest: Mutex<Latest>,
}

#[derive(Debug)]
struct Latest {
    /// The events after these places and up to `end` are kept.
    start: Positions,
    end: Positions,
    events: VecDeque<Logged>,
    epoch: u64,
    /// Why the store was not read the last time.
    failed: Option<StoreError>,
    subscribers: usize,
    /// When the last subscriber left.
    idle_since: Instant,
}

impl Tails {
    /// Subscribes to a namespace, and follows it if nobody does.
    pub(crate) async fn join(
        &self,
        process: &Arc<Process>,
        namespace: &Namespace,
    ) -> Result<Subscriber, StoreError> {
        if let Some(known) = self.known(namespace)? {
            return Ok(known);
        }
        let feed = feed::read(process, namespace).await?;
        let heads = process.store.event_heads(namespace).await?;
        let mut tails = lock(&self.0);
        if !tails.contains_key(namespace) {
            if tails.len() >= NAMESPACES {
                return Err(StoreError::Busy("events of too many namespaces are followed".into()));
            }
            let tail = Arc::new(Tail {
                namespace: namespace.clone(),
                hint: process.store.wakeups().events().follow(namespace),
                news: watch::Sender::new(0),
                latest: Mutex::new(Latest {
                    start: heads.clone(),
                    end: heads,
                    events: VecDeque::new(),
                    epoch: feed.epoch,
                    failed: None,
                    subscribers: 0,
                    idle_since: Instant::now(),
                }),
            });
            tails.insert(namespace.clone(), tail.clone());
            process.own_unwaited(follow(Arc::downgrade(process), tail));
        }
        drop(tails);
        self.known(namespace)?.ok_or_else(|| StoreError::Busy("a reader of events ended".into()))
    }

    fn known(&self, namespace: &Namespace) -> Result<Option<Subscriber>, StoreError> {
        let tails = lock(&self.0);
        let waiting: usize = tails.values().map(|tail| lock(&tail.latest).subscribers).sum();
        if waiting >= WAITING {
            return Err(StoreError::Busy("too many calls wait for events".into()));
        }
        Ok(tails.get(namespace).map(|tail| {
            lock(&tail.latest).subscribers += 1;
            Subscriber { news: tail.news.subscribe(), tail: tail.clone() }
        }))
    }

    /// Forgets a reader that nobody has subscribed to for a while. Tells whether it is forgotten.
    fn abandons(&self, tail: &Arc<Tail>) -> bool {
        let mut tails = lock(&self.0);
        let latest = lock(&tail.latest);
        let is_idle = latest.subscribers == 0 && latest.idle_since.elapsed() >= LINGER;
        if is_idle {
            tails.remove(&tail.namespace);
        }
        is_idle
    }
}

/// Reads a namespace until nobody subscribes to it, or the process is gone.
async fn follow(process: Weak<Process>, tail: Arc<Tail>) {
    loop {
        let Some(owner) = process.upgrade() else { return };
        if owner.tails.abandons(&tail) {
            owner.store.wakeups().events().leave(&tail.namespace, &tail.hint);
            return;
        }
        let more = tail.read(&owner).await;
        drop(owner);
        sleep(PAUSE).await;
        if !more {
            let hinted = tail.hint.notified();
            tokio::select! {
                () = hinted => {}
                () = sleep(POLL_INTERVAL) => {}
            }
        }
    }
}

impl Tail {
    /// Reads what is new. Tells whether there is more.
    async fn read(&self, process: &Arc<Process>) -> bool {
        let read = self.read_or_fail(process).await;
        let (mut latest, mut more) = (lock(&self.latest), false);
        let is_news = match read {
            Ok((epoch, page)) => {
                more = page.more;
                let is_news = !page.events.is_empty() || latest.epoch != epoch;
                latest.failed = None;
                latest.take(epoch, page);
                is_news
            }
            Err(error) => {
                tracing::debug!(%error, namespace = %self.namespace, "events were not read");
                latest.failed = Some(error);
                true
            }
        };
        drop(latest);
        if is_news {
            self.news.send_modify(|number| *number += 1);
        }
        more
    }

    async fn read_or_fail(&self, process: &Arc<Process>) -> Result<(u64, LogPage), StoreError> {
        let after = lock(&self.latest).end.clone();
        let scan = LogScan { namespace: self.namespace.clone(), after, limit: EVENTS_PAGE };
        let mut page = process.store.events(scan).await?;
        let feed = feed::read(process, &self.namespace).await?;
        if page.expired {
            // Subscribers find out for themselves where they are.
            let positions = process.store.event_heads(&self.namespace).await?;
            page = LogPage { positions, ..LogPage::default() };
            let mut latest = lock(&self.latest);
            latest.events.clear();
            latest.start = page.positions.clone();
        }
        Ok((feed.epoch, page))
    }
}

impl Latest {
    fn take(&mut self, epoch: u64, page: LogPage) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.events.clear();
            self.start = page.positions.clone();
            self.end = page.positions;
            return;
        }
        self.events.extend(page.events);
        self.end = page.positions;
        while self.events.len() > KEPT {
            if let Some(oldest) = self.events.pop_front() {
                self.start.set(oldest.partition, oldest.place);
            }
        }
    }
}

/// A call that follows a namespace.
#[derive(Debug)]
pub(crate) struct Subscriber {
    tail: Arc<Tail>,
    news: watch::Receiver<u64>,
}

impl Subscriber {
    /// The events after `at`, if the reader has all of them; about `limit`.
    pub(crate) fn after(
        &self,
        at: &Positions,
        epoch: u64,
        limit: usize,
    ) -> Result<Option<LogPage>, StoreError> {
        let latest = lock(&self.tail.latest);
        if latest.epoch > epoch {
            return Err(Refusal::CursorExpired.into());
        }
        if latest.epoch < epoch {
            // The feed was switched a moment ago, and the reader has not seen that.
            return Ok(None);
        }
        if let Some(error) = &latest.failed {
            return Err(error.clone());
        }
        if !at.reaches(&latest.start) {
            return Ok(None);
        }
        let mut page = LogPage { positions: at.clone(), ..LogPage::default() };
        for logged in &latest.events {
            if logged.place <= at.of(logged.partition) {
                continue;
            }
            if page.events.len() == limit {
                page.more = true;
                break;
            }
            page.positions.set(logged.partition, logged.place);
            page.events.push(logged.clone());
        }
        Ok(Some(page))
    }

    /// Waits until there may be something new.
    pub(crate) async fn changed(&mut self) {
        // The other end lives as long as this one.
        let _ = self.news.changed().await;
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let mut latest = lock(&self.tail.latest);
        latest.subscribers -= 1;
        latest.idle_since = Instant::now();
    }
}
