//! Every way out of `active` cleans up: a table of exits and of what each leaves behind.

use ff_core::machine::{Assignment, Complete, OpenWaitpoint};
use ff_core::placement::Entry;
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::record::EndReason;
use ff_core::table::Node;
use ff_core::timer::{self, DueAction};
use ff_core::{Payload, Time};

use crate::fixture::Fixture;
use crate::fixture::make::{
    brief, cancel, cancel_held, complete, delay, fail, hand_back, id, ms, renew, revoke, signal,
    suspend, waitpoint,
};

/// One row: a way out of `active` and what must be found afterwards.
struct Exit {
    name: &'static str,
    policy: Policy,
    leave: fn(&mut Fixture, &Assignment),
    node: Node,
    /// The only timer entry, if any: what it is for.
    timer: Option<DueAction>,
    /// Whether there is a queue entry.
    queued: bool,
    /// How the attempt ended; `None` while it is to continue.
    end: Option<&'static str>,
}

fn exits() -> Vec<Exit> {
    let once = || Policy { retry: Retry::never(), max_reclaims: 0, ..brief() };
    let backoff = || {
        let retry = Retry { backoff: Backoff::fixed(ms(50)), ..brief().retry };
        Policy { retry, ..brief() }
    };
    let deadline = || Policy { deadline: Some(ms(60)), ..brief() };
    let timeout = |policy| Policy { attempt_timeout: Some(ms(60)), ..policy };
    vec![
        over("complete", brief(), send_complete, Node::Completed, "completed"),
        again("fail, then retry", brief(), send_fail, "failed"),
        later("fail, then backoff", backoff(), send_fail, Some("failed")),
        over("fail for good", once(), send_fail, Node::Failed, "failed"),
        over("cancel", brief(), send_cancel, Node::Cancelled, "cancelled"),
        over("cancel with a grace", brief(), outlive_grace, Node::Cancelled, "cancelled"),
        over("cancel by the holder", brief(), send_cancel_held, Node::Cancelled, "cancelled"),
        over("deadline", deadline(), let_time_fire, Node::Expired, "expired"),
        again("attempt timeout, then retry", timeout(brief()), let_time_fire, "timed out"),
        over("attempt timeout", timeout(once()), let_time_fire, Node::Failed, "timed out"),
        later("delay", brief(), send_delay, None),
        back("delay until now", brief(), send_delay_until_now),
        parked("suspend", brief(), send_suspend),
        back("suspend, satisfied by an early signal", brief(), suspend_after_signal),
        over("suspend under a cancel", brief(), suspend_under_cancel, Node::Cancelled, "cancelled"),
        again("lease expiry", brief(), let_time_fire, "lease lost"),
        over("too many reclaims", once(), let_time_fire, Node::Failed, "lease lost"),
        back("revoke", brief(), send_revoke),
        over("revoke under a cancel", brief(), revoke_under_cancel, Node::Cancelled, "cancelled"),
        back("hand back", brief(), send_hand_back),
    ]
}

type Leave = fn(&mut Fixture, &Assignment);

/// The execution ends.
fn over(name: &'static str, policy: Policy, leave: Leave, node: Node, end: &'static str) -> Exit {
    let timer = Some(DueAction::Retention);
    Exit { name, policy, leave, node, timer, queued: false, end: Some(end) }
}

/// Another attempt follows at once.
fn again(name: &'static str, policy: Policy, leave: Leave, end: &'static str) -> Exit {
    Exit { name, policy, leave, node: Node::Queued, timer: None, queued: true, end: Some(end) }
}

/// The same attempt continues at once.
fn back(name: &'static str, policy: Policy, leave: Leave) -> Exit {
    Exit { name, policy, leave, node: Node::Queued, timer: None, queued: true, end: None }
}

/// It waits for a moment.
fn later(name: &'static str, policy: Policy, leave: Leave, end: Option<&'static str>) -> Exit {
    let timer = Some(DueAction::DelayOver);
    Exit { name, policy, leave, node: Node::Delayed, timer, queued: false, end }
}

/// It waits for signals.
fn parked(name: &'static str, policy: Policy, leave: Leave) -> Exit {
    let timer = Some(DueAction::SuspensionOver);
    Exit { name, policy, leave, node: Node::Suspended, timer, queued: false, end: None }
}

fn send_complete(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(Complete { hold: held.hold(), result: Payload::bytes("done") }).unwrap();
}

fn send_fail(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(fail(held.hold(), true)).unwrap();
}

fn send_cancel(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(cancel(held.execution, None)).unwrap();
}

fn outlive_grace(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(cancel(held.execution, Some(ms(30)))).unwrap();
    assert_eq!(fixture.fire(held.execution).did, Some(DueAction::CancelGrace));
}

fn send_cancel_held(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(cancel_held(held.hold())).unwrap();
}

fn let_time_fire(fixture: &mut Fixture, held: &Assignment) {
    assert!(fixture.fire(held.execution).did.is_some());
}

fn send_delay(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(delay(held.hold(), ms(70))).unwrap();
}

fn send_delay_until_now(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(delay(held.hold(), ms(0))).unwrap();
}

fn send_suspend(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(suspend(held.hold(), "gate", Some(ms(70)))).unwrap();
}

