//! Claim: take the best work a worker can run, or the work reserved for it.

use std::borrow::Cow;

use super::{
    Admission, Claimed, Context, Decide, Item, Nominate, ReadSet, Reply, Step, Target, Transition,
    Wanted, Withheld,
};
use crate::capability::Capabilities;
use crate::id::{LeaseId, RequestId};
use crate::limits;
use crate::name::{Lane, Namespace, ResourceName};
use crate::payload::{BlobKey, BlobPart};
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::resource::LaneState;
use crate::state::{State, Why, Worker};
use crate::timer;

/// How many candidates are looked at when some must be admitted first: what is refused leaves the
/// queue, so that one claim does not meet it again.
pub const WANTED: usize = 64;

/// How many further candidates are looked at when the first turn out to be unreadable.
pub(super) const SLACK: usize = 8;

/// Takes up to `max` executions from a lane. Lease `i` is named (request, `first` + i).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The tenant.
    pub namespace: Namespace,
    /// The queue.
    pub lane: Lane,
    /// Who claims.
    pub worker: Worker,
    /// What the worker offers.
    pub capabilities: Capabilities,
    /// The name of this call, repeated when it is retried.
    pub request: RequestId,
    /// How many at most.
    pub max: u16,
    /// The index of the first lease; not 0 only when an earlier part of this call took some.
    pub first: u16,
    /// The reply of an earlier send was lost: what that one took is answered again.
    pub retry: bool,
    /// What budgets and quotas have admitted for this call, which takes these and nothing else. If
    /// there are none, it passes over all that must be admitted. `None` passes over nothing: where
    /// one must be admitted, nothing behind it is taken in its place.
    pub admitted: Option<Vec<Admission>>,
}

impl Claim {
    fn nominate(&self, limit: usize) -> ReadSet {
        let nominate = Nominate {
            namespace: self.namespace.clone(),
            lane: self.lane.clone(),
            capabilities: self.capabilities.clone(),
            limit,
        };
        let lane = Some((self.namespace.clone(), self.lane.clone()));
        ReadSet { nominate: Some(nominate), lane, ..ReadSet::default() }
    }

    /// Those it takes and nothing else, if it was given any.
    fn named(&self) -> Option<&[Admission]> {
        self.admitted.as_deref().filter(|admitted| !admitted.is_empty())
    }

    /// What must be read before anything is taken.
    fn looks(&self) -> ReadSet {
        match self.named() {
            Some(named) => ReadSet {
                records: named.iter().map(|admission| admission.execution).collect(),
                lane: Some((self.namespace.clone(), self.lane.clone())),
                ..ReadSet::default()
            },
            None => self.nominate(self.looked_at()),
        }
    }

    /// Takes those that were admitted for it, as far as they still wait in this queue.
    fn take_named(&self, context: &Context<'_>, named: &[Admission]) -> Step {
        let loaded = context.loaded;
        if named.iter().any(|one| !loaded.records.contains_key(&one.execution)) {
            return Step::NeedMore(self.looks());
        }
        let records = named.iter().filter_map(|one| loaded.record(one.execution));
        let waits = |record: &&Execution| {
            matches!(record.state, State::Queued { .. })
                && (&record.spec.namespace, &record.spec.lane) == (&self.namespace, &self.lane)
                && self.capabilities.covers(&record.spec.requires)
                && self.asks_for(context, record).is_none()
        };
        let waiting: Vec<_> = records.filter(waits).collect();
        let withheld = context.withheld();
        if withheld.is_some() && !waiting.is_empty() {
            return Step::answer(Claimed { withheld, ..Claimed::default() });
        }
        let (chosen, cut) = fit(&waiting, self.max.into());
        if let Some(more) = self.missing_inputs(context, &chosen) {
            return Step::NeedMore(more);
        }
        let mut transition = self.take(context, &chosen);
        if cut {
            transition.items.push(moved_on(None));
        }
        Step::Done(transition)
    }

