//! The slow path: load what a command must see, let the machine decide, commit if nothing that
//! was decided on has changed.

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use ff_core::collection::{Collection, Element, ElementKey, ElementRange};
use ff_core::machine::{Change, Command, Loaded, ReadSet, WriteSet};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::Entry;
use ff_core::record::Version;
use ff_core::{Execution, ExecutionId, Lane, Namespace, Partition, ResourceKey};
use ff_store::StoreError;
use ff_store::optimistic::{Commit, Decided, Optimistic};
use redis::Value;

use crate::codec::{self, Inline, Stored, Unreadable};
use crate::heads::News;
use crate::keys;
use crate::link::Arg;
use crate::reply;
use crate::resource;
use crate::store::Shared;

/// One command on the slow path, in the one partition it concerns.
pub(crate) struct SlowPath<'a> {
    pub(crate) store: &'a Shared,
    pub(crate) partition: u16,
    /// Whether it ends work or frees memory, and so is accepted when memory is full.
    pub(crate) frees_memory: bool,
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
    Resource(ResourceKey),
}

#[async_trait]
impl Optimistic for SlowPath<'_> {
    async fn load(
        &self,
        reads: &ReadSet,
        loaded: &mut Loaded,
        first: bool,
    ) -> Result<(), StoreError> {
        let (questions, args) = self.ask(reads);
        let route = self.store.keys.route(self.partition);
        let answers = reply::list(self.store.link.call("load", &route, &args).await?)?;
        let mut answers = answers.into_iter();
        let now = reply::time(&answers.next().ok_or_else(reply::missing)?)?;
        if first {
            loaded.now = now;
        }
        for question in questions {
            let answer = answers.next().ok_or_else(reply::missing)?;
            note(question, answer, reads, loaded)?;
        }
        if let Some(lane) = &reads.lane {
            loaded.lane = self.lane(lane);
        }
        Ok(())
    }

    async fn commit(&self, write: WriteSet, decided: Decided) -> Result<Commit, StoreError> {
        let number = |number: u64| -> Arg<'static> { Cow::Owned(number.to_string().into_bytes()) };
        let mut args: Vec<Arg<'_>> = vec![
            Cow::Borrowed(&self.store.origin),
            number(decided.at.as_ms()),
            number(decided.valid_until.map_or(0, |until| until.as_ms())),
        ];
        for change in &write.changes {
            push(change, &mut args).map_err(|error| unwritable(change.id, &error))?;
        }
        for append in &write.appends {
            args.extend([owned(keys::id(append.owner)), version(append.seen), text("")]);
            let of = append.elements.iter().map(|element| (append.collection, element));
            let packed = codec::pack_elements(of);
            let packed = packed.map_err(|error| unwritable(append.owner, &error))?;
            args.extend([text("append"), text(""), Cow::Owned(packed)]);
        }
        for change in &write.resources {
            let after = change.after.as_ref().map_or(Ok(Vec::new()), resource::encode)?;
            push_resource(&change.key, change.before, after, "", &mut args);
        }
        for (key, seen) in &write.guards {
            push_resource(key, *seen, Vec::new(), "guard", &mut args);
        }
        let verb = if self.frees_memory { "commit_freeing" } else { "commit" };
        let route = self.store.keys.route(self.partition);
        let answer = reply::list(self.store.link.call_confirmed(verb, &route, &args).await?)?;
        let (outcome, heads) = answer.split_first().ok_or_else(reply::missing)?;
        match reply::number(outcome)? {
            0 => return Ok(Commit::Conflict),
            2 => return Ok(Commit::Stale),
            _ => {}
        }
        for (change, head) in write.changes.iter().zip(heads) {
            if let (Some(score), Some(news)) = (reply::maybe_number(head)?, self.news(change)) {
                self.store.improved(News { score, ..news });
            }
        }
        Ok(Commit::Written)
    }
}

impl SlowPath<'_> {
    /// The slow path of `command` in `partition`.
    pub(crate) fn of<'a>(store: &'a Shared, command: &Command, partition: u16) -> SlowPath<'a> {
        SlowPath { store, partition, frees_memory: !command.action.facts().adds }
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
            let record = match reply::maybe_bytes(answer)? {
                Some(bytes) => Some(decode(id, &bytes)?.record),
                None => None,
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

fn push_resource(
    key: &ResourceKey,
    before: Option<Version>,
    after: Vec<u8>,
    mode: &'static str,
    args: &mut Vec<Arg<'_>>,
) {
    args.extend([owned(keys::resource(key)), maybe_version(before), Cow::Owned(after)]);
    args.extend([mode, "", ""].map(text));
}

/// The version that was decided on.
fn version(version: Version) -> Arg<'static> {
    Cow::Owned(version.get().to_be_bytes().to_vec())
}

fn maybe_version(before: Option<Version>) -> Arg<'static> {
    before.map_or(Cow::Borrowed(&[]), version)
}

fn push<'a>(change: &'a Change, args: &mut Vec<Arg<'a>>) -> Result<(), Unreadable> {
    args.push(owned(keys::id(change.id)));
    args.push(maybe_version(change.before));
    args.push(Cow::Owned(match &change.after {
        Some(record) => codec::encode(record, &Inline::None, &Inline::None)?,
        None => Vec::new(),
    }));
    match &change.blob {
        Some((BlobPart::Input, bytes)) => args.extend([text("in"), Cow::Borrowed(&bytes[..])]),
        Some((BlobPart::Result(_), bytes)) => args.extend([text("out"), Cow::Borrowed(&bytes[..])]),
        None => args.extend([text(""), text("")]),
    }
    let elements = change.elements.iter().map(|(collection, element)| (*collection, element));
    args.push(Cow::Owned(codec::pack_elements(elements)?));
    Ok(())
}
