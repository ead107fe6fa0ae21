//! Random suspensions: waitpoints are opened and closed, signals come early, in time, twice or late.

use ff_core::condition::{Condition, CountOf};
use ff_core::machine::{
    Action, Admissions, Block, Cancel, CloseWaitpoint, Delay, Follower, GrantNext, HandBack,
    LeaseRef, NewWaitpoint, OpenWaitpoint, Resume, SetPriority, SetTags, Signal, Suspend, Tick,
    WaitpointRef,
};
use ff_core::state::State;
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::table::{Node, Verb};
use ff_core::timer::{self, DueAction};
use ff_core::{
    Code, Execution, IdempotencyKey, Millis, SignalName, Source, WaitpointId, WaitpointKey, When,
};

use super::Opening::{Do, Pass};
use super::admission::blocker;
use super::elements::follows;
use super::{Opening, Theme};
use crate::history::generate::Generator;
use crate::history::make::{self, chance, millis, one};
use crate::history::pair::View;
use crate::history::pick::is_brief;

/// Work parks itself and is woken.
pub(super) const THEME: Theme = Theme {
    name: "suspend",
    histories: 800,
    least: 20,
    owns: |(from, verb, to)| {
        let verbs = [
            Verb::Suspend,
            Verb::OpenWaitpoint,
            Verb::CloseWaitpoint,
            Verb::Signal,
            Verb::Resume,
            Verb::Tick(DueAction::SuspensionOver),
        ];
        verbs.contains(verb) || [from, to].contains(&&Node::Suspended)
    },
    refusals: &[Code::WaitpointClosed],
    kinds: &[
        (10, |g, v| g.suspend(v)),
        (20, |g, v| g.suspend_after_signals(v)),
        (18, |g, v| g.open_waitpoint(v)),
        (9, |g, v| g.close_waitpoint(v)),
        (3, |g, v| g.put_down_one_with_waitpoints(v)),
        (4, |g, v| g.block_one_with_waitpoints(v)),
        (8, |g, v| g.grant_one_with_waitpoints(v)),
        (24, |g, v| g.signal(v)),
        (3, |g, v| g.resume(v)),
        (6, |g, v| g.toy_with_a_suspended_follower(v)),
        (7, |g, v| g.cancel_one_with_waitpoints(v)),
        (4, |g, v| g.steer_suspended(v)),
        (10, |g, v| g.tick_suspended(v)),
    ],
    beginnings: &[
        // A signal comes before the suspension that it satisfies.
        &[
            Do(|g, _| Some(g.submit_plain())),
            Do(|g, v| g.claim_plain(v)),
            Do(|g, v| g.open_waitpoint(v)),
            Do(|g, v| g.signal(v)),
            Do(|g, v| g.suspend_after_signals(v)),
        ],
        // A holder that is asked to stop closes what it has opened.
        &[
            Do(|g, _| Some(g.submit_plain())),
            Do(|g, v| g.claim_plain(v)),
            Do(|g, v| g.open_waitpoint(v)),
            Do(|g, v| g.ask_to_stop(v)),
            Do(|g, v| g.close_waitpoint(v)),
        ],
        // A signal comes to what is reserved for a worker.
        &[
            Do(|g, _| Some(g.submit_plain())),
            Do(|g, v| g.claim_plain(v)),
            Do(|g, v| g.open_waitpoint(v)),
            Do(|g, v| g.hand_back(v)),
            Do(|g, v| g.grant_one_with_waitpoints(v)),
            Do(|g, v| g.grant_one_with_waitpoints(v)),
            Do(|g, v| g.signal(v)),
        ],
        // The first of two signals.
        &[
            Do(|g, _| Some(g.submit_plain())),
            Do(|g, v| g.claim_plain(v)),
            Do(|g, v| g.suspend_for(v, None, 2)),
            Do(|g, v| g.signal_suspended(v)),
        ],
        RUNS_OUT,
        RUNS_OUT,
        // The deadline of the execution comes first.
        &[
            Do(|g, _| Some(g.submit_until(Millis::new(80)))),
            Do(|g, v| g.claim_plain(v)),
            Do(|g, v| g.suspend_for(v, None, 1)),
            Pass,
            Do(|g, v| g.tick_suspended(v)),
        ],
    ],
};

/// The time of a suspension is over.
const RUNS_OUT: &[Opening] = &[
    Do(|g, _| Some(g.submit_plain())),
    Do(|g, v| g.claim_plain(v)),
    Do(|g, v| g.suspend_for(v, Some(When::After(Millis::new(50))), 1)),
    Pass,
    Do(|g, v| g.tick_suspended(v)),
];

