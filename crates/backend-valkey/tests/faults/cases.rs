//! The cases in which each function that writes is tested: its short and its long paths.

use ff_core::continuation::Continuation;
use ff_core::machine::{
    AppendFrames, Command, Disconnect, Heartbeat, Register, ResourceSpread, Submit, TickResource,
};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::stream::StreamPolicy;
use ff_core::suspension::OnTimeout;
use ff_core::{Capabilities, Millis, Payload, PolicyOverrides, RequestId, When};

use crate::faulty::Step;
use crate::faulty::Step::Pass;
use crate::words::*;

/// What is done in a store, and the function that fails meanwhile.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) verb: &'static str,
    pub(crate) before: Vec<Step>,
    pub(crate) act: Vec<Command>,
    /// What follows when it has succeeded, before stores are compared.
    pub(crate) then: Vec<Step>,
    /// Whether the same call, made again, succeeds.
    pub(crate) repeats: bool,
    /// Whether it is refused in the end.
    pub(crate) refused: bool,
}

fn case(
    verb: &'static str,
    name: &'static str,
    before: impl IntoIterator<Item = Step>,
    act: impl IntoIterator<Item = Command>,
) -> Case {
    let (before, act) = (before.into_iter().collect(), act.into_iter().collect());
    Case { name, verb, before, act, then: Vec::new(), repeats: true, refused: false }
}

/// The same case, refused.
fn refused(case: Case) -> Case {
    Case { repeats: false, refused: true, ..case }
}

/// The same case, but a repeated call may do something else.
fn once(case: Case) -> Case {
    Case { repeats: false, ..case }
}

const DAY: u64 = Millis::from_days(1).get();

pub(crate) fn submit() -> Vec<Case> {
    let delayed = |n| Submit { start: When::After(ms(500)), ..work(n) };
    let foreign = Submit { namespace: namespace("rival"), ..work(1) };
    vec![
        case("submit", "plain", [], [command(work(1))]),
        case("submit", "behind another", [run(work(1))], [command(work(2))]),
        case("submit", "delayed", [], [command(delayed(1))]),
        case("submit", "laden", [], [command(laden(1))]),
        case("submit", "laden, behind plain work", [run(work(2))], [command(laden(1))]),
        case("submit", "several", [], [command(work(1)), command(delayed(2)), command(laden(3))]),
        refused(case("submit", "a taken id", [run(foreign)], [command(work(1))])),
    ]
}

pub(crate) fn claim_() -> Vec<Case> {
    let first = || [run(work(1)), run(claim(1, 1))];
    let retried = [run(fail(hold(1, 1, 1, 0), true))];
    let resumed = [run(hand_back(hold(1, 1, 1, 0)))];
    let three = || [run(laden(1)), run(work(2)), run(Submit { input: long("x"), ..work(3) })];
    let mixed = || [run(limited(1)), run(limited(2)), run(work(3)), run(work(4))];
    let limited_lane = || [run(work(1)), run(work(2)), run(limit_lane(1))];
    let act = |max| [command(claim(2, max))];
    vec![
        once(case("claim", "one", [run(work(1))], act(1))),
        once(case("claim", "a class with nothing left", [run(laden(1))], act(2))),
        once(case("claim", "several of two classes", three(), act(3))),
        once(case("claim", "some of several", three(), act(2))),
        once(case("claim", "a second attempt", first().into_iter().chain(retried), act(1))),
        once(case("claim", "a resumed attempt", first().into_iter().chain(resumed), act(1))),
        once(case("claim", "some that must be admitted", mixed(), act(2))),
        once(case("claim", "what is admitted", mixed(), [command(admitted(2, 2, &[2]))])),
        once(case("claim", "some of a limited lane", limited_lane(), act(2))),
        once(case("claim", "what a signal has resumed", resumed_by_signal(), act(1))),
        once(case("claim", "what a lane admits", limited_lane(), [command(admitted(2, 2, &[2]))])),
    ]
}

