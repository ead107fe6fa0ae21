//! The journal, as commands read and write it.
//!
//! Of several entries of a name only the newest can be visible: a name is recorded again only after a
//! replay has hidden its entry.

use super::Context;
use crate::bounds::{JOURNAL_BYTES, STEPS};
use crate::collection::{Collection, Element, ElementKey};
use crate::id::ExecutionId;
use crate::journal::{Entry, Recorded};
use crate::name::StepName;
use crate::record::Execution;
use crate::refusal::{Full, Refusal};
use crate::time::Time;

/// What a command reads to know whether the journal of `owner` has an entry of this name.
pub(super) fn entry_of(owner: ExecutionId, name: &StepName) -> ElementKey {
    ElementKey { owner, collection: Collection::Steps, name: name.element() }
}

impl Context<'_> {
    /// The visible entry of this name; [`entry_of`] it must have been read.
    pub(super) fn entry(&self, record: &Execution, name: &StepName) -> Option<&Element> {
        let found = self.loaded.elements.get(&entry_of(record.id, name))?.as_ref();
        found.filter(|element| record.journal.shows(element.number))
    }

    /// Refuses a sleep or a wait of this name if the journal has one already, or no room for the entry
    /// that ends it. Nothing else is written to the journal before.
    pub(super) fn check_unrecorded(
        &self,
        record: &Execution,
        name: &StepName,
    ) -> Result<(), Refusal> {
        match self.entry(record, name) {
            Some(_) => Err(Refusal::StepConflict),
            None => check_room(record, 0),
        }
    }
}

/// Refuses an entry with `bytes` of result that the journal of `record` has no room for.
pub(super) fn check_room(record: &Execution, bytes: usize) -> Result<(), Refusal> {
    let full = |what| Err(Refusal::LimitReached { what });
    if record.counts.of(Collection::Steps) >= STEPS {
        return full(Full::Steps { most: STEPS });
    }
    if record.journal.bytes() + bytes as u64 > JOURNAL_BYTES {
        return full(Full::JournalBytes { most: JOURNAL_BYTES });
    }
    Ok(())
}

impl Execution {
    /// Counts one more entry of its journal, and answers it, to be
    /// [written](super::WriteSet::with_entry) with the record.
    pub(super) fn record_entry(&mut self, name: StepName, at: Time, what: Recorded) -> Element {
        let number = self.counts.add(Collection::Steps);
        self.journal.add(number, what.counted_bytes());
        let attempt = self.attempt.as_ref().map_or(0, |attempt| attempt.number);
        Entry { number, name, run: self.run.number, attempt, at, what }.element()
    }
}
