//! How decisions are committed: several in one call, each with its own outcome.

use std::borrow::Cow;

use ff_core::ResourceKey;
use ff_core::bounds::BATCH_BYTES;
use ff_core::continuation::{Armed, Continuation, ContinuationChange, TallyChange};
use ff_core::machine::{Change, WriteSet};
use ff_core::payload::BlobPart;
use ff_core::record::Version;
use ff_core::stream::Trim;
use ff_store::StoreError;
use ff_store::optimistic::{Commit, Write};

use super::{SlowPath, owned, text, unwritable};
use crate::codec::{self, Inline, Packer, Unreadable, format};
use crate::constants::CALL_COMMANDS;
use crate::link::Arg;
use crate::{keys, reply, resource};

/// One call that commits decisions.
pub(super) struct CommitCall<'a> {
    path: &'a SlowPath<'a>,
    function: &'static str,
    decisions: Vec<(usize, &'a Write)>,
    args: Vec<Arg<'a>>,
    bytes: usize,
}

impl<'a> CommitCall<'a> {
    pub(super) fn new(path: &'a SlowPath<'a>, adds: bool) -> CommitCall<'a> {
        let function = if adds { "commit" } else { "commit_freeing" };
        CommitCall { path, function, decisions: Vec::new(), args: Vec::new(), bytes: 0 }
    }

    pub(super) fn has_room_for(&self, args: &[Arg<'_>]) -> bool {
        let bytes: usize = args.iter().map(|arg| arg.len()).sum();
        self.decisions.is_empty()
            || self.decisions.len() < CALL_COMMANDS && self.bytes + bytes <= BATCH_BYTES
    }

    pub(super) fn add(&mut self, place: usize, write: &'a Write, args: Vec<Arg<'a>>) {
        self.bytes += args.iter().map(|arg| arg.len()).sum::<usize>();
        self.args.extend(args);
        self.decisions.push((place, write));
    }

    /// Sends what there is, and puts the outcomes in their places.
    pub(super) async fn send(&mut self, outcomes: &mut [Result<Commit, StoreError>]) {
        if self.decisions.is_empty() {
            return;
        }
        let store = self.path.store;
        let origin: Arg<'_> = Cow::Borrowed(&store.origin);
        let args: Vec<_> = [origin].into_iter().chain(self.args.drain(..)).collect();
        self.bytes = 0;
        let route = store.keys.route(self.path.partition);
        let answers = store.link.call_confirmed(self.function, &route, &args).await;
        let mut answers = answers.and_then(reply::list).map(Vec::into_iter);
        for (place, write) in self.decisions.drain(..) {
            outcomes[place] = match &mut answers {
                Ok(answers) => self.path.outcome(write, answers.next()),
                Err(error) => Err(error.clone()),
            };
        }
    }
}

/// Where the changes of a decision begin among the arguments of its function: events and continuations
/// that are added come first and those that are removed last, so that no fault between loses one. What
/// raises a latch comes before records, and what lowers one after them, so that none is too low between.
pub(super) struct Places {
    pub(super) raised: usize,
    pub(super) changes: usize,
    pub(super) lowered: usize,
    count: usize,
}

impl Places {
    pub(super) fn of(set: &WriteSet) -> Places {
        let raised = set.events.len() + added(set).count();
        let changes = raised + tallies(set, true).count();
        let records = set.changes.len() + set.seen.len() + set.appends.len();
        let lowered = changes + records + set.resources.len() + set.guards.len();
        let count = lowered + tallies(set, false).count() + removed(set).count();
        Places { raised, changes, lowered, count }
    }
}

/// What is counted before records change, or after it.
pub(super) fn tallies(set: &WriteSet, raised: bool) -> impl Iterator<Item = &TallyChange> {
    set.tallies.iter().filter(move |change| change.raises() == raised)
}

fn added(set: &WriteSet) -> impl Iterator<Item = &Armed> {
    set.continuations.iter().filter_map(|change| match change {
        ContinuationChange::Add(armed) => Some(armed),
        ContinuationChange::Remove(_) => None,
    })
}