fn suspend_after_signal(fixture: &mut Fixture, held: &Assignment) {
    let waitpoint = waitpoint(2, "gate");
    fixture.act(OpenWaitpoint { hold: held.hold(), waitpoint }).unwrap();
    fixture.act(signal(held.execution, "gate", "ann")).unwrap();
    fixture.act(suspend(held.hold(), "gate", None)).unwrap();
}

fn suspend_under_cancel(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(cancel(held.execution, Some(ms(30)))).unwrap();
    fixture.act(suspend(held.hold(), "gate", None)).unwrap();
}

fn send_revoke(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(revoke(&held.hold())).unwrap();
}

fn revoke_under_cancel(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(cancel(held.execution, Some(ms(30)))).unwrap();
    fixture.act(revoke(&held.hold())).unwrap();
}

fn send_hand_back(fixture: &mut Fixture, held: &Assignment) {
    fixture.act(hand_back(held.hold())).unwrap();
}

/// Runs every row and hands the store after it to one column of the table.
fn column(check: impl Fn(&Exit, &Fixture, &Assignment)) {
    for exit in exits() {
        let (mut fixture, held) = Fixture::held(exit.policy.clone());
        fixture.advance(ms(10));
        (exit.leave)(&mut fixture, &held);
        assert_eq!(Node::of(fixture.get(id(1))), exit.node, "{}", exit.name);
        check(&exit, &fixture, &held);
    }
}

fn timers(fixture: &Fixture) -> Vec<Time> {
    let entries = fixture.entries_of(id(1)).into_iter();
    let times = entries.filter_map(|entry| match entry {
        Entry::Timer(at) => Some(*at),
        _ => None,
    });
    times.collect()
}

#[test]
fn every_exit_leaves_only_the_timer_of_what_comes_next() {
    column(|exit, fixture, _| {
        let next = timer::next(fixture.record(id(1)));
        assert_eq!(next.map(|(_, due)| due), exit.timer, "{}", exit.name);
        let expected: Vec<_> = next.into_iter().map(|(at, _)| at).collect();
        assert_eq!(timers(fixture), expected, "{}", exit.name);
    });
}

#[test]
fn every_exit_leaves_a_queue_entry_only_if_it_requeues() {
    column(|exit, fixture, _| {
        let entries = fixture.entries_of(id(1)).into_iter();
        let queues = entries.filter(|entry| matches!(entry, Entry::Queue(_))).count();
        assert_eq!(queues, usize::from(exit.queued), "{}", exit.name);
    });
}

#[test]
fn every_exit_removes_the_request_entry() {
    column(|exit, fixture, _| {
        let mut entries = fixture.entries_of(id(1)).into_iter();
        assert!(!entries.any(|entry| matches!(entry, Entry::Request(_))), "{}", exit.name);
    });
}

#[test]
fn every_exit_ends_the_attempt_unless_it_is_to_continue() {
    column(|exit, fixture, _| {
        let attempt = fixture.record(id(1)).attempt.as_ref().unwrap();
        let end = attempt.end.as_ref().map(|end| match &end.reason {
            EndReason::Completed => "completed",
            EndReason::Failed(_) => "failed",
            EndReason::TimedOut => "timed out",
            EndReason::LeaseLost => "lease lost",
            EndReason::Cancelled => "cancelled",
            EndReason::Expired => "expired",
        });
        assert_eq!(end, exit.end, "{}", exit.name);
        assert!(attempt.end.as_ref().is_none_or(|end| end.at == fixture.now), "{}", exit.name);
    });
}

#[test]
fn every_exit_leaves_open_only_the_waitpoints_that_something_may_still_signal() {
    column_with_waitpoint(|exit, fixture, _| {
        let waits = &fixture.record(id(1)).waits;
        let open: Vec<_> = waits.waitpoints.iter().map(|it| (it.key.as_str(), it.of)).collect();
        let pending = ("pending", None);
        let expected = match exit.node {
            Node::Suspended => vec![pending, ("gate", Some(0))],
            Node::Queued | Node::Delayed => vec![pending],
            _ => vec![],
        };
        assert_eq!(open, expected, "{}", exit.name);
        let early = waits.early.len();
        assert_eq!(early, usize::from(!expected.is_empty()), "{}: the early signal", exit.name);
    });
}

/// The same as [`column`], of an execution with a pending waitpoint at which a signal waits.
fn column_with_waitpoint(check: impl Fn(&Exit, &Fixture, &Assignment)) {
    for exit in exits() {
        let (mut fixture, held) = Fixture::held(exit.policy.clone());
        let waitpoint = waitpoint(1, "pending");
        fixture.act(OpenWaitpoint { hold: held.hold(), waitpoint }).unwrap();
        fixture.act(signal(held.execution, "pending", "ann")).unwrap();
        fixture.advance(ms(10));
        (exit.leave)(&mut fixture, &held);
        assert_eq!(Node::of(fixture.get(id(1))), exit.node, "{}", exit.name);
        check(&exit, &fixture, &held);
    }
}

#[test]
fn every_exit_ends_the_lease() {
    column(|exit, fixture, held| {
        assert_eq!(fixture.record(id(1)).lease(), None, "{}", exit.name);
        let renewed = fixture.clone().act(renew(held.hold()));
        assert!(renewed.is_err(), "{}: {renewed:?}", exit.name);
        let late = fixture.clone().act(complete(held.hold(), "too late"));
        assert!(late.is_err(), "{}: {late:?}", exit.name);
    });
}
