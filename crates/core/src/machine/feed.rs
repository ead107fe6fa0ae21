//! The feed of a namespace: an operator switches it, a subscriber keeps it on, time trims its log.

use super::spread::SPREAD;
use super::{Context, Decide, Facts, ReadSet, Reply, Step};
use crate::bounds::{EVENT_RETENTION_MAX, EVENT_RETENTION_MIN, EVENTS_KEPT_MAX, FEED_PARTITIONS};
use crate::refusal::Refusal;
use crate::resource::{Body, Resource, ResourceKey};
use crate::time::Millis;

/// Changes a feed, at home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetFeed {
    /// Where the feed lies.
    pub key: ResourceKey,
    /// What becomes of it.
    pub change: FeedChange,
    /// How many partitions the store has: the others must have it too.
    pub partitions: u16,
}

/// What becomes of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedChange {
    /// Somebody reads it: it is on, and stays on for a while.
    Read,
    /// An operator's settings.
    Set {
        /// Whether it is on whoever reads; off, it is on again with the next reader. `None` leaves it.
        on: Option<bool>,
        /// How long an event is kept; `None` leaves it.
        retention: Option<Millis>,
        /// How many are kept at most; `None` leaves it.
        most: Option<u64>,
    },
}

impl Decide for SetFeed {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        if let FeedChange::Set { retention, most, .. } = &self.change {
            if let Some(retention) = retention {
                retention.within("retention_ms", EVENT_RETENTION_MIN, EVENT_RETENTION_MAX)?;
            }
            if let Some(most) = most
                && !(1..=EVENTS_KEPT_MAX).contains(most)
            {
                let why = format!("is {most}; give 1 to {EVENTS_KEPT_MAX}");
                return Err(Refusal::invalid("most", why));
            }
        }
        if self.partitions > FEED_PARTITIONS {
            let why = format!(
                "needs a store of at most {FEED_PARTITIONS} partitions, and this one has {}",
                self.partitions
            );
            return Err(Refusal::invalid("feed", why));
        }
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let earlier = before.and_then(Resource::as_feed).cloned().unwrap_or_default();
        let mut after = earlier.clone();
        match &self.change {
            FeedChange::Read => {
                after.switch(true, context.now);
                if after.is_to_be_noted(context.now) {
                    after.last_read = context.now;
                }
            }
            FeedChange::Set { on, retention, most } => {
                after.retention = retention.unwrap_or(after.retention);
                after.most = most.unwrap_or(after.most);
                if let Some(on) = on {
                    after.pinned = *on;
                    after.switch(*on, context.now);
                }
            }
        }
        if after == earlier {
            return Ok(Step::answer(Reply::Feed(Box::new(earlier))));
        }
        if after.on != earlier.on {
            after.generation += 1;
            after.spread_by = (self.partitions > 1).then(|| context.now + SPREAD);
        }
        let answer = Reply::Feed(Box::new(after.clone()));
        Ok(Step::write(context.put(&self.key, before, Body::Feed(after)), answer))
    }
}

/// The log of a feed that is off is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedEmptied {
    /// Where the feed lies.
    pub key: ResourceKey,
    /// Which change of the feed it was emptied for.
    pub generation: u64,
}

impl Decide for FeedEmptied {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let mut after = match before.and_then(Resource::as_feed) {
            Some(feed) if !feed.on && feed.generation == self.generation => feed.clone(),
            _ => return Ok(Step::answer(Reply::Done)),
        };
        if after.trim_at.take().is_none() {
            return Ok(Step::answer(Reply::Done));
        }
        Ok(Step::write(context.put(&self.key, before, Body::Feed(after)), Reply::Done))
    }
}