pub(crate) fn complete_() -> Vec<Case> {
    let held = || [run(work(1)), run(claim(1, 1))];
    let two = || [run(work(1)), run(claim(1, 1)), run(work(2)), run(claim(2, 1))];
    let short = || Payload::bytes("done");
    let one = |result| [command(complete(hold(1, 1, 1, 0), result))];
    let both = [
        command(complete(hold(1, 1, 1, 0), long("out"))),
        command(complete(hold(2, 2, 1, 0), short())),
    ];
    let asked = [run(work(1)), run(claim(1, 1)), run(cancel(1, Some(5_000)))];
    let limits = [run(limited(1)), run(admitted(1, 1, &[1]))];
    vec![
        case("complete", "a short result", held(), one(short())),
        case("complete", "a long result", held(), one(long("out"))),
        case("complete", "within a grace", asked, one(short())),
        case("complete", "several", two(), both),
        case("complete", "what was admitted", limits, one(short())),
        case("complete", "with an open waitpoint", with_waitpoint(), one(short())),
    ]
}

pub(crate) fn renew_() -> Vec<Case> {
    let held = [run(work(1)), run(claim(1, 1)), Pass(1_000)];
    let two = [run(work(1)), run(claim(1, 1)), run(work(2)), run(claim(2, 1)), Pass(1_000)];
    let short = Policy { lease_ttl: ms(900), ..policy() };
    let short = [run(Submit { policy: short.into(), ..work(1) }), run(claim(1, 1)), Pass(100)];
    let one = || [command(renew(hold(1, 1, 1, 0)))];
    vec![
        case("renew", "one", held, one()),
        case("renew", "one that is announced", short, one()),
        case("renew", "several", two, [one(), [command(renew(hold(2, 2, 1, 0)))]].concat()),
    ]
}

/// Streams of which three frames are kept.
fn streaming() -> Submit {
    let stream = StreamPolicy { frames: 3, bytes: 65_536 };
    Submit { policy: Policy { stream, ..policy() }.into(), ..work(1) }
}

/// Appends in which a fault may leave a part, which the same call, made again, completes, or more than
/// the bound, which the next append trims.
pub(crate) fn append_() -> Vec<Case> {
    let held = || [run(streaming()), run(claim(1, 1))];
    let some = || [run(streaming()), run(claim(1, 1)), run(append(hold(1, 1, 1, 0), 0, &[1, 2]))];
    let frames = |first, bytes: &[usize]| [command(append(hold(1, 1, 1, 0), first, bytes))];
    let next = || AppendFrames { first: None, ..append(hold(1, 1, 1, 0), 0, &[1]) };
    let cases = [
        case("commit", "the first frames", held(), frames(0, &[1, 2])),
        case("append", "one frame", some(), frames(2, &[3])),
        case("append", "frames that are partly there", some(), frames(1, &[2, 3])),
        case("append", "frames past the bound", some(), frames(2, &[3, 4, 5])),
        case("append", "bytes past the bound", some(), frames(2, &[40_000, 40_000])),
    ];
    cases.into_iter().map(|case| Case { then: vec![run(next())], ..case }).collect()
}

pub(crate) fn unblock_() -> Vec<Case> {
    let waiting = || [run(limited(1)), run(block(1)), run(limited(2)), run(block(2))];
    let late = Policy { deadline: Some(ms(800)), ..policy() };
    let late = [run(Submit { policy: late.into(), requires: gpu(), ..limited(1) }), run(block(1))];
    let both = [command(unblock(1)), command(unblock(2))];
    vec![
        case("unblock", "one of two", waiting(), [command(unblock(1))]),
        case("unblock", "the last", late, [command(unblock(1))]),
        case("unblock", "several", waiting(), both),
    ]
}

/// Executions with all that is to be removed: (a long input, a key, a past attempt, two long
/// results), (attention), (nothing).
fn finished() -> Vec<Step> {
    vec![
        run(laden(1)),
        run(claim(1, 1)),
        run(fail(hold(1, 1, 1, 0), true)),
        run(claim(2, 1)),
        run(complete(hold(1, 2, 2, 1), long("out"))),
        run(replay(1, 0)),
        run(claim(3, 1)),
        run(complete(hold(1, 3, 3, 2), Payload::bytes("done"))),
        run(replay(1, 1)),
        run(claim(4, 1)),
        run(complete(hold(1, 4, 4, 3), long("out"))),
        run(work(2)),
        run(claim(5, 1)),
        run(fail(hold(2, 5, 1, 0), false)),
        run(work(3)),
        run(cancel(3, None)),
    ]
}

