//! A command for tests of stores: it writes elements made of whatever it reads, and moves a second
//! execution in the same write.
//!
//! It exists only with the feature `toy`, so that the exam can go where no command goes yet. It is also
//! the measure of what a command costs: this file, and one line in `actions!`.

use bytes::{Bytes, BytesMut};

use super::{Change, Context, Decide, Facts, ReadSet, Reply, Step, Target, WriteSet, priority};
use crate::collection::{
    Append, Collection, Content, Element, ElementKey, ElementName, ElementRange,
};
use crate::payload::{BlobKey, BlobPart};
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::table::Verb;

/// An unfinished execution with elements of this collection needs attention
/// ([`Attention::Toy`](crate::placement::Attention)), so that tests see one reason replaced by another.
pub const TOY_ATTENTION: Collection = Collection::Members;

/// Reads, writes one element of what it has read, and makes another execution follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toy {
    /// Which execution, unfinished.
    pub target: Target,
    /// Where the element goes.
    pub into: Collection,
    /// Its name.
    pub name: Option<ElementName>,
    /// What it is made of, one after the other.
    pub parts: Vec<ToyPart>,
    /// An execution that moves with it.
    pub follower: Option<Follower>,
}

/// Another execution that a toy moves in the same write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    /// Which execution, unfinished and of the same partition.
    pub target: Target,
    /// Its priority from now on.
    pub priority: i16,
}

/// A part of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToyPart {
    /// These bytes.
    Bytes(Bytes),
    /// A payload.
    Payload(BlobPart),
    /// The newest element of a name.
    Named(Collection, ElementName),
    /// Elements in a row: from which, how many.
    Range(Collection, u64, usize),
}

impl Decide for Toy {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::execution(self.target.execution, Verb::SetTags) }
    }

    fn check(&self) -> Result<(), Refusal> {
        let Some(follower) = &self.follower else { return Ok(()) };
        if follower.target.execution == self.target.execution {
            return Err(Refusal::invalid("follower", "is the execution itself; name another"));
        }
        priority::check(follower.priority)
    }

    fn reads(&self) -> ReadSet {
        let owner = self.target.execution;
        let mut reads = ReadSet::record(owner);
        reads.records.extend(self.follower.iter().map(|follower| follower.target.execution));
        for part in &self.parts {
            match part {
                ToyPart::Bytes(_) => {}
                ToyPart::Payload(part) => {
                    reads.blobs.push(BlobKey { execution: owner, part: *part });
                }
                ToyPart::Named(collection, name) => reads.elements.push(ElementKey {
                    owner,
                    collection: *collection,
                    name: name.clone(),
                }),
                ToyPart::Range(collection, from, limit) => reads.ranges.push(ElementRange {
                    owner,
                    collection: *collection,
                    from: *from,
                    limit: *limit,
                }),
            }
        }
        reads
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.unfinished(&self.target, "a toy")?;
        let follower = self.follower.as_ref().map(|one| one.moved(context)).transpose()?;
        let bytes = self.made_of(context);
        let mut number = record.counts.of(self.into);
        if !self.into.grows_alone() || number == 0 {
            let write = context.with_element(record, self.into, self.name.clone(), bytes);
            return Ok(Step::write(write.and(follower), Reply::Done));
        }
        // A read may end early, so the end is where nothing follows.
        loop {
            let (owner, collection, limit) = (record.id, self.into, crate::bounds::PAGE);
            let next = ElementRange { owner, collection, from: number, limit };
            let Some(later) = context.loaded.ranges.get(&next) else {
                let more = ReadSet { ranges: vec![next], ..ReadSet::default() };
                return Ok(Step::NeedMore(more));
            };
            let Some(last) = later.last() else { break };
            number = last.number + 1;
        }
        let element = Element { number, name: None, content: Content::Bytes(bytes) };
        let append = Append {
            owner: record.id,
            seen: record.version,
            collection: self.into,
            next: number,
            elements: vec![element],
            trim: None,
        };
        let write = WriteSet { appends: vec![append], ..WriteSet::default() };
        Ok(Step::write(write.and(follower), Reply::Done))
    }
}

impl Follower {
    /// The change that the other execution makes with it.
    fn moved(&self, context: &Context<'_>) -> Result<Change, Refusal> {
        let record = context.unfinished(&self.target, "a toy of another")?;
        let mut after = record.clone();
        after.priority = self.priority;
        Ok(context.update(record, after, None).changes.remove(0))
    }
}

impl Context<'_> {
    /// `record` with one more element beside it, which it counts.
    pub(super) fn with_element(
        &self,
        record: &Execution,
        collection: Collection,
        name: Option<ElementName>,
        bytes: Bytes,
    ) -> WriteSet {
        let mut after = record.clone();
        let number = after.counts.add(collection);
        let element = Element { number, name, content: Content::Bytes(bytes) };
        let mut write = self.update(record, after, None);
        write.changes[0].elements.push((collection, element));
        write
    }
}

impl WriteSet {
    /// Changes another record too.
    fn and(mut self, other: Option<Change>) -> WriteSet {
        self.changes.extend(other);
        self
    }
}

impl Toy {
    /// All that was read, each part behind its length.
    fn made_of(&self, context: &Context<'_>) -> Bytes {
        let owner = self.target.execution;
        let mut made = BytesMut::new();
        let mut add = |bytes: Option<&Bytes>| {
            made.extend_from_slice(&bytes.map_or(u32::MAX, |b| b.len() as u32).to_be_bytes());
            made.extend_from_slice(bytes.map_or(&[], |bytes| &bytes[..]));
        };
        for part in &self.parts {
            match part {
                ToyPart::Bytes(bytes) => add(Some(bytes)),
                ToyPart::Payload(part) => {
                    let key = BlobKey { execution: owner, part: *part };
                    add(context.loaded.blobs.get(&key).and_then(Option::as_ref));
                }
                ToyPart::Named(collection, name) => {
                    let key = ElementKey { owner, collection: *collection, name: name.clone() };
                    let found = context.loaded.elements.get(&key).and_then(Option::as_ref);
                    add(found.and_then(content));
                }
                ToyPart::Range(collection, from, limit) => {
                    let (collection, from, limit) = (*collection, *from, *limit);
                    let range = ElementRange { owner, collection, from, limit };
                    let found = context.loaded.ranges.get(&range);
                    found.into_iter().flatten().for_each(|element| add(content(element)));
                }
            }
        }
        made.freeze()
    }
}

fn content(element: &Element) -> Option<&Bytes> {
    match &element.content {
        Content::Bytes(bytes) => Some(bytes),
        Content::Attempt(_) => None,
    }
}
