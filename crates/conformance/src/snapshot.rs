//! Everything a store holds, to compare before with after and one store with another.

mod rows;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use ff_core::collection::{Collection, Content, Element, ElementRange};
use ff_core::continuation::Continuation;
use ff_core::event::Event;
use ff_core::machine::LaneClass;
use ff_core::payload::BlobKey;
use ff_core::placement::Entry;
use ff_core::record::{Exit, Version};
use ff_core::state::State;
use ff_core::{
    Capabilities, Execution, ExecutionId, Lane, LeaseId, Namespace, Resource, ResourceKey,
    ResourceKind, Time,
};
use ff_store::audit::{ElementRow, ResourceEntry, Row, RowContent};
use ff_store::events::{LogScan, Logged, Positions};
use ff_store::{Store, StoreError};

pub use rows::{RowKey, RowsOf};

/// Makes [`Snapshot`] of the kinds of rows. Each line says what the kind is called, how its rows are
/// keyed, what is compared of them, and which [`Row`] is one.
macro_rules! row_kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident: $key:ty => $value:ty, $word:literal, $row:pat => $pair:expr;
    )+) => {
        /// Every row of a store, by kind and key.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct Snapshot {
            $($(#[$doc])* pub $kind: RowsOf<$key, $value>,)+
            /// The events that are logged, by namespace and execution, in the order of each: commands
            /// on different executions that are sent together may be committed in any order.
            pub events: RowsOf<(Namespace, ExecutionId, usize), Event>,
        }

        impl Snapshot {
            fn add(&mut self, row: Row) {
                match row {
                    $($row => {
                        let (key, value) = $pair;
                        self.$kind.add(key, value);
                    })+
                }
            }

            /// Every row that belongs to `id`, in words.
            pub fn naming(&self, id: ExecutionId) -> Vec<String> {
                let mut found = Vec::new();
                $(self.$kind.naming($word, id, &mut found);)+
                found
            }

            /// What is only here (`-`) and only in `other` (`+`), at most a screenful.
            pub fn differences(&self, other: &Snapshot) -> Vec<String> {
                let mut found = Vec::new();
                if self != other {
                    $(self.$kind.differences($word, &other.$kind, &mut found);)+
                    self.events.differences("event", &other.events, &mut found);
                }
                found
            }
        }
    };
}

row_kinds! {
    /// Records.
    records: ExecutionId => Execution, "record", Row::Record(record) => (record.id, *record);
    /// Index entries.
    entries: (ExecutionId, Entry) => (), "entry", Row::Entry(entry, id) => ((id, entry), ());
    /// Registered classes.
    classes: (Namespace, Lane, Capabilities) => (), "class",
        Row::Class(LaneClass { namespace, lane, class }) => ((namespace, lane, class), ());
    /// Payloads outside records.
    blobs: BlobKey => Blob, "bytes", Row::Blob(key, len) => (key, Blob { len, bytes: None });
    /// Elements.
    elements: (ExecutionId, Collection, u64) => StoredElement, "element",
        Row::Element(row) => StoredElement::of(*row);
    /// Resources.
    resources: ResourceKey => Resource, "resource",
        Row::Resource(resource) => (resource.key.clone(), *resource);
    /// The resources that are listed.
    listed_resources: ResourceKey => (), "listed resource",
        Row::ResourceEntry(key, ResourceEntry::Listed) => (key, ());
    /// The timers of resources.
    resource_timers: ResourceKey => Time, "timer of a resource",
        Row::ResourceEntry(key, ResourceEntry::Timer(at)) => (key, at);
    /// Continuations, and when they are due.
    continuations: Continuation => Time, "continuation",
        Row::Continuation(continuation, due) => (continuation, due);
    /// Counters: what each has, and whether it has an owner.
    tallies: (ExecutionId, u8) => (i64, bool), "counter",
        Row::Tally(row) => ((row.owner, row.counter), (row.value, row.is_owned));
    /// What could not be read: where it is, and why.
    unreadable: String => String, "unreadable", Row::Unreadable { place, why } => (place, why);
}

/// A payload outside its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// How long it is.
    pub len: u64,
    /// All of it, unless no record leads to it.
    pub bytes: Option<Bytes>,
}

/// An element beside a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredElement {
    /// What its row says of it.
    pub row: RowContent,
    /// All of it, unless no record counts it.
    pub element: Option<Element>,
}

impl StoredElement {
    fn of(row: ElementRow) -> ((ExecutionId, Collection, u64), StoredElement) {
        let ElementRow { owner, collection, number, content } = row;
        ((owner, collection, number), StoredElement { row: content, element: None })
    }
}

/// How many events are read at a time: few, so that pages meet.
const EVENTS_READ: usize = 7;

