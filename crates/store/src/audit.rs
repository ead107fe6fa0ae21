//! The audit: every record against every index and against the invariants. It only reads.
//!
//! A store gives all its [`Rows`] as of one moment; the [`Auditor`] says what is wrong with them.
//! The same rows are what two stores are compared by.

use std::collections::{BTreeMap, BTreeSet};

use ff_core::collection::Collection;
use ff_core::machine::LaneClass;
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::{Entry, EntryDiff, Placement};
use ff_core::state::{Outcome, State};
use ff_core::{Execution, ExecutionId, ResourceKey};

use crate::admission::audit::LimitsAudit;
use crate::error::StoreError;
use crate::flow_audit::FlowsAudit;

pub use crate::rows::{ElementRow, ResourceEntry, Row, RowContent, Rows, TallyRow};
pub use crate::violation::{Found, Subject, Violation};

/// What an audit found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many records were read.
    pub records: u64,
    /// How many index entries were read.
    pub entries: u64,
    /// What is wrong, at most [`MAX_VIOLATIONS`].
    pub violations: Vec<Violation>,
    /// How much more is wrong.
    pub further: u64,
}

/// How many violations a report lists.
pub const MAX_VIOLATIONS: usize = 1_000;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $word:literal),+ $(,)?) => {
        /// The rules of an audit.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule { $($(#[$doc])* $name),+ }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Rule] = &[$(Rule::$name),+];

            /// The word in reports.
            pub const fn as_str(self) -> &'static str {
                match self { $(Rule::$name => $word),+ }
            }
        }
    };
}

rules!(
    /// Every record can be read.
    Readable = "readable",
    /// The index entries written in a record are those of its state.
    Placed = "placed",
    /// Every entry written in a record is in its index.
    EntryThere = "entry_there",
    /// Every index entry is written in a record.
    EntryOwned = "entry_owned",
    /// Every class with queued work is registered, and no other.
    ClassRegistered = "class_registered",
    /// Unfinished work is placed where something finds it: in a queue, among those that wait for a budget
    /// or a quota, behind a timer, or where a person looks; a member that waits is found by its flow.
    Reachable = "reachable",
    /// Payloads are there, with the length their record says.
    PayloadThere = "payload_there",
    /// Every payload belongs to a record.
    PayloadOwned = "payload_owned",
    /// Elements beside a record are numbered from 0 without gaps, as many as the record counts.
    ElementsInOrder = "elements_in_order",
    /// Earlier attempts have ended; the newest has ended exactly when its execution asks for it.
    AttemptsEnded = "attempts_ended",
    /// Held work has an attempt whose newest lease is the one that holds it.
    LeaseMatches = "lease_matches",
    /// Runs are counted without gaps.
    RunsInOrder = "runs_in_order",
    /// The waitpoints of a record are those of its suspension or pending, and none once it has ended;
    /// its suspension has counted what its condition can count.
    Waits = "waits",
    /// The visible entries of a journal are stretches in order of those that its record counts.
    JournalVisible = "journal_visible",
    /// Every entry of a resource is in its index.
    ResourceThere = "resource_there",
    /// Every index entry of a resource is its own.
    ResourceOwned = "resource_owned",
    /// A quota counts no more than the tickets that hold it, and a budget reserves no more.
    Counted = "counted",
    /// Every counter belongs to a record, and is not zero.
    TallyOwned = "tally_owned",
    /// A flow has as many members as it says, and counts what they have come to.
    FlowCounted = "flow_counted",
);

/// Collects rows and says what is wrong with them. It remembers what a record leads it to expect until
/// that has come.
#[derive(Debug, Default)]
pub struct Auditor {
    report: Report,
    missing_entries: BTreeSet<(ExecutionId, Entry)>,
    classes: BTreeMap<(String, String, String), bool>,
    payloads: BTreeMap<BlobKey, u32>,
    elements: BTreeMap<(ExecutionId, Collection), Elements>,
    resource_entries: BTreeSet<(ResourceKey, ResourceEntry)>,
    resource_entries_seen: BTreeSet<(ResourceKey, ResourceEntry)>,
    limits: LimitsAudit,
    flows: FlowsAudit,
}

