//! The slow path: load what a command must see, let the machine decide, commit if nothing that
//! was decided on has changed.

mod commit;

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use ff_core::collection::{Collection, Element, ElementKey, ElementRange};
use ff_core::continuation::{Continuation, Tally};
use ff_core::machine::{Change, Loaded, ReadSet};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::Entry;
use ff_core::stream::{FrameEnd, Kept};
use ff_core::{Execution, ExecutionId, Lane, Namespace, Partition, ResourceKey, Time};
use ff_store::StoreError;
use ff_store::optimistic::{Ask, Commit, Optimistic, Write};
use redis::Value;

use crate::codec::{self, Stored, Unreadable};
use crate::constants::CALL_COMMANDS;
use crate::error::Fault;
use crate::heads::News;
use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::resource;
use crate::store::Shared;
use commit::{CommitCall, Places, packed, tallies};

/// The slow path in one partition.
pub(crate) struct SlowPath<'a> {
    pub(crate) store: &'a Shared,
    pub(crate) partition: u16,
}

/// The kind of one read of a load, to decode its answer.
enum Question {
    Record(ExecutionId),
    Key(usize),
    Nominate,
    ClaimedBy,
    Class,
    Payload(BlobKey),
    Element(ElementKey),
    Range(ElementRange),
    Stream(ExecutionId),
    Continuation(Continuation),
    Tally(ExecutionId),
    Resource(ResourceKey),
}

#[async_trait]
impl Optimistic for SlowPath<'_> {
    async fn load(&self, asks: Vec<Ask>) -> Vec<Result<Loaded, StoreError>> {
        let mut answers = Vec::with_capacity(asks.len());
        let mut asks = asks.into_iter().peekable();
        while asks.peek().is_some() {
            let some: Vec<_> = asks.by_ref().take(CALL_COMMANDS).collect();
            answers.extend(self.load_some(some).await);
        }
        answers
    }

    async fn commit(&self, writes: Vec<Write>) -> Vec<Result<Commit, StoreError>> {
        let mut outcomes: Vec<_> = writes.iter().map(|_| Ok(Commit::Conflict)).collect();
        // What frees memory is written when memory is full.
        for adds in [false, true] {
            let mut call = CommitCall::new(self, adds);
            for (place, write) in writes.iter().enumerate().filter(|(_, w)| w.adds == adds) {
                match packed(write) {
                    Ok(args) => {
                        if !call.has_room_for(&args) {
                            call.send(&mut outcomes).await;
                        }
                        call.add(place, write, args);
                    }
                    Err(error) => outcomes[place] = Err(error),
                }
            }
            call.send(&mut outcomes).await;
        }
        outcomes
    }
}