/// A priority that few have.
const FIRST: i16 = 9_000;

fn has_waitpoints(record: &Execution) -> bool {
    !record.waits.waitpoints.is_empty()
}

fn is_suspended(record: &Execution) -> bool {
    matches!(record.state, State::Suspended { .. })
}

/// Whether `record` is in a state that does not last.
fn is_passing(record: &Execution) -> bool {
    is_brief(record) || matches!(record.state, State::Blocked { .. })
}

impl Generator {
    fn waitpoint(&mut self) -> NewWaitpoint {
        let rng = &mut self.rng;
        let key = WaitpointKey::new(one(rng, &["a", "b", "c"])).unwrap();
        let until = chance(rng, 15).then(|| When::After(millis(rng, &[0, 50, 400, 3_000])));
        NewWaitpoint { id: WaitpointId::new(rng.u128(..)), key, until }
    }

    /// Mostly a waitpoint that the held execution has open.
    fn waitpoint_of(&mut self, hold: &LeaseRef, view: View<'_>) -> NewWaitpoint {
        let new = self.waitpoint();
        let record = view.held.record(hold.target.execution);
        match record.and_then(|record| record.waits.waitpoints.first()) {
            Some(open) if chance(&mut self.rng, 70) => {
                NewWaitpoint { key: open.key.clone(), ..new }
            }
            _ => new,
        }
    }

    fn open_waitpoint(&mut self, view: View<'_>) -> Option<Action> {
        Some(OpenWaitpoint { hold: self.hold(view)?, waitpoint: self.waitpoint() }.into())
    }

    fn close_waitpoint(&mut self, view: View<'_>) -> Option<Action> {
        let closes = |record: &Execution| record.lease().is_some() && has_waitpoints(record);
        let cancelling = |record: &Execution| is_brief(record) && closes(record);
        let hasty = self.rng.bool().then(|| self.some(view, cancelling)).flatten();
        let hold =
            match hasty.or_else(|| self.some(view, closes)).filter(|_| chance(&mut self.rng, 90)) {
                Some(record) => LeaseRef { target: self.target_of(record), fence: record.fence()? },
                None => self.hold(view)?,
            };
        let key = self.waitpoint_of(&hold, view).key;
        Some(CloseWaitpoint { hold, key }.into())
    }

    /// Hands back or delays an execution with waitpoints, so that signals find it in its queue or delayed.
    fn put_down_one_with_waitpoints(&mut self, view: View<'_>) -> Option<Action> {
        let held = |record: &Execution| record.lease().is_some() && has_waitpoints(record);
        let record = self.some(view, held)?;
        let hold = LeaseRef { target: self.target_of(record), fence: record.fence()? };
        let rng = &mut self.rng;
        Some(match rng.bool() {
            true => HandBack { hold }.into(),
            false => {
                let until = When::After(millis(rng, &[300, 2_000]));
                Delay { hold, until, step: None }.into()
            }
        })
    }

    /// Reserves an execution with waitpoints, once it is made the first of its queue.
    fn grant_one_with_waitpoints(&mut self, view: View<'_>) -> Option<Action> {
        let waits = |record: &Execution| {
            matches!(record.state, State::Queued { .. })
                && has_waitpoints(record)
                && record.spec.limits.is_empty()
        };
        let record = self.some(view, waits)?;
        if record.priority < FIRST {
            return Some(SetPriority { target: self.target_of(record), priority: FIRST }.into());
        }
        let rng = &mut self.rng;
        let grant = GrantNext {
            namespace: record.spec.namespace.clone(),
            lane: record.spec.lane.clone(),
            worker: make::worker(rng),
            capabilities: record.spec.requires.clone(),
            request: make::request(rng),
            ttl: millis(rng, &[500, 2_000]),
            retry: false,
            at: (self.partitions > 1).then(|| view.partition(record.id)),
            admissions: Admissions::Any,
        };
        Some(grant.into())
    }

    /// What people do to a suspended execution besides resuming it.
    fn steer_suspended(&mut self, view: View<'_>) -> Option<Action> {
        let record = self.some(view, is_suspended)?;
        let target = self.target_of(record);
        Some(match self.rng.u8(..3) {
            0 => SetPriority { target, priority: self.rng.i16(-4..8) }.into(),
            1 => SetTags { target, set: make::tags(&mut self.rng), remove: Vec::new() }.into(),
            _ => Cancel { target, grace: None, reason: None }.into(),
        })
    }