/// What a record counts of a collection, and what has been found of it.
#[derive(Debug, Default)]
struct Elements {
    counted: u64,
    /// How many of them there are.
    seen: u64,
    /// Of a collection that grows alone: the lowest and the highest number.
    first: Option<u64>,
    last: u64,
}

impl Auditor {
    /// Looks at one row. Records come first.
    pub fn row(&mut self, row: Row) {
        match row {
            Row::Record(record) => self.record(&record),
            Row::Unreadable { place, why } => {
                self.broken(Rule::Readable, Subject::Place(place), Found::Wrong, why);
            }
            Row::Entry(entry, id) => self.entry(entry, id),
            Row::Class(class) => self.class(&class),
            Row::Blob(key, len) => self.blob(key, len),
            Row::Element(element) => self.element(&element),
            Row::Resource(resource) => {
                self.report.records += 1;
                self.limits.add(&resource);
                let timer = resource.timer().map(ResourceEntry::Timer);
                let entries = [ResourceEntry::Listed].into_iter().chain(timer);
                self.resource_entries.extend(entries.map(|entry| (resource.key.clone(), entry)));
            }
            Row::ResourceEntry(key, entry) => {
                self.report.entries += 1;
                self.resource_entries_seen.insert((key, entry));
            }
            Row::Continuation(..) => self.report.entries += 1,
            Row::Tally(tally) => {
                self.flows.tally(&tally);
                self.tally(tally);
            }
        }
    }

    /// How much it expects that has not come yet.
    pub fn expects(&self) -> usize {
        self.missing_entries.len() + self.payloads.len() + self.elements.len()
    }

    /// What is wrong, after the last row.
    pub fn finish(mut self) -> Report {
        let entries = std::mem::take(&mut self.resource_entries);
        let seen = std::mem::take(&mut self.resource_entries_seen);
        for (key, entry) in entries.difference(&seen) {
            let (subject, detail) = (key.into(), format!("{entry:?} is not in its index"));
            self.broken(Rule::ResourceThere, subject, Found::Missing, detail);
        }
        for (key, entry) in seen.difference(&entries) {
            let (subject, detail) = (key.into(), format!("{entry:?} is not its own"));
            self.broken(Rule::ResourceOwned, subject, Found::Extra, detail);
        }
        for (subject, detail) in std::mem::take(&mut self.limits).leaks() {
            self.broken(Rule::Counted, subject, Found::Wrong, detail);
        }
        for (id, detail) in std::mem::take(&mut self.flows).miscounted() {
            self.broken(Rule::FlowCounted, id.into(), Found::Wrong, detail);
        }
        for (id, entry) in std::mem::take(&mut self.missing_entries) {
            let detail = format!("{entry:?} is not in its index");
            self.broken(Rule::EntryThere, id.into(), Found::Missing, detail);
        }
        for ((namespace, lane, class), registered) in std::mem::take(&mut self.classes) {
            if !registered {
                let detail = format!("class {class} is not registered");
                let subject = Subject::Lane { namespace, lane };
                self.broken(Rule::ClassRegistered, subject, Found::Missing, detail);
            }
        }
        for (key, _) in std::mem::take(&mut self.payloads) {
            let detail = format!("{:?} is missing", key.part);
            self.broken(Rule::PayloadThere, key.execution.into(), Found::Missing, detail);
        }
        for ((id, collection), Elements { counted, seen, first, last }) in
            std::mem::take(&mut self.elements)
        {
            let expected = match first {
                Some(first) if collection.grows_alone() => last - first + 1,
                _ => counted,
            };
            if seen != expected {
                let detail = format!("{seen} of {expected} elements of {collection:?} are there");
                self.broken(Rule::ElementsInOrder, id.into(), Found::Missing, detail);
            }
        }
        self.report
    }

