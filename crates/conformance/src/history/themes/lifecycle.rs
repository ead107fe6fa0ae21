//! Random commands on single executions: all that happens to work without limits.

use bytes::Bytes;
use ff_core::bounds::{MESSAGE_BYTES, PAYLOAD_BYTES, PRIORITY};
use ff_core::journal::ReplayJournal;
use ff_core::machine::{
    Action, Cancel, CancelHeld, Claim, ClaimGranted, ClaimRequest, Complete, Delay, Delete, Fail,
    GrantNext, HandBack, LeaseRef, Renew, Replay, ReportProgress, Revoke, SetPriority, SetTags,
    Submit, Tick,
};
use ff_core::record::Progress;
use ff_core::state::State;
use ff_core::{Execution, Millis, Partition, Patch, Payload, TagKey};

use super::Theme;
use crate::history::generate::Generator;
use crate::history::make::{self, chance, millis, one};
use crate::history::pair::View;

/// With this many unfinished executions, few more are submitted.
const CROWD: usize = 8;

/// Work is submitted, dispatched and ends.
pub(super) const THEME: Theme = Theme {
    name: "lifecycle",
    histories: 1_000,
    least: 20,
    owns: |_| true,
    refusals: &[],
    kinds: &[
        (15, |g, v| g.submit(v)),
        (20, |g, v| Some(g.claim(v))),
        (7, |g, v| Some(g.grant(v))),
        (7, |g, v| g.claim_granted(v)),
        (6, |g, v| Some(Renew { hold: g.hold(v)? }.into())),
        (5, |g, v| Some(g.progress(v)?.into())),
        (8, |g, v| Some(g.complete(v)?.into())),
        (9, |g, v| Some(Fail { hold: g.hold(v)?, failure: make::failure(&mut g.rng) }.into())),
        (7, |g, v| {
            Some(
                Delay { hold: g.hold(v)?, until: make::when(&mut g.rng, v.now), step: None }.into(),
            )
        }),
        (6, |g, v| Some(CancelHeld { hold: g.hold(v)?, reason: g.reason() }.into())),
        (6, |g, v| Some(HandBack { hold: g.hold(v)? }.into())),
        (17, |g, v| Some(g.cancel(v)?.into())),
        (5, |g, v| g.revoke(v)),
        (5, |g, v| Some(g.set_priority(v).into())),
        (5, |g, v| Some(g.set_tags(v).into())),
        (8, |g, v| Some(g.replay(v)?.into())),
        (3, |g, v| Some(g.delete(v)?.into())),
        (18, |g, v| Some(Tick { execution: g.due_id(v) }.into())),
        (4, |g, _| g.repeat()),
        (2, |g, v| g.too_large(v)),
    ],
    beginnings: &[],
};

impl Generator {
    fn submit(&mut self, view: View<'_>) -> Option<Action> {
        let unfinished = view.held.records.values().filter(|r| r.outcome().is_none()).count();
        if unfinished >= CROWD && chance(&mut self.rng, 80) {
            return None;
        }
        let fresh = make::submit(&mut self.rng, view.now, self.partitions);
        if self.past.submits.is_empty() || chance(&mut self.rng, 80) {
            return Some(self.routed(fresh).into());
        }
        let old = one(&mut self.rng, &self.past.submits);
        let again = match self.rng.u8(..4) {
            0 => old,
            1 => Submit { priority: old.priority ^ 1, ..old },
            2 => Submit { id: fresh.id, ..old },
            _ => Submit { id: fresh.id, input: fresh.input, ..old },
        };
        Some(self.routed(again).into())
    }

