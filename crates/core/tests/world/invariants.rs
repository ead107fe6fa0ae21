//! What must hold in every world, one small check for each.
//!
//! The checks look at all records, or at what the last command moved. None of them changes the
//! world: a command is probed by deciding it without committing.

use std::collections::BTreeSet;

use ff_core::event::{EventKind, fold};
use ff_core::machine::{
    Action, CancelHeld, ClaimRequest, Command, Complete, Delay, Fail, HandBack, LeaseRef, ReadSet,
    Renew, Reply, ReportProgress, Subject, Target,
};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::placement::{Entry, EntryDiff, Placement};
use ff_core::record::{Attempt, EndReason, Progress};
use ff_core::refusal::Stale;
use ff_core::state::{Failure, Outcome, State};
use ff_core::table::{ARROWS, Verb};
use ff_core::timer::{self, DueAction};
use ff_core::{
    Category, Code, Execution, Fence, LeaseId, Millis, Payload, Refusal, RequestId, ResourceKey,
    Time, When,
};

use super::{Moved, World, make, strangers};

/// What a command reads first lies where its facts say, and it names a lease of one execution only.
pub(crate) fn a_command_reads_its_subject(command: &Command, reads: &ReadSet) {
    let facts = command.action.facts();
    let reads_it = match facts.subject {
        Subject::Execution(id) => reads.records == [id] && reads.resources.is_empty(),
        Subject::Resource(key) => {
            let here = |other: &ResourceKey| other.partition == key.partition;
            reads.records.is_empty()
                && reads.resources.contains(key)
                && reads.resources.iter().all(here)
        }
        Subject::Home(namespace) => {
            let here = |other: &ResourceKey| other.namespace == *namespace;
            reads.records.is_empty() && reads.resources.iter().all(here)
        }
        Subject::Queue(..) => reads.resources.is_empty(),
    };
    assert!(reads_it, "{command:?} concerns {:?} and reads {reads:?}", facts.subject);
    let names_lease = command.clone().action.lease_mut().is_some();
    assert!(!names_lease || facts.subject.execution().is_some(), "{command:?} names a lease");
    let stops = facts.may_stop.map(|target| target.execution);
    assert!(stops.is_none() || stops == facts.subject.execution(), "{command:?} stops another");
}

/// Every check that needs no more than the world.
pub(crate) fn hold(world: &World) {
    events_fold_to_the_public_state(world);
    every_move_is_in_the_table(world);
    finished_records_change_only_by_removal_or_replay(world);
    at_most_one_fence_is_accepted(world);
    epochs_grow_by_one_per_lease(world);
    a_stale_holder_changes_nothing(world);
    an_ended_lease_is_refused_before_any_tick(world);
    the_present_holder_is_heard(world);
    leaving_active_cleans_up(world);
    indexes_are_the_predicate(world);
    attempts_add_up(world);
    poison_stops(world);
    every_unfinished_record_is_found(world);
    timers_are_the_earliest(world);
    scores_are_exact_as_doubles(world);
    strangers::another_tenant_finds_nothing(world);
    strangers::a_grant_serves_one_worker_until_it_ends(world);
}

/// Invariant 1.
pub(crate) fn events_fold_to_the_public_state(world: &World) {
    for (id, events) in &world.events {
        let folded = events.iter().fold(None, |state, what: &EventKind| fold(state, *what));
        let stored = world.get(*id).map(|record| record.public_state());
        assert_eq!(folded, stored, "events of {id}: {events:?}");
    }
}

/// Invariant 2.
pub(crate) fn every_move_is_in_the_table(world: &World) {
    for moved in &world.moved {
        assert!(ARROWS.contains(&moved.arrow()), "no such arrow: {:?}", moved.arrow());
    }
}

/// Invariant 3.
pub(crate) fn finished_records_change_only_by_removal_or_replay(world: &World) {
    for Moved { before, after, verb, .. } in &world.moved {
        let Some((outcome, at)) = before.as_ref().and_then(|record| record.outcome()) else {
            continue;
        };
        match (verb, after) {
            (Verb::Tick(DueAction::Retention) | Verb::Delete, None) => {}
            (Verb::Replay, Some(after)) => {
                let kept = after.past_runs.last().expect("the old run is kept");
                assert_eq!((&kept.outcome, kept.ended), (outcome, at));
                let results = [&kept.outcome].into_iter().filter(|o| is_success(o));
                for _ in results {
                    let part = BlobPart::Result(after.run.number - 1);
                    let key = BlobKey { execution: after.id, part };
                    assert!(world.store.blobs.contains_key(&key), "the old result is readable");
                }
            }
            other => panic!("a finished record changed by {other:?}"),
        }
    }
}