    fn record(&mut self, record: &Execution) {
        self.flows.record(record);
        self.report.records += 1;
        let id = record.id;
        let should = Placement::of(record);
        if record.placed != should {
            let detail = format!("placed as {:?}, should be {should:?}", record.placed);
            self.broken(Rule::Placed, id.into(), Found::Wrong, detail);
        }
        let is_member = record.awaits_children() || record.is_awaiting() && record.member.is_some();
        if record.outcome().is_none() && !is_found(&record.placed) && !is_member {
            let detail = "neither queued nor blocked nor with a timer nor listed for attention";
            self.broken(Rule::Reachable, id.into(), Found::Missing, detail.to_owned());
        }
        for entry in EntryDiff::all(record) {
            if let Entry::Queue(place) = &entry
                && !place.class.is_empty()
            {
                self.classes.insert(
                    (place.namespace.to_string(), place.lane.to_string(), place.class.to_string()),
                    false,
                );
            }
            self.missing_entries.insert((id, entry));
        }
        self.expect_payloads(record);
        for (collection, counted) in record.collections() {
            let elements = Elements { counted, ..Elements::default() };
            self.elements.insert((id, collection), elements);
        }
        self.check_attempts(record);
        self.check_runs(record);
        if let Some(why) = record.waits.fault(&record.state) {
            self.broken(Rule::Waits, id.into(), Found::Wrong, why.to_owned());
        }
        let entries = record.counts.of(Collection::Steps);
        if let Some(why) = record.journal.fault(entries, record.run.number) {
            self.broken(Rule::JournalVisible, id.into(), Found::Wrong, why.to_owned());
        }
    }

    fn expect_payloads(&mut self, record: &Execution) {
        let execution = record.id;
        let input = BlobKey { execution, part: BlobPart::Input };
        self.payloads.insert(input, record.spec.input.len);
        let past = record.past_runs.iter().map(|run| &run.outcome);
        let current = record.outcome().map(|(outcome, _)| outcome);
        for (run, outcome) in past.chain(current).enumerate() {
            if let Outcome::Success { result } = outcome {
                let part = BlobPart::Result(run as u32);
                self.payloads.insert(BlobKey { execution, part }, result.len);
            }
        }
    }

    fn check_attempts(&mut self, record: &Execution) {
        let id = record.id;
        let newest = record.attempt.as_ref();
        if let State::Active { lease, .. } = &record.state {
            let matches = newest.is_some_and(|a| a.lease == lease.id && a.worker == lease.worker);
            if !matches || lease.epoch != record.epoch {
                let detail = "its attempt has another lease".to_owned();
                self.broken(Rule::LeaseMatches, id.into(), Found::Wrong, detail);
            }
        }
        let open = match &record.state {
            State::Active { .. } => true,
            State::Queued { why }
            | State::Granted { why, .. }
            | State::Blocked { why, .. }
            | State::Awaiting { why } => !why.starts_attempt(),
            State::Delayed { why, .. } => !why.then().starts_attempt(),
            State::Suspended { .. } => true,
            State::Finished { .. } => false,
        };
        if let Some(attempt) = newest.filter(|attempt| attempt.end.is_none() != open) {
            let detail = format!("attempt {} is open={}", attempt.number, !open);
            self.broken(Rule::AttemptsEnded, id.into(), Found::Wrong, detail);
        }
    }

    fn check_runs(&mut self, record: &Execution) {
        if record.past_runs.len() != record.run.number as usize {
            let detail =
                format!("run {} follows {} runs", record.run.number, record.past_runs.len());
            self.broken(Rule::RunsInOrder, record.id.into(), Found::Wrong, detail);
        }
    }

    fn entry(&mut self, entry: Entry, id: ExecutionId) {
        self.report.entries += 1;
        let key = (id, entry);
        if !self.missing_entries.remove(&key) {
            let detail = format!("{:?} is not in its record", key.1);
            self.broken(Rule::EntryOwned, id.into(), Found::Extra, detail);
        }
    }

    fn class(&mut self, class: &LaneClass) {
        let key = (class.namespace.to_string(), class.lane.to_string(), class.class.to_string());
        match self.classes.get_mut(&key) {
            Some(registered) => *registered = true,
            None => {
                let (namespace, lane, class) = key;
                let detail = format!("class {class} has nothing queued");
                let subject = Subject::Lane { namespace, lane };
                self.broken(Rule::ClassRegistered, subject, Found::Extra, detail);
            }
        }
    }

    fn blob(&mut self, key: BlobKey, len: u64) {
        match self.payloads.remove(&key) {
            Some(expected) if u64::from(expected) == len => {}
            Some(expected) => {
                let detail = format!("{:?} has {len} bytes, not {expected}", key.part);
                self.broken(Rule::PayloadThere, key.execution.into(), Found::Wrong, detail);
            }
            None => {
                let detail = format!("nothing refers to {:?}", key.part);
                self.broken(Rule::PayloadOwned, key.execution.into(), Found::Extra, detail);
            }
        }
    }

