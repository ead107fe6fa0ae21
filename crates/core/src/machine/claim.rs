//! Claim: take the best work a worker can run.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use super::{
    Action, Admissions, Admitted, Claimed, Context, Decide, Facts, Item, NeedsAdmission, Nominate,
    ReadSet, Reply, Step, Transition, Withheld,
};
use crate::bounds;
use crate::capability::Capabilities;
use crate::id::{LeaseId, RequestId};
use crate::name::{Lane, Namespace};
use crate::payload::{BlobKey, BlobPart};
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::resource::LaneState;
use crate::state::{State, Worker};
use crate::table::Verb;
use crate::timer;

/// How many candidates are read when some must be admitted first. Those that are refused leave the
/// queue, so one claim does not read them twice.
pub const ADMISSION_LOOKAHEAD: usize = 64;

/// How many further candidates are read when the first turn out to be unreadable.
pub(super) const UNREADABLE_LOOKAHEAD: usize = 8;

/// What a worker asks for: up to `max` executions of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The tenant.
    pub namespace: Namespace,
    /// The queue.
    pub lane: Lane,
    /// The worker that claims.
    pub worker: Worker,
    /// What the worker offers.
    pub capabilities: Capabilities,
    /// The name of this call, repeated when it is retried.
    pub request: RequestId,
    /// How many at most.
    pub max: u16,
    /// It may have been sent before: what an earlier send took and still holds is answered again.
    /// A caller that knows this is the first send sets it to false, which saves the store a read.
    pub retry: bool,
}

/// Takes executions for a [`ClaimRequest`]. Lease `i` has the place `first` + i of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What the worker asks for.
    pub call: ClaimRequest,
    /// The index of the first lease; not 0 only when an earlier part of this call took some.
    pub first: u16,
    /// Which executions that must be admitted it takes.
    pub admissions: Admissions,
}

impl From<ClaimRequest> for Claim {
    fn from(call: ClaimRequest) -> Claim {
        Claim { call, first: 0, admissions: Admissions::Any }
    }
}

impl From<ClaimRequest> for Action {
    fn from(call: ClaimRequest) -> Action {
        Claim::from(call).into()
    }
}

impl Deref for Claim {
    type Target = ClaimRequest;

    fn deref(&self) -> &ClaimRequest {
        &self.call
    }
}

impl DerefMut for Claim {
    fn deref_mut(&mut self) -> &mut ClaimRequest {
        &mut self.call
    }
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

    /// What must be read before anything is taken.
    fn first_reads(&self) -> ReadSet {
        match self.admissions.only() {
            Some(only) => ReadSet {
                records: only.iter().map(|one| one.request.needs.execution).collect(),
                lane: Some((self.namespace.clone(), self.lane.clone())),
                ..ReadSet::default()
            },
            None => self.nominate(self.candidate_limit()),
        }
    }