fn is_success(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Success { .. })
}

/// Invariants 4 and 5: of every fence ever issued, and of forgeries that differ from the present
/// one in one part, only the present one is accepted.
pub(crate) fn at_most_one_fence_is_accepted(world: &World) {
    for (id, fences) in &world.fences {
        let Some(record) = world.get(*id) else {
            continue;
        };
        let forged = fences.last().into_iter().flat_map(|fence| forgeries(*fence));
        let forged = forged.filter(|fence| !fences.contains(fence));
        let tried: Vec<_> = fences.iter().copied().chain(forged).collect();
        let renews = |fence: &&Fence| world.decide(&renewal(record, **fence)).is_ok();
        let accepted: Vec<_> = tried.iter().filter(renews).collect();
        assert!(accepted.len() <= 1, "{accepted:?} all hold {id}");
        assert!(accepted.iter().all(|fence| record.fence() == Some(**fence)));
    }
}

fn forgeries(fence: Fence) -> [Fence; 5] {
    let LeaseId { request, index } = fence.lease;
    let lease = |request: RequestId, index: u16| LeaseId { request, index };
    [
        Fence { epoch: fence.epoch + 1, ..fence },
        Fence { epoch: fence.epoch.wrapping_sub(1), ..fence },
        Fence { attempt: fence.attempt + 1, ..fence },
        Fence { lease: lease(request, index.wrapping_add(1)), ..fence },
        Fence { lease: lease(RequestId::new(0xF0F0), index), ..fence },
    ]
}

/// Invariant 6.
pub(crate) fn epochs_grow_by_one_per_lease(world: &World) {
    for Moved { before, after, verb, .. } in &world.moved {
        let Some(after) = after else {
            continue;
        };
        let epoch = before.as_ref().map_or(0, |record| record.epoch);
        let takes = matches!(verb, Verb::Claim | Verb::ClaimGranted) && after.lease().is_some();
        assert_eq!(after.epoch, epoch + u64::from(takes), "after {verb}");
        assert!(after.lease().is_none_or(|lease| lease.epoch == after.epoch));
    }
}

/// Invariant 7: every call of a holder, for some of the fences that have ended.
pub(crate) fn a_stale_holder_changes_nothing(world: &World) {
    for moved in &world.moved {
        let (Some(record), Some(fences)) = (&moved.after, world.fences.get(&moved.id)) else {
            continue;
        };
        let stale = fences.iter().rev().filter(|fence| record.fence() != Some(**fence));
        for fence in stale.take(3) {
            stale_calls_are_refused(world, record, *fence);
        }
    }
}

/// Every call of a holder with a fence that is not the present one.
pub(crate) fn stale_calls_are_refused(world: &World, record: &Execution, fence: Fence) {
    for command in holder_calls(record, fence) {
        match world.decide(&command) {
            Err(Refusal::StaleLease { .. } | Refusal::Cancelled | Refusal::ExitConflict) => {}
            Ok(again) if again.items.iter().all(|item| item.write.is_none()) => {
                let exit = record.last_exit.as_ref().map(|exit| exit.lease);
                assert_eq!(exit, Some(fence.lease), "only an exit is answered again: {command:?}");
            }
            other => panic!("{other:?} to the stale {command:?}"),
        }
    }
}

/// Each command that needs a lease.
pub(crate) fn holder_calls(record: &Execution, fence: Fence) -> [Command; 7] {
    let hold = || hold_of(record, fence);
    let odd: Box<str> = "said by nobody else".into();
    let failure = Failure { category: Category::error(), retryable: true, message: odd.clone() };
    let progress = Progress { percent: None, message: Some(odd.clone()) };
    let result = Payload::bytes("said by nobody else");
    [
        Action::from(Renew { hold: hold() }),
        ReportProgress { hold: hold(), progress }.into(),
        Complete { hold: hold(), result }.into(),
        Fail { hold: hold(), failure }.into(),
        Delay { hold: hold(), until: When::After(make::ms(77)) }.into(),
        CancelHeld { hold: hold(), reason: Some(odd) }.into(),
        HandBack { hold: hold() }.into(),
    ]
    .map(|action| Command { entropy: 0, action })
}

fn hold_of(record: &Execution, fence: Fence) -> LeaseRef {
    let namespace = record.spec.namespace.clone();
    LeaseRef { target: Target { namespace, execution: record.id }, fence }
}

