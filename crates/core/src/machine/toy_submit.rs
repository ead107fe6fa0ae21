//! A command for tests of stores: a submit that stores elements beside its new record.
//!
//! It exists only with the feature `toy`: no command makes a record with elements yet.

use bytes::Bytes;

use super::readwrite::Change;
use super::{Context, Decide, Facts, ReadSet, Step, Submit};
use crate::collection::{Collection, Content, Element, ElementName};
use crate::placement::{EntryDiff, Placement};
use crate::refusal::Refusal;

/// Submits, and stores elements beside what it makes. They are no part of the fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToySubmit {
    /// The execution.
    pub submit: Box<Submit>,
    /// What goes beside it, in order; those of one collection in a row.
    pub elements: Vec<(Collection, Option<ElementName>, Bytes)>,
}

impl Decide for ToySubmit {
    fn facts(&self) -> Facts<'_> {
        self.submit.facts()
    }

    fn check(&self) -> Result<(), Refusal> {
        self.submit.check()
    }

    fn reads(&self) -> ReadSet {
        self.submit.reads()
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let mut step = self.submit.apply(context)?;
        if let Step::Done(transition) = &mut step {
            let writes = transition.items.iter_mut().filter_map(|item| item.write.as_mut());
            writes.flat_map(|write| &mut write.changes).for_each(|change| self.extend(change));
        }
        Ok(step)
    }
}

impl ToySubmit {
    /// Adds the elements to a change that makes a record.
    fn extend(&self, change: &mut Change) {
        let Some(record) = &mut change.after else { return };
        for (collection, name, bytes) in self.elements.iter().cloned() {
            let number = record.counts.add(collection);
            let element = Element { number, name, content: Content::Bytes(bytes) };
            change.elements.push((collection, element));
        }
        record.placed = Placement::of(record);
        change.entries = EntryDiff::between(None, Some(record));
    }
}
