//! Which events a subscriber wants. Every part that is given must hold; each is in every event.

use std::collections::BTreeSet;

use ff_core::event::{Event, EventName};
use ff_core::{ExecutionId, Kind, Lane, TagKey, TagValue};

/// Which events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// One of these; none means any.
    pub names: BTreeSet<EventName>,
    /// Of executions in this lane.
    pub lane: Option<Lane>,
    /// Of executions of this kind.
    pub kind: Option<Kind>,
    /// Of this execution.
    pub execution: Option<ExecutionId>,
    /// Of executions that had all of these tags.
    pub tags: Vec<(TagKey, TagValue)>,
}

impl EventFilter {
    /// Whether `event` is among them.
    pub fn matches(&self, event: &Event) -> bool {
        (self.names.is_empty() || self.names.contains(&event.what.name()))
            && self.lane.as_ref().is_none_or(|lane| *lane == event.lane)
            && self.kind.as_ref().is_none_or(|kind| *kind == event.kind)
            && self.execution.is_none_or(|execution| execution == event.execution())
            && self.tags.iter().all(|(key, value)| event.tags.get(key) == Some(value))
    }
}
