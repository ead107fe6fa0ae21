//! How this process discovers work of other processes: by announcements, and by scans of the
//! lanes that claims wait on, once a second or, where there are many, in turn.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use ff_core::{Capabilities, Lane, Namespace, Time};
use ff_store::wakeups::{Announcement, POLL_INTERVAL};
use ff_store::{StoreError, outage};
use redis::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::constants::{CALL_PARTITIONS, PEEK_CLASSES, PEEK_LANES};
use crate::heads::{News, Queue};
use crate::keys;
use crate::link::{Arg, SubscriptionEvent};
use crate::reply;
use crate::stopped;
use crate::store::Shared;

/// How much older than the pause between two scans of a lane a scan may be for waiters to rely on it.
const GRACE: Duration = Duration::from_millis(500);

/// How many of the lanes that claims wait on are scanned in a second. Of more, each has its turn.
const LANES_PER_SCAN: usize = 256;

/// Scans of lanes, shared by all calls that want one at the same time.
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    state: std::sync::Mutex<State>,
    /// Its holder scans.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// The lanes that calls want to be scanned.
    wanted: BTreeSet<Queue>,
    /// Until when waiters may rely on the last scan of a lane.
    fresh: HashMap<Queue, Instant>,
    /// The last lane that had its turn.
    last: Option<Queue>,
}

/// How long an opening store waits until it is subscribed everywhere.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts to listen and to scan, until aborted. From here on announcements arrive, unless some
/// server does not accept the subscription in time.
pub(crate) async fn start(shared: &Arc<Shared>) -> Vec<AbortHandle> {
    let partitions = 0..shared.keys.partitions();
    let channels: Vec<_> = partitions.map(|partition| shared.keys.channel(partition)).collect();
    let servers = shared.link.owners(&channels);
    let mut events = shared.link.subscribe(channels);
    let all = async {
        for _ in 0..servers {
            events.recv().await;
        }
    };
    if tokio::time::timeout(SUBSCRIBE_TIMEOUT, all).await.is_err() {
        tracing::warn!("work of other processes is not announced yet; scanning for it instead");
    }
    let listen = tokio::spawn(listen(shared.clone(), events)).abort_handle();
    let watch = tokio::spawn(watch(shared.clone())).abort_handle();
    vec![listen, watch]
}

async fn listen(shared: Arc<Shared>, mut events: mpsc::Receiver<SubscriptionEvent>) {
    while let Some(event) = events.recv().await {
        match event {
            SubscriptionEvent::Message { channel, payload } => {
                if let Some(partition) = shared.keys.partition_of_channel(&channel) {
                    shared.on_announcement(partition, &payload);
                }
            }
            SubscriptionEvent::Gap | SubscriptionEvent::Joined { .. } => {
                shared.discovery.state().fresh.clear();
                shared.wakeups.announce_maybe();
                shared.wakeups.stops().note_gap();
            }
        }
    }
}

async fn watch(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let lanes = shared.discovery.in_turn(shared.wakeups.waited_on());
        if !lanes.is_empty()
            && let Err(error) = shared.refresh_heads(lanes).await
        {
            outage::failed(&error, "cannot scan for work");
        }
    }
}

impl Discovery {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of `lanes` whose turn it is. Waiters may rely on each until its next turn.
    fn in_turn(&self, mut lanes: Vec<Queue>) -> Vec<Queue> {
        lanes.sort_unstable();
        let state = &mut *self.state();
        let now = Instant::now();
        state.fresh.retain(|_, until| *until > now);
        let turns = lanes.len().div_ceil(LANES_PER_SCAN).max(1) as u32;
        for lane in lanes.iter().filter(|_| turns > 1) {
            if let Some(until) = state.fresh.get_mut(lane) {
                *until = (*until).max(now + POLL_INTERVAL * turns + GRACE);
            }
        }
        let behind = |lane: &Queue| state.last.as_ref().is_some_and(|last| lane <= last);
        let first = lanes.iter().take_while(|lane| behind(lane)).count();
        lanes.rotate_left(first);
        lanes.truncate(LANES_PER_SCAN);
        state.last = lanes.last().cloned();
        lanes
    }
}

