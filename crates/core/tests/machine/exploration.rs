//! Every state that one execution and two workers can reach, breadth first.
//!
//! All spans are multiples of one step of the clock and a state is kept relative to now, so the
//! space is finite: it is bounded by the policy, by two runs and by a cap on leases. In each state
//! every command is tried, by the holder and by everybody who only believes to be one.

use std::collections::{BTreeSet, HashSet, VecDeque};

use bytes::Bytes;
use ff_core::limits::Blocker;
use ff_core::machine::{
    Action, Block, ClaimGranted, ClaimRequest, Command, GrantNext, LeaseRef, Resume, Revoke,
    Submit, Suspend, Tick, Unblock,
};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::{EntryDiff, Placement};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::record::{AttemptEnd, EndReason, Exited, Version};
use ff_core::state::{Outcome, State};
use ff_core::suspension::OnTimeout;
use ff_core::table::{ARROWS, Arrow, Node, Verb};
use ff_core::timer::DueAction;
use ff_core::{
    Category, Execution, Fence, LeaseId, Millis, RequestId, ResourceKind, ResourceName, Time, When,
};

use crate::fixture::make::{
    cancel, claim, claim_granted, complete, delay, delete, fail, grant, hand_back, id, ms, renew,
    replay, request, submit, suspend, target,
};
use crate::fixture::{Fixture, Moved, START, invariants, report, strangers};

/// Every span is a multiple of this.
const STEP: Millis = Millis::new(100);
/// Most leases, over all runs.
const LEASES: u64 = 3;
/// Most runs.
const RUNS: u32 = 2;
/// More states than this means that the space is not finite after all.
const STATES: usize = 200_000;
/// Commands that do nothing to ownership and are left to the random histories.
const NOT_TRIED: [Verb; 11] = [
    Verb::Progress,
    Verb::CancelHeld,
    Verb::SetPriority,
    Verb::SetTags,
    Verb::Usage,
    Verb::RecordStep,
    Verb::AppendFrames,
    Verb::PatchSummary,
    Verb::OpenWaitpoint,
    Verb::CloseWaitpoint,
    Verb::Signal,
];
/// Those of a suspension that signals satisfied before, or that ends by other means than a failure.
const SATISFIED_OR_ENDED: [Arrow; 4] = [
    (Node::Active, Verb::Suspend, Node::Active),
    (Node::Active, Verb::Suspend, Node::Queued),
    (Node::Suspended, Verb::Tick(DueAction::SuspensionOver), Node::Cancelled),
    (Node::Suspended, Verb::Tick(DueAction::SuspensionOver), Node::Expired),
];
const WORKERS: [&str; 2] = ["a", "b"];

/// A small scope: what bounds it, and which arrows of the table it cannot take.
struct Space {
    policy: Policy,
    /// How long a holder puts it off.
    delay: Millis,
    /// The first worker sends its first claim and grant again, long after.
    late_retries: bool,
    unreachable: &'static [Arrow],
}

fn policy() -> Policy {
    Policy {
        retry: Retry { max_attempts: 2, backoff: Backoff::none(), categories: None },
        attempt_timeout: Some(ms(300)),
        deadline: None,
        lease_ttl: ms(200),
        max_reclaims: 1,
        retention: STEP,
        stream: Default::default(),
    }
}

#[test]
fn every_state_on_the_way_to_a_deadline_keeps_the_invariants() {
    let retry = Retry { backoff: Backoff::fixed(STEP), ..policy().retry };
    let policy = Policy { retry, deadline: Some(ms(400)), ..policy() };
    // The deadline comes before any other limit is used up.
    let unreachable = &[
        (Node::Active, Verb::Delay, Node::Queued),
        (Node::Active, Verb::Fail, Node::Queued),
        (Node::Active, Verb::Tick(DueAction::AttemptTimeout), Node::Queued),
        (Node::Active, Verb::Tick(DueAction::AttemptTimeout), Node::Failed),
        (Node::Active, Verb::Tick(DueAction::LeaseExpired), Node::Failed),
    ];
    explore(&Space { policy, delay: STEP, late_retries: false, unreachable });
}