    /// What an earlier send of this call took and still holds.
    fn taken<'a>(&self, context: &Context<'a>) -> Vec<&'a Execution> {
        let ids = context.loaded.holding.iter().flatten();
        let records = ids.filter_map(|id| context.loaded.record(*id));
        let mut taken: Vec<_> = records
            .filter(|record| {
                record.spec.namespace == self.namespace
                    && record.lease().is_some_and(|lease| lease.id.request == self.request)
                    && timer::due(record, context.now).is_none()
            })
            .collect();
        taken.sort_by_key(|record| record.lease().map(|lease| lease.id.index));
        taken
    }

    fn take(&self, context: &Context<'_>, candidates: &[&Execution]) -> Transition {
        let mut items = Vec::new();
        let mut index = self.first;
        for record in candidates {
            let State::Queued { why } = record.state else {
                continue;
            };
            if let Some(due) = timer::due(record, context.now) {
                let (write, _) = context.fire(record, due);
                items.push(moved_on(Some(write)));
                continue;
            }
            let record = match context.let_in(record, self.admitted.as_deref()) {
                Ok(record) => record,
                Err(wanted) => {
                    items.push(asking(vec![wanted]));
                    continue;
                }
            };
            let lease = LeaseId { request: self.request, index };
            let (write, after) = context.hold(&record, why, &self.worker, lease);
            if let Some(assignment) = context.assignment(&after) {
                let claimed = Claimed { assignments: vec![assignment], ..Claimed::default() };
                let write = Some(context.guarded(write));
                items.push(Item { write, reply: claimed.into() });
                index += 1;
            }
        }
        if items.is_empty() {
            items.push(Item { write: None, reply: Claimed::default().into() });
        }
        Transition { items }
    }

    /// Takes what is ready when some candidates cannot be read. If nothing is, several inputs are
    /// looked for at once: one by one, each unreadable input would cost another round.
    fn take_ready(&self, context: &Context<'_>, readable: &[&Execution]) -> Step {
        let wanted = usize::from(self.max);
        let (ready, _) = fit(&context.ready(readable), wanted);
        if ready.is_empty() {
            let several = fit(readable, wanted).0.len().max(SLACK).min(readable.len());
            if let Some(more) = self.missing_inputs(context, &readable[..several]) {
                return Step::NeedMore(more);
            }
        }
        let mut transition = self.take(context, &ready);
        if !ready.is_empty() {
            transition.items.push(moved_on(None));
        }
        Step::Done(transition)
    }

    /// How many candidates are looked at.
    fn looked_at(&self) -> usize {
        let max = usize::from(self.max);
        if self.admitted.is_some() { max.max(WANTED) } else { max }
    }

    /// Whether `record` is not given out before it is admitted.
    fn asks_for(&self, context: &Context<'_>, record: &Execution) -> Option<Wanted> {
        context.let_in(record, self.admitted.as_deref()).err()
    }

    /// What must be read before those of `records` that need not ask can be handed out, if anything.
    fn missing_inputs(&self, context: &Context<'_>, records: &[&Execution]) -> Option<ReadSet> {
        let ready = records.iter().filter(|record| self.asks_for(context, record).is_none());
        context.missing_inputs(ready.copied())
    }
}

impl Wanted {
    /// `record`, if it must be admitted before it is given out: what it names has a say, and its
    /// lane if that has a limit.
    pub fn of(record: &Execution, is_limited: bool) -> Option<Wanted> {
        let mut control = record.spec.control.clone();
        if is_limited {
            control.quotas.insert(ResourceName::of_lane(&record.spec.lane));
        }
        let wanted = !control.is_empty() && record.admission.is_none();
        wanted.then(|| Wanted { execution: record.id, control, used: record.used.clone() })
    }
}

/// Tells what must be admitted.
fn asking(wanted: Vec<Wanted>) -> Item {
    let claimed = Claimed { wanted, ..Claimed::default() };
    Item { write: None, reply: claimed.into() }
}

fn moved_on(write: Option<super::WriteSet>) -> Item {
    let reply = Reply::Claimed(Claimed { again: true, ..Claimed::default() });
    Item { write, reply }
}