impl Shared {
    /// Whether a recent scan covers the waiting claims of `queue`, so that a claim that knows of no
    /// work need not scan itself.
    pub(crate) fn has_fresh_scan(&self, queue: &Queue) -> bool {
        let until = self.discovery.state().fresh.get(queue).copied();
        until.is_some_and(|until| Instant::now() < until) && self.wakeups.waiting(queue) > 0
    }

    /// Scans `lanes`, updates the beliefs and wakes claims that wait for what it found.
    pub(crate) async fn refresh_heads(&self, lanes: Vec<Queue>) -> Result<(), StoreError> {
        for (queue, requires) in self.scan_heads(lanes).await? {
            self.more_work(&queue, requires);
        }
        Ok(())
    }

    /// Scans `lanes` and updates the beliefs. Answers the queues that are not empty. Calls that
    /// arrive during a scan share the next one; all but one of them get no queues.
    pub(crate) async fn scan_heads(
        &self,
        lanes: Vec<Queue>,
    ) -> Result<Vec<(Queue, Capabilities)>, StoreError> {
        self.discovery.state().wanted.extend(lanes.iter().cloned());
        let _turn = self.discovery.turn.lock().await;
        let wanted = {
            let mut state = self.discovery.state();
            match lanes.iter().any(|lane| state.wanted.contains(lane)) {
                true => std::mem::take(&mut state.wanted),
                // Another call has scanned them since.
                false => return Ok(Vec::new()),
            }
        };
        let wanted: Vec<_> = wanted.into_iter().collect();
        let scanned = self.read_heads(&wanted).await;
        if scanned.is_err() {
            // The calls that share this scan have to scan themselves.
            self.discovery.state().wanted.extend(wanted);
        }
        scanned
    }