    /// `submit` in the partition of its key, mostly, or else in the favourite one.
    fn routed(&mut self, submit: Submit) -> Submit {
        if self.partitions == 1 {
            return submit;
        }
        let of_key = submit.key.as_ref().map(|key| Partition::of_key(&submit.namespace, key));
        let at = match of_key {
            Some(at) => chance(&mut self.rng, 95).then_some(at),
            None => chance(&mut self.rng, 75).then_some(self.favourite),
        };
        let id = at.map_or(submit.id, |at| make::id_in(at, submit.id));
        Submit { id, ..submit }
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

    /// Work that anybody may run, at once and for as long as it takes.
    pub(super) fn submit_plain(&mut self) -> Action {
        Submit::new(make::id(&mut self.rng, self.partitions)).into()
    }

    /// The same, with a deadline that a worker can miss.
    pub(super) fn submit_until(&mut self, deadline: Millis) -> Action {
        let mut submit = Submit::new(make::id(&mut self.rng, self.partitions));
        submit.policy.deadline = Patch::Set(deadline);
        submit.into()
    }

    /// Hands back what is held.
    pub(super) fn hand_back(&mut self, view: View<'_>) -> Option<Action> {
        let record = self.some(view, |record| record.lease().is_some())?;
        let hold = LeaseRef { target: self.target_of(record), fence: record.fence()? };
        Some(HandBack { hold }.into())
    }

    /// Claims the queue of an execution that waits, whatever that requires.
    pub(super) fn claim_plain(&mut self, view: View<'_>) -> Option<Action> {
        let waits = |record: &Execution| matches!(record.state, State::Queued { .. });
        let record = self.some(view, waits)?;
        let call = ClaimRequest {
            namespace: record.spec.namespace.clone(),
            lane: record.spec.lane.clone(),
            worker: make::worker(&mut self.rng),
            capabilities: record.spec.requires.clone(),
            request: make::request(&mut self.rng),
            max: 1,
            retry: false,
        };
        Some(call.into())
    }

    /// Asks a holder to stop, and leaves it time.
    pub(super) fn ask_to_stop(&mut self, view: View<'_>) -> Option<Action> {
        let record = self.some(view, |record| matches!(record.state, State::Active { .. }))?;
        let grace = Some(millis(&mut self.rng, &[300, 2_000, 9_000]));
        Some(Cancel { target: self.target_of(record), grace, reason: self.reason() }.into())
    }

    fn grant(&mut self, view: View<'_>) -> Action {
        if chance(&mut self.rng, 12) && !self.past.grants.is_empty() {
            let old = one(&mut self.rng, &self.past.grants);
            return GrantNext { retry: true, ..old }.into();
        }
        let admissions = self.admissions(view);
        let (namespace, lane) = self.queue_of(&admissions, view);
        let (rng, partitions) = (&mut self.rng, self.partitions);
        let grant = GrantNext {
            namespace,
            lane,
            worker: make::worker(rng),
            capabilities: make::offers(rng),
            request: make::request(rng),
            ttl: millis(rng, &[50, 120, 500, 500, 2_000, 0]),
            retry: chance(rng, 10),
            at: (partitions > 1 && chance(rng, 40)).then(|| make::partition(rng, partitions)),
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
        let withheld = |record: &Execution| {
            let (at, spec) = (view.partition(record.id), &record.spec);
            let settings = view.lane(at, &spec.namespace, &spec.lane);
            granted(record) && settings.is_some_and(|lane| lane.paused)
        };
        let record = self.some(view, withheld).or_else(|| self.some(view, granted))?;
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

    pub(super) fn cancel(&mut self, view: View<'_>) -> Option<Cancel> {
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
        Some(Replay { target: self.target_of(record), run, journal: ReplayJournal::Keep })
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
            0 => {
                Submit { input: payload, ..make::submit(&mut self.rng, view.now, self.partitions) }
                    .into()
            }
            1 => Complete { hold: self.hold(view)?, result: payload }.into(),
            _ => Cancel { target: self.target(view), grace: None, reason: Some(long) }.into(),
        })
    }

    fn reason(&mut self) -> Option<Box<str>> {
        one(&mut self.rng, &[None, Some("enough"), Some("")]).map(Into::into)
    }
}