    /// Takes an execution with waitpoints out of its queue, so that signals find it there.
    fn block_one_with_waitpoints(&mut self, view: View<'_>) -> Option<Action> {
        let waits = |record: &Execution| {
            matches!(record.state, State::Queued { .. }) && has_waitpoints(record)
        };
        let execution = self.some(view, waits)?.id;
        let on = blocker(&mut self.rng);
        Some(Block { execution, on, detail: "no room".into() }.into())
    }

    /// Asks a holder with waitpoints to stop, so that they are closed by one who is about to.
    fn cancel_one_with_waitpoints(&mut self, view: View<'_>) -> Option<Action> {
        let held = |record: &Execution| record.lease().is_some() && has_waitpoints(record);
        let record = self.some(view, held)?;
        let target = self.target_of(record);
        let grace = Some(millis(&mut self.rng, &[300, 2_000, 9_000]));
        Some(Cancel { target, grace, reason: None }.into())
    }

    /// Another execution moves, and a suspended one with it, if there is one.
    fn toy_with_a_suspended_follower(&mut self, view: View<'_>) -> Option<Action> {
        let Action::Toy(mut toy) = self.toy(view)? else { return None };
        let leader = toy.target.execution;
        let can = |record: &Execution| is_suspended(record) && follows(record, leader, view);
        if let Some(record) = self.some(view, can) {
            let priority = make::priority(&mut self.rng);
            toy.follower = Some(Follower { target: self.target_of(record), priority });
        }
        Some(toy.into())
    }

    fn suspend(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.hold(view)?;
        self.suspend_hold(hold, view)
    }

    /// A suspension of what is held so.
    pub(super) fn suspend_hold(&mut self, hold: LeaseRef, view: View<'_>) -> Option<Action> {
        let mut waitpoints = vec![self.waitpoint_of(&hold, view)];
        let other = self.waitpoint();
        if other.key != waitpoints[0].key && self.rng.bool() {
            waitpoints.push(other);
        }
        let condition = self.condition(&waitpoints);
        let rng = &mut self.rng;
        let timeout = chance(rng, 60).then(|| make::when(rng, view.now));
        let suspend = Suspend {
            hold,
            waitpoints,
            condition,
            timeout,
            on_timeout: one(rng, OnTimeout::ALL),
            reason: one(rng, SuspendReason::ALL),
            message: one(rng, &[None, Some("may it?".into())]),
            step: one(rng, &[None, Some("ask"), Some("wait")]).map(|step| step.parse().unwrap()),
            keep_if_satisfied: chance(rng, 30),
        };
        Some(suspend.into())
    }

    /// A suspension that lasts for so long, unless so many signals come.
    fn suspend_for(&mut self, view: View<'_>, timeout: Option<When>, n: u32) -> Option<Action> {
        let record = self.some(view, |record| record.lease().is_some())?;
        let hold = LeaseRef { target: self.target_of(record), fence: record.fence()? };
        let Action::Suspend(suspend) = self.suspend_hold(hold, view)? else { return None };
        let waitpoint = NewWaitpoint { until: None, ..suspend.waitpoints.first()?.clone() };
        let (of, at) = (CountOf::Signals, vec![waitpoint.key.clone()]);
        let condition = Condition::Count { n, of, waitpoints: at, name: None };
        let waitpoints = vec![waitpoint];
        Some(Suspend { timeout, condition, waitpoints, keep_if_satisfied: false, ..suspend }.into())
    }

    /// A suspension that signals which came early satisfy, mostly.
    fn suspend_after_signals(&mut self, view: View<'_>) -> Option<Action> {
        let has_early =
            |record: &Execution| record.lease().is_some() && !record.waits.early.is_empty();
        let record = self.some(view, has_early)?;
        let (id, _) = record.waits.early[0];
        let open = record.waits.waitpoints.iter().find(|waitpoint| waitpoint.id == id)?;
        let waitpoint = NewWaitpoint { key: open.key.clone(), ..self.waitpoint() };
        let hold = LeaseRef { target: self.target_of(record), fence: record.fence()? };
        let step =
            chance(&mut self.rng, 75).then(|| format!("early {}", record.epoch).parse().unwrap());
        let suspend = Suspend {
            hold,
            condition: Condition::Signal { waitpoint: waitpoint.key.clone(), name: None },
            waitpoints: vec![waitpoint],
            timeout: None,
            on_timeout: OnTimeout::Resume,
            reason: SuspendReason::Signal,
            message: None,
            step,
            keep_if_satisfied: chance(&mut self.rng, 75),
        };
        Some(suspend.into())
    }