    /// Reads the heads of `lanes` in all partitions, in calls of a bounded size.
    async fn read_heads(&self, lanes: &[Queue]) -> Result<Vec<(Queue, Capabilities)>, StoreError> {
        let began = Instant::now();
        let routes = self.keys.routes();
        let partitions = routes.len().min(CALL_PARTITIONS);
        let mut queues = Vec::new();
        for lanes in lanes.chunks(PEEK_LANES / partitions) {
            let since = self.heads.learned();
            let classes = PEEK_CLASSES / (lanes.len() * partitions);
            let name = |(namespace, lane): &Queue| -> Arg<'static> {
                keys::queue(namespace, lane, "").into_bytes().into()
            };
            let mut args: Vec<Arg<'_>> = vec![classes.to_string().into_bytes().into()];
            args.extend(lanes.iter().map(name));
            let mut seen = Seen::default();
            for answer in self.link.call_some("peek", &routes, &args).await?.values {
                for partition in reply::list(answer)? {
                    self.note_heads(partition, lanes, &mut seen)?;
                }
            }
            let news = seen.found.iter().map(|news| (news.queue.clone(), news.requires.clone()));
            queues.extend(news);
            let forgot = self.heads.scanned(since, &seen.whole, seen.found);
            let mut state = self.discovery.state();
            if forgot {
                state.fresh.clear();
            }
            let until = began + POLL_INTERVAL + GRACE;
            state.fresh.extend(lanes.iter().map(|lane| (lane.clone(), until)));
        }
        Ok(queues)
    }

    /// Records the answer of one partition.
    fn note_heads(
        &self,
        answer: Value,
        lanes: &[Queue],
        seen: &mut Seen,
    ) -> Result<(), StoreError> {
        let mut values = reply::list(answer)?.into_iter();
        let mut next = || values.next().ok_or_else(reply::missing);
        let partition = self.keys.routed(&reply::bytes(next()?)?).ok_or_else(reply::missing)?;
        let timer = next()?;
        if reply::maybe_number(&timer)?.is_some() {
            self.wakeups.announce([Announcement::Timer(reply::moment(&timer)?)]);
        }
        for queue in lanes {
            let mut values = reply::list(next()?)?.into_iter();
            if reply::number(&values.next().ok_or_else(reply::missing)?)? == 1 {
                seen.whole.entry(queue.clone()).or_default().insert(partition);
            }
            while let Some(class) = values.next() {
                let mut next = || values.next().ok_or_else(reply::missing);
                let class = reply::text(class)?;
                let score = reply::number(&next()?)?;
                let count = u64::try_from(reply::number(&next()?)?).ok();
                let Ok(requires) = Capabilities::parse(&reply::text(next()?)?) else { continue };
                let queue = queue.clone();
                seen.found.push(News { queue, partition, class, requires, score, count });
            }
        }
        Ok(())
    }

    /// A head has improved.
    pub(crate) fn improved(&self, news: News) {
        if self.heads.improved(news) {
            self.discovery.state().fresh.clear();
        }
    }

    fn on_announcement(&self, partition: u16, payload: &[u8]) {
        match payload.split_first() {
            Some((b'T', due)) => {
                if let Some(due) = reply::score(due).and_then(|due| u64::try_from(due).ok()) {
                    self.wakeups.announce([Announcement::Timer(Time::from_ms(due))]);
                }
            }
            Some((b'M', _)) => self.wakeups.announce_maybe(),
            Some((b'E', _)) => self.wakeups.announce_engines(),
            Some((b'S', rest)) if !rest.starts_with(&self.origin) => {
                if let Some(stop) = rest.get(8..).and_then(stopped::announced) {
                    self.wakeups.stops().note(stop);
                }
            }
            Some((b'W', rest)) if !rest.starts_with(&self.origin) => {
                if let Some(news) = rest.get(8..).and_then(|text| announced(partition, text)) {
                    let (queue, requires) = (news.queue.clone(), news.requires.clone());
                    self.improved(news);
                    self.more_work(&queue, requires);
                }
            }
            _ => {}
        }
    }
}

/// The results of one scan.
#[derive(Default)]
struct Seen {
    found: Vec<News>,
    /// The partitions in which all classes of a lane were read.
    whole: HashMap<Queue, HashSet<u16>>,
}

/// The content of an announcement: namespace, lane, class, score and requirements.
fn announced(partition: u16, text: &[u8]) -> Option<News> {
    let mut parts = std::str::from_utf8(text).ok()?.splitn(5, ':');
    let (namespace, lane) = (parts.next()?, parts.next()?);
    let class = parts.next()?.to_owned();
    let score = reply::score(parts.next()?.as_bytes())?;
    let requires = Capabilities::parse(parts.next()?).ok()?;
    let queue = (Namespace::new(namespace).ok()?, Lane::new(lane).ok()?);
    Some(News { queue, partition, class, requires, score, count: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_many_lanes_each_has_its_turn() {
        let lane = |number: usize| Lane::new(format!("lane-{number}")).unwrap();
        let lanes: Vec<_> =
            (0..3 * LANES_PER_SCAN).map(|number| (Namespace::default(), lane(number))).collect();
        let discovery = Discovery::default();
        let first = (Namespace::default(), lane(0));
        discovery.state().fresh.insert(first.clone(), Instant::now() + POLL_INTERVAL);
        for _ in 0..2 {
            let mut seen = BTreeSet::new();
            for _ in 0..3 {
                let turn = discovery.in_turn(lanes.clone());
                assert_eq!(turn.len(), LANES_PER_SCAN);
                seen.extend(turn);
            }
            assert_eq!(seen.len(), lanes.len(), "three turns reach all");
        }
        let until = discovery.state().fresh[&first];
        assert!(
            until > Instant::now() + 2 * POLL_INTERVAL,
            "waiters rely on it until its next turn"
        );
        assert_eq!(discovery.in_turn(lanes[..2].to_vec()).len(), 2);
    }
}
