//! Grant: reserve the best work a worker can run, without starting its lease.

use super::claim::{ADMISSION_LOOKAHEAD, UNREADABLE_LOOKAHEAD};
use super::{
    Admissions, Context, Decide, Facts, GrantOffer, Granted, Item, Nominate, ReadSet, Step,
    Transition,
};
use crate::bounds;
use crate::capability::Capabilities;
use crate::event::EventKind;
use crate::id::{Partition, RequestId};
use crate::name::{Lane, Namespace};
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::state::{Grant, Intent, State, Worker};
use crate::table::Verb;
use crate::time::Millis;
use crate::timer;

/// Reserves the head of a lane for one worker. It leaves the queue until claimed or expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantNext {
    /// The tenant.
    pub namespace: Namespace,
    /// The queue.
    pub lane: Lane,
    /// For whom.
    pub worker: Worker,
    /// What the worker offers.
    pub capabilities: Capabilities,
    /// The name of this call, repeated when it is retried.
    pub request: RequestId,
    /// How long the reservation lasts.
    pub ttl: Millis,
    /// The reply of an earlier send was lost: what that one reserved is answered again.
    pub retry: bool,
    /// Look there and nowhere else; `None` is where work is believed to be.
    pub at: Option<Partition>,
    /// Which executions that must be admitted it reserves.
    pub admissions: Admissions,
}

impl GrantNext {
    /// How many candidates are read.
    fn candidate_limit(&self) -> usize {
        match self.admissions {
            Admissions::Any => 1,
            Admissions::SkipLimited | Admissions::Only(_) => ADMISSION_LOOKAHEAD,
        }
    }

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

    fn offer(&self, record: &Execution, grant: &Grant) -> GrantOffer {
        GrantOffer {
            execution: record.id,
            lane: record.spec.lane.clone(),
            request: self.request,
            until: grant.until,
            reclaim: matches!(&record.state, State::Queued { why } | State::Granted { why, .. } if *why == Intent::Reclaim),
        }
    }

    /// What an earlier send of this call reserved, if it is still valid.
    fn reserved(&self, context: &Context<'_>) -> Option<GrantOffer> {
        let ids = context.loaded.claimed_by.iter().flatten();
        let mut records = ids.filter_map(|id| context.loaded.record(*id));
        records.find_map(|record| match &record.state {
            State::Granted { grant, .. }
                if record.spec.namespace == self.namespace
                    && grant.request == self.request
                    && timer::due(record, context.now).is_none() =>
            {
                Some(self.offer(record, grant))
            }
            _ => None,
        })
    }
}

impl Decide for GrantNext {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::queue(&self.namespace, &self.lane, Verb::Grant) }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.ttl.within("ttl", bounds::SPAN_MIN, bounds::GRANT_TTL_MAX).map(drop)
    }

    fn reads(&self) -> ReadSet {
        if self.retry {
            return ReadSet { claimed_by: Some(self.request), ..ReadSet::default() };
        }
        self.nominate(self.candidate_limit())
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        if let Some(offer) = self.reserved(context) {
            return Ok(Step::answer(Granted { offer: Some(offer), ..Granted::default() }));
        }
        let Some(candidates) = &context.loaded.candidates else {
            return Ok(Step::NeedMore(self.nominate(self.candidate_limit())));
        };
        let withheld = context.withheld();
        if withheld.is_some() && !candidates.is_empty() {
            return Ok(Step::answer(Granted { withheld, ..Granted::default() }));
        }
        let readable = context.readable(candidates);
        let open = |record: &&&Execution| {
            self.admissions == Admissions::Any
                || context.admit_or_defer(record, &self.admissions).is_ok()
        };
        let Some(record) = readable.iter().find(open).copied() else {
            let first = readable.first();
            let needs_admission = first.and_then(|record| context.needs_admission(record));
            if needs_admission.is_some() {
                return Ok(Step::answer(Granted { needs_admission, ..Granted::default() }));
            }
            if context.loaded.hides_more(1 + UNREADABLE_LOOKAHEAD) {
                return Ok(Step::NeedMore(self.nominate(1 + UNREADABLE_LOOKAHEAD)));
            }
            return Ok(Step::answer(Granted::default()));
        };
        let State::Queued { why } = record.state else {
            return Ok(Step::answer(Granted { again: true, ..Granted::default() }));
        };
        if let Some(due) = timer::due(record, context.now) {
            let (write, _) = context.fire(record, due);
            let reply = Granted { again: true, ..Granted::default() }.into();
            return Ok(Step::Done(Transition { items: vec![Item { write: Some(write), reply }] }));
        }
        let records = context.missing_flows([record].into_iter());
        if !records.is_empty() {
            return Ok(Step::NeedMore(ReadSet { records, tolerant: true, ..ReadSet::default() }));
        }
        if context.is_barred(record) {
            let reply = Granted { again: true, ..Granted::default() }.into();
            let flow = context.ending_flow(record);
            let write = flow.and_then(|flow| context.withdraw(flow, record));
            return Ok(Step::Done(Transition { items: vec![Item { write, reply }] }));
        }
        let record = match context.admit_or_defer(record, &self.admissions) {
            Ok(record) => record,
            Err(needs) => {
                let needs_admission = Some(needs);
                return Ok(Step::answer(Granted { needs_admission, ..Granted::default() }));
            }
        };
        let grant =
            Grant { request: self.request, to: self.worker.clone(), until: context.now + self.ttl };
        let offer = self.offer(&record, &grant);
        let mut after = record.clone().into_owned();
        after.state = State::Granted { grant, why };
        let write = context.update(&record, after, EventKind::Granted);
        let write = context.guarded(context.guarded_by_flow(&record, write));
        Ok(Step::write(write, Granted { offer: Some(offer), ..Granted::default() }))
    }
}
