//! How this process learns of work it did not make itself: announcements, and a look at all
//! partitions once a second while somebody waits.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ff_core::{Capabilities, Lane, Namespace, Time};
use ff_store::wakeups::{Announcement, NET};
use ff_store::{StoreError, outage};
use redis::Value;
use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::heads::{News, Queue};
use crate::link::Heard;
use crate::reply;
use crate::store::Shared;

/// How old a look may be for waiters to rely on it.
const FRESH: Duration = Duration::from_millis(1_500);

/// How many empty queues are taken out of their registries after one look.
const MOST_SWEPT: usize = 200;

/// Looks at all partitions, shared by everybody who wants one at the same time.
#[derive(Debug, Default)]
pub(crate) struct Looking {
    begun: AtomicU64,
    last: Mutex<Option<Look>>,
    fresh_until: std::sync::Mutex<Option<Instant>>,
}

#[derive(Debug)]
struct Look {
    number: u64,
    /// Registered queues that held nothing.
    empty: HashSet<(u16, String)>,
}

/// How long an opening store waits until it hears everything.
const FIRST_WORD: Duration = Duration::from_secs(2);

/// Starts to listen and to look, until aborted. From here on announcements are heard, unless some
/// server cannot be listened to in time.
pub(crate) async fn start(shared: &Arc<Shared>) -> Vec<AbortHandle> {
    let partitions = 0..shared.keys.partitions();
    let channels: Vec<_> = partitions.map(|partition| shared.keys.channel(partition)).collect();
    let servers = shared.link.owners(&channels);
    let mut heard = shared.link.subscribe(channels);
    let all = async {
        for _ in 0..servers {
            heard.recv().await;
        }
    };
    if tokio::time::timeout(FIRST_WORD, all).await.is_err() {
        tracing::warn!("work of other processes is not announced yet; looking for it instead");
    }
    let listen = tokio::spawn(listen(shared.clone(), heard)).abort_handle();
    let watch = tokio::spawn(watch(shared.clone())).abort_handle();
    vec![listen, watch]
}

async fn listen(shared: Arc<Shared>, mut heard: mpsc::Receiver<Heard>) {
    while let Some(heard) = heard.recv().await {
        match heard {
            Heard::Message { channel, payload } => {
                if let Some(partition) = shared.keys.heard_on(&channel) {
                    shared.hear(partition, &payload);
                }
            }
            Heard::Gap => {
                shared.looking.forget();
                shared.wakeups.announce_maybe();
            }
        }
    }
}

async fn watch(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(NET).await;
        if !shared.wakeups.anybody_waits() {
            continue;
        }
        if let Err(error) = shared.look().await {
            outage::failed(&error, "cannot look for work");
        }
    }
}

impl Looking {
    /// What is known may have been overtaken.
    fn forget(&self) {
        if let Ok(mut fresh) = self.fresh_until.lock() {
            *fresh = None;
        }
    }
}

impl Shared {
    /// Whether those who wait on `queue` are looked for already, so that a claim that knows of no
    /// work need not look itself.
    pub(crate) fn is_looked_for(&self, queue: &Queue) -> bool {
        let fresh = self.looking.fresh_until.lock().ok().and_then(|fresh| *fresh);
        fresh.is_some_and(|until| Instant::now() < until) && self.wakeups.waiting(queue) > 0
    }

    /// Looks at all partitions, believes what it sees and calls those who wait for it.
    pub(crate) async fn look(&self) -> Result<(), StoreError> {
        for (queue, requires) in self.learn().await? {
            self.more_work(&queue, requires);
        }
        Ok(())
    }

