//! What is stored beside a record: collections of numbered elements.
//!
//! Elements are numbered from 0 without gaps and never change. Most are written together with their
//! owner, which counts them, so its version guards them too. Elements of a collection that
//! [`grows alone`](Collection::grows_alone) are appended without a change of their owner, which only
//! says that there are some.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::bounds::{ELEMENT_NAME_BYTES, MESSAGE_BYTES, RANGE_BYTES};
use crate::id::ExecutionId;
use crate::record::Attempt;
use crate::refusal::Refusal;
use crate::stream::Trim;

macro_rules! collections {
    ($($(#[$doc:meta])* $name:ident = $number:literal),+ $(,)?) => {
        /// Which collection. The numbers are a stored format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "u8", try_from = "u8")]
        pub enum Collection { $($(#[$doc])* $name = $number),+ }

        impl Collection {
            /// Every collection, by number.
            pub const ALL: &[Collection] = &[$(Collection::$name),+];
        }
    };
}

collections!(
    /// Attempts before the newest one.
    Attempts = 0,
    /// Results of durable steps.
    Steps = 1,
    /// Signals that were received.
    Signals = 2,
    /// Those that depend on the owner.
    Next = 3,
    /// Those that the owner depends on.
    After = 4,
    /// The members of a flow.
    Members = 5,
    /// What the owner has streamed.
    Frames = 6,
    /// The owner's summary of its stream.
    Summary = 7,
);

impl Collection {
    /// The stored number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Whether elements are appended without a change of their owner.
    pub const fn grows_alone(self) -> bool {
        matches!(self, Collection::Frames)
    }
}

impl From<Collection> for u8 {
    fn from(collection: Collection) -> u8 {
        collection.number()
    }
}

impl TryFrom<u8> for Collection {
    type Error = String;

    fn try_from(number: u8) -> Result<Collection, String> {
        let found = Collection::ALL.get(usize::from(number)).copied();
        found.ok_or_else(|| format!("there is no collection {number}"))
    }
}

/// One element of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Its place, from 0.
    pub number: u64,
    /// By which it is found; of several with the same name, the newest is.
    pub name: Option<ElementName>,
    /// What it is.
    pub content: Content,
}

impl Element {
    /// The attempt that this is, if it is one.
    pub fn into_attempt(self) -> Option<Attempt> {
        match self.content {
            Content::Attempt(attempt) => Some(*attempt),
            Content::Bytes(_) => None,
        }
    }

    /// How much of a read it takes: its bytes, its name aside. An attempt counts as the longest message
    /// that it can have, so that every store reads the same.
    fn read_bytes(&self) -> usize {
        match &self.content {
            Content::Bytes(bytes) => bytes.len(),
            Content::Attempt(_) => MESSAGE_BYTES,
        }
    }
}

impl From<Attempt> for Element {
    fn from(attempt: Attempt) -> Element {
        let number = attempt.number.into();
        Element { number, name: None, content: Content::Attempt(Box::new(attempt)) }
    }
}

/// What an element is. Attempts are typed: a store may write them itself when it starts the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// An attempt that has ended.
    Attempt(Box<Attempt>),
    /// What its command has made of it.
    Bytes(Bytes),
}

/// By which an element is found: 1 to 256 bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElementName(Bytes);

impl ElementName {
    /// Checks `name`; a refusal names `field`.
    pub fn new(field: &'static str, name: impl Into<Bytes>) -> Result<ElementName, Refusal> {
        let name = name.into();
        Refusal::cap(field, name.len(), ELEMENT_NAME_BYTES, "bytes")?;
        match name.is_empty() {
            true => Err(Refusal::invalid(field, "is empty; give 1 to 256 bytes")),
            false => Ok(ElementName(name)),
        }
    }

    /// The name that was stored as these bytes.
    pub const fn from_stored(name: Bytes) -> ElementName {
        ElementName(name)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The newest element of a name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ElementKey {
    /// Beside which execution.
    pub owner: ExecutionId,
    /// In which collection.
    pub collection: Collection,
    /// Its name.
    pub name: ElementName,
}

/// Elements in a row. A read of them ends early at [`RANGE_BYTES`]; whoever wants more reads on after
/// the last one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ElementRange {
    /// Beside which execution.
    pub owner: ExecutionId,
    /// In which collection.
    pub collection: Collection,
    /// The first number.
    pub from: u64,
    /// How many at most.
    pub limit: usize,
}

/// How much one read of elements has answered.
#[derive(Debug, Default)]
pub struct RangeRead {
    bytes: Option<usize>,
}

impl RangeRead {
    /// Whether `element` is still part of the answer: the first one is, others up to [`RANGE_BYTES`].
    pub fn takes(&mut self, element: &Element) -> bool {
        let bytes = self.bytes.unwrap_or(0) + element.read_bytes();
        let is_taken = self.bytes.is_none() || bytes <= RANGE_BYTES;
        self.bytes = Some(bytes);
        is_taken
    }
}

/// Elements that are added without a change of their owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// Beside which execution.
    pub owner: ExecutionId,
    /// The version it was decided on, which stays.
    pub seen: crate::record::Version,
    /// To which collection; one that [`grows alone`](Collection::grows_alone).
    pub collection: Collection,
    /// The number that the next element had when it was decided; if it has another, that is a conflict.
    pub next: u64,
    /// In the order of their numbers, up to the newest.
    pub elements: Vec<Element>,
    /// What is removed, once they are there.
    pub trim: Option<Trim>,
}

/// How many elements an owner has in each collection, as its record counts them. A collection that
/// grows alone counts 1 once it has any. Attempts are counted by the newest one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(Vec<(Collection, u64)>);

impl Counts {
    /// The counts that were stored.
    pub fn from_stored(counts: Vec<(Collection, u64)>) -> Counts {
        Counts(counts)
    }

    /// The collections that have elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Collection, u64)> + '_ {
        self.0.iter().copied()
    }

    /// How many elements `collection` has.
    pub fn of(&self, collection: Collection) -> u64 {
        let place = self.0.binary_search_by_key(&collection, |(found, _)| *found);
        place.map_or(0, |place| self.0[place].1)
    }

    /// Counts one more of `collection`; answers its number.
    pub fn add(&mut self, collection: Collection) -> u64 {
        match self.0.binary_search_by_key(&collection, |(found, _)| *found) {
            Ok(place) => {
                self.0[place].1 += 1;
                self.0[place].1 - 1
            }
            Err(place) => {
                self.0.insert(place, (collection, 1));
                0
            }
        }
    }
}