#[test]
fn every_state_of_an_execution_without_a_deadline_keeps_the_invariants() {
    // There is no deadline, no backoff and no delay.
    let unreachable = &[
        (Node::Queued, Verb::Grant, Node::Expired),
        (Node::Queued, Verb::Claim, Node::Expired),
        (Node::Queued, Verb::Tick(DueAction::Deadline), Node::Expired),
        (Node::Delayed, Verb::Tick(DueAction::Deadline), Node::Expired),
        (Node::Blocked, Verb::Tick(DueAction::Deadline), Node::Expired),
        (Node::Suspended, Verb::Tick(DueAction::Deadline), Node::Expired),
        (Node::Granted, Verb::Tick(DueAction::Deadline), Node::Expired),
        (Node::Active, Verb::Tick(DueAction::Deadline), Node::Expired),
        (Node::Cancelling, Verb::Tick(DueAction::Deadline), Node::Expired),
        (Node::Expired, Verb::Replay, Node::Queued),
        (Node::Expired, Verb::Delete, Node::Absent),
        (Node::Expired, Verb::Tick(DueAction::Retention), Node::Absent),
        (Node::Active, Verb::Delay, Node::Delayed),
        (Node::Active, Verb::Fail, Node::Delayed),
        (Node::Active, Verb::Tick(DueAction::AttemptTimeout), Node::Delayed),
    ];
    explore(&Space { policy: policy(), delay: Millis::ZERO, late_retries: true, unreachable });
}

/// Walks the whole space, checks every state and every move, and reports how many there are.
fn explore(space: &Space) {
    let mut seen = HashSet::from([key(None)]);
    let mut frontier = VecDeque::from([None]);
    let (mut transitions, mut arrows) = (0, BTreeSet::new());
    while let Some(record) = frontier.pop_front() {
        let here = fixture_of(record);
        check_state(&here);
        for next in successors(&here, space) {
            transitions += 1;
            arrows.extend(next.arrows.keys().copied());
            let record = next.get(id(1)).map(|record| relative(record, next.now));
            if seen.insert(key(record.as_ref())) {
                frontier.push_back(record);
            }
        }
        assert!(seen.len() < STATES, "the space is not exhausted after {STATES} states");
    }
    let expected = ARROWS.iter().filter(|arrow| !space.unreachable.contains(arrow));
    let expected = expected.filter(|(_, verb, _)| !NOT_TRIED.contains(verb));
    let expected = expected.filter(|arrow| !SATISFIED_OR_ENDED.contains(arrow)).copied();
    assert_eq!(arrows, expected.collect(), "the arrows taken");
    let counts = [("explored_states", seen.len() as u64), ("explored_transitions", transitions)];
    report::counts("exploration", &counts);
}

/// What must hold in a state, however it was reached.
fn check_state(fixture: &Fixture) {
    invariants::indexes_are_the_predicate(fixture);
    invariants::at_most_one_fence_is_accepted(fixture);
    invariants::an_ended_lease_is_refused_before_any_tick(fixture);
    invariants::the_present_holder_is_heard(fixture);
    invariants::every_unfinished_record_is_found(fixture);
    invariants::timers_are_the_earliest(fixture);
    strangers::a_grant_serves_one_worker_until_it_ends(fixture);
    if let Some(record) = fixture.get(id(1)) {
        let stale = fences(record).into_iter().filter(|fence| record.fence() != Some(*fence));
        stale.for_each(|fence| invariants::stale_calls_are_refused(fixture, record, fence));
    }
}

/// What must hold of a move.
fn check_move(fixture: &Fixture) {
    invariants::every_move_is_in_the_table(fixture);
    invariants::finished_records_change_only_by_removal_or_replay(fixture);
    invariants::epochs_grow_by_one_per_lease(fixture);
    invariants::leaving_active_cleans_up(fixture);
    invariants::indexes_are_the_predicate(fixture);
}