    fn element(&mut self, row: &ElementRow) {
        let ElementRow { owner, collection, number, .. } = *row;
        if let RowContent::Attempt(attempt) = &row.content
            && attempt.end.is_none()
        {
            let detail = format!("earlier attempt {number} is open");
            self.broken(Rule::AttemptsEnded, owner.into(), Found::Wrong, detail);
        }
        let key = (owner, collection);
        match self.elements.get_mut(&key) {
            Some(elements) if number < elements.counted || collection.grows_alone() => {
                elements.seen += 1;
                elements.first = Some(elements.first.map_or(number, |first| first.min(number)));
                elements.last = elements.last.max(number);
                if elements.seen == elements.counted && !collection.grows_alone() {
                    self.elements.remove(&key);
                }
            }
            _ => {
                let detail = format!("element {number} of {collection:?} is not counted");
                self.broken(Rule::ElementsInOrder, owner.into(), Found::Extra, detail);
            }
        }
    }

    fn tally(&mut self, TallyRow { owner, counter, value, is_owned }: TallyRow) {
        if !is_owned || value == 0 {
            let detail = format!("counter {counter} has {value}");
            self.broken(Rule::TallyOwned, owner.into(), Found::Extra, detail);
        }
    }

    fn broken(&mut self, rule: Rule, subject: Subject, found: Found, detail: String) {
        if self.report.violations.len() < MAX_VIOLATIONS {
            self.report.violations.push(Violation { rule, subject, found, detail });
        } else {
            self.report.further += 1;
        }
    }
}

/// Whether something finds an unfinished execution that is placed so: a claim, a release, time, or a
/// person. What holds it (`request`) does not look for it.
fn is_found(placed: &Placement) -> bool {
    let Placement { score, timer, request: _, attention, blocked } = placed;
    score.is_some() || timer.is_some() || attention.is_some() || blocked.is_some()
}

/// Audits all of `rows`.
pub async fn audit(mut rows: Rows) -> Result<Report, StoreError> {
    let mut auditor = Auditor::default();
    while let Some(row) = rows.next().await {
        auditor.row(row?);
    }
    Ok(auditor.finish())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ff_core::limits::Blocker;
    use ff_core::machine::{self, Command, Loaded, Step, Submit};
    use ff_core::placement::{AdmissionClass, Attention, Score};
    use ff_core::{RequestId, ResourceKind, Time};

    use super::*;

    /// The rules that a queued execution breaks when it is placed as `placed`.
    fn broken_by(placed: Placement) -> Vec<Rule> {
        let id = "018bcfe5-6800-7000-8b6f-000000000001".parse().unwrap();
        let command = Command { entropy: 1, by: None, action: Submit::new(id).into() };
        let loaded = Loaded::at(Time::from_ms(1_000));
        let Step::Done(mut made) = machine::apply(&command, &loaded).unwrap() else {
            panic!("a submit needs no more")
        };
        let mut write = made.items.remove(0).write.unwrap();
        let mut record = write.changes.remove(0).after.unwrap();
        record.placed = placed;
        let mut auditor = Auditor::default();
        auditor.row(Row::Record(Box::new(record)));
        let violations = auditor.report.violations;
        violations.into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn unfinished_work_is_reached_from_any_place_that_something_reads() {
        let nowhere = Placement::default();
        let score = Score::from_stored(7);
        let on = Blocker { kind: ResourceKind::Quota, name: "api".parse().unwrap() };
        for placed in [
            Placement { score: Some(score), ..nowhere.clone() },
            Placement { timer: Some(Time::from_ms(7)), ..nowhere.clone() },
            Placement { attention: Some(Attention::Failed), ..nowhere.clone() },
            Placement { blocked: Some((on, AdmissionClass::FIRST, score)), ..nowhere.clone() },
        ] {
            assert_eq!(broken_by(placed.clone()), [Rule::Placed], "{placed:?}");
        }
        let held = Placement { request: Some(RequestId::new(7)), ..nowhere.clone() };
        for placed in [nowhere, held] {
            assert_eq!(broken_by(placed), [Rule::Placed, Rule::Reachable]);
        }
    }
}