/// Reads everything `store` holds.
pub async fn snapshot(store: &dyn Store) -> Result<Snapshot, StoreError> {
    let mut rows = store.rows().await?;
    let mut all = Snapshot::default();
    while let Some(row) = rows.next().await {
        all.add(row?);
    }
    for (key, blob) in &mut *all.blobs {
        blob.bytes = store.blob(*key).await?;
    }
    for (key, stored) in &mut *all.elements {
        let (owner, collection, number) = *key;
        let range = ElementRange { owner, collection, from: number, limit: 1 };
        let found = store.elements(range).await?.pop();
        stored.element = found.filter(|found| found.number == number);
    }
    let feeds = all.resources.keys().filter(|key| key.kind == ResourceKind::Feed);
    let namespaces: BTreeSet<_> = feeds.map(|key| key.namespace.clone()).collect();
    for namespace in namespaces {
        read_events(store, namespace, &mut all).await?;
    }
    Ok(all)
}

/// Reads a whole log, page by page.
async fn read_events(
    store: &dyn Store,
    namespace: Namespace,
    all: &mut Snapshot,
) -> Result<(), StoreError> {
    let (mut after, mut counts) = (Positions::default(), BTreeMap::<_, usize>::new());
    loop {
        let scan = LogScan { namespace: namespace.clone(), after, limit: EVENTS_READ };
        let page = store.events(scan).await?;
        for Logged { event, .. } in page.events {
            let count = counts.entry(event.execution()).or_default();
            all.events.add((namespace.clone(), event.execution(), *count), event);
            *count += 1;
        }
        after = page.positions;
        if !page.more {
            return Ok(());
        }
    }
}

impl Snapshot {
    /// The record of `id`.
    pub fn record(&self, id: ExecutionId) -> Option<&Execution> {
        self.records.get(&id)
    }

    /// Panics with the differences, unless there are none.
    #[track_caller]
    pub fn assert_same(&self, before: &Snapshot) {
        let differences = before.differences(self);
        assert!(differences.is_empty(), "the store changed:\n{}", differences.join("\n"));
    }

    /// Without the number of writes that made it: a repeated heartbeat may count one more.
    pub fn without_versions(mut self) -> Snapshot {
        for record in self.records.values_mut() {
            record.version = Version::first(0);
        }
        for resource in self.resources.values_mut() {
            resource.version = Version::first(0);
        }
        self
    }

    /// Without the numbers of leases within their claim: after a conflict a claim
    /// numbers its leases with gaps.
    pub(crate) fn without_lease_numbers(mut self) -> Snapshot {
        self.records.values_mut().for_each(drop_lease_numbers);
        for StoredElement { row, element } in self.elements.values_mut() {
            if let RowContent::Attempt(attempt) = row {
                unnumber(&mut attempt.lease);
            }
            if let Some(Element { content: Content::Attempt(attempt), .. }) = element {
                unnumber(&mut attempt.lease);
            }
        }
        self
    }
}

/// Drops the numbers of the leases that `record` names.
pub(crate) fn drop_lease_numbers(record: &mut Execution) {
    if let State::Active { lease, .. } = &mut record.state {
        unnumber(&mut lease.id);
    }
    if let Some(Exit { lease, .. }) = &mut record.last_exit {
        unnumber(lease);
    }
    if let Some(attempt) = &mut record.attempt {
        unnumber(&mut attempt.lease);
    }
}

fn unnumber(lease: &mut LeaseId) {
    lease.index = 0;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_classes(lanes: &[&str]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for lane in lanes {
            snapshot.add(Row::Class(LaneClass {
                namespace: Namespace::default(),
                lane: Lane::new(*lane).unwrap(),
                class: Capabilities::new(["gpu"]).unwrap(),
            }));
        }
        snapshot
    }

    #[test]
    fn only_differences_are_listed() {
        let listed = with_classes(&["a", "b"]).differences(&with_classes(&["b", "c"]));
        assert_eq!(
            listed,
            [r#"- class ("default", "a", "gpu")"#, r#"+ class ("default", "c", "gpu")"#]
        );
    }

    #[test]
    fn a_row_that_differs_is_listed_as_it_is_on_either_side() {
        let timer = |at| {
            let key = ResourceKey::lane(&Namespace::default(), &Lane::default(), 1);
            let mut snapshot = Snapshot::default();
            snapshot.add(Row::ResourceEntry(key, ResourceEntry::Timer(Time::from_ms(at))));
            snapshot
        };
        let listed = timer(1).differences(&timer(2));
        assert_eq!(listed.len(), 2, "{listed:?}");
        let named = "timer of a resource lane:default:default@0: ";
        assert!(listed[0].starts_with(&format!("- {named}")), "{listed:?}");
        assert!(listed[1].starts_with(&format!("+ {named}")), "{listed:?}");
    }

    #[test]
    fn a_repeated_row_is_a_difference() {
        let listed = with_classes(&["a"]).differences(&with_classes(&["a", "a"]));
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert!(listed[0].starts_with("~ class rows are repeated"), "{listed:?}");
    }
}