pub(crate) fn retire() -> Vec<Case> {
    let over = |steps: Vec<Step>| steps.into_iter().chain([Pass(DAY)]);
    let plain = || vec![run(work(1)), run(claim(1, 1)), run(cancel(1, None))];
    let with_other =
        || [plain(), vec![run(Submit { policy: longer().into(), ..work(9) })]].concat();
    vec![
        case("retire", "plain", over(plain()), [command(tick(1))]),
        case("retire", "next to work that stays", over(with_other()), [command(tick(1))]),
        case("retire", "laden", over(finished()), [command(tick(1))]),
        case("retire", "failed", over(finished()), [command(tick(2))]),
        case("retire", "several", over(finished()), [1, 2, 3].map(|n| command(tick(n)))),
    ]
}

fn longer() -> Policy {
    Policy { retention: Millis::from_days(9), ..policy() }
}

pub(crate) fn commit() -> Vec<Case> {
    let full = || [run(Submit { requires: gpu(), ..work(9) })];
    let done =
        |result: Payload| [run(work(1)), run(claim(1, 1)), run(complete(hold(1, 1, 1, 0), result))];
    let failed = [run(work(1)), run(claim(1, 1)), run(fail(hold(1, 1, 1, 0), false))];
    let late = Policy { deadline: Some(ms(50)), ..policy() };
    let late = [run(Submit { policy: late.into(), ..work(1) }), run(laden(2)), Pass(50)];
    let retried = [run(work(1)), run(claim(1, 1)), run(fail(hold(1, 1, 1, 0), true))];
    let named = || [run(work(1)), run(step(1, "a")), run(step(1, "b"))];
    let appended = || [run(work(1)), run(frame(1)), run(frame(1))];
    let registered = || [run(register())];
    let lapsed = [run(register()), Pass(5_000)];
    let other = Register { session: RequestId::new(2), ..register() };
    let held = [run(work(1)), run(set_lane(true, true)), run(set_lane(false, false))];
    let defaults = || [run(work(9)), run(lane_defaults(policy()))];
    let open_work = |n| Submit { policy: PolicyOverrides::default(), ..work(n) };
    vec![
        case("commit", "a worker that registers", [], [command(register())]),
        once(case("commit", "one that registers again", registered(), [command(register())])),
        case("commit", "one that takes over", lapsed, [command(other)]),
        once(case("commit", "a grant in a lane that was paused", held, [command(grant(1))])),
        case("commit", "a submit to a full lane", full(), [command(laden(1))]),
        case("commit", "a submit to a lane with defaults", defaults(), [command(open_work(1))]),
        case("commit", "a submit with elements", [], [command(with_elements(laden(1)))]),
        once(case("commit", "a grant", [run(laden(1))], [command(grant(1))])),
        once(case("commit", "a claim past a deadline", late, [command(claim(1, 2))])),
        once(case("commit", "a grant of a second attempt", retried, [command(grant(2))])),
        case("commit", "a replay", done(Payload::bytes("done")), [command(replay(1, 0))]),
        once(case("commit", "a first element", [run(work(1))], [command(step(1, "a"))])),
        once(case("commit", "a name that was used", named(), [command(step(1, "a"))])),
        once(case("commit", "an appended element", appended(), [command(frame(1))])),
        once(case("commit", "a continuation", [run(work(1))], [command(later(1))])),
        case("commit", "a replay with a long result", done(long("out")), [command(replay(1, 0))]),
        case("commit", "a replay of a failure", failed, [command(replay(1, 0))]),
    ]
}