fn renewal(record: &Execution, fence: Fence) -> Command {
    Command { entropy: 0, action: Renew { hold: hold_of(record, fence) }.into() }
}

/// Invariant 8: from the moment something ends the hold, its holder is refused, tick or no tick.
pub(crate) fn an_ended_lease_is_refused_before_any_tick(world: &World) {
    for record in active(world) {
        let end = record.placed.timer.expect("a lease has a timer");
        assert!(record.lease().is_some_and(|lease| end <= lease.until));
        let expired = Err(Refusal::StaleLease { why: Stale::Expired });
        for command in holder_calls(record, record.fence().unwrap()) {
            for late in [end, end + make::ms(1), end + make::ms(3_600_000)] {
                let answer = world.decide_at(late.max(world.now), &command);
                assert_eq!(answer, expired, "{command:?} after the end");
            }
        }
    }
}

/// The counterpart of invariant 8: up to the end, every call of the present holder is accepted.
pub(crate) fn the_present_holder_is_heard(world: &World) {
    for record in active(world).filter(|record| timer::due(record, world.now).is_none()) {
        let last = record.placed.timer.unwrap() - make::ms(1);
        for command in holder_calls(record, record.fence().unwrap()) {
            let answer = world.decide_at(last.max(world.now), &command);
            let writes = answer.as_ref().is_ok_and(|t| t.items.iter().all(|i| i.write.is_some()));
            assert!(writes, "{answer:?} to the present holder's {command:?}");
        }
    }
}

/// The records that are active after the last command moved them.
fn active(world: &World) -> impl Iterator<Item = &Execution> {
    let after = world.moved.iter().filter_map(|moved| moved.after.as_ref());
    after.filter(|record| record.lease().is_some())
}

/// Invariant 9: whatever ends a hold, nothing of it stays behind.
pub(crate) fn leaving_active_cleans_up(world: &World) {
    for Moved { id, before, after, .. } in &world.moved {
        let Some(lease) = before.as_ref().and_then(|record| record.lease()) else {
            continue;
        };
        let Some(after) = after.as_ref().filter(|record| record.lease().is_none()) else {
            continue;
        };
        let queued = matches!(after.state, State::Queued { .. });
        let next = timer::next(after).map(|(at, _)| at);
        for entry in world.entries_of(*id) {
            match entry {
                Entry::Request(request) => panic!("{request} still holds {id}"),
                Entry::Queue(_) => assert!(queued, "{id} is in a queue"),
                Entry::Timer(at) => assert_eq!(Some(*at), next, "the timer of {lease:?}"),
                Entry::Blocked(..) => panic!("{id} waits for a quota although it was not blocked"),
                Entry::List(..) | Entry::Attention(..) | Entry::Key(..) => {}
            }
        }
    }
}

/// Invariant 16, both ways.
pub(crate) fn indexes_are_the_predicate(world: &World) {
    let records = world.store.records.values();
    let all = records.flat_map(|r| EntryDiff::all(r).into_iter().map(|entry| (entry, r.id)));
    assert_eq!(all.collect::<BTreeSet<_>>(), world.store.entries);
    for record in world.store.records.values() {
        assert_eq!(record.placed, Placement::of(record), "of {}", record.id);
    }
}

/// Invariant 10.
pub(crate) fn attempts_add_up(world: &World) {
    for record in world.store.records.values() {
        let past = world.store.past.get(&record.id).map_or(&[][..], Vec::as_slice);
        let numbers: Vec<_> = attempts(record, past).map(|attempt| attempt.number).collect();
        assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>());
        assert!(past.iter().all(|attempt| attempt.end.is_some()), "past attempts have ended");
        let open = record.attempt.as_ref().is_some_and(|attempt| attempt.end.is_none());
        let expected = match &record.state {
            State::Active { lease, .. } => {
                assert_eq!(record.attempt.as_ref().map(|a| a.lease), Some(lease.id));
                true
            }
            State::Queued { why } | State::Granted { why, .. } | State::Blocked { why, .. } => {
                !why.starts_attempt()
            }
            State::Delayed { why, .. } => !why.then().starts_attempt(),
            State::Finished { .. } => false,
        };
        assert_eq!(open, expected, "the attempt of {:?}", record.state);
    }
}

fn attempts<'a>(record: &'a Execution, past: &'a [Attempt]) -> impl Iterator<Item = &'a Attempt> {
    past.iter().chain(&record.attempt)
}

