//! Random flows: graphs are submitted whole and in slices, members end in every way, and flows are
//! cancelled, expire and are removed.

use fastrand::Rng;
use ff_core::flow::{Flow, HeldMembers, OnFailure, Phase, Rest};
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::machine::{
    Action, Block, CancelFlow, Claim, ClaimRequest, Complete, Delete, Fail, GrantNext, LeaseRef,
    ReadFlow, ReopenMembers, ReopenedMember, ReplayFlow, SetPriority, SetTags, Submit, SubmitFlow,
    Tick,
};
use ff_core::policy::Policy;
use ff_core::state::State;
use ff_core::table::{FLOW_ARROWS, Node, Verb};
use ff_core::{
    Capabilities, Execution, ExecutionId, Lane, Millis, Namespace, Partition, Payload, Time, When,
    timer,
};

use super::Theme;
use super::admission::blocker;
use crate::history::generate::Generator;
use crate::history::make::{self, chance, millis, one};
use crate::history::pair::View;

/// How many different flows a history may have.
const FLOWS: u32 = 12;

/// With this many unfinished members, no more flows are submitted.
pub(super) const CROWD: usize = 14;

/// Graphs run, and end.
pub(super) const THEME: Theme = Theme {
    name: "flow",
    histories: 1_200,
    least: 2,
    owns: |arrow| {
        let (from, verb, to) = arrow;
        let is_toy = *verb == Verb::Follow && from == to && is_work(*from);
        FLOW_ARROWS.contains(arrow) && !is_toy
    },
    refusals: &[],
    kinds: &[
        (12, |g, v| g.flow(v)),
        (40, |g, v| g.continue_flow(v)),
        (14, |g, v| g.claim_member(v)),
        (3, |g, v| g.grant_member(v)),
        (10, |g, v| g.complete_member(v)),
        (6, |g, v| g.fail_member(v)),
        (5, |g, v| g.cancel_flow(v)),
        (5, |g, v| g.park_member(v)),
        (6, |g, v| g.tick_flow(v)),
        (5, |g, v| g.replay_flow(v)),
        (8, |g, v| g.reopen_members(v)),
        (3, |g, v| g.delete_flow(v)),
        (3, |g, v| g.steer_awaiting(v)),
        (2, |g, v| g.read_flow(v)),
        (8, |g, v| g.spawn(v)),
        (8, |g, v| g.wait_children(v)),
        (3, |g, v| g.signal_parent(v)),
    ],
};

/// Whether an execution there may still be changed by a toy.
fn is_work(node: Node) -> bool {
    use Node::{Active, Blocked, Cancelling, Delayed, Granted, Queued, Suspended};
    [Queued, Delayed, Blocked, Suspended, Granted, Active, Cancelling].contains(&node)
}

fn is_member(record: &Execution) -> bool {
    record.member.is_some()
}

fn phase(record: &Execution) -> Option<&Phase> {
    record.flow.as_deref().map(|flow: &Flow| &flow.phase)
}

/// The flow of a number: always the same, so that its slices go together whenever they are sent.
fn graph(number: u32, partitions: u16) -> FlowSubmission {
    let mut rng = Rng::with_seed(u64::from(number) * 7_919 + 1);
    let at = Partition::new(if partitions == 1 { 0 } else { rng.u16(..4) }).unwrap();
    let clock = Time::from_ms(1_700_000_000_000);
    let id = ExecutionId::mint(clock, at, 500_000 + number, u64::from(number));
    let count = rng.usize(1..=5);
    let nodes = (0..count).map(|place| node(&mut rng, place)).collect();
    let namespace = Namespace::new(if chance(&mut rng, 90) { "acme" } else { "rival" }).unwrap();
    let deadline = chance(&mut rng, 25).then(|| millis(&mut rng, &[300, 2_000]));
    let retention = Some(millis(&mut rng, &[1, 100, 1_000]));
    FlowSubmission { namespace, deadline, retention, ..FlowSubmission::new(id, nodes) }
}