pub(crate) fn settle() -> Vec<Case> {
    let held = || vec![run(work(1)), run(claim(1, 1))];
    let mine = || hold(1, 1, 1, 0);
    let slow = Retry { backoff: Backoff::fixed(ms(700)), ..policy().retry };
    let slow = Submit { policy: Policy { retry: slow, ..policy() }.into(), ..work(1) };
    let granted = || [run(laden(1)), run(grant(1))];
    let second = vec![run(fail(mine(), true)), run(grant(2))];
    let expiring = Policy { deadline: Some(ms(800)), ..policy() };
    let expiring = Submit { policy: expiring.into(), requires: gpu(), ..work(1) };
    let delayed = |requires| Submit { start: When::After(ms(500)), requires, ..work(1) };
    let plain = Capabilities::NONE;
    let one = |command: Command| [command];
    let registered = || [run(register())];
    let session = RequestId::new(1);
    let beat = Heartbeat { key: worker_key(), session };
    let leaving = Disconnect { key: worker_key(), session };
    let gone = TickResource { key: worker_key() };
    let copying = TickResource { key: lane_key() };
    let spread = ResourceSpread { key: lane_key(), generation: 1 };
    let paused = || vec![run(set_lane(true, false))];
    vec![
        once(case("commit_freeing", "a heartbeat", registered(), one(command(beat)))),
        case("commit_freeing", "a worker that leaves", registered(), one(command(leaving))),
        case(
            "commit_freeing",
            "a silent worker",
            [run(register()), Pass(5_000)],
            one(command(gone)),
        ),
        case("commit_freeing", "a pause", [run(work(1))], one(command(set_lane(true, false)))),
        case("commit_freeing", "a limit", [run(work(1))], one(command(limit_lane(2)))),
        case("commit_freeing", "defaults", [run(work(1))], one(command(lane_defaults(policy())))),
        case("commit_freeing", "another limit", [run(limit_lane(2))], one(command(limit_lane(3)))),
        case("commit_freeing", "a pause that is known", paused(), one(command(spread))),
        case(
            "commit_freeing",
            "a pause that is not known",
            [paused(), vec![Pass(5_000)]].concat(),
            one(command(copying)),
        ),
        case(
            "commit_freeing",
            "a failure to be retried at once",
            held(),
            [command(fail(mine(), true))],
        ),
        case(
            "commit_freeing",
            "a failure to be retried later",
            [run(slow), run(claim(1, 1))],
            one(command(fail(mine(), true))),
        ),
        case("commit_freeing", "a failure for good", held(), [command(fail(mine(), false))]),
        case("commit_freeing", "a delay", held(), [command(delay(mine(), 700))]),
        case("commit_freeing", "a hand-back", held(), [command(hand_back(mine()))]),
        case("commit_freeing", "a progress", held(), [command(progress(mine()))]),
        case("commit_freeing", "a step", held(), [command(record_step(mine(), "a"))]),
        case("commit", "a summary", held(), [command(patch_summary(mine(), 0, "{}"))]),
        case(
            "commit_freeing",
            "a step after another",
            held().into_iter().chain([run(record_step(mine(), "a"))]),
            one(command(record_step(mine(), "b"))),
        ),
        case("commit_freeing", "a sleep", held(), [command(sleep(mine(), 700))]),
        case("commit_freeing", "a sleep that is over at once", held(), [command(sleep(mine(), 0))]),
        case(
            "commit_freeing",
            "the end of a sleep",
            held().into_iter().chain([run(sleep(mine(), 700)), Pass(700)]),
            one(command(tick(1))),
        ),
        case("commit_freeing", "a revoke", held(), [command(revoke(1, 1))]),
        case("commit_freeing", "a cancel of held work", held(), [command(cancel(1, None))]),
        case("commit_freeing", "a cancel with a grace", held(), [command(cancel(1, Some(500)))]),
        case(
            "commit_freeing",
            "a cancel of queued work",
            [run(laden(1))],
            [command(cancel(1, None))],
        ),
        case(
            "commit_freeing",
            "a cancel of delayed work",
            [run(delayed(plain.clone()))],
            one(command(cancel(1, None))),
        ),
        case(
            "commit_freeing",
            "a priority",
            [run(work(1)), run(work(2))],
            [command(set_priority(2, 5))],
        ),
        case("commit_freeing", "tags", [run(work(1))], [command(set_tags(1))]),
        case("commit_freeing", "the use of a grant", granted(), [command(use_grant(1, 1))]),
        case(
            "commit_freeing",
            "the use of a grant for a second attempt",
            [held(), second].concat(),
            one(command(use_grant(1, 2))),
        ),
        case(
            "commit_freeing",
            "the end of a grant",
            granted().into_iter().chain([Pass(5_000)]),
            one(command(tick(1))),
        ),
        case(
            "commit_freeing",
            "the end of a lease",
            held().into_iter().chain([Pass(10_000)]),
            one(command(tick(1))),
        ),
        case(
            "commit_freeing",
            "the end of a delay",
            [run(delayed(gpu())), Pass(500)],
            one(command(tick(1))),
        ),
        case("commit_freeing", "a deadline", [run(expiring), Pass(800)], [command(tick(1))]),
        once(case("commit_freeing", "a slice", [run(work(1)), run(later(1))], one(slice(0)))),
        once(case(
            "commit_freeing",
            "the last slice",
            [run(work(1)), run(later(1)), run(continue_(added(1, 0, 2)))],
            one(slice(1)),
        )),
        case(
            "commit_freeing",
            "a failure of what needed attention before",
            [held(), vec![run(ask_for_attention(1))]].concat(),
            one(command(fail(mine(), false))),
        ),
    ]
}

