//! What a store answers of its log: events in order, and where each partition was read to.

use std::collections::BTreeMap;

use ff_core::Namespace;
use ff_core::event::Event;

/// A place in the log of one partition. Later events have higher places; the lowest is before all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// What the store orders by first.
    pub major: u64,
    /// And among equals.
    pub minor: u64,
}

/// A place in every partition; one that is not named is before the first event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions(BTreeMap<u16, Place>);

impl Positions {
    /// The place in a partition.
    pub fn of(&self, partition: u16) -> Place {
        self.0.get(&partition).copied().unwrap_or_default()
    }

    /// Moves to a place in a partition.
    pub fn set(&mut self, partition: u16, place: Place) {
        match place == Place::default() {
            true => self.0.remove(&partition),
            false => self.0.insert(partition, place),
        };
    }

    /// So many places earlier in every partition.
    pub(crate) fn before(&self, places: u64) -> Positions {
        let earlier = |place: Place| Place { major: place.major.saturating_sub(places), minor: 0 };
        self.iter().map(|(partition, place)| (partition, earlier(place))).collect()
    }

    /// The partitions whose place is not before the first event.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u16, Place)> + '_ {
        self.0.iter().map(|(partition, place)| (*partition, *place))
    }

    /// Whether it is at or behind `other` in every partition.
    pub fn reaches(&self, other: &Positions) -> bool {
        other.iter().all(|(partition, place)| self.of(partition) >= place)
    }
}

impl FromIterator<(u16, Place)> for Positions {
    fn from_iter<T: IntoIterator<Item = (u16, Place)>>(places: T) -> Self {
        let mut positions = Positions::default();
        places.into_iter().for_each(|(partition, place)| positions.set(partition, place));
        positions
    }
}

/// A stretch of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogScan {
    /// The tenant.
    pub namespace: Namespace,
    /// Only what comes after these places.
    pub after: Positions,
    /// About how many events at most.
    pub limit: usize,
}

/// An event and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// The partition.
    pub partition: u16,
    /// Its place there.
    pub place: Place,
    /// What happened.
    pub event: Event,
}

/// What a store found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogPage {
    /// In the order of each partition, and about in that of time. Whatever is committed later comes
    /// after what is here, in its partition.
    pub events: Vec<Logged>,
    /// Where to continue.
    pub positions: Positions,
    /// Some of what came after the places is no longer there, or the places are not of this log.
    pub expired: bool,
    /// There may be more at once.
    pub more: bool,
}

/// What one partition has of a stretch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartLog {
    /// The partition.
    pub partition: u16,
    /// Its events, in order.
    pub events: Vec<(Place, Event)>,
    /// The last place that was read, which may be that of an event that cannot be read; that of the last
    /// one that was removed, if that comes after the place and nothing was read.
    pub last: Option<Place>,
    /// The place is not, or no longer, in its log.
    pub expired: bool,
    /// There may be more.
    pub more: bool,
}

impl LogPage {
    /// Puts together what partitions have after `after`.
    pub fn of(after: Positions, parts: impl IntoIterator<Item = PartLog>) -> LogPage {
        let mut page = LogPage { positions: after, ..LogPage::default() };
        let mut ordered = Vec::new();
        for part in parts {
            page.expired |= part.expired;
            page.more |= part.more;
            if let Some(last) = part.last {
                page.positions.set(part.partition, last);
            }
            // A clock that was set back does not change the order of a partition.
            let mut latest = Default::default();
            for (place, event) in part.events {
                latest = event.at.max(latest);
                ordered.push((latest, Logged { partition: part.partition, place, event }));
            }
        }
        ordered.sort_by_key(|(at, _)| *at);
        page.events = ordered.into_iter().map(|(_, logged)| logged).collect();
        page
    }
}