impl SlowPath<'_> {
    /// One call that loads.
    async fn load_some(&self, asks: Vec<Ask>) -> Vec<Result<Loaded, StoreError>> {
        let questions: Vec<_> = asks.iter().map(|ask| self.ask(&ask.reads)).collect();
        let mut args = Vec::new();
        let questions: Vec<_> = questions
            .into_iter()
            .map(|(questions, own)| {
                args.extend(own);
                questions
            })
            .collect();
        let route = self.store.keys.route(self.partition);
        let called = self.store.link.call("load", &route, &args).await;
        let read = called.and_then(reply::list).and_then(|answers| {
            let mut answers = answers.into_iter();
            let now = reply::time(&answers.next().ok_or_else(reply::missing)?)?;
            Ok((now, answers))
        });
        drop(args);
        let (now, mut answers) = match read {
            Ok(read) => read,
            Err(error) => return asks.iter().map(|_| Err(error.clone())).collect(),
        };
        let own = questions.into_iter().map(|questions| {
            let answers: Vec<_> = answers.by_ref().take(questions.len()).collect();
            (questions, answers)
        });
        let own: Vec<_> = own.collect();
        asks.into_iter().zip(own).map(|(ask, own)| self.loaded(ask, own, now)).collect()
    }

    /// What one command has read.
    fn loaded(
        &self,
        Ask { reads, earlier }: Ask,
        (questions, answers): (Vec<Question>, Vec<Value>),
        now: Time,
    ) -> Result<Loaded, StoreError> {
        let mut loaded = earlier.unwrap_or_else(|| Loaded::at(now));
        let mut answers = answers.into_iter();
        for question in questions {
            let answer = answers.next().ok_or_else(reply::missing)?;
            if let Value::ServerError(error) = &answer {
                return Err(Fault::replied(error).into());
            }
            note(question, answer, &reads, &mut loaded)?;
        }
        if let Some(lane) = &reads.lane {
            loaded.lane = self.lane(lane);
        }
        Ok(loaded)
    }

    /// What became of one decision. The heads of queues that it improved are noted.
    fn outcome(&self, write: &Write, answer: Option<Value>) -> Result<Commit, StoreError> {
        let answer = answer.ok_or_else(reply::missing)?;
        if let Value::ServerError(error) = &answer {
            return Err(Fault::replied(error).into());
        }
        let answer = reply::list(answer)?;
        let (outcome, heads) = answer.split_first().ok_or_else(reply::missing)?;
        match reply::number(outcome)? {
            0 => return Ok(Commit::Conflict),
            2 => return Ok(Commit::Stale),
            _ => {}
        }
        let places = Places::of(&write.set);
        for (change, head) in write.set.changes.iter().zip(heads.iter().skip(places.changes)) {
            if let (Some(score), Some(news)) = (reply::maybe_number(head)?, self.news(change)) {
                self.store.improved(News { score, ..news });
            }
        }
        let raised = tallies(&write.set, true).zip(heads.iter().skip(places.raised));
        let lowered = tallies(&write.set, false).zip(heads.iter().skip(places.lowered));
        let latched = raised.chain(lowered);
        let latched = latched.filter(|(_, added)| matches!(reply::number(added), Ok(1)));
        Ok(Commit::Written(latched.filter_map(|(change, _)| change.at_zero).collect()))
    }

    fn ask<'r>(&self, reads: &'r ReadSet) -> (Vec<Question>, Vec<Arg<'r>>) {
        let mut questions = Vec::new();
        let mut args: Vec<Arg<'_>> = Vec::new();
        for id in &reads.records {
            questions.push(Question::Record(*id));
            args.extend([letter(b"r"), owned(keys::id(*id))]);
        }
        for (index, (namespace, key)) in reads.keys.iter().enumerate() {
            questions.push(Question::Key(index));
            args.extend([letter(b"k"), text(namespace.as_str()), text(key.as_str())]);
        }
        if let Some(nominate) = &reads.nominate {
            questions.push(Question::Nominate);
            let queue = (nominate.namespace.clone(), nominate.lane.clone());
            let offers = &nominate.capabilities;
            let classes = self.store.heads.classes(&queue, offers, self.partition);
            args.extend([letter(b"n"), text(nominate.namespace.as_str())]);
            args.extend([text(nominate.lane.as_str()), owned(nominate.limit.to_string())]);
            args.push(owned(classes.len().to_string()));
            for class in classes {
                args.push(owned(class));
            }
        }
        if let Some(request) = &reads.claimed_by {
            questions.push(Question::ClaimedBy);
            args.extend([letter(b"h"), Cow::Borrowed(&request.as_bytes()[..])]);
        }
        if let Some(class) = &reads.class {
            questions.push(Question::Class);
            args.extend([letter(b"c"), text(class.namespace.as_str()), text(class.lane.as_str())]);
            args.push(owned(keys::class(&class.class)));
        }
        for key in &reads.blobs {
            questions.push(Question::Payload(*key));
            let run = match key.part {
                BlobPart::Input => String::new(),
                BlobPart::Result(run) => run.to_string(),
            };
            args.extend([letter(b"p"), owned(keys::id(key.execution)), owned(run)]);
        }
        for key in &reads.elements {
            questions.push(Question::Element(key.clone()));
            args.extend([letter(b"e"), owned(keys::id(key.owner))]);
            args.push(owned(key.collection.number().to_string()));
            args.push(Cow::Borrowed(key.name.as_bytes()));
        }
        for range in &reads.ranges {
            questions.push(Question::Range(range.clone()));
            args.extend(ask_range(range));
        }
        for id in &reads.streams {
            questions.push(Question::Stream(*id));
            args.extend([letter(b"w"), owned(keys::id(*id))]);
        }
        for read in &reads.continuations {
            questions.push(Question::Continuation(*read));
            args.extend([letter(b"f"), Cow::Owned(read.to_bytes().to_vec())]);
        }
        for owner in &reads.tallies {
            questions.push(Question::Tally(*owner));
            args.extend([letter(b"t"), owned(keys::id(*owner))]);
        }
        let lane = reads.lane.as_ref().and_then(|lane| self.lane(lane));
        for key in reads.resources.iter().cloned().chain(lane) {
            args.extend([letter(b"g"), owned(keys::resource(&key))]);
            questions.push(Question::Resource(key));
        }
        (questions, args)
    }

    /// The key of a lane's settings in this partition.
    fn lane(&self, (namespace, lane): &(Namespace, Lane)) -> Option<ResourceKey> {
        let partition = Partition::new(self.partition).ok()?;
        Some(ResourceKey::lane_in(partition, namespace, lane))
    }

    /// The queue that `change` puts its execution into, with no score yet.
    fn news(&self, change: &Change) -> Option<News> {
        let mut added = change.entries.add.iter();
        added.find_map(|entry| match entry {
            Entry::Queue(place) => Some(News {
                queue: (place.namespace.clone(), place.lane.clone()),
                partition: self.partition,
                class: keys::class(&place.class),
                requires: place.class.clone(),
                score: place.score.get(),
                count: None,
            }),
            _ => None,
        })
    }
}