    /// Looks at all partitions and believes what it sees. Answers the queues that hold something;
    /// whoever comes while a look is under way shares the next one, and has nobody to call.
    pub(crate) async fn learn(&self) -> Result<Vec<(Queue, Capabilities)>, StoreError> {
        let seen = self.looking.begun.load(Ordering::SeqCst);
        let mut last = self.looking.last.lock().await;
        if last.as_ref().is_some_and(|look| look.number > seen) {
            return Ok(Vec::new());
        }
        let number = self.looking.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let asked = self.heads.learned();
        let began = Instant::now();
        let mut partitions = Vec::new();
        let (mut found, mut empty) = (Vec::new(), Vec::new());
        for answer in self.link.call_each("peek", &self.keys.routes(), &[]).await? {
            for partition in reply::list(answer)? {
                partitions.push(self.peeked(partition, &mut found, &mut empty)?);
            }
        }
        let queues: Vec<_> =
            found.iter().map(|news: &News| (news.queue.clone(), news.requires.clone())).collect();
        self.heads.looked(asked, &partitions, found);
        if let Ok(mut fresh) = self.looking.fresh_until.lock() {
            *fresh = Some(began + FRESH);
        }
        let before = last.replace(Look { number, empty: empty.iter().cloned().collect() });
        drop(last);
        // A queue that two looks in a row found empty need not be looked at again.
        empty.retain(|queue| before.as_ref().is_some_and(|look| look.empty.contains(queue)));
        self.sweep(empty).await?;
        Ok(queues)
    }

    fn peeked(
        &self,
        answer: Value,
        found: &mut Vec<News>,
        empty: &mut Vec<(u16, String)>,
    ) -> Result<u16, StoreError> {
        let mut values = reply::list(answer)?.into_iter();
        let mut next = || values.next().ok_or_else(reply::missing);
        let partition = self.keys.routed(&reply::bytes(next()?)?).ok_or_else(reply::missing)?;
        let timer = next()?;
        if reply::maybe_number(&timer)?.is_some() {
            self.wakeups.announce([Announcement::Timer(reply::time(&timer)?)]);
        }
        while let Some(name) = values.next() {
            let mut next = || values.next().ok_or_else(reply::missing);
            let name = reply::text(name)?;
            let score = reply::maybe_number(&next()?)?;
            let count = u64::try_from(reply::number(&next()?)?).ok();
            let requires = reply::text(next()?)?;
            match score {
                Some(score) => {
                    let news = news(partition, &name, score, &requires);
                    found.extend(news.map(|news| News { count, ..news }));
                }
                None => empty.push((partition, name)),
            }
        }
        Ok(partition)
    }

    /// Takes empty queues out of their registries, some at a time.
    async fn sweep(&self, mut empty: Vec<(u16, String)>) -> Result<(), StoreError> {
        empty.truncate(MOST_SWEPT);
        empty.sort_unstable();
        for queues in empty.chunk_by(|(one, _), (other, _)| one == other) {
            let route = self.keys.route(queues[0].0);
            let args: Vec<_> = queues.iter().map(|(_, name)| name.as_bytes().into()).collect();
            self.link.call("sweep", &route, &args).await?;
        }
        Ok(())
    }

    fn hear(&self, partition: u16, payload: &[u8]) {
        match payload.split_first() {
            Some((b'T', due)) => {
                if let Some(due) = reply::score(due).and_then(|due| u64::try_from(due).ok()) {
                    self.wakeups.announce([Announcement::Timer(Time::from_ms(due))]);
                }
            }
            Some((b'M', _)) => self.wakeups.announce_maybe(),
            Some((b'W', rest)) if !rest.starts_with(&self.origin) => {
                if let Some(news) = rest.get(8..).and_then(|text| announced(partition, text)) {
                    let (queue, requires) = (news.queue.clone(), news.requires.clone());
                    self.heads.improved(news);
                    self.more_work(&queue, requires);
                }
            }
            _ => {}
        }
    }
}

/// The news of an announcement: namespace, lane, class, score and requirements.
fn announced(partition: u16, text: &[u8]) -> Option<News> {
    let mut parts = std::str::from_utf8(text).ok()?.splitn(5, ':');
    let (namespace, lane, class) = (parts.next()?, parts.next()?, parts.next()?);
    let score = reply::score(parts.next()?.as_bytes())?;
    news(partition, &format!("{namespace}:{lane}:{class}"), score, parts.next()?)
}

fn news(partition: u16, name: &str, score: i64, requires: &str) -> Option<News> {
    let class = name.splitn(3, ':').nth(2).unwrap_or_default().to_owned();
    let requires = Capabilities::parse(requires).ok()?;
    Some(News { queue: queue(name)?, partition, class, requires, score, count: None })
}

/// The queue that has this name among those of its partition, whatever its class.
pub(crate) fn queue(name: &str) -> Option<Queue> {
    let mut parts = name.splitn(3, ':');
    Some((Namespace::new(parts.next()?).ok()?, Lane::new(parts.next()?).ok()?))
}
