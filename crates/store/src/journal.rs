//! Reads the journal of an execution, page by page.

use ff_core::Refusal;
use ff_core::bounds::PAGE;
use ff_core::collection::{Collection, ElementRange};
use ff_core::journal::Entry;
use ff_core::machine::Target;

use crate::error::StoreError;
use crate::store::Store;

/// A part of a journal, oldest entry first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JournalPage {
    /// The entries.
    pub entries: Vec<JournalEntry>,
    /// Where to continue; `None` if these are the last.
    pub next: Option<u64>,
}

/// An entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// The entry.
    pub entry: Entry,
    /// Whether attempts find it; a replay may have hidden it.
    pub visible: bool,
}

/// Which entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    Visible,
}

/// Entries from number `from` on, at most `limit` and about a megabyte: what one read answers.
pub(crate) async fn page(
    store: &dyn Store,
    target: &Target,
    which: Which,
    from: u64,
    limit: usize,
) -> Result<JournalPage, StoreError> {
    if limit == 0 || limit > PAGE {
        return Err(Refusal::invalid("limit", format!("is {limit}; give 1 to {PAGE}")).into());
    }
    let (owner, collection) = (target.execution, Collection::Steps);
    let found = store.record(owner).await?;
    let found = found.filter(|record| record.spec.namespace == target.namespace);
    let record = found.ok_or(Refusal::NotFound)?;
    let stretch = |from: u64| match which {
        Which::Visible => record.journal.next(from),
        Which::All => Some((from, record.counts.of(collection))).filter(|(from, to)| from < to),
    };
    let Some((from, to)) = stretch(from) else { return Ok(JournalPage::default()) };
    let limit = limit.min((to - from) as usize);
    let elements = store.elements(ElementRange { owner, collection, from, limit }).await?;
    let Some(last) = elements.last() else {
        // Removed with its execution since the record was read, or lost: the record says which.
        return match store.record(owner).await? {
            None => Err(Refusal::NotFound.into()),
            Some(_) => Err(StoreError::Corrupt(format!("entry {from} of {owner} is missing"))),
        };
    };
    let next = stretch(last.number + 1).map(|(from, _)| from);
    let entries = elements.iter().map(|element| {
        let unreadable = |error| StoreError::Corrupt(format!("execution {owner}: {error}"));
        let entry = Entry::of(element).map_err(unreadable)?;
        Ok(JournalEntry { visible: record.journal.shows(entry.number), entry })
    });
    Ok(JournalPage { entries: entries.collect::<Result<_, StoreError>>()?, next })
}