fn letter(letter: &'static [u8]) -> Arg<'static> {
    Cow::Borrowed(letter)
}

fn text(text: &str) -> Arg<'_> {
    Cow::Borrowed(text.as_bytes())
}

fn owned(text: String) -> Arg<'static> {
    Cow::Owned(text.into_bytes())
}

fn note(
    question: Question,
    answer: Value,
    reads: &ReadSet,
    loaded: &mut Loaded,
) -> Result<(), StoreError> {
    match question {
        Question::Record(id) => {
            let record = reply::maybe_bytes(answer)?.map(|bytes| decode(id, &bytes));
            let record = match record.transpose() {
                Err(error @ StoreError::Corrupt(_)) if reads.tolerant => {
                    tracing::error!(%error, "an unreadable execution is skipped");
                    None
                }
                found => found?.map(|stored| stored.record),
            };
            loaded.records.insert(id, record);
        }
        Question::Key(index) => {
            let id = reply::maybe_bytes(answer)?.as_deref().map(named).transpose()?;
            loaded.keys.insert(reads.keys[index].clone(), id);
        }
        Question::Nominate => {
            loaded.candidates = Some(with_records(answer, loaded, false)?);
        }
        Question::ClaimedBy => loaded.claimed_by = Some(with_records(answer, loaded, true)?),
        Question::Class => {
            let others = usize::try_from(reply::number(&answer)?).unwrap_or(0);
            loaded.other_classes = Some(others);
        }
        Question::Payload(key) => {
            loaded.blobs.insert(key, reply::maybe_bytes(answer)?);
        }
        Question::Element(key) => {
            let found = match answer {
                Value::Nil => None,
                answer => elements(key.owner, key.collection, answer)?.pop(),
            };
            loaded.elements.insert(key, found);
        }
        Question::Range(range) => {
            let found = elements(range.owner, range.collection, answer)?;
            loaded.ranges.insert(range, found);
        }
        Question::Stream(id) => {
            loaded.streams.insert(id, kept(id, answer)?);
        }
        Question::Continuation(read) => {
            let due = match answer {
                Value::Nil => None,
                answer => Some(reply::moment(&answer)?),
            };
            loaded.continuations.insert(read, due);
        }
        Question::Tally(owner) => {
            loaded.tallies.insert(owner, tally(answer)?);
        }
        Question::Resource(key) => {
            let found = reply::maybe_bytes(answer)?.map(|bytes| resource::decode(&key, &bytes));
            let found = match found.transpose() {
                Err(error @ StoreError::Corrupt(_)) if reads.tolerant => {
                    tracing::error!(%error, "an unreadable resource is skipped");
                    loaded.unreadable.insert(key.clone());
                    None
                }
                found => found?,
            };
            loaded.resources.insert(key, found);
        }
    }
    Ok(())
}

/// Asks for elements in a row.
pub(crate) fn ask_range(range: &ElementRange) -> [Arg<'static>; 5] {
    let number = |number: u64| owned(number.to_string());
    let ElementRange { owner, collection, from, limit } = *range;
    let [collection, limit] = [collection.number().into(), limit as u64].map(number);
    [letter(b"s"), owned(keys::id(owner)), collection, number(from), limit]
}