fn node(rng: &mut Rng, place: usize) -> NodeSpec {
    let after: Vec<_> = (0..place).filter(|_| rng.u8(0..5) < 3).collect();
    let join = match (after.len(), rng.u8(0..4)) {
        (0, _) | (_, 0 | 1) => Join::All,
        (_, 2) => Join::Any,
        (of, _) => Join::Quorum(rng.u32(1..=of as u32)),
    };
    let policy = Policy {
        deadline: chance(rng, 25).then(|| millis(rng, &[150, 1_500])),
        ..make::policy(rng, false)
    };
    let work = Submit {
        lane: make::lane(rng),
        input: make::payload(rng),
        tags: make::tags(rng),
        priority: make::priority(rng),
        start: if chance(rng, 80) { When::Now } else { When::After(millis(rng, &[50, 300])) },
        requires: make::requires(rng),
        policy: policy.into(),
        limits: if chance(rng, 85) { Default::default() } else { make::limits(rng) },
        ..Submit::new(make::id(rng, 1))
    };
    NodeSpec {
        name: format!("n{place}").parse().unwrap(),
        work,
        after: after.iter().map(|upstream| format!("n{upstream}").parse().unwrap()).collect(),
        join,
        on_failure: one(
            rng,
            &[OnFailure::Skip, OnFailure::Skip, OnFailure::Continue, OnFailure::FailFlow],
        ),
        rest: one(rng, &[Rest::Finish, Rest::Cancel]),
    }
}

impl Generator {
    /// The next slice of a flow, mostly: now and then one that came before.
    fn flow(&mut self, view: View<'_>) -> Option<Action> {
        let members = view.held.records.values().filter(|r| is_member(r) && r.outcome().is_none());
        if members.count() >= CROWD {
            return None;
        }
        let number = self.rng.u32(..FLOWS);
        let flow = graph(number, self.partitions);
        let most = if number.is_multiple_of(3) { 2 } else { 100 };
        let found = view.held.record(flow.id);
        let there = found.and_then(|record| record.flow.as_deref()).map_or(0, |flow| flow.members);
        let mut slices = flow.into_slices(self.partitions, most).ok()?;
        let next = |slice: &SubmitFlow| slice.first == there;
        let place = match self.rng.u8(..10) {
            0 => self.rng.usize(..slices.len()),
            _ => slices.iter().position(next)?,
        };
        let mut slice = slices.swap_remove(place);
        if chance(&mut self.rng, 3) {
            slice.flow.digest = ff_core::digest::Digest::from_stored(7);
        }
        Some(slice.into())
    }

    /// Follow-up work of flows, if there is any.
    fn continue_flow(&mut self, view: View<'_>) -> Option<Action> {
        self.continue_(view)
    }

    /// A queued member, to be claimed from its queue.
    fn queue_of_member(&mut self, view: View<'_>) -> Option<(Namespace, Lane)> {
        let queued = |r: &Execution| is_member(r) && matches!(r.state, State::Queued { .. });
        let ends = |r: &Execution| {
            let flow = r.member.as_ref().and_then(|member| view.held.record(member.flow));
            queued(r) && flow.is_some_and(|flow| !flow.runs_members())
        };
        let ending = self.some(view, ends);
        let record = ending.or_else(|| self.some(view, queued))?;
        Some((record.spec.namespace.clone(), record.spec.lane.clone()))
    }

    fn claim_member(&mut self, view: View<'_>) -> Option<Action> {
        let (namespace, lane) = self.queue_of_member(view)?;
        let rng = &mut self.rng;
        let call = ClaimRequest {
            namespace,
            lane,
            worker: make::worker(rng),
            capabilities: Capabilities::parse("a,b").unwrap(),
            request: make::request(rng),
            max: one(rng, &[1, 1, 3]),
            retry: false,
        };
        Some(Claim::from(call).into())
    }

    fn grant_member(&mut self, view: View<'_>) -> Option<Action> {
        let (namespace, lane) = self.queue_of_member(view)?;
        let rng = &mut self.rng;
        let grant = GrantNext {
            namespace,
            lane,
            worker: make::worker(rng),
            capabilities: Capabilities::parse("a,b").unwrap(),
            request: make::request(rng),
            ttl: Millis::new(2_000),
            retry: false,
            at: None,
            admissions: ff_core::machine::Admissions::Any,
        };
        Some(grant.into())
    }

    fn held_member(&mut self, view: View<'_>) -> Option<LeaseRef> {
        let held = |record: &Execution| {
            is_member(record) && record.lease().is_some() && timer::due(record, view.now).is_none()
        };
        let record = self.some(view, held)?;
        Some(LeaseRef { target: self.target_of(record), fence: record.fence()? })
    }

    fn complete_member(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.held_member(view)?;
        Some(Complete { hold, result: Payload::bytes("done") }.into())
    }

    fn fail_member(&mut self, view: View<'_>) -> Option<Action> {
        let hold = self.held_member(view)?;
        Some(Fail { hold, failure: make::failure(&mut self.rng) }.into())
    }