    /// Takes those that were admitted for it, as far as they still wait in this queue.
    fn take_only(&self, context: &Context<'_>, only: &[Admitted]) -> Step {
        let loaded = context.loaded;
        let ids = || only.iter().map(|one| one.request.needs.execution);
        if ids().any(|id| !loaded.records.contains_key(&id)) {
            return Step::NeedMore(self.first_reads());
        }
        let records = ids().filter_map(|id| loaded.record(id));
        let waits = |record: &&Execution| {
            matches!(record.state, State::Queued { .. })
                && (&record.spec.namespace, &record.spec.lane) == (&self.namespace, &self.lane)
                && self.capabilities.covers(&record.spec.requires)
                && self.needs_admission(context, record).is_none()
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
    fn taken<'a>(&self, context: &Context<'a>) -> Result<Vec<&'a Execution>, Refusal> {
        let ids = context.loaded.claimed_by.iter().flatten();
        let records = ids.filter_map(|id| context.loaded.record(*id));
        let mut taken: Vec<_> = records
            .filter(|record| {
                record.spec.namespace == self.namespace
                    && record.lease().is_some_and(|lease| lease.id.request == self.request)
                    && timer::due(record, context.now).is_none()
            })
            .collect();
        if taken.iter().any(|record| record.lease().is_some_and(|it| it.worker != self.worker)) {
            let why = "names a claim of another worker; make a new one for each claim";
            return Err(Refusal::invalid("request", why));
        }
        taken.sort_by_key(|record| record.lease().map(|lease| lease.id.place()));
        Ok(taken)
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
            if context.is_barred(record) {
                let flow = context.ending_flow(record);
                items.push(moved_on(flow.and_then(|flow| context.withdraw(flow, record))));
                continue;
            }
            let record = match context.admit_or_defer(record, &self.admissions) {
                Ok(record) => record,
                Err(needs) => {
                    items.push(deferred(vec![needs]));
                    continue;
                }
            };
            if index >= LeaseId::PLACES {
                break;
            }
            let lease = LeaseId::new(self.request, index, record.epoch);
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

    /// Takes what is ready when some candidates cannot be read, and answers what must be admitted. If
    /// nothing is ready, several inputs are read at once: one by one, each unreadable input
    /// would cost another round.
    fn take_ready(&self, context: &Context<'_>, readable: &[&Execution]) -> Step {
        let wanted = usize::from(self.max);
        let (readable, limited): (Vec<_>, Vec<_>) = readable
            .iter()
            .copied()
            .partition(|record| self.needs_admission(context, record).is_none());
        let readable = &readable[..];
        let (ready, _) = fit(&context.ready(readable), wanted);
        if ready.is_empty() {
            let several =
                fit(readable, wanted).0.len().max(UNREADABLE_LOOKAHEAD).min(readable.len());
            if let Some(more) = self.missing_inputs(context, &readable[..several]) {
                return Step::NeedMore(more);
            }
        }
        let mut transition = self.take(context, &ready);
        if !ready.is_empty() {
            transition.items.push(moved_on(None));
        }
        let limited = limited.into_iter().filter_map(|record| context.needs_admission(record));
        let limited: Vec<_> = limited.collect();
        if !limited.is_empty() {
            transition.items.push(deferred(limited));
        }
        Step::Done(transition)
    }

    /// How many candidates are read.
    fn candidate_limit(&self) -> usize {
        let max = usize::from(self.max);
        match self.admissions {
            Admissions::Any => max,
            Admissions::SkipLimited | Admissions::Only(_) => max.max(ADMISSION_LOOKAHEAD),
        }
    }

    /// Whether `record` is not dispatched before it is admitted.
    fn needs_admission(&self, context: &Context<'_>, record: &Execution) -> Option<NeedsAdmission> {
        context.admit_or_defer(record, &self.admissions).err()
    }

    /// What must be read before those of `records` that need not ask can be handed out, if anything.
    fn missing_inputs(&self, context: &Context<'_>, records: &[&Execution]) -> Option<ReadSet> {
        let ready = records.iter().filter(|record| self.needs_admission(context, record).is_none());
        context.missing_inputs(ready.copied())
    }
}

/// Answers what must be admitted.
fn deferred(needs_admission: Vec<NeedsAdmission>) -> Item {
    let claimed = Claimed { needs_admission, ..Claimed::default() };
    Item { write: None, reply: claimed.into() }
}

fn moved_on(write: Option<super::WriteSet>) -> Item {
    let reply = Reply::Claimed(Claimed { again: true, ..Claimed::default() });
    Item { write, reply }
}

impl Decide for Claim {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::queue(&self.namespace, &self.lane, Verb::Claim) }
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.max == 0 || usize::from(self.max) > bounds::CLAIM {
            let why = format!("is {}; give 1 to {}", self.max, bounds::CLAIM);
            return Err(Refusal::invalid("max", why));
        }
        if self.first.checked_add(self.max).is_none() {
            return Err(Refusal::invalid("first", format!("is {}; give less", self.first)));
        }
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        if self.retry {
            return ReadSet { claimed_by: Some(self.request), ..ReadSet::default() };
        }
        self.first_reads()
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let taken = self.taken(context)?;
        if !taken.is_empty() {
            if let Some(more) = context.missing_inputs(taken.iter().copied()) {
                return Ok(Step::NeedMore(more));
            }
            let assignments = taken.iter().filter_map(|r| context.assignment(r)).collect();
            return Ok(Step::answer(Claimed { assignments, ..Claimed::default() }));
        }
        if let Some(only) = self.admissions.only() {
            return Ok(self.take_only(context, only));
        }
        let wanted = usize::from(self.max);
        let Some(candidates) = &context.loaded.candidates else {
            return Ok(Step::NeedMore(
                self.nominate(self.candidate_limit().max(wanted + UNREADABLE_LOOKAHEAD)),
            ));
        };
        let withheld = context.withheld();
        if withheld.is_some() && !candidates.is_empty() {
            return Ok(Step::answer(Claimed { withheld, ..Claimed::default() }));
        }
        let readable = context.readable(candidates);
        if readable.is_empty() && context.loaded.hides_more(wanted + UNREADABLE_LOOKAHEAD) {
            return Ok(Step::NeedMore(self.nominate(wanted + UNREADABLE_LOOKAHEAD)));
        }
        let all_readable = readable.len() == candidates.len();
        let passes = |record: &&&Execution| {
            self.admissions == Admissions::Any || self.needs_admission(context, record).is_none()
        };
        let (open, passed): (Vec<_>, Vec<_>) =
            readable.into_iter().partition(|record| passes(&record));
        if !all_readable {
            let all: Vec<_> = open.into_iter().chain(passed).collect();
            return Ok(self.take_ready(context, &all));
        }
        let (chosen, cut) = fit(&open, wanted);
        let asks = chosen.iter().any(|record| self.needs_admission(context, record).is_some());
        if asks && context.loaded.hides_more(ADMISSION_LOOKAHEAD) {
            return Ok(Step::NeedMore(self.nominate(ADMISSION_LOOKAHEAD)));
        }
        if let Some(more) = self.missing_inputs(context, &chosen) {
            return Ok(Step::NeedMore(more));
        }
        let mut transition = self.take(context, &chosen);
        let behind = open.iter().skip(chosen.len()).filter(|_| asks).chain(&passed);
        let behind: Vec<_> = behind.filter_map(|record| context.needs_admission(record)).collect();
        if !behind.is_empty() {
            transition.items.push(deferred(behind));
        }
        if cut {
            transition.items.push(moved_on(None));
        }
        Ok(Step::Done(transition))
    }
}

