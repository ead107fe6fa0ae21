//! The feed of a namespace: whether its events are logged, for how long, and who reads them.
//!
//! A feed is off until somebody subscribes or an operator switches it on. It is a resource at the home
//! of its namespace, of which every partition has a copy: what a commit logs is decided by the copy
//! in its own partition. What happened while the feed was off is in no log, so a feed that is switched
//! on again begins a new [epoch](FeedState::epoch), and no cursor of an earlier one continues.

use serde::{Deserialize, Serialize};

use crate::bounds::{EVENT_RETENTION, EVENTS_KEPT, FEED_READ_STEP, FEED_TRIM_STEP};
use crate::time::{Millis, Time};

/// Whether a namespace logs its events, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedState {
    /// Events are logged.
    pub on: bool,
    /// An operator has switched it on: it stays on while nobody reads.
    pub pinned: bool,
    /// How long an event is kept.
    pub retention: Millis,
    /// How many are kept at most, over all partitions.
    pub most: u64,
    /// Since when it is on, or off.
    pub since: Time,
    /// Which time it is on: it grows with every switch to on.
    pub epoch: u64,
    /// When somebody was last known to read it.
    pub last_read: Time,
    /// When the engine next removes what is too old. Set only at home.
    pub trim_at: Option<Time>,
    /// Grows with every change that copies must have: a copy never goes back to an earlier one.
    pub generation: u64,
    /// Not every partition has this yet: the engine copies it by then. Set only at home.
    pub spread_by: Option<Time>,
}

impl Default for FeedState {
    fn default() -> Self {
        FeedState {
            on: false,
            pinned: false,
            retention: EVENT_RETENTION,
            most: EVENTS_KEPT,
            since: Time::EPOCH,
            epoch: 0,
            last_read: Time::EPOCH,
            trim_at: None,
            generation: 0,
            spread_by: None,
        }
    }
}

impl FeedState {
    /// Switches it on or off.
    pub(crate) fn switch(&mut self, on: bool, now: Time) {
        if self.on == on {
            return;
        }
        self.on = on;
        self.since = now;
        if on {
            self.epoch += 1;
            self.last_read = now;
        }
        self.trim_at = Some(now + self.trim_step());
    }

    /// How far apart the reads are that are noted.
    fn read_step(&self) -> Millis {
        FEED_READ_STEP.min(Millis::new(self.retention.get() / 4))
    }

    /// Whether a read at `now` is to be noted.
    pub fn is_to_be_noted(&self, now: Time) -> bool {
        now.since(self.last_read) >= self.read_step()
    }

    /// How far apart the moments are at which old events are removed.
    pub(crate) fn trim_step(&self) -> Millis {
        FEED_TRIM_STEP.min(Millis::new((self.retention.get() / 4).max(1)))
    }

    /// Whether it is on for nobody: no operator wants it, and nobody has read for as long as events are
    /// kept.
    pub(crate) fn is_unread(&self, now: Time) -> bool {
        self.on && !self.pinned && now.since(self.last_read) >= self.retention
    }

    /// What is removed from its log now.
    pub fn trimming(&self, now: Time) -> Trim {
        match self.on {
            true => Trim { before: now - self.retention, most: self.most },
            false => Trim { before: Time::MAX, most: 0 },
        }
    }
}

/// What is removed from a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trim {
    /// Everything that happened before.
    pub before: Time,
    /// The oldest of what is more than this many, over all partitions.
    pub most: u64,
}