/// Elements, each behind its number.
pub(crate) fn elements(
    owner: ExecutionId,
    collection: Collection,
    answer: Value,
) -> Result<Vec<Element>, StoreError> {
    let unreadable = |why: &dyn fmt::Display| {
        StoreError::Corrupt(format!("{collection:?} of execution {owner}: {why}"))
    };
    if answer == Value::Int(-1) {
        return Err(unreadable(&"its record cannot be read"));
    }
    let mut values = reply::list(answer)?.into_iter();
    let mut found = Vec::new();
    while let (Some(number), Some(bytes)) = (values.next(), values.next()) {
        let number = reply::count(&number)?;
        let element = codec::element(collection, number, &reply::bytes(bytes)?);
        found.push(element.map_err(|why| unreadable(&why))?);
    }
    Ok(found)
}

/// How much is kept of a stream, by its two ends: of each its number, first bytes and length.
fn kept(id: ExecutionId, answer: Value) -> Result<Kept, StoreError> {
    let values = reply::list(answer)?;
    let [first, head, stored, last, last_head, last_stored] = &values[..] else {
        return Ok(Kept::default());
    };
    let heads = [head, last_head].map(|head| reply::bytes(head.clone()));
    let [head, last_head] = heads;
    let (head, last_head) = (head?, last_head?);
    let length = |value: &Value| reply::count(value).map(|length| length as usize);
    let first = FrameEnd { number: reply::count(first)?, head: &head, stored: length(stored)? };
    let stored = length(last_stored)?;
    let last = FrameEnd { number: reply::count(last)?, head: &last_head, stored };
    let unreadable = |why| StoreError::Corrupt(format!("execution {id}: {why}"));
    Kept::between(first, last).map_err(unreadable)
}

/// The counters of an execution, each followed by its value.
fn tally(answer: Value) -> Result<Tally, StoreError> {
    let mut tally = Tally::default();
    for (counter, value) in counters(answer)? {
        tally.set(counter, value);
    }
    Ok(tally)
}

/// Counters, each followed by its value.
pub(crate) fn counters(answer: Value) -> Result<Vec<(u8, i64)>, StoreError> {
    let mut values = reply::list(answer)?.into_iter();
    let mut found = Vec::new();
    while let (Some(counter), Some(value)) = (values.next(), values.next()) {
        let number =
            u8::try_from(reply::number(&counter)?).map_err(|_| reply::strange(&counter))?;
        found.push((number, reply::number(&value)?));
    }
    Ok(found)
}

/// Ids and their records. A candidate that cannot be read is listed without one; what a request
/// holds must be readable.
fn with_records(
    answer: Value,
    loaded: &mut Loaded,
    strict: bool,
) -> Result<Vec<ExecutionId>, StoreError> {
    let mut ids = Vec::new();
    let mut values = reply::list(answer)?.into_iter();
    while let (Some(id), Some(record)) = (values.next(), values.next()) {
        let text = reply::bytes(id)?;
        let id = if strict { Some(named(&text)?) } else { entry(&text) };
        let Some(id) = id else { continue };
        let record = reply::maybe_bytes(record)?.map(|bytes| decode(id, &bytes)).transpose();
        let record: Option<Execution> = match record {
            Ok(stored) => stored.map(|stored| stored.record),
            Err(error) if strict => return Err(error),
            Err(error) => {
                tracing::error!(%error, "an unreadable queued execution is skipped");
                None
            }
        };
        loaded.records.insert(id, record);
        ids.push(id);
    }
    Ok(ids)
}

/// The execution that an index entry names.
pub(crate) fn named(text: &[u8]) -> Result<ExecutionId, StoreError> {
    let unreadable = || StoreError::Corrupt("an index entry names no execution".into());
    keys::parse_id(text).ok_or_else(unreadable)
}

/// The execution that an index entry names. One that names none is skipped.
pub(crate) fn entry(text: &[u8]) -> Option<ExecutionId> {
    let id = keys::parse_id(text);
    if id.is_none() {
        tracing::warn!(entry = %text.escape_ascii(), "an index entry that names no execution");
    }
    id
}

/// The record of `id`.
pub(crate) fn decode(id: ExecutionId, bytes: &[u8]) -> Result<Stored, StoreError> {
    let unreadable = |error| StoreError::Corrupt(format!("execution {id}: {error}"));
    Stored::decode(id, bytes).map_err(unreadable)
}

/// A record that the stored format cannot express.
pub(crate) fn unwritable(id: ExecutionId, error: &Unreadable) -> StoreError {
    StoreError::Corrupt(format!("execution {id} cannot be written: {error}"))
}
