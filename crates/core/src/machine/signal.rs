//! Signal: something outside answers what an execution waits for, or will wait for.

use super::{Context, Decide, Facts, ReadSet, Signalled, Step, Target};
use crate::approval::Decision;
use crate::bounds::{EARLY_SIGNALS, SIGNALS, SIGNALS_PER_WAITPOINT};
use crate::collection::{Collection, Content, Element, ElementKey};
use crate::condition::Arrival;
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::WaitpointId;
use crate::name::{Category, IdempotencyKey, SignalName, Source, WaitpointKey};
use crate::payload::Payload;
use crate::record::Execution;
use crate::refusal::{Full, Refusal};
use crate::signal::{ReceivedSignal, SignalEffect, element_name, key_digest};
use crate::state::State;
use crate::suspension::{OnTimeout, Waitpoint};
use crate::table::Verb;
use crate::timer::{self, DueAction};

/// Delivers a signal to a waitpoint. The same one again changes nothing; that is found out before any
/// bound applies. At equal times the end of the suspension comes first, whether or not that was ticked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// Which execution.
    pub target: Target,
    /// Where.
    pub waitpoint: WaitpointRef,
    /// The sender's name for this signal; by default all that it carries or, if it is a decision, its
    /// source.
    pub key: Option<IdempotencyKey>,
    /// Its name.
    pub name: Option<SignalName>,
    /// The kind of signal, in its sender's words.
    pub category: Option<Category>,
    /// Who sends it: whom its token or its credential names, never what the sender says.
    pub source: Source,
    /// What it carries.
    pub payload: Payload,
}

/// A waitpoint, as a sender names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WaitpointRef {
    /// As a token names it.
    ById(WaitpointId),
    /// As the holder names it: the one of this key that is open.
    ByKey(WaitpointKey),
}

impl Signal {
    /// The name under which this signal is found again at `waitpoint`.
    fn element(&self, waitpoint: WaitpointId) -> ElementKey {
        let body = || {
            Digest::of(|fields| {
                fields.text("body");
                fields.text(self.name.as_ref().map_or("", SignalName::as_str));
                fields.text(self.source.as_str());
                self.payload.fingerprint(fields);
            })
        };
        let digest = match &self.key {
            Some(key) => key_digest(key),
            None => Decision::digest(self.category.as_ref(), &self.source).unwrap_or_else(body),
        };
        let (owner, collection) = (self.target.execution, Collection::Signals);
        ElementKey { owner, collection, name: element_name(waitpoint, digest) }
    }

    /// The waitpoint that it names, if that is in the record.
    fn waitpoint<'a>(&self, record: &'a Execution) -> Option<&'a Waitpoint> {
        let mut all = record.waits.waitpoints.iter();
        match &self.waitpoint {
            WaitpointRef::ByKey(key) => all.find(|it| it.key == *key),
            WaitpointRef::ById(id) => all.find(|it| it.id == *id),
        }
    }

    /// The waitpoint of the last suspension that it names: closed, and whether by time.
    fn ended(&self, record: &Execution) -> Option<(WaitpointId, bool)> {
        let last = record.waits.last.as_ref()?;
        let is_named = |(id, key): &&(WaitpointId, WaitpointKey)| match &self.waitpoint {
            WaitpointRef::ById(named) => named == id,
            WaitpointRef::ByKey(named) => named == key,
        };
        last.waitpoints.iter().find(is_named).map(|(id, _)| (*id, last.timed_out))
    }

    /// The ids under which it may be known: that of the token, or those of its key.
    fn ids(&self, record: &Execution) -> Vec<WaitpointId> {
        match &self.waitpoint {
            WaitpointRef::ById(id) => vec![*id],
            WaitpointRef::ByKey(_) => {
                let open = self.waitpoint(record).map(|open| open.id);
                // Without a key of its own, a signal to a waitpoint that is open again is a new one.
                let ended = self.ended(record).filter(|_| self.key.is_some() || open.is_none());
                open.into_iter().chain(ended.map(|(id, _)| id)).collect()
            }
        }
    }
}

impl Decide for Signal {
    fn facts(&self) -> Facts<'_> {
        Facts {
            adds: true,
            payload_bytes: self.payload.bytes.len(),
            ..Facts::execution(self.target.execution, Verb::Signal)
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.payload.check("payload")
    }

