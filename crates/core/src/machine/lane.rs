//! Lanes: an operator pauses, drains and resumes them.
//!
//! What is said of a lane is written at the home of its namespace and then copied to every
//! partition. It is acknowledged when every copy is written; a caller that dies before leaves a
//! timer behind, and the engine copies on.

use super::{Context, Decide, ReadSet, Reply, Step};
use crate::machine::hold::check_message;
use crate::refusal::Refusal;
use crate::resource::{Body, LaneState, Resource, ResourceKey};
use crate::time::Millis;

/// How long a caller has to copy what it said to every partition.
pub(super) const SPREAD: Millis = Millis::from_secs(5);

/// Says something of a lane, at home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetLane {
    /// Where the state lies.
    pub key: ResourceKey,
    /// Whether anything of it is claimed; `None` leaves that as it is.
    pub paused: Option<bool>,
    /// Whether nothing new is submitted to it; `None` leaves that as it is.
    pub draining: Option<bool>,
    /// Why, for people.
    pub reason: Option<Box<str>>,
    /// Other partitions must have it too.
    pub spread: bool,
}

impl Decide for SetLane {
    fn check(&self) -> Result<(), Refusal> {
        check_message("reason", self.reason.as_deref().unwrap_or(""))
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let earlier = before.and_then(Resource::as_lane).cloned().unwrap_or_default();
        let mut after = LaneState {
            paused: self.paused.unwrap_or(earlier.paused),
            draining: self.draining.unwrap_or(earlier.draining),
            ..earlier.clone()
        };
        let reason = self.reason.clone().or(after.reason.take());
        after.reason = reason.filter(|_| !after.is_open());
        if after == earlier {
            return Ok(Step::answer(Reply::Lane(earlier)));
        }
        after.since = context.now;
        after.generation += 1;
        after.spread_by = self.spread.then(|| context.now + SPREAD);
        let answer = Reply::Lane(after.clone());
        Ok(Step::write(context.put(&self.key, before, Body::Lane(after)), answer))
    }
}

/// Gives a partition its copy of what was said of a lane. A later one stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyLane {
    /// Where the copy lies.
    pub key: ResourceKey,
    /// What was said.
    pub state: LaneState,
}

impl Decide for CopyLane {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let earlier = before.and_then(Resource::as_lane).map_or(0, |lane| lane.generation);
        if earlier >= self.state.generation {
            return Ok(Step::answer(Reply::Done));
        }
        let after = LaneState { spread_by: None, ..self.state.clone() };
        Ok(Step::write(context.put(&self.key, before, Body::Lane(after)), Reply::Done))
    }
}

/// Every partition has what was said of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneSpread {
    /// Where the state lies at home.
    pub key: ResourceKey,
    /// What was spread; what was said since is not.
    pub generation: u64,
}

impl Decide for LaneSpread {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let lane = before.and_then(Resource::as_lane);
        let Some(lane) = lane.filter(|l| l.generation == self.generation && l.spread_by.is_some())
        else {
            return Ok(Step::answer(Reply::Done));
        };
        let after = LaneState { spread_by: None, ..lane.clone() };
        Ok(Step::write(context.put(&self.key, before, Body::Lane(after)), Reply::Done))
    }
}