/// An execution that is held and has a waitpoint open.
fn with_waitpoint() -> Vec<Step> {
    vec![run(work(1)), run(claim(1, 1)), run(open_waitpoint(hold(1, 1, 1, 0)))]
}

/// An execution that waits for `n` signals.
fn parked(n: u32) -> Vec<Step> {
    vec![run(work(1)), run(claim(1, 1)), run(suspend(hold(1, 1, 1, 0), n))]
}

fn resumed_by_signal() -> Vec<Step> {
    [parked(1), vec![run(signal(1, "ann"))]].concat()
}

/// What comes to a waitpoint adds to the store.
pub(crate) fn signals() -> Vec<Case> {
    let signalled = |mut steps: Vec<Step>| {
        steps.push(run(signal(1, "bob")));
        steps
    };
    let act = || [command(signal(1, "ann"))];
    vec![
        case("commit", "an early signal", with_waitpoint(), act()),
        case("commit", "a second early signal", signalled(with_waitpoint()), act()),
        case("commit", "a signal that counts", parked(2), act()),
        case("commit", "a signal that ends a suspension", parked(1), act()),
        case("commit", "the last of two signals", signalled(parked(2)), act()),
        case("commit", "a signal that is known", signalled(parked(3)), [command(signal(1, "bob"))]),
    ]
}

/// What a holder, an operator or time does with a suspension.
pub(crate) fn suspensions() -> Vec<Case> {
    let mine = || hold(1, 1, 1, 0);
    let held = || vec![run(work(1)), run(claim(1, 1))];
    let early = || [with_waitpoint(), vec![run(signal(1, "ann"))]].concat();
    let freeing = |name, before: Vec<Step>, act| case("commit_freeing", name, before, [act]);
    let over = |name, then| {
        let parked = vec![run(suspend_for(mine(), then)), Pass(700)];
        freeing(name, [held(), parked].concat(), command(tick(1)))
    };
    vec![
        freeing("an opened waitpoint", held(), command(open_waitpoint(mine()))),
        freeing("a closed waitpoint", early(), command(close_waitpoint(mine()))),
        freeing("a suspension", held(), command(suspend(mine(), 1))),
        freeing(
            "a suspension with a timeout",
            held(),
            command(suspend_for(mine(), OnTimeout::Fail)),
        ),
        freeing("a suspension after a signal", early(), command(suspend(mine(), 2))),
        freeing("a suspension that is satisfied", early(), command(suspend(mine(), 1))),
        freeing("a resume", parked(1), command(resume(1))),
        freeing("a cancel of suspended work", parked(1), command(cancel(1, None))),
        over("a timeout that continues", OnTimeout::Resume),
        over("a timeout that fails", OnTimeout::Fail),
        over("a timeout that cancels", OnTimeout::Cancel),
        over("a timeout that expires", OnTimeout::Expire),
    ]
}

/// One of the slices of a continuation.
fn slice(from: u64) -> Command {
    command(continue_(Continuation { from, ..added(1, 0, 2) }))
}

/// What is counted is not part of the record that changes with it.
pub(crate) fn count() -> Vec<Case> {
    let counted = || [run(work(1)), run(counted_up(1))];
    vec![
        once(case("commit", "a count", [run(work(1))], [command(counted_up(1))])),
        once(case("commit", "a latch", counted(), [command(counted_down(1))])),
    ]
}