    fn reads(&self) -> ReadSet {
        let elements = match &self.waitpoint {
            WaitpointRef::ById(id) => vec![self.element(*id)],
            WaitpointRef::ByKey(_) => Vec::new(),
        };
        ReadSet { elements, ..ReadSet::record(self.target.execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = match (context.found(&self.target), &self.waitpoint) {
            // Its token was signed for it: what has been removed is closed.
            (Err(Refusal::NotFound), WaitpointRef::ById(_)) => {
                return Err(Refusal::WaitpointClosed);
            }
            (found, _) => found?,
        };
        let keys = self.ids(record).into_iter().map(|id| self.element(id));
        let (known, unknown): (Vec<_>, Vec<_>) =
            keys.partition(|key| context.loaded.elements.contains_key(key));
        if !unknown.is_empty() {
            return Ok(Step::NeedMore(ReadSet { elements: unknown, ..ReadSet::default() }));
        }
        let mut found = known.iter().filter_map(|key| context.loaded.elements.get(key)?.as_ref());
        if let Some(first) = found.next() {
            let number = Some(first.number);
            return Ok(Step::answer(Signalled { effect: SignalEffect::Duplicate, number }));
        }
        let too_late = || Step::answer(Signalled { effect: SignalEffect::TooLate, number: None });
        let Some(waitpoint) = self.waitpoint(record) else {
            return match self.ended(record) {
                Some((_, true)) => Ok(too_late()),
                _ => Err(Refusal::WaitpointClosed),
            };
        };
        match passed(record, waitpoint, context) {
            Some(Passed::Suspension) => return Ok(too_late()),
            Some(Passed::Waitpoint) => return Err(Refusal::WaitpointClosed),
            None => {}
        }
        check_room(record, waitpoint)?;
        Ok(self.received(record, waitpoint, context))
    }
}

/// What time has ended before a signal came.
enum Passed {
    Suspension,
    Waitpoint,
}

/// What time has ended of `waitpoint`, whether or not that was ticked.
fn passed(record: &Execution, waitpoint: &Waitpoint, context: &Context<'_>) -> Option<Passed> {
    let over = match &record.state {
        State::Suspended { suspension } => Some((suspension.number, suspension.on_timeout)),
        _ => None,
    };
    match (timer::due(record, context.now), over) {
        (Some(DueAction::Deadline | DueAction::CancelGrace), _) => Some(Passed::Waitpoint),
        (Some(DueAction::SuspensionOver), Some((number, on_timeout))) => {
            match (waitpoint.of == Some(number), on_timeout) {
                (true, _) => Some(Passed::Suspension),
                (false, OnTimeout::Resume) => None,
                (false, _) => Some(Passed::Waitpoint),
            }
        }
        _ if !waitpoint.is_open(context.now) => Some(Passed::Waitpoint),
        _ => None,
    }
}

/// Refuses a signal that a bound has no room for.
fn check_room(record: &Execution, waitpoint: &Waitpoint) -> Result<(), Refusal> {
    let full = |what| Err(Refusal::LimitReached { what });
    if waitpoint.signals >= SIGNALS_PER_WAITPOINT {
        return full(Full::SignalsOfWaitpoint { most: SIGNALS_PER_WAITPOINT });
    }
    if record.counts.of(Collection::Signals) >= SIGNALS {
        return full(Full::Signals { most: SIGNALS });
    }
    if waitpoint.of.is_none() && record.waits.early.len() >= EARLY_SIGNALS {
        return full(Full::EarlySignals { most: EARLY_SIGNALS });
    }
    Ok(())
}

impl Signal {
    /// The write that takes the signal, and what it did.
    fn received(&self, record: &Execution, at: &Waitpoint, context: &Context<'_>) -> Step {
        let mut after = record.clone();
        let number = after.counts.add(Collection::Signals);
        let received = ReceivedSignal {
            number,
            waitpoint: at.id,
            key: at.key.clone(),
            name: self.name.clone(),
            category: self.category.clone(),
            source: self.source.clone(),
            at: context.now,
            payload: self.payload.clone(),
        };
        let element = Element {
            number,
            name: Some(self.element(at.id).name),
            content: Content::Bytes(received.encode()),
        };
        let arrival = Arrival::new(number, self.name.as_ref(), &self.source);
        for waitpoint in after.waits.waitpoints.iter_mut().filter(|it| it.id == at.id) {
            waitpoint.signals += 1;
        }
        if at.of.is_none() {
            after.waits.early.push((at.id, arrival));
        }
        let mut is_satisfied = false;
        if let State::Suspended { suspension } = &mut after.state
            && at.of == Some(suspension.number)
        {
            suspension.condition.count(&mut suspension.counted, &at.key, arrival);
            is_satisfied = suspension.condition.is_satisfied(&suspension.counted);
        }
        let (effect, what, entry) = match is_satisfied {
            true => {
                let (resumed, entry) = context.resumed(&after, false);
                after = resumed;
                (SignalEffect::Resumed, EventKind::Resumed { timed_out: false }, entry)
            }
            false => (SignalEffect::Recorded, EventKind::Signalled, None),
        };
        let write = context.update(record, after, what).with_entry(entry);
        let mut write = write.done_by(Some(self.source.clone()));
        write.changes[0].elements.push((Collection::Signals, element));
        Step::write(write, Signalled { effect, number: Some(number) })
    }
}
