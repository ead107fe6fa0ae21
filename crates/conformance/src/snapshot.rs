//! Everything a store holds, to compare before with after and one store with another.

use std::fmt;

use bytes::Bytes;
use ff_core::collection::{Collection, Content, Element, ElementRange};
use ff_core::payload::BlobKey;
use ff_core::placement::Entry;
use ff_core::record::Exit;
use ff_core::state::State;
use ff_core::{Execution, ExecutionId, LeaseId, Resource, ResourceKey, Time};
use ff_store::audit::{ElementRow, ResourceEntry, Row, RowContent};
use ff_store::{Store, StoreError};

/// How many differences are listed.
const MAX_DIFFERENCES: usize = 20;

/// Every row of a store, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Records, by id.
    pub records: Vec<Execution>,
    /// Index entries.
    pub entries: Vec<(ExecutionId, Entry)>,
    /// Registered classes: namespace, lane, required set.
    pub classes: Vec<[String; 3]>,
    /// Payloads outside records: their lengths, and the bytes unless no record leads to them.
    pub blobs: Vec<(BlobKey, u64, Option<Bytes>)>,
    /// Elements, by id, collection and number: what a row says of each, and all of it unless no
    /// record counts it.
    pub elements: Vec<(ExecutionId, Collection, u64, RowContent, Option<Element>)>,
    /// Resources, by key.
    pub resources: Vec<Resource>,
    /// The resources that are listed.
    pub listed_resources: Vec<ResourceKey>,
    /// The timers of resources.
    pub resource_timers: Vec<(ResourceKey, Time)>,
    /// What could not be read.
    pub unreadable: Vec<(String, String)>,
}

/// Reads everything `store` holds.
pub async fn snapshot(store: &dyn Store) -> Result<Snapshot, StoreError> {
    let mut rows = store.rows().await?;
    let (mut all, mut blobs, mut elements) = (Snapshot::default(), Vec::new(), Vec::new());
    while let Some(row) = rows.next().await {
        match row? {
            Row::Record(record) => all.records.push(*record),
            Row::Entry(entry, id) => all.entries.push((id, entry)),
            Row::Class(class) => all.classes.push([
                class.namespace.to_string(),
                class.lane.to_string(),
                class.class.to_string(),
            ]),
            Row::Blob(key, len) => blobs.push((key, len)),
            Row::Element(row) => elements.push(*row),
            Row::Resource(resource) => all.resources.push(*resource),
            Row::ResourceEntry(key, ResourceEntry::Listed) => all.listed_resources.push(key),
            Row::ResourceEntry(key, ResourceEntry::Timer(at)) => {
                all.resource_timers.push((key, at));
            }
            Row::Unreadable { place, why } => all.unreadable.push((place, why)),
        }
    }
    for (key, len) in blobs {
        all.blobs.push((key, len, store.blob(key).await?));
    }
    for ElementRow { owner, collection, number, content } in elements {
        let range = ElementRange { owner, collection, from: number, limit: 1 };
        let found = store.elements(range).await?.pop().filter(|found| found.number == number);
        all.elements.push((owner, collection, number, content, found));
    }
    all.records.sort_by_key(|record| record.id);
    all.entries.sort();
    all.classes.sort();
    all.blobs.sort();
    all.elements.sort_by_key(|(id, collection, number, ..)| (*id, *collection, *number));
    all.resources.sort_by(|a, b| a.key.cmp(&b.key));
    all.listed_resources.sort();
    all.resource_timers.sort();
    all.unreadable.sort();
    Ok(all)
}

impl Snapshot {
    /// The record of `id`.
    pub fn record(&self, id: ExecutionId) -> Option<&Execution> {
        let place = self.records.binary_search_by_key(&id, |record| record.id).ok()?;
        self.records.get(place)
    }

    /// Every row that names `id`, in words.
    pub fn naming(&self, id: ExecutionId) -> Vec<String> {
        let records = self.records.iter().map(|r| (r.id, format!("record {r:?}")));
        let entries = self.entries.iter().map(|(id, e)| (*id, format!("entry {e:?}")));
        let blobs = self.blobs.iter().map(|(k, ..)| (k.execution, format!("bytes {:?}", k.part)));
        let elements = self.elements.iter().map(|(id, of, n, ..)| (*id, format!("{of:?} {n}")));
        let rows = records.chain(entries).chain(blobs).chain(elements);
        rows.filter(|(owner, _)| *owner == id).map(|(_, row)| row).collect()
    }