/// Invariant 11: the counters count attempts, and a run past its cap has failed.
pub(crate) fn poison_stops(world: &World) {
    for record in world.store.records.values() {
        let past = world.store.past.get(&record.id).map_or(&[][..], Vec::as_slice);
        let mine = || attempts(record, past).filter(|a| a.run == record.run.number);
        let ends = || mine().filter_map(|attempt| attempt.end.as_ref()).map(|end| &end.reason);
        let lost = ends().filter(|end| matches!(end, EndReason::LeaseLost)).count();
        let failed =
            ends().filter(|end| matches!(end, EndReason::Failed(_) | EndReason::TimedOut)).count();
        assert_eq!((lost, failed), (record.run.reclaims as usize, record.run.failures as usize));
        let policy = &record.spec.policy;
        let spent = record.run.reclaims > policy.max_reclaims
            || record.run.failures >= policy.retry.max_attempts;
        if spent {
            let failed = matches!(record.outcome(), Some((Outcome::Failed { .. }, _)));
            assert!(failed, "{:?} after {:?}", record.state, record.run);
        }
    }
}

/// Invariant 17: what is not finished is in a queue, where a claim finds it, or has a timer.
pub(crate) fn every_unfinished_record_is_found(world: &World) {
    for record in world.store.records.values() {
        let Placement { score, timer, blocked, .. } = &record.placed;
        let found = score.is_some() || timer.is_some() || blocked.is_some();
        assert!(found, "{} is lost: {:?}", record.id, record.state);
    }
    let moved = world.moved.iter().filter_map(|moved| moved.after.as_ref());
    for record in moved.filter(|record| record.placed.score.is_some()) {
        let action = claim_of_all(record).into();
        let transition = world.decide(&Command { entropy: 0, action }).unwrap();
        let writes = transition.items.iter().filter_map(|item| item.write.as_ref());
        let found = writes.flat_map(|write| &write.changes).any(|change| change.id == record.id);
        assert!(found, "a claim does not find {}", record.id);
    }
}

/// A claim by a worker that offers exactly what `record` requires.
fn claim_of_all(record: &Execution) -> ClaimRequest {
    let requires = record.spec.requires.clone();
    ClaimRequest {
        namespace: record.spec.namespace.clone(),
        lane: record.spec.lane.clone(),
        capabilities: requires,
        max: 256,
        ..make::claim("prober", 0xABCD)
    }
}

/// The one timer of a record is the earliest of all that time can do to it.
pub(crate) fn timers_are_the_earliest(world: &World) {
    for record in world.store.records.values() {
        let deadline = record.run.deadline;
        let times = match &record.state {
            State::Queued { .. } | State::Blocked { .. } => vec![deadline],
            State::Delayed { until, .. } => vec![deadline, Some(*until)],
            State::Granted { grant, .. } => vec![deadline, Some(grant.until)],
            State::Active { lease, cancel } => {
                let grace = cancel.as_ref().map(|request| request.by);
                vec![deadline, Some(lease.until), lease.timeout_at, grace]
            }
            State::Finished { at, .. } => {
                let over = (*at + record.spec.policy.retention).as_ms();
                let step =
                    if record.spec.policy.retention < Millis::from_secs(1) { 1 } else { 1_000 };
                vec![Some(Time::from_ms(over.div_ceil(step) * step))]
            }
        };
        assert_eq!(record.placed.timer, times.into_iter().flatten().min(), "{:?}", record.state);
    }
}

/// Invariant 43.
pub(crate) fn scores_are_exact_as_doubles(world: &World) {
    for record in world.store.records.values() {
        let score = record.placed.score.map_or(0, |score| score.get());
        assert!(score.unsigned_abs() < 1 << 53 && score as f64 as i64 == score);
    }
}

/// Invariant 10, its last part: a claim answers what is stored.
pub(crate) fn assignments_tell_what_is_stored(world: &World, reply: &Reply) {
    let Reply::Claimed(claimed) = reply else {
        return;
    };
    for assignment in &claimed.assignments {
        let record = world.record(assignment.execution);
        assert_eq!(Some(assignment.fence), record.fence());
        assert_eq!(assignment.run, record.run.number);
        assert_eq!(Some(assignment.until), record.lease().map(|lease| lease.until));
        let key = BlobKey { execution: record.id, part: BlobPart::Input };
        assert_eq!(assignment.input.bytes, world.store.blobs[&key]);
    }
}

/// The code of a refusal, or `None` for an answer.
pub(crate) fn code<T>(answer: &Result<T, Refusal>) -> Option<Code> {
    answer.as_ref().err().map(Refusal::code)
}
