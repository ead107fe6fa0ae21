//! The journal of an execution: what its steps, sleeps and waits have come to, each under a name.
//!
//! Entries are elements of [`Collection::Steps`](crate::collection::Collection) and never change. The
//! record says which of them are visible: later attempts find these and do not repeat them. A replay may
//! hide entries; it removes none. An entry is written by the commit that ends what it is about.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::bounds::JOURNAL_BYTES;
use crate::collection::{Content, Element, ElementName};
use crate::id::ExecutionId;
use crate::name::{IdempotencyKey, StepName};
use crate::payload::{ContentType, Payload};
use crate::time::Time;
use crate::words;

/// What a record knows of its journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Journal {
    /// The numbers of visible entries: stretches in order, each up to but not including its second
    /// number. A replay adds at most one.
    kept: Vec<(u64, u64)>,
    /// How many bytes the results of all steps have, hidden ones included.
    bytes: u64,
    /// How many replays have hidden entries. What ran before such a replay may run again after it, as
    /// something new to the outside world.
    generation: u32,
}

impl Journal {
    /// How many entries are visible.
    pub fn visible(&self) -> u64 {
        self.kept.iter().map(|(from, to)| to - from).sum()
    }

    /// Whether the entry of this number is visible.
    pub fn shows(&self, number: u64) -> bool {
        self.kept.iter().any(|(from, to)| (*from..*to).contains(&number))
    }

    /// The first visible number at or after `from`, and the end of the stretch that it is in.
    pub fn next(&self, from: u64) -> Option<(u64, u64)> {
        let stretch = self.kept.iter().find(|(_, to)| *to > from);
        stretch.map(|(first, to)| (from.max(*first), *to))
    }

    /// How many bytes the results of all steps have, hidden ones included.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many replays have hidden entries.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// Whether there never was an entry.
    pub fn is_unused(&self) -> bool {
        *self == Journal::default()
    }

    /// What is wrong with it in a record of this run that counts `entries`, if anything is.
    pub fn fault(&self, entries: u64, run: u32) -> Option<&'static str> {
        let mut end = None;
        for (from, to) in &self.kept {
            if from >= to || end.is_some_and(|end| end >= *from) {
                return Some("the visible stretches of its journal are not in order");
            }
            end = Some(*to);
        }
        if end.is_some_and(|end| end > entries) {
            return Some("entries of its journal are visible that are not counted");
        }
        if self.generation > run {
            return Some("its journal was hidden more often than it was replayed");
        }
        (self.bytes > JOURNAL_BYTES || (entries == 0 && self.bytes > 0))
            .then_some("its journal counts bytes that it cannot have")
    }

    /// Shows the entry of the next number, with `bytes` of result.
    pub(crate) fn add(&mut self, number: u64, bytes: usize) {
        self.bytes += bytes as u64;
        match self.kept.last_mut() {
            Some((_, to)) if *to == number => *to += 1,
            _ => self.kept.push((number, number + 1)),
        }
    }

    /// Hides what comes after the entry of this number; everything if there is none.
    pub(crate) fn keep_up_to(&mut self, last: Option<u64>) {
        let before = self.visible();
        let end = last.map_or(0, |last| last + 1);
        self.kept.retain(|(from, _)| *from < end);
        self.kept.iter_mut().for_each(|(_, to)| *to = end.min(*to));
        // A drop of an empty journal is asked for as well: a call that was cut short has no entry.
        if last.is_none() || self.visible() < before {
            self.generation += 1;
        }
    }
}

/// How much of the journal the attempts of a replay find.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum ReplayJournal {
    /// All that is visible: what has a result is not done again.
    #[default]
    Keep,
    /// Nothing: everything is done again.
    Drop,
    /// Entries up to the one of this name, with it; what came after it is done again.
    UpTo(StepName),
}

impl ReplayJournal {
    /// The step that it names.
    pub fn step(&self) -> Option<&StepName> {
        match self {
            ReplayJournal::UpTo(step) => Some(step),
            ReplayJournal::Keep | ReplayJournal::Drop => None,
        }
    }
}

/// An entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place among all entries, from 0.
    pub number: u64,
    /// The name of the step, sleep or wait.
    pub name: StepName,
    /// The run that it was written in.
    pub run: u32,
    /// The attempt that it was written in.
    pub attempt: u32,
    /// When it was written.
    pub at: Time,
    /// What it says.
    pub what: Recorded,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// A step has this result.
    Step(Payload),
    /// A sleep is over.
    Sleep,
    /// A wait is over.
    Wait {
        /// The numbers of the signals that ended it, in the order in which they came.
        signals: Vec<u64>,
        /// Its time was over first.
        timed_out: bool,
    },
}

words!(
    /// What an entry is about.
    EntryKind {
        /// A step.
        Step = "step",
        /// A sleep.
        Sleep = "sleep",
        /// A wait.
        Wait = "wait",
    }
);

impl Recorded {
    /// What it is about.
    pub const fn kind(&self) -> EntryKind {
        match self {
            Recorded::Step(_) => EntryKind::Step,
            Recorded::Sleep => EntryKind::Sleep,
            Recorded::Wait { .. } => EntryKind::Wait,
        }
    }