/// The first of `records` that one answer carries: at most `max` and [`bounds::BATCH_BYTES`] of
/// input, but at least one. Tells whether bytes cut it short.
fn fit<'a>(records: &[&'a Execution], max: usize) -> (Vec<&'a Execution>, bool) {
    let mut bytes = 0;
    let mut chosen = Vec::new();
    for record in records.iter().take(max) {
        bytes += record.spec.input.len as usize;
        if bytes > bounds::BATCH_BYTES && !chosen.is_empty() {
            return (chosen, true);
        }
        chosen.push(*record);
    }
    (chosen, false)
}

impl<'a> Context<'a> {
    /// Why the command's lane dispatches nothing, if it does not.
    pub(super) fn withheld(&self) -> Option<Withheld> {
        let lane = self.loaded.lane_state()?;
        lane.paused.then_some(Withheld::LanePaused)
    }

    /// The candidates whose records, and inputs as far as they were asked for, could be read.
    pub(super) fn readable(&self, candidates: &[crate::id::ExecutionId]) -> Vec<&'a Execution> {
        let records = candidates.iter().filter_map(|id| self.loaded.record(*id));
        records
            .filter(|record| self.loaded.blobs.get(&input_of(record)).is_none_or(Option::is_some))
            .filter(|record| self.is_flow_readable(record))
            .collect()
    }

    /// Whether the flow of `record`, if it is a member of one, was read or not asked for.
    fn is_flow_readable(&self, record: &Execution) -> bool {
        let flow = record.member.as_ref().and_then(|member| self.loaded.records.get(&member.flow));
        flow.is_none_or(Option::is_some)
    }

    /// Those of `records` whose inputs are loaded, and their flows.
    fn ready(&self, records: &[&'a Execution]) -> Vec<&'a Execution> {
        let loaded = |record: &&Execution| {
            self.loaded.blobs.contains_key(&input_of(record))
                && self.missing_flows([*record].into_iter()).is_empty()
        };
        records.iter().copied().filter(loaded).collect()
    }

    /// `record`, if it must be admitted before it is dispatched.
    pub(super) fn needs_admission(&self, record: &Execution) -> Option<NeedsAdmission> {
        let lane_is_limited = self.loaded.lane_state().is_some_and(LaneState::is_limited);
        NeedsAdmission::of(record, lane_is_limited)
    }

    /// `record` as it is dispatched, or what must be admitted before that. An admission whose time is
    /// over, or that is for the record as it was before a change, is not used.
    pub(super) fn admit_or_defer(
        &self,
        record: &'a Execution,
        admissions: &Admissions,
    ) -> Result<Cow<'a, Execution>, NeedsAdmission> {
        let mine = |one: &&Admitted| {
            let needs = &one.request.needs;
            needs.execution == record.id
                && needs.version == record.version
                && self.now < one.usable_until
        };
        let admitted = admissions.only().into_iter().flatten().find(mine);
        if admitted.is_none()
            && let Some(needs) = self.needs_admission(record)
        {
            return Err(needs);
        }
        let admission = admitted.map(|admitted| admitted.request.id);
        if record.admission == admission {
            return Ok(Cow::Borrowed(record));
        }
        Ok(Cow::Owned(Execution { admission, ..record.clone() }))
    }

    /// What must be read before `records` can be handed out, if anything.
    fn missing_inputs<'r>(&self, records: impl Iterator<Item = &'r Execution>) -> Option<ReadSet> {
        let all: Vec<_> = records.collect();
        let keys = all.iter().copied().map(input_of);
        let blobs: Vec<_> = keys.filter(|key| !self.loaded.blobs.contains_key(key)).collect();
        let flows = self.missing_flows(all.iter().copied());
        (!blobs.is_empty() || !flows.is_empty()).then(|| ReadSet {
            blobs,
            records: flows,
            tolerant: true,
            ..ReadSet::default()
        })
    }
}

fn input_of(record: &Execution) -> BlobKey {
    BlobKey { execution: record.id, part: BlobPart::Input }
}
