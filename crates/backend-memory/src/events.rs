//! The log of events, and commits that become visible out of order.
//!
//! On a store whose commits are numbered before they are visible, a later number can be visible while an
//! earlier one is not. [`Late`] makes some events invisible for a few reads. What is read ends before
//! the first event that is not visible yet: a reader that went on would never come back for it.

use std::collections::VecDeque;

use ff_core::event::Event;
use ff_core::feed::Trim;
use ff_core::{Namespace, Partition, Resource, ResourceKey};
use ff_store::events::{LogPage, LogScan, PartLog, Place, Positions};

use crate::tables::Tables;

/// How many events one call removes.
const TRIMMED: usize = 1_000;

/// Which events are invisible at first.
#[derive(Debug)]
pub(crate) struct Late {
    rng: fastrand::Rng,
    /// For how many reads at most.
    reads: u64,
}

impl Late {
    pub(crate) fn new(seed: u64, reads: u64) -> Late {
        Late { rng: fastrand::Rng::with_seed(seed), reads }
    }

    fn roll(&mut self) -> u64 {
        self.rng.u64(..=self.reads)
    }
}

/// The log of one namespace in one partition.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// The number of the last event that was removed; the first one gets 1.
    removed: u64,
    events: VecDeque<LoggedEvent>,
}

#[derive(Debug)]
struct LoggedEvent {
    event: Event,
    /// It is visible from this read on.
    from_read: u64,
}

impl Log {
    fn place(&self, index: usize) -> Place {
        Place { major: self.removed + 1 + index as u64, minor: 0 }
    }

    /// How many events can be read: those before the first that is not visible yet.
    fn visible(&self, read: u64) -> usize {
        self.events.iter().take_while(|logged| logged.from_read <= read).count()
    }

    fn after(&self, partition: u16, after: Place, limit: usize, read: u64) -> PartLog {
        let visible = self.visible(read);
        let known = after.major.saturating_sub(self.removed) as usize;
        let to = visible.min(known.saturating_add(limit));
        let range = known.min(to)..to;
        let events = range.map(|index| (self.place(index), self.events[index].event.clone()));
        let events: Vec<_> = events.collect();
        PartLog {
            partition,
            last:
                events
                    .last()
                    .map(|(place, _)| *place)
                    .or((after.major < self.removed)
                        .then_some(Place { major: self.removed, minor: 0 })),
            events,
            expired: after.major < self.removed || known > self.events.len(),
            more: to < visible,
        }
    }

    /// Removes what is too old or too much. Tells whether there is more to remove.
    fn trim(&mut self, trim: Trim, most: u64) -> bool {
        let goes = |log: &Log| {
            let too_many = log.events.len() as u64 > most;
            log.events.front().is_some_and(|first| too_many || first.event.at < trim.before)
        };
        for _ in 0..TRIMMED {
            if !goes(self) {
                return false;
            }
            self.events.pop_front();
            self.removed += 1;
        }
        goes(self)
    }
}

impl Tables {
    /// Logs what happened, if the feed is on where it happened.
    pub(crate) fn log(&mut self, event: Event) {
        let partition = self.partition(event.execution());
        let feed = self.resources.get(&ResourceKey::feed_in(partition, &event.namespace));
        if !feed.and_then(Resource::as_feed).is_some_and(|feed| feed.on) {
            return;
        }
        let from_read = match &mut self.late {
            Some(late) => self.event_reads + late.roll(),
            None => 0,
        };
        let log = self.events.entry((event.namespace.clone(), partition)).or_default();
        log.events.push_back(LoggedEvent { event, from_read });
    }

    /// Events after some places.
    pub(crate) fn events(&mut self, scan: LogScan) -> LogPage {
        self.event_reads += 1;
        let each = (scan.limit / usize::from(self.partitions)).max(1);
        let logs = self.logs(&scan.namespace);
        let parts = logs.map(|(partition, log)| {
            log.after(partition, scan.after.of(partition), each, self.event_reads)
        });
        let parts: Vec<_> = parts.collect();
        LogPage::of(scan.after, parts)
    }

    /// The last place of each partition.
    pub(crate) fn event_heads(&mut self, namespace: &Namespace) -> Positions {
        self.event_reads += 1;
        let heads = self.logs(namespace).map(|(partition, log)| {
            let place =
                Place { major: log.removed + log.visible(self.event_reads) as u64, minor: 0 };
            (partition, place)
        });
        heads.collect()
    }

    /// Removes old events, and tells whether there is more to remove.
    pub(crate) fn trim_events(&mut self, namespace: &Namespace, trim: Trim) -> bool {
        let most = trim.most.div_ceil(self.partitions.into());
        let mut more = false;
        for number in 0..self.partitions {
            let Ok(partition) = Partition::new(number) else { continue };
            if let Some(log) = self.events.get_mut(&(namespace.clone(), partition)) {
                more |= log.trim(trim, most);
            }
        }
        more
    }

    fn logs(&self, namespace: &Namespace) -> impl Iterator<Item = (u16, &Log)> {
        let from = (namespace.clone(), Partition::ONLY);
        let all = self.events.range(from..);
        let own = all.take_while(move |((of, _), _)| of == namespace);
        own.map(|((_, partition), log)| (partition.number(), log))
    }
}