    /// How much of the journal's bytes it takes.
    pub(crate) fn counted_bytes(&self) -> usize {
        match self {
            Recorded::Step(result) => result.bytes.len(),
            Recorded::Sleep | Recorded::Wait { .. } => 0,
        }
    }
}

/// The format that is written.
const FORMAT: u8 = 1;

/// How many bytes stand before what an entry says: format, time, run, attempt.
const HEAD: usize = 1 + 8 + 4 + 4;

const STEP: u8 = 0;
const SLEEP: u8 = 1;
const WAIT: u8 = 2;
const WAIT_TIMED_OUT: u8 = 3;

impl Recorded {
    /// What it is as bytes: its kind; the type of a result behind its length, and the result; or the
    /// numbers of signals.
    fn pack(&self, into: &mut Vec<u8>) {
        match self {
            Recorded::Step(result) => {
                let content_type = match result.content_type == ContentType::default() {
                    true => "",
                    false => result.content_type.as_str(),
                };
                into.extend([STEP, content_type.len() as u8]);
                into.extend(content_type.as_bytes());
                into.extend(&result.bytes[..]);
            }
            Recorded::Sleep => into.push(SLEEP),
            Recorded::Wait { signals, timed_out } => {
                into.push(if *timed_out { WAIT_TIMED_OUT } else { WAIT });
                into.extend(signals.iter().flat_map(|number| number.to_be_bytes()));
            }
        }
    }

    fn unpack(bytes: Bytes) -> Option<Recorded> {
        match *bytes.first()? {
            STEP => {
                let from = 2 + usize::from(*bytes.get(1)?);
                let content_type = match std::str::from_utf8(bytes.get(2..from)?).ok()? {
                    "" => ContentType::default(),
                    text => ContentType::new(text).ok()?,
                };
                Some(Recorded::Step(Payload { content_type, bytes: bytes.slice(from..) }))
            }
            SLEEP if bytes.len() == 1 => Some(Recorded::Sleep),
            kind @ (WAIT | WAIT_TIMED_OUT) => {
                let numbers = bytes[1..].chunks(8).map(|number| number.try_into().ok());
                let signals: Option<_> = numbers.map(|one| one.map(u64::from_be_bytes)).collect();
                Some(Recorded::Wait { signals: signals?, timed_out: kind == WAIT_TIMED_OUT })
            }
            _ => None,
        }
    }
}

impl Entry {
    /// The element that it is stored as.
    pub(crate) fn element(&self) -> Element {
        let mut bytes = Vec::with_capacity(HEAD + 2 + self.what.counted_bytes());
        bytes.push(FORMAT);
        bytes.extend(self.at.as_ms().to_be_bytes());
        bytes.extend(self.run.to_be_bytes());
        bytes.extend(self.attempt.to_be_bytes());
        self.what.pack(&mut bytes);
        let content = Content::Bytes(bytes.into());
        Element { number: self.number, name: Some(self.name.element()), content }
    }

    /// The entry that is stored as `element`; an error says why it cannot be read.
    pub fn of(element: &Element) -> Result<Entry, UnreadableEntry> {
        let unreadable = || UnreadableEntry(element.number);
        let (Some(name), Content::Bytes(bytes)) = (&element.name, &element.content) else {
            return Err(unreadable());
        };
        if bytes.len() < HEAD || bytes[0] != FORMAT {
            return Err(unreadable());
        }
        let four = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        let (high, low) = (u32::from_be_bytes(four(1)), u32::from_be_bytes(four(5)));
        Ok(Entry {
            number: element.number,
            name: StepName::stored(name).ok_or_else(unreadable)?,
            at: Time::from_ms((u64::from(high) << 32) | u64::from(low)),
            run: u32::from_be_bytes(four(9)),
            attempt: u32::from_be_bytes(four(13)),
            what: Recorded::unpack(bytes.slice(HEAD..)).ok_or_else(unreadable)?,
        })
    }
}

/// Whether `element` is stored as an entry that says `what`, whenever that was.
pub(crate) fn says(element: &Element, what: &Recorded) -> bool {
    let Content::Bytes(bytes) = &element.content else { return false };
    let mut said = Vec::with_capacity(2 + what.counted_bytes());
    what.pack(&mut said);
    bytes.first() == Some(&FORMAT) && bytes.get(HEAD..) == Some(&said[..])
}

/// An entry cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("entry {0} of the journal cannot be read")]
pub struct UnreadableEntry(u64);

impl StepName {
    /// The name of the element that an entry of this name is.
    pub fn element(&self) -> ElementName {
        ElementName::from_stored(Bytes::copy_from_slice(self.as_str().as_bytes()))
    }

    fn stored(name: &ElementName) -> Option<StepName> {
        std::str::from_utf8(name.as_bytes()).ok().and_then(|text| StepName::new(text).ok())
    }
}

/// The name of one step for the outside world: the same in every attempt, so that a service that is
/// called again knows the call. A replay that hides entries gives the steps that run again new ones.
pub fn idempotency_key(execution: ExecutionId, generation: u32, step: &StepName) -> IdempotencyKey {
    let digest = xxh3_128(step.as_str().as_bytes());
    let key = format!("{execution}-{generation}-{digest:032x}");
    IdempotencyKey::new(key)
        .unwrap_or_else(|_| unreachable!("hexadecimal digits and hyphens are visible and few"))
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
