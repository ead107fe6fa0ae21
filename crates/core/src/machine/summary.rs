//! Patch the summary: a holder changes the document that says how its execution is doing.

use bytes::Bytes;

use super::{Context, Decide, Facts, LeaseRef, PatchedSummary, ReadSet, Step};
use crate::collection::{Collection, ElementRange};
use crate::id::LeaseId;
use crate::refusal::Refusal;
use crate::summary::{self, Summary};
use crate::table::Verb;

/// Changes the summary of an execution by a JSON Merge Patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchSummary {
    /// What is held.
    pub hold: LeaseRef,
    /// Which patch of the execution it is, from 0: one that is known changes nothing, and one past the
    /// next is refused. Without a number it is the next, and a repeated call applies it again.
    pub number: Option<u64>,
    /// The patch, as JSON text.
    pub patch: Bytes,
}

impl Decide for PatchSummary {
    fn facts(&self) -> Facts<'_> {
        Facts {
            adds: true,
            payload_bytes: self.patch.len(),
            ..Facts::execution(self.hold.target.execution, Verb::PatchSummary)
        }
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        summary::check(&self.patch)
    }

    fn reads(&self) -> ReadSet {
        let execution = self.hold.target.execution;
        ReadSet { ranges: vec![Summary::place(execution)], ..ReadSet::record(execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.held(&self.hold)?.record;
        let is_first = record.counts.of(Collection::Summary) == 0;
        let found = context.loaded.ranges.get(&Summary::place(record.id)).filter(|_| !is_first);
        let before = found.and_then(|found| found.first()).and_then(Summary::of);
        let patches = before.as_ref().map_or(0, |before| before.patches);
        let number = self.number.unwrap_or(patches);
        if number > patches {
            return Err(Refusal::FrameGap { next: patches });
        }
        if number < patches {
            return Ok(Step::answer(PatchedSummary { next: patches }));
        }
        let document = before.as_ref().map(|before| &before.document[..]);
        let document = summary::merge(document, &self.patch)?;
        let mut after = record.clone();
        if is_first {
            after.counts.add(Collection::Summary);
        }
        let element = Summary { patches: patches + 1, document }.element();
        let mut write = context.update(record, after, None);
        write.changes[0].elements.push((Collection::Summary, element));
        Ok(Step::write(write, PatchedSummary { next: patches + 1 }))
    }
}

impl Summary {
    /// Where the summary of an execution is.
    pub fn place(owner: crate::ExecutionId) -> ElementRange {
        ElementRange { owner, collection: Collection::Summary, from: 0, limit: 1 }
    }
}