    /// Mostly a flow with a member in a state that few are in.
    fn cancel_flow(&mut self, view: View<'_>) -> Option<Action> {
        let rare = |record: &Execution| {
            is_member(record)
                && matches!(
                    record.state,
                    State::Blocked { .. }
                        | State::Suspended { .. }
                        | State::Granted { .. }
                        | State::Delayed { .. }
                        | State::Active { .. }
                )
        };
        let member = self.some(view, rare).and_then(|record| record.member.as_deref());
        let flow = match member {
            Some(member) => view.held.record(member.flow)?,
            None => self.some(view, |record| record.is_flow() && record.outcome().is_none())?,
        };
        let target = self.target_of(flow);
        let rng = &mut self.rng;
        let held = one(
            rng,
            &[HeldMembers::Cancel, HeldMembers::Finish, HeldMembers::Grace(Millis::new(200))],
        );
        let reason = one(rng, &[None, Some("enough".into())]);
        Some(CancelFlow { target, held, reason }.into())
    }

    /// A queued member is blocked, or a held one leaves its worker.
    fn park_member(&mut self, view: View<'_>) -> Option<Action> {
        let queued = |r: &Execution| is_member(r) && matches!(r.state, State::Queued { .. });
        if self.rng.bool()
            && let Some(record) = self.some(view, queued)
        {
            let on = blocker(&mut self.rng);
            return Some(Block { execution: record.id, on, detail: "no room".into() }.into());
        }
        let hold = self.held_member(view)?;
        let until = When::After(Millis::new(300));
        match self.rng.u8(..3) {
            0 => Some(ff_core::machine::Delay { hold, until, step: None }.into()),
            _ => self.suspend_hold(hold, view),
        }
    }

    /// Time does something to a flow, or to a member that waits.
    fn tick_flow(&mut self, view: View<'_>) -> Option<Action> {
        let due = |record: &Execution| {
            (record.is_flow() || record.is_awaiting()) && timer::due(record, view.now).is_some()
        };
        Some(Tick { execution: self.some(view, due)?.id }.into())
    }

    fn delete_flow(&mut self, view: View<'_>) -> Option<Action> {
        let ended = |record: &Execution| record.is_flow() && record.outcome().is_some();
        let record = match self.rng.u8(..10) {
            0 => self.some(view, is_member)?,
            _ => self.some(view, |r| ended(r) && phase(r) != Some(&Phase::Retiring))?,
        };
        Some(Delete { target: self.target_of(record) }.into())
    }

    /// A flow that has ended is replayed.
    fn replay_flow(&mut self, view: View<'_>) -> Option<Action> {
        let ended = |record: &Execution| record.is_flow() && record.outcome().is_some();
        let record = self.some(view, ended)?;
        let target = self.target_of(record);
        let run = record.run.number.saturating_sub(u32::from(chance(&mut self.rng, 10)));
        Some(ReplayFlow { target, run }.into())
    }

    /// Members of a flow that is replayed are reopened: mostly all that did not complete.
    fn reopen_members(&mut self, view: View<'_>) -> Option<Action> {
        let is_open = |r: &Execution| r.run.number > 0 && phase(r) == Some(&Phase::Open);
        let record = self.some(view, is_open)?;
        let of = |r: &&Execution| r.member.as_ref().is_some_and(|it| it.flow == record.id);
        let ended =
            |r: &&Execution| of(r) && r.outcome().is_some_and(|(outcome, _)| !outcome.is_success());
        let mut members: Vec<_> = view.held.records.values().filter(ended).collect();
        members.sort_by_key(|record| record.member.as_ref().map(|member| member.node));
        let is_last = self.rng.u8(..3) > 0;
        let most = if is_last { members.len() } else { self.rng.usize(..=members.len()) };
        let members = members.into_iter().take(most).filter_map(|record| {
            let (node, needs) = (record.member.as_ref()?.node, self.rng.i32(0..=1));
            Some(ReopenedMember { node, run: record.run.number, needs, spare: 0 })
        });
        let members = members.collect();
        let (target, run) = (self.target_of(record), record.run.number);
        Some(ReopenMembers { target, run, members, is_last }.into())
    }

    fn steer_awaiting(&mut self, view: View<'_>) -> Option<Action> {
        let record = self.some(view, |record| record.is_awaiting())?;
        let target = self.target_of(record);
        Some(match self.rng.u8(..3) {
            0 => SetPriority { target, priority: make::priority(&mut self.rng) }.into(),
            1 => {
                let set = make::tags(&mut self.rng);
                SetTags { target, set, remove: Default::default() }.into()
            }
            _ => ff_core::machine::Cancel { target, grace: None, reason: None }.into(),
        })
    }

    fn read_flow(&mut self, view: View<'_>) -> Option<Action> {
        let record = self.some(view, |record| record.is_flow())?;
        let target = self.target_of(record);
        let from = self.rng.u32(..4);
        Some(ReadFlow { target, from, limit: one(&mut self.rng, &[1, 2, 100]) }.into())
    }
}
