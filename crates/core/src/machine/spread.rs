//! Resources of which every partition has a copy: the settings of a lane, the feed of a namespace.
//!
//! A change is written at the home of its namespace, with a generation, and then copied to every other
//! partition. It is acknowledged when every copy is written; a caller that dies before leaves a timer
//! behind, and the engine finishes the copies.

use super::{Context, Decide, Facts, ReadSet, Reply, Step};
use crate::refusal::Refusal;
use crate::resource::{Body, Resource, ResourceKey};
use crate::time::Millis;

/// How long a caller has to copy a change to every partition.
pub(super) const SPREAD: Millis = Millis::from_secs(5);

/// Gives a partition its copy. A later copy stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyResource {
    /// Where the copy lies.
    pub key: ResourceKey,
    /// What home has.
    pub body: Box<Body>,
}

impl Decide for CopyResource {
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
        let generation = |body: &Body| body.generation().unwrap_or(0);
        let earlier = before.map_or(0, |before| generation(&before.body));
        if earlier >= generation(&self.body) {
            return Ok(Step::answer(Reply::Done));
        }
        let copy = Body::copied((*self.body).clone());
        Ok(Step::write(context.put(&self.key, before, copy), Reply::Done))
    }
}

/// Every partition has its copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceSpread {
    /// Where the resource lies at home.
    pub key: ResourceKey,
    /// What was spread; what was changed since is not.
    pub generation: u64,
}

impl Decide for ResourceSpread {
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
        let is_spread = |resource: &&Resource| {
            resource.body.generation() == Some(self.generation)
                && resource.body.spread_by().is_some()
        };
        let Some(resource) = before.filter(is_spread) else {
            return Ok(Step::answer(Reply::Done));
        };
        let after = resource.body.clone().spreading(None);
        Ok(Step::write(context.put(&self.key, before, after), Reply::Done))
    }
}