    /// Panics with the differences, unless there are none.
    #[track_caller]
    pub fn assert_same(&self, before: &Snapshot) {
        let differences = before.differences(self);
        assert!(differences.is_empty(), "the store changed:\n{}", differences.join("\n"));
    }

    /// What is only here (`-`) and only in `other` (`+`), at most a screenful.
    pub fn differences(&self, other: &Snapshot) -> Vec<String> {
        let mut found = Vec::new();
        if self != other {
            compare("record", &self.records, &other.records, &mut found);
            compare("entry", &self.entries, &other.entries, &mut found);
            compare("class", &self.classes, &other.classes, &mut found);
            compare("bytes", &self.blobs, &other.blobs, &mut found);
            compare("element", &self.elements, &other.elements, &mut found);
            compare("resource", &self.resources, &other.resources, &mut found);
            let listed = (&self.listed_resources, &other.listed_resources);
            compare("listed resource", listed.0, listed.1, &mut found);
            let timers = (&self.resource_timers, &other.resource_timers);
            compare("timer of a resource", timers.0, timers.1, &mut found);
            compare("unreadable", &self.unreadable, &other.unreadable, &mut found);
        }
        found
    }

    /// Without the number of writes that made it: a repeated heartbeat may count one more.
    pub fn without_versions(mut self) -> Snapshot {
        for record in &mut self.records {
            record.version = ff_core::record::Version::first(0);
        }
        for resource in &mut self.resources {
            resource.version = ff_core::record::Version::first(0);
        }
        self
    }

    /// Without the numbers of leases within their claim: after a conflict a claim
    /// numbers its leases with gaps.
    pub(crate) fn without_lease_numbers(mut self) -> Snapshot {
        let unnumbered = |lease: &mut LeaseId| lease.index = 0;
        for record in &mut self.records {
            if let State::Active { lease, .. } = &mut record.state {
                unnumbered(&mut lease.id);
            }
            if let Some(Exit { lease, .. }) = &mut record.last_exit {
                unnumbered(lease);
            }
            if let Some(attempt) = &mut record.attempt {
                unnumbered(&mut attempt.lease);
            }
        }
        for (.., row, element) in &mut self.elements {
            if let RowContent::Attempt(attempt) = row {
                unnumbered(&mut attempt.lease);
            }
            if let Some(Element { content: Content::Attempt(attempt), .. }) = element {
                unnumbered(&mut attempt.lease);
            }
        }
        self
    }
}

fn compare<T: PartialEq + fmt::Debug>(
    what: &str,
    ours: &[T],
    theirs: &[T],
    into: &mut Vec<String>,
) {
    let only = |sign: char, these: &[T], those: &[T]| -> Vec<String> {
        let missing = these.iter().filter(|row| !those.contains(row));
        missing.map(|row| format!("{sign} {what} {row:?}")).collect()
    };
    let (gone, new) = (only('-', ours, theirs), only('+', theirs, ours));
    if gone.is_empty() && new.is_empty() && ours.len() != theirs.len() {
        into.push(format!("~ {what} rows are repeated: {} and {}", ours.len(), theirs.len()));
    }
    let left = MAX_DIFFERENCES.saturating_sub(into.len());
    into.extend(gone.into_iter().chain(new).take(left));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_differences_are_listed() {
        let class = |lane: &str| ["default".to_owned(), lane.to_owned(), "gpu".to_owned()];
        let ours = Snapshot { classes: vec![class("a"), class("b")], ..Snapshot::default() };
        let theirs = Snapshot { classes: vec![class("b"), class("c")], ..Snapshot::default() };
        let listed = ours.differences(&theirs);
        assert_eq!(listed.len(), 2, "{listed:?}");
        assert!(listed[0].starts_with("- class") && listed[0].contains("\"a\""), "{listed:?}");
        assert!(listed[1].starts_with("+ class") && listed[1].contains("\"c\""), "{listed:?}");
    }

    #[test]
    fn a_repeated_row_is_a_difference() {
        let class = ["default".to_owned(), "a".to_owned(), "gpu".to_owned()];
        let once = Snapshot { classes: vec![class.clone()], ..Snapshot::default() };
        let twice = Snapshot { classes: vec![class.clone(), class], ..Snapshot::default() };
        assert_eq!(once.differences(&twice).len(), 1);
    }
}