/// Every state that one command or one wait leads to.
fn successors(here: &Fixture, space: &Space) -> Vec<Fixture> {
    let mut next = Vec::new();
    for action in actions(here.get(id(1)), space) {
        let command = Command { entropy: 0, by: None, action };
        let decision = here.decide(&command);
        if decision.is_ok_and(|t| t.items.iter().any(|item| item.write.is_some())) {
            let mut fixture = here.clone();
            fixture.run(&command).unwrap();
            check_move(&fixture);
            next.push(fixture);
        }
    }
    let timer = here.get(id(1)).and_then(|record| record.placed.timer);
    // What is overdue by a step stays so: waiting longer changes nothing more.
    if let Some(timer) = timer.filter(|timer| *timer + STEP > here.now) {
        let later = [here.now + STEP, timer].into_iter().filter(|now| *now > here.now);
        next.extend(later.map(|now| Fixture { now, ..here.clone() }));
    }
    next
}

/// Every command that may change a state. The calls of a holder with any other fence change
/// nothing, which [`check_state`] checks.
fn actions(record: Option<&Execution>, space: &Space) -> Vec<Action> {
    let Some(record) = record else {
        let now = submit(1, space.policy.clone());
        return vec![Submit { start: When::After(STEP), ..now.clone() }.into(), now.into()];
    };
    let mut actions = operator_actions(record);
    for (worker, name) in WORKERS.into_iter().enumerate() {
        actions.extend(claims(record, worker, name));
        if space.late_retries && worker == 0 {
            actions.extend(late_retries(record, name));
        }
    }
    if let Some(fence) = record.fence() {
        let hold = || LeaseRef { target: target(id(1)), fence };
        actions.extend([
            Action::from(renew(hold())),
            complete(hold(), "done").into(),
            fail(hold(), true).into(),
            delay(hold(), space.delay).into(),
            suspend(hold(), "gate", Some(STEP)).into(),
            Suspend { on_timeout: OnTimeout::Fail, ..suspend(hold(), "gate", Some(STEP)) }.into(),
            hand_back(hold()).into(),
        ]);
    }
    actions
}

fn operator_actions(record: &Execution) -> Vec<Action> {
    let id = id(1);
    let name = ResourceName::new("api").unwrap();
    let on = Blocker { kind: ResourceKind::Quota, name };
    let mut actions: Vec<Action> = vec![
        Block { execution: id, on: on.clone(), detail: "".into() }.into(),
        Unblock { execution: id, on }.into(),
        Tick { execution: id }.into(),
        cancel(id, None).into(),
        cancel(id, Some(STEP)).into(),
        cancel(id, Some(ms(200))).into(),
        Resume { target: target(id) }.into(),
        replay(id, record.run.number.saturating_sub(1)).into(),
        delete(id).into(),
    ];
    if record.run.number + 1 < RUNS {
        actions.push(replay(id, record.run.number).into());
    }
    let leases = fences(record).into_iter().map(|fence| fence.lease).collect::<BTreeSet<_>>();
    actions.extend(leases.into_iter().map(|lease| Revoke { target: target(id), lease }.into()));
    actions
}

/// The claims and grants of one worker.
fn claims(record: &Execution, worker: usize, name: &str) -> Vec<Action> {
    let used = (1..=record.epoch + 1).map(|epoch| request_of(worker, epoch));
    let mut actions: Vec<Action> = used
        .map(|request| ClaimGranted { request, ..claim_granted(id(1), name, 0) }.into())
        .collect();
    if record.epoch < LEASES {
        let request = request_of(worker, record.epoch + 1);
        actions.push(ClaimRequest { request, ..claim(name, 0) }.into());
        actions.push(GrantNext { request, ..grant(name, 0, STEP) }.into());
    }
    actions
}

/// The first worker's first calls again, when the lease they took may have ended long ago.
fn late_retries(record: &Execution, name: &str) -> Vec<Action> {
    if record.epoch >= LEASES {
        return Vec::new();
    }
    let request = request_of(0, 1);
    vec![
        ClaimRequest { request, retry: true, ..claim(name, 0) }.into(),
        GrantNext { request, retry: true, ..grant(name, 0, STEP) }.into(),
    ]
}

/// The call by which `worker` takes lease number `epoch`.
fn request_of(worker: usize, epoch: u64) -> RequestId {
    request(100 * (worker as u128 + 1) + u128::from(epoch))
}

