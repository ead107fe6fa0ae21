//! One call for events: those after a place, now or as soon as there are any.

use std::sync::Arc;
use std::time::Duration;

use ff_core::bounds::{EVENTS_PAGE, EVENTS_WAIT_MAX};
use ff_core::event::Event;
use ff_core::{Millis, Namespace, Refusal, Time};
use tokio::time::{Instant, timeout_at};

use super::cursor::Cursor;
use super::filter::EventFilter;
use super::log::{LogPage, LogScan, Logged, Positions};
use super::{SCANNED, feed};
use crate::error::StoreError;
use crate::process::Process;

/// How far the clocks of two partitions may differ.
const SKEW: Millis = Millis::from_secs(5);

/// What is asked of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsRequest {
    /// The tenant.
    pub namespace: Namespace,
    /// From where.
    pub from: StartAt,
    /// Which events.
    pub filter: EventFilter,
    /// How many at most.
    pub limit: usize,
    /// How long to wait for the first one.
    pub wait: Millis,
}

/// Where to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartAt {
    /// With what happens from now on.
    Now,
    /// With the oldest event that is kept since the feed is on.
    Oldest,
    /// With the latest events that are wanted, at most as many as are asked for. Of a long log not all is
    /// examined, so there may be fewer.
    Latest,
    /// Where an earlier answer ended.
    After(Cursor),
}

/// Some events, and where to continue. There may be none, and more to read nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventsPage {
    /// In the order of each execution, and about in that of time.
    pub events: Vec<Event>,
    /// Where to continue.
    pub cursor: Cursor,
    /// Whether there is more to read at once.
    pub more: bool,
}

/// Answers events. The feed is switched on if it is not.
pub(crate) async fn follow(
    process: &Arc<Process>,
    request: EventsRequest,
) -> Result<EventsPage, StoreError> {
    let EventsRequest { namespace, from, filter, limit, wait } = request;
    if limit == 0 || limit > EVENTS_PAGE {
        let why = format!("is {limit}; give 1 to {EVENTS_PAGE}");
        return Err(Refusal::invalid("limit", why).into());
    }
    let wait = wait.within("wait_ms", Millis::ZERO, EVENTS_WAIT_MAX)?;
    if let StartAt::After(cursor) = &from {
        cursor.check(&namespace)?;
    }
    let feed = feed::read(process, &namespace).await?;
    // Events of an earlier epoch may not be removed yet.
    let is_kept = matches!(from, StartAt::Oldest | StartAt::Latest);
    let since = is_kept.then(|| feed.since - SKEW);
    let is_latest = from == StartAt::Latest;
    let positions = match from {
        StartAt::Now | StartAt::Latest => process.store.event_heads(&namespace).await?,
        StartAt::Oldest => Positions::default(),
        StartAt::After(cursor) if cursor.epoch == feed.epoch => cursor.positions,
        StartAt::After(_) => return Err(Refusal::CursorExpired.into()),
    };
    let reading = Reading { process, namespace, filter, limit, epoch: feed.epoch, since };
    let give_up = Instant::now() + Duration::from_millis(wait.get());
    if is_latest {
        let page = reading.latest(&positions).await?;
        if !page.events.is_empty() || wait == Millis::ZERO {
            return Ok(page);
        }
        return reading.run(page.cursor.positions, give_up).await;
    }
    reading.run(positions, give_up).await
}

pub(super) struct Reading<'a> {
    process: &'a Arc<Process>,
    pub(super) namespace: Namespace,
    filter: EventFilter,
    pub(super) limit: usize,
    pub(super) epoch: u64,
    /// It begins with what is kept since then: whatever is removed, it has missed nothing.
    since: Option<Time>,
}

impl Reading<'_> {
    async fn run(&self, mut at: Positions, give_up: Instant) -> Result<EventsPage, StoreError> {
        let mut events = Vec::new();
        let mut examined = 0;
        // A reader that waits registers before it reads, so an event is read or announced.
        let mut following = None;
        if Instant::now() < give_up {
            following = Some(self.process.tails.join(self.process, &self.namespace).await?);
        }
        loop {
            let limit = self.limit - events.len();
            let known = following.as_ref().map(|tail| tail.after(&at, self.epoch, limit));
            let page = match known.transpose()?.flatten() {
                Some(page) => page,
                None => self.read(&at, limit).await?,
            };
            examined += page.events.len();
            let more = self.take(page, &mut at, &mut events);
            let is_full = events.len() >= self.limit || examined >= SCANNED;
            if more && !is_full {
                continue;
            }
            let is_over = Instant::now() >= give_up;
            if let Some(tail) = following.as_mut()
                && events.is_empty()
                && !is_full
                && !is_over
            {
                // When that is over, what came last is read.
                let _ = timeout_at(give_up, tail.changed()).await;
                continue;
            }
            let cursor = Cursor::new(&self.namespace, self.epoch, at);
            return Ok(EventsPage { events, cursor, more });
        }
    }

    /// Takes what is wanted of a page, until it is enough, and moves behind all that was taken or not
    /// wanted. Tells whether there is more.
    fn take(&self, page: LogPage, at: &mut Positions, events: &mut Vec<Event>) -> bool {
        for Logged { partition, place, event } in page.events {
            if events.len() == self.limit {
                return true;
            }
            at.set(partition, place);
            events.extend(Some(event).filter(|event| self.wants(event)));
        }
        *at = page.positions;
        page.more
    }

    pub(super) fn wants(&self, event: &Event) -> bool {
        self.since.is_none_or(|since| event.at >= since) && self.filter.matches(event)
    }

    pub(super) async fn read(&self, at: &Positions, limit: usize) -> Result<LogPage, StoreError> {
        let scan = LogScan { namespace: self.namespace.clone(), after: at.clone(), limit };
        let page = self.process.store.events(scan).await?;
        if page.expired && self.since.is_none() {
            return Err(Refusal::CursorExpired.into());
        }
        Ok(page)
    }
}