impl Decide for Claim {
    fn check(&self) -> Result<(), Refusal> {
        if self.max == 0 || usize::from(self.max) > limits::CLAIM {
            let why = format!("is {}; give 1 to {}", self.max, limits::CLAIM);
            return Err(Refusal::invalid("max", why));
        }
        if self.first.checked_add(self.max).is_none() {
            return Err(Refusal::invalid("first", format!("is {}; give less", self.first)));
        }
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        if self.retry {
            return ReadSet { holding: Some(self.request), ..ReadSet::default() };
        }
        self.looks()
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let taken = self.taken(context);
        if !taken.is_empty() {
            if let Some(more) = context.missing_inputs(taken.iter().copied()) {
                return Ok(Step::NeedMore(more));
            }
            let assignments = taken.iter().filter_map(|r| context.assignment(r)).collect();
            return Ok(Step::answer(Claimed { assignments, ..Claimed::default() }));
        }
        if let Some(named) = self.named() {
            return Ok(self.take_named(context, named));
        }
        let wanted = usize::from(self.max);
        let Some(candidates) = &context.loaded.candidates else {
            return Ok(Step::NeedMore(self.nominate(self.looked_at().max(wanted + SLACK))));
        };
        let withheld = context.withheld();
        if withheld.is_some() && !candidates.is_empty() {
            return Ok(Step::answer(Claimed { withheld, ..Claimed::default() }));
        }
        let readable = context.readable(candidates);
        if readable.is_empty() && context.loaded.hides_more(wanted + SLACK) {
            return Ok(Step::NeedMore(self.nominate(wanted + SLACK)));
        }
        let all_readable = readable.len() == candidates.len();
        let passes = |record: &&&Execution| {
            self.admitted.is_none() || self.asks_for(context, record).is_none()
        };
        let (open, passed): (Vec<_>, Vec<_>) =
            readable.into_iter().partition(|record| passes(&record));
        if !all_readable {
            return Ok(self.take_ready(context, &open));
        }
        let (chosen, cut) = fit(&open, wanted);
        let asks = chosen.iter().any(|record| self.asks_for(context, record).is_some());
        if asks && context.loaded.hides_more(WANTED) {
            return Ok(Step::NeedMore(self.nominate(WANTED)));
        }
        if let Some(more) = self.missing_inputs(context, &chosen) {
            return Ok(Step::NeedMore(more));
        }
        let mut transition = self.take(context, &chosen);
        let behind = open.iter().skip(chosen.len()).filter(|_| asks).chain(&passed);
        let behind: Vec<_> = behind.filter_map(|record| context.wanted(record)).collect();
        if !behind.is_empty() {
            transition.items.push(asking(behind));
        }
        if cut {
            transition.items.push(moved_on(None));
        }
        Ok(Step::Done(transition))
    }
}

/// The first of `records` that one answer carries: at most `max` and [`limits::BATCH_BYTES`] of
/// input, but at least one. Tells whether bytes cut it short.
fn fit<'a>(records: &[&'a Execution], max: usize) -> (Vec<&'a Execution>, bool) {
    let mut bytes = 0;
    let mut chosen = Vec::new();
    for record in records.iter().take(max) {
        bytes += record.spec.input.len as usize;
        if bytes > limits::BATCH_BYTES && !chosen.is_empty() {
            return (chosen, true);
        }
        chosen.push(*record);
    }
    (chosen, false)
}

impl<'a> Context<'a> {
    /// Why the work of the command's lane is not given out, if it is not.
    pub(super) fn withheld(&self) -> Option<Withheld> {
        let lane = self.loaded.lane_state()?;
        lane.paused.then_some(Withheld::LanePaused)
    }