/// Every fence that either worker could have been given so far, and more.
fn fences(record: &Execution) -> Vec<Fence> {
    let attempts = record.attempt.as_ref().map_or(0, |attempt| attempt.number + 1);
    let mut fences: Vec<_> = record.fence().into_iter().collect();
    for (worker, epoch) in (0..2).flat_map(|worker| (1..=record.epoch).map(move |e| (worker, e))) {
        let lease = LeaseId { request: request_of(worker, epoch), index: 0 };
        // Each attempt takes a lease, so there were never more attempts than leases.
        let attempts = (0..attempts).filter(|attempt| u64::from(*attempt) < epoch);
        let issued = attempts.map(|attempt| Fence { lease, epoch, attempt });
        fences.extend(issued.filter(|fence| record.fence() != Some(*fence)));
    }
    fences
}

/// A store that holds just this record.
fn fixture_of(record: Option<Execution>) -> Fixture {
    let mut fixture = Fixture::new();
    let Some(record) = record else {
        return fixture;
    };
    let id = record.id;
    let mut blobs = vec![BlobPart::Input];
    if let Some((Outcome::Success { .. }, _)) = record.outcome() {
        blobs.push(BlobPart::Result(record.run.number));
    }
    let blobs = blobs.into_iter().map(|part| (BlobKey { execution: id, part }, Bytes::new()));
    fixture.store.blobs = blobs.collect();
    fixture.store.entries = EntryDiff::all(&record).into_iter().map(|entry| (entry, id)).collect();
    fixture.fences.insert(id, fences(&record));
    // As if it had just come here, for the checks that look at what moved.
    let verb = Verb::Submit;
    fixture.moved = vec![Moved { id, verb, before: None, after: Some(record.clone()) }];
    fixture.store.records.insert(id, record);
    fixture
}

/// `record` with its times moved so that now is [`START`], and without what decides nothing.
fn relative(record: &Execution, now: Time) -> Execution {
    let shift = |at: Time| START + at.since(Time::EPOCH) - now.since(Time::EPOCH);
    let mut record = record.clone();
    record.version = Version::first(0);
    record.created = START;
    record.queued_at = START;
    record.run.started = START;
    record.past_runs.clear();
    record.run.deadline = record.run.deadline.map(shift);
    match &mut record.state {
        State::Queued { .. } | State::Blocked { .. } | State::Awaiting { .. } => {}
        State::Delayed { until, .. } => *until = shift(*until),
        State::Suspended { suspension } => {
            suspension.number = 0;
            suspension.since = START;
            suspension.until = suspension.until.map(shift);
        }
        State::Granted { grant, .. } => grant.until = shift(grant.until),
        State::Active { lease, cancel } => {
            lease.until = shift(lease.until);
            lease.timeout_at = lease.timeout_at.map(shift);
            if let Some(request) = cancel {
                request.by = shift(request.by);
            }
        }
        State::Finished { at, outcome } => {
            *at = shift(*at);
            if let Outcome::Failed { failure } = outcome {
                failure.message = "".into();
                failure.category = Category::error();
            }
            (record.run.deadline, record.run.failures, record.run.reclaims) = (None, 0, 0);
        }
    }
    if let Some(attempt) = &mut record.attempt {
        attempt.started = START;
        attempt.end =
            attempt.end.take().map(|_| AttemptEnd { at: START, reason: EndReason::Completed });
    }
    let answer = record.last_exit.as_mut().map(|exit| &mut exit.answer);
    if let Some(Exited::Retrying { from: at } | Exited::Delayed { until: at }) = answer {
        *at = START;
    } else if let Some(Exited::Suspended { until }) = answer {
        *until = until.map(|_| START);
    }
    // Which suspension it is decides nothing.
    record.waits.last = None;
    record.waits.suspensions = u32::from(matches!(record.state, State::Suspended { .. }));
    record.waits.waitpoints.iter_mut().for_each(|it| it.of = it.of.map(|_| 0));
    record.placed = Placement::of(&record);
    record
}

/// What tells one state from another; the rest of a relative record is always the same.
fn key(record: Option<&Execution>) -> String {
    let parts =
        record.map(|r| (&r.state, &r.run, &r.attempt, &r.last_exit, r.epoch, r.admitted_under()));
    format!("{parts:?}")
}
