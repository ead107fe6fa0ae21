//! Lanes: an operator pauses, drains and resumes them, limits how many of their executions run, and sets
//! defaults for their submits.
//!
//! The settings of a lane are written at the home of its namespace and then [copied](super::spread) to
//! every partition. The limit of a lane is kept by a quota of its own, which is written with it and
//! never removed: a claim that reads an older copy still finds the quota, and its count stays right
//! however often the limit is changed.

use super::spread::SPREAD;
use super::{Context, Decide, Facts, ReadSet, Reply, Step, WriteSet};
use crate::bounds;
use crate::machine::hold::check_message;
use crate::overrides::PolicyOverrides;
use crate::patch::Patch;
use crate::quota::Quota;
use crate::refusal::Refusal;
use crate::resource::{Body, LaneState, Resource, ResourceKey};

/// Says something of a lane, at home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetLane {
    /// Where the state lies.
    pub key: ResourceKey,
    /// Whether anything of it is claimed; `None` leaves that as it is.
    pub paused: Option<bool>,
    /// Whether nothing new is submitted to it; `None` leaves that as it is.
    pub draining: Option<bool>,
    /// How many of it may run at once.
    pub max_active: Patch<u32>,
    /// What its submits ask for where they say nothing, as a whole: what this leaves open is built in.
    pub defaults: Patch<Box<PolicyOverrides>>,
    /// Why, for people.
    pub reason: Option<Box<str>>,
    /// Other partitions must have it too.
    pub spread: bool,
}

impl Decide for SetLane {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        if let Patch::Set(most) = self.max_active
            && (most == 0 || most > bounds::QUOTA)
        {
            let why = format!("is {most}; give 1 to {}, or pause the lane", bounds::QUOTA);
            return Err(Refusal::invalid("max_active", why));
        }
        if let Patch::Set(defaults) = &self.defaults {
            defaults.check(false)?;
        }
        check_message("reason", self.reason.as_deref().unwrap_or(""))
    }

    fn reads(&self) -> ReadSet {
        let mut reads = ReadSet::resource(&self.key);
        if self.max_active != Patch::Unset {
            reads.resources.push(self.key.limit_of_lane());
        }
        reads
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let earlier = before.and_then(Resource::as_lane).cloned().unwrap_or_default();
        let mut after = LaneState {
            paused: self.paused.unwrap_or(earlier.paused),
            draining: self.draining.unwrap_or(earlier.draining),
            max_active: self.max_active.of(earlier.max_active),
            defaults: self
                .defaults
                .clone()
                .of(earlier.defaults.clone())
                .filter(|ask| !ask.is_empty()),
            ..earlier.clone()
        };
        let reason = self.reason.clone().or(after.reason.take());
        after.reason = reason.filter(|_| !after.is_open());
        let limit = self.limit(context, after.max_active);
        if after == earlier {
            let answer = Reply::Lane(earlier);
            return Ok(match limit {
                Some(limit) => Step::write(limit, answer),
                None => Step::answer(answer),
            });
        }
        after.since = context.now;
        after.by = context.by.cloned();
        after.generation += 1;
        after.spread_by = self.spread.then(|| context.now + SPREAD);
        let answer = Reply::Lane(after.clone());
        // The quota comes first: what a store leaves of a write that fails in the middle never says
        // that a lane is limited by one that is not there.
        let mut write = limit.unwrap_or_default();
        write.resources.extend(context.put(&self.key, before, Body::Lane(after)).resources);
        Ok(Step::write(write, answer))
    }
}

impl SetLane {
    /// What the quota of the lane is from now on, if that is new.
    fn limit(&self, context: &Context<'_>, max_active: Option<u32>) -> Option<WriteSet> {
        if self.max_active == Patch::Unset {
            return None;
        }
        let key = self.key.limit_of_lane();
        let before = context.loaded.resource(&key);
        let earlier = before.and_then(Resource::as_quota);
        if earlier.and_then(|quota| quota.limits.max_active) == max_active {
            return None;
        }
        let mut quota = Quota::of_lane(max_active, context.creation());
        if let Some(earlier) = earlier {
            (quota.active, quota.has_waiters, quota.created_at) =
                (earlier.active, earlier.has_waiters, earlier.created_at);
        }
        Some(context.put(&key, before, Body::Quota(quota)))
    }
}