    /// The candidates whose records, and inputs as far as they were looked for, could be read.
    pub(super) fn readable(&self, candidates: &[crate::id::ExecutionId]) -> Vec<&'a Execution> {
        let records = candidates.iter().filter_map(|id| self.loaded.record(*id));
        records
            .filter(|record| self.loaded.blobs.get(&input_of(record)).is_none_or(Option::is_some))
            .collect()
    }

    /// Those of `records` whose inputs are loaded.
    fn ready(&self, records: &[&'a Execution]) -> Vec<&'a Execution> {
        let loaded = |record: &&Execution| self.loaded.blobs.contains_key(&input_of(record));
        records.iter().copied().filter(loaded).collect()
    }

    /// `record`, if it must be admitted before it is given out.
    pub(super) fn wanted(&self, record: &Execution) -> Option<Wanted> {
        Wanted::of(record, self.loaded.lane_state().is_some_and(LaneState::is_limited))
    }

    /// `record` as it is given out, or what must be admitted before that. An admission that is
    /// about to be looked at is not used any more.
    pub(super) fn let_in(
        &self,
        record: &'a Execution,
        admitted: Option<&[Admission]>,
    ) -> Result<Cow<'a, Execution>, Wanted> {
        let mine =
            |admission: &&Admission| admission.execution == record.id && self.now < admission.until;
        let mut mine = admitted.into_iter().flatten().filter(mine);
        let Some(admission) = mine.next().filter(|_| record.admission.is_none()) else {
            return self.wanted(record).map_or(Ok(Cow::Borrowed(record)), Err);
        };
        let mut record = record.clone();
        record.admission = Some(admission.name);
        Ok(Cow::Owned(record))
    }

    /// What must be read before `records` can be handed out, if anything.
    fn missing_inputs<'r>(&self, records: impl Iterator<Item = &'r Execution>) -> Option<ReadSet> {
        let keys = records.map(input_of);
        let blobs: Vec<_> = keys.filter(|key| !self.loaded.blobs.contains_key(key)).collect();
        (!blobs.is_empty()).then(|| ReadSet { blobs, ..ReadSet::default() })
    }
}

fn input_of(record: &Execution) -> BlobKey {
    BlobKey { execution: record.id, part: BlobPart::Input }
}

/// Turns a grant into a lease. The lease is named (the grant's request, 0), so that a repeated call
/// finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimGranted {
    /// The execution that was reserved.
    pub target: Target,
    /// The request that reserved it.
    pub request: RequestId,
    /// Who claims: the worker it was reserved for.
    pub worker: Worker,
}

impl ClaimGranted {
    fn why(&self, record: &Execution, context: &Context<'_>) -> Result<Why, Refusal> {
        match &record.state {
            State::Granted { grant, why }
                if grant.request == self.request
                    && grant.to == self.worker
                    && timer::due(record, context.now).is_none() =>
            {
                Ok(*why)
            }
            _ => Err(Refusal::StaleGrant),
        }
    }

    fn already_held(&self, record: &Execution, context: &Context<'_>) -> bool {
        let lease = LeaseId { request: self.request, index: 0 };
        timer::due(record, context.now).is_none()
            && record.lease().is_some_and(|held| held.id == lease && held.worker == self.worker)
    }
}

impl Decide for ClaimGranted {
    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        let blobs = vec![BlobKey { execution: self.target.execution, part: BlobPart::Input }];
        ReadSet { blobs, ..ReadSet::record(self.target.execution) }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        if self.already_held(record, context) {
            let assignments = context.assignment(record).into_iter().collect();
            return Ok(Step::answer(Claimed { assignments, ..Claimed::default() }));
        }
        let why = self.why(record, context)?;
        let lane = (record.spec.namespace.clone(), record.spec.lane.clone());
        if context.loaded.lane.is_none() {
            return Ok(Step::NeedMore(ReadSet { lane: Some(lane), ..ReadSet::default() }));
        }
        if context.withheld().is_some() {
            return Err(Refusal::LanePaused);
        }
        let lease = LeaseId { request: self.request, index: 0 };
        let (write, after) = context.hold(record, why, &self.worker, lease);
        let assignment = context.assignment(&after).ok_or(Refusal::StaleGrant)?;
        let claimed = Claimed { assignments: vec![assignment], ..Claimed::default() };
        Ok(Step::write(context.guarded(write), claimed))
    }
}