fn removed(set: &WriteSet) -> impl Iterator<Item = &Continuation> {
    set.continuations.iter().filter_map(|change| match change {
        ContinuationChange::Add(_) => None,
        ContinuationChange::Remove(read) => Some(read),
    })
}

/// A decision as the arguments of its function.
pub(super) fn packed(write: &Write) -> Result<Vec<Arg<'_>>, StoreError> {
    let Write { set, decided, .. } = write;
    let mut args = Vec::new();
    for event in &set.events {
        let bytes = codec::encode_event(event);
        let bytes = bytes.map_err(|error| unwritable(event.execution(), &error))?;
        args.extend([owned(keys::id(event.execution())), text(""), Cow::Owned(bytes)]);
        args.extend([text("event"), text(event.namespace.as_str()), text("")]);
    }
    for Armed { continuation, due } in added(set) {
        push_continuation(continuation, "add", due.as_ms().to_string(), &mut args);
    }
    for change in tallies(set, true) {
        let is_kept = |it: &Change| it.id == change.owner && it.after.is_some();
        let mode = if set.changes.iter().any(is_kept) { "raise" } else { "count" };
        push_tally(change, mode, &mut args);
    }
    for change in &set.changes {
        push(change, &mut args).map_err(|error| unwritable(change.id, &error))?;
    }
    for (id, seen) in &set.seen {
        args.extend([owned(keys::id(*id)), version(*seen), text("")]);
        args.extend(["seen", "", ""].map(text));
    }
    for append in &set.appends {
        args.extend([owned(keys::id(append.owner)), version(append.seen), text("")]);
        let of = append.elements.iter().map(|element| (append.collection, element));
        let packed = codec::pack_elements(of);
        let packed = packed.map_err(|error| unwritable(append.owner, &error))?;
        let Trim { below, before } = append.trim.unwrap_or(Trim { below: 0, before: 0 });
        let mut how = Packer::default();
        format::Append { following: append.next, below, before }.pack(&mut how);
        args.extend([text("append"), Cow::Owned(how.0), Cow::Owned(packed)]);
    }
    for change in &set.resources {
        let after = change.after.as_ref().map_or(Ok(Vec::new()), resource::encode)?;
        push_resource(&change.key, change.before, after, "", &mut args);
    }
    for (key, seen) in &set.guards {
        push_resource(key, *seen, Vec::new(), "guard", &mut args);
    }
    for change in tallies(set, false) {
        push_tally(change, "count", &mut args);
    }
    for read in removed(set) {
        push_continuation(read, "remove", String::new(), &mut args);
    }
    let count = Places::of(set).count;
    let valid_until = decided.valid_until.map_or(0, |until| until.as_ms());
    let number = |number: u64| owned(number.to_string());
    let head = [number(decided.at.as_ms()), number(valid_until), number(count as u64)];
    Ok(head.into_iter().chain(args).collect())
}

fn push_continuation(
    continuation: &Continuation,
    mode: &'static str,
    due: String,
    args: &mut Vec<Arg<'_>>,
) {
    let bytes = Cow::Owned(continuation.to_bytes().to_vec());
    args.extend([owned(keys::id(continuation.owner)), text(""), bytes]);
    args.extend([text(mode), owned(due), text("")]);
}

fn push_tally(change: &TallyChange, mode: &'static str, args: &mut Vec<Arg<'_>>) {
    let mut packer = Packer::default();
    for (counter, by) in &change.add {
        format::Delta { counter: (*counter).into(), by: *by }.pack(&mut packer);
    }
    let (due, latch) = match &change.at_zero {
        Some(armed) => (armed.due.as_ms().to_string(), armed.continuation.to_bytes().to_vec()),
        None => Default::default(),
    };
    args.extend([owned(keys::id(change.owner)), text(""), Cow::Owned(packer.0)]);
    args.extend([text(mode), owned(due), Cow::Owned(latch)]);
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
