//! One random command at a time.

use bytes::Bytes;
use ff_core::bounds::{MESSAGE_BYTES, PAYLOAD_BYTES, PRIORITY};
use ff_core::machine::{
    Action, Cancel, CancelHeld, Claim, ClaimGranted, ClaimRequest, Complete, Delay, Delete, Fail,
    GrantNext, HandBack, LeaseRef, Renew, Replay, ReportProgress, Revoke, SetPriority, SetTags,
    Submit, Target, Tick,
};
use ff_core::record::Progress;
use ff_core::state::State;
use ff_core::{Execution, ExecutionId, Fence, LeaseId, Namespace, Payload, TagKey, timer};

use super::generate::Generator;
use super::make::{self, chance, millis, one};
use super::pair::View;

/// With this many unfinished executions, few more are submitted.
const CROWD: usize = 8;

/// Makes a command of one kind, if it applies to the model's state.
type Make = fn(&mut Generator, View<'_>) -> Option<Action>;

/// How often each kind of command is made.
const KINDS: &[(u32, Make)] = &[
    (15, |g, v| g.submit(v)),
    (20, |g, view| Some(g.claim(view))),
    (7, |g, view| Some(g.grant(view))),
    (7, |g, v| g.claim_granted(v)),
    (6, |g, v| Some(Renew { hold: g.hold(v)? }.into())),
    (5, |g, v| Some(g.progress(v)?.into())),
    (8, |g, v| Some(g.complete(v)?.into())),
    (9, |g, v| Some(Fail { hold: g.hold(v)?, failure: make::failure(&mut g.rng) }.into())),
    (7, |g, v| Some(Delay { hold: g.hold(v)?, until: make::when(&mut g.rng, v.now) }.into())),
    (6, |g, v| Some(CancelHeld { hold: g.hold(v)?, reason: g.reason() }.into())),
    (6, |g, v| Some(HandBack { hold: g.hold(v)? }.into())),
    (13, |g, v| Some(g.cancel(v)?.into())),
    (5, |g, v| g.revoke(v)),
    (5, |g, v| Some(g.set_priority(v).into())),
    (5, |g, v| Some(g.set_tags(v).into())),
    (8, |g, v| Some(g.replay(v)?.into())),
    (3, |g, v| Some(g.delete(v)?.into())),
    (18, |g, v| Some(Tick { execution: g.due_id(v) }.into())),
    (3, |g, _| Some(g.limit())),
    (10, |g, v| g.admit(v)),
    (5, |g, v| g.settle(v)),
    (7, |g, v| g.block(v)),
    (4, |g, v| g.unblock(v)),
    (5, |g, v| g.usage(v)),
    (4, |g, v| g.toy(v)),
    (3, |g, v| Some(g.worker(v))),
    (3, |g, v| Some(g.lane(v))),
    (2, |g, v| Some(g.tick_resource(v))),
    (4, |g, _| g.repeat()),
    (2, |g, v| g.too_large(v)),
];

impl Generator {
    /// A command of a random kind, unless the chosen kind does not apply now.
    pub(super) fn action(&mut self, view: View<'_>) -> Option<Action> {
        let total: u32 = KINDS.iter().map(|(weight, _)| weight).sum();
        let mut drawn = self.rng.u32(..total);
        for (weight, make) in KINDS {
            if drawn < *weight {
                return make(self, view);
            }
            drawn -= weight;
        }
        None
    }

    fn submit(&mut self, view: View<'_>) -> Option<Action> {
        let unfinished = view.held.records.values().filter(|r| r.outcome().is_none()).count();
        if unfinished >= CROWD && chance(&mut self.rng, 80) {
            return None;
        }
        let fresh = make::submit(&mut self.rng, view.now);
        if self.past.submits.is_empty() || chance(&mut self.rng, 80) {
            return Some(fresh.into());
        }
        let old = one(&mut self.rng, &self.past.submits);
        let again = match self.rng.u8(..4) {
            0 => old,
            1 => Submit { priority: old.priority ^ 1, ..old },
            2 => Submit { id: fresh.id, ..old },
            _ => Submit { id: fresh.id, input: fresh.input, ..old },
        };
        Some(again.into())
    }

    fn claim(&mut self, view: View<'_>) -> Action {
        if chance(&mut self.rng, 12) && !self.past.claims.is_empty() {
            let old = one(&mut self.rng, &self.past.claims);
            return ClaimRequest { retry: chance(&mut self.rng, 80), ..old }.into();
        }
        let admissions = self.admissions(view);
        let (namespace, lane) = self.queue_of(&admissions, view);
        let rng = &mut self.rng;
        let call = ClaimRequest {
            namespace,
            lane,
            worker: make::worker(rng),
            capabilities: make::offers(rng),
            request: make::request(rng),
            max: one(rng, &[1, 1, 1, 1, 1, 2, 2, 3, 3, 5, 5, 0]),
            retry: chance(rng, 10),
        };
        Claim { call, first: 0, admissions }.into()
    }

    fn grant(&mut self, view: View<'_>) -> Action {
        if chance(&mut self.rng, 12) && !self.past.grants.is_empty() {
            let old = one(&mut self.rng, &self.past.grants);
            return GrantNext { retry: true, ..old }.into();
        }
        let admissions = self.admissions(view);
        let (namespace, lane) = self.queue_of(&admissions, view);
        let rng = &mut self.rng;
        let grant = GrantNext {
            namespace,
            lane,
            worker: make::worker(rng),
            capabilities: make::offers(rng),
            request: make::request(rng),
            ttl: millis(rng, &[50, 120, 500, 500, 2_000, 0]),
            retry: chance(rng, 10),
            at: None,
            admissions,
        };
        grant.into()
    }

    fn claim_granted(&mut self, view: View<'_>) -> Option<Action> {
        if chance(&mut self.rng, 20) && !self.past.offers.is_empty() {
            let (target, offer, worker) = one(&mut self.rng, &self.past.offers);
            let worker = if self.rng.bool() { worker } else { make::worker(&mut self.rng) };
            return Some(ClaimGranted { target, request: offer.request, worker }.into());
        }
        let granted = |record: &Execution| matches!(record.state, State::Granted { .. });
        let record = self.some(view, granted)?;
        let State::Granted { grant, .. } = &record.state else { return None };
        let (request, worker) = (grant.request, grant.to.clone());
        Some(ClaimGranted { target: self.target_of(record), request, worker }.into())
    }

    fn progress(&mut self, view: View<'_>) -> Option<ReportProgress> {
        let hold = self.hold(view)?;
        let percent = one(&mut self.rng, &[None, Some(0), Some(50), Some(100), Some(101)]);
        let message = one(&mut self.rng, &[None, Some("half"), Some("")]);
        let progress = Progress { percent, message: message.map(Into::into) };
        Some(ReportProgress { hold, progress })
    }

    fn complete(&mut self, view: View<'_>) -> Option<Complete> {
        Some(Complete { hold: self.hold(view)?, result: make::payload(&mut self.rng) })
    }

    fn cancel(&mut self, view: View<'_>) -> Option<Cancel> {
        let active = |record: &Execution| matches!(record.state, State::Active { .. });
        let unfinished = |record: &Execution| record.outcome().is_none();
        let target = match self.rng.u8(..10) {
            0..7 => self.some(view, active).map(|record| self.target_of(record))?,
            7..9 => self.some(view, unfinished).map(|record| self.target_of(record))?,
            _ => self.target(view),
        };
        let rng = &mut self.rng;
        let grace = chance(rng, 70).then(|| millis(rng, &[1, 60, 300, 2_000, 2_000, 9_000, 0]));
        Some(Cancel { target, grace, reason: self.reason() })
    }

    fn revoke(&mut self, view: View<'_>) -> Option<Action> {
        let LeaseRef { target, fence } = self.hold(view)?;
        Some(Revoke { target, lease: fence.lease }.into())
    }

    fn set_priority(&mut self, view: View<'_>) -> SetPriority {
        let priority = if chance(&mut self.rng, 5) { PRIORITY + 1 } else { self.rng.i16(-4..8) };
        SetPriority { target: self.steered(view), priority }
    }

    fn set_tags(&mut self, view: View<'_>) -> SetTags {
        let target = self.steered(view);
        let remove = one(&mut self.rng, &[vec![], vec!["a"], vec!["b", "c"]]);
        let remove = remove.into_iter().map(|key| TagKey::new(key).unwrap()).collect();
        SetTags { target, set: make::tags(&mut self.rng), remove }
    }

    fn replay(&mut self, view: View<'_>) -> Option<Replay> {
        let finished = |record: &Execution| record.outcome().is_some();
        let record = match self.rng.u8(..10) {
            0..9 => self.some(view, finished)?,
            _ => self.some(view, |_| true)?,
        };
        let run =
            one(&mut self.rng, &[0, 0, 0, 0, 0, 0, 1, u32::MAX]).wrapping_add(record.run.number);
        Some(Replay { target: self.target_of(record), run })
    }

    fn delete(&mut self, view: View<'_>) -> Option<Delete> {
        let finished = |record: &Execution| record.outcome().is_some();
        let record = match self.rng.u8(..10) {
            0..8 => self.some(view, finished)?,
            _ => self.some(view, |_| true)?,
        };
        Some(Delete { target: self.target_of(record) })
    }

    fn repeat(&mut self) -> Option<Action> {
        let sent = &self.past.sent;
        (!sent.is_empty()).then(|| sent[self.rng.usize(..sent.len())].action.clone())
    }

    fn too_large(&mut self, view: View<'_>) -> Option<Action> {
        static ZEROS: [u8; PAYLOAD_BYTES + 1] = [0; PAYLOAD_BYTES + 1];
        let payload = Payload::bytes(Bytes::from_static(&ZEROS));
        let long: Box<str> = "x".repeat(MESSAGE_BYTES + 1).into();
        Some(match self.rng.u8(..3) {
            0 => Submit { input: payload, ..make::submit(&mut self.rng, view.now) }.into(),
            1 => Complete { hold: self.hold(view)?, result: payload }.into(),
            _ => Cancel { target: self.target(view), grace: None, reason: Some(long) }.into(),
        })
    }

    fn reason(&mut self) -> Option<Box<str>> {
        one(&mut self.rng, &[None, Some("enough"), Some("")]).map(Into::into)
    }

    /// Some record that matches.
    pub(super) fn some<'a>(
        &mut self,
        view: View<'a>,
        fits: impl Fn(&Execution) -> bool,
    ) -> Option<&'a Execution> {
        let all: Vec<_> = view.held.records.values().filter(|record| fits(record)).collect();
        (!all.is_empty()).then(|| all[self.rng.usize(..all.len())])
    }

    /// A hold: mostly a good one, now and then late, old or forged.
    pub(super) fn hold(&mut self, view: View<'_>) -> Option<LeaseRef> {
        let drawn = self.rng.u8(..100);
        if drawn < 6 && !self.past.holds.is_empty() {
            return Some(one(&mut self.rng, &self.past.holds));
        }
        let in_time = |record: &Execution| drawn < 12 || timer::due(record, view.now).is_none();
        let cancelling =
            |record: &Execution| matches!(record.state, State::Active { cancel: Some(_), .. });
        let held = |record: &Execution| record.lease().is_some() && in_time(record);
        let cancelling = (drawn >= 50).then(|| self.some(view, |r| cancelling(r) && in_time(r)));
        let record = cancelling.flatten().or_else(|| self.some(view, held))?;
        let fence = record.fence()?;
        let fence = if (12..17).contains(&drawn) { self.forged(fence) } else { fence };
        Some(LeaseRef { target: self.target_of(record), fence })
    }

    fn forged(&mut self, fence: Fence) -> Fence {
        let LeaseId { request, index } = fence.lease;
        match self.rng.u8(..4) {
            0 => Fence { epoch: fence.epoch + 1, ..fence },
            1 => Fence { attempt: fence.attempt + 1, ..fence },
            2 => Fence { lease: LeaseId { request, index: index + 1_000 }, ..fence },
            _ => {
                let request = make::request(&mut self.rng);
                Fence { lease: LeaseId { request, index }, ..fence }
            }
        }
    }

    /// The target of a change of priority or tags: states that last long are left to chance.
    fn steered(&mut self, view: View<'_>) -> Target {
        let brief = |record: &Execution| {
            matches!(record.state, State::Granted { .. } | State::Active { cancel: Some(_), .. })
        };
        let unfinished = |record: &Execution| record.outcome().is_none();
        let record = match self.rng.u8(..10) {
            0..3 => self.some(view, brief),
            3..9 => self.some(view, unfinished),
            _ => None,
        };
        let target = record.map(|record| self.target_of(record));
        target.unwrap_or_else(|| self.target(view))
    }

    fn target(&mut self, view: View<'_>) -> Target {
        let execution = self.any_id(view);
        match view.held.record(execution) {
            Some(record) => self.target_of(record),
            None => Target { namespace: make::namespace(&mut self.rng), execution },
        }
    }

    /// `record`, now and then as a client of another namespace would name it.
    fn target_of(&mut self, record: &Execution) -> Target {
        let namespace = match chance(&mut self.rng, 3) {
            true => Namespace::new("rival").unwrap(),
            false => record.spec.namespace.clone(),
        };
        Target { namespace, execution: record.id }
    }

    /// An execution that has a due timer, mostly.
    fn due_id(&mut self, view: View<'_>) -> ExecutionId {
        let due = |record: &Execution| timer::due(record, view.now).is_some();
        let record = if chance(&mut self.rng, 95) { self.some(view, due) } else { None };
        record.map_or_else(|| self.any_id(view), |record| record.id)
    }
}