    /// Lets time pass for a suspended execution, first of all for one whose deadline it is.
    fn tick_suspended(&mut self, view: View<'_>) -> Option<Action> {
        let due = |record: &Execution| match is_suspended(record) {
            true => timer::due(record, view.now),
            false => None,
        };
        let is_over = |record: &Execution| due(record) == Some(DueAction::Deadline);
        let record = self.some(view, is_over).or_else(|| self.some(view, |it| due(it).is_some()));
        let record = record.or_else(|| self.some(view, is_suspended))?;
        Some(Tick { execution: record.id }.into())
    }

    fn condition(&mut self, waitpoints: &[NewWaitpoint]) -> Condition {
        let mut signals = Vec::new();
        for new in waitpoints {
            signals
                .push(Condition::Signal { waitpoint: new.key.clone(), name: self.signal_name() });
        }
        let of = one(&mut self.rng, CountOf::ALL);
        let most = if of == CountOf::Waitpoints { waitpoints.len() as u32 } else { 3 };
        let n = 1 + self.rng.u32(..most);
        let at = if self.rng.bool() { Vec::new() } else { vec![waitpoints[0].key.clone()] };
        let n = if of == CountOf::Waitpoints && !at.is_empty() { 1 } else { n };
        let count = Condition::Count { n, of, waitpoints: at, name: self.signal_name() };
        match self.rng.u8(..20) {
            0..5 => Condition::All(signals),
            5..10 => Condition::Any(signals),
            10..13 => Condition::Any(vec![Condition::All(signals), count]),
            13..19 => count,
            _ => Condition::Any(Vec::new()),
        }
    }

    fn signal(&mut self, view: View<'_>) -> Option<Action> {
        let waits = |record: &Execution| has_waitpoints(record) && !is_suspended(record);
        let held = |record: &Execution| record.lease().is_some() && has_waitpoints(record);
        let record = match self.rng.u8(..10) {
            0..3 => self.some(view, is_suspended).or_else(|| self.some(view, has_waitpoints))?,
            4..7 => {
                let brief = |record: &Execution| has_waitpoints(record) && is_passing(record);
                self.some(view, brief).or_else(|| self.some(view, waits))?
            }
            3 | 7 => self.some(view, held).or_else(|| self.some(view, waits))?,
            8 => self.some(view, waits)?,
            _ => self.some(view, |_| true)?,
        };
        Some(self.signal_to(record))
    }

    fn signal_suspended(&mut self, view: View<'_>) -> Option<Action> {
        let record = self.some(view, is_suspended)?;
        Some(self.signal_to(record))
    }

    fn signal_to(&mut self, record: &Execution) -> Action {
        let target = self.target_of(record);
        let open = &record.waits.waitpoints;
        let last = record.waits.last.as_ref().map_or(&[][..], |last| &last.waitpoints[..]);
        let waitpoint = match (self.rng.u8(..10), open.is_empty()) {
            (0..5, false) => WaitpointRef::ById(one(&mut self.rng, open).id),
            (5..9, false) => WaitpointRef::ByKey(one(&mut self.rng, open).key),
            (0..5, true) if !last.is_empty() => WaitpointRef::ById(one(&mut self.rng, last).0),
            _ => WaitpointRef::ByKey(self.waitpoint().key),
        };
        let rng = &mut self.rng;
        let key = one(rng, &[None, None, None, Some("k1"), Some("k2")]);
        let signal = Signal {
            target,
            waitpoint,
            key: key.map(|key| IdempotencyKey::new(key).unwrap()),
            name: self.signal_name(),
            category: None,
            source: Source::new(one(&mut self.rng, &["ann", "bob", "cleo"])).unwrap(),
            payload: make::payload(&mut self.rng),
        };
        signal.into()
    }

    fn signal_name(&mut self) -> Option<SignalName> {
        one(&mut self.rng, &[None, None, Some("yes")]).map(|name| SignalName::new(name).unwrap())
    }

    fn resume(&mut self, view: View<'_>) -> Option<Action> {
        let record = match self.rng.u8(..10) {
            0..8 => self.some(view, is_suspended)?,
            _ => self.some(view, |_| true)?,
        };
        Some(Resume { target: self.target_of(record) }.into())
    }
}
