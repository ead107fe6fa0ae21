//! Explanations: why an execution is in its state.

use ff_core::explain::Reason;
use ff_core::machine::{ClaimRequest, Register, SetPriority, Submit, Suspend};
use ff_core::state::DelayReason;
use ff_core::suspension::SuspendReason;
use ff_core::view::{BlockingReason, EligibilityState};
use ff_core::{Code, ExecutionId, Lane, PublicState, ResourceKey, When};
use ff_store::mint;
use ff_store::roles::{LaneUpdate, Registering};

use crate::fixture::{Fixture, Refused, any_signal, capabilities, failure, lane, ms, worker};

const NEXT: Reason = Reason::InQueue { ahead: 0, workers: 0 };

fn no_worker() -> Reason {
    Reason::NoWorkerOnLane { lane: Lane::default() }
}

/// That no worker offers `requires`, and what the nearest lacks.
fn incapable(requires: &str, nearest: &str, lacks: &str) -> Reason {
    let nearest = Some((worker(nearest), capabilities(lacks)));
    Reason::NoCapableWorker { requires: capabilities(requires), nearest }
}

/// Whether an execution could be claimed, and what it waits for.
async fn standing(g: &Fixture, id: ExecutionId) -> (EligibilityState, BlockingReason) {
    let vector = g.explained(id).await.vector;
    (vector.eligibility_state, vector.blocking_reason)
}

pub(crate) async fn queued_work_knows_how_many_come_before_it(g: Fixture) {
    g.registered("ada", "cuda").await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(g.waiting().await);
        g.advance(ms(1)).await;
    }
    for (ahead, id) in (0..).zip(&ids) {
        assert_eq!(g.reasons(*id).await, [Reason::InQueue { ahead, workers: 1 }]);
    }
    g.claimed().await;
    assert_eq!(g.reasons(ids[4]).await, [Reason::InQueue { ahead: 3, workers: 1 }]);
    g.cancel(ids[2], None).await.unwrap();
    let (target, priority) = (g.target(ids[4]), 9);
    g.backend().set_priority(SetPriority { target, priority }).await.unwrap();
    assert_eq!(g.reasons(ids[4]).await, [Reason::InQueue { ahead: 0, workers: 1 }]);
    assert_eq!(g.reasons(ids[3]).await, [Reason::InQueue { ahead: 2, workers: 1 }]);
}

pub(crate) async fn work_of_one_millisecond_is_counted_by_its_ids(g: Fixture) {
    g.registered("ada", "").await;
    let works: Vec<_> = (0..10).map(|_| g.work()).collect();
    let mut ids: Vec<_> = works.iter().map(|work| work.id).collect();
    g.backend().submit(works).await.unwrap();
    ids.sort();
    for (ahead, id) in (0..).zip(ids) {
        assert_eq!(g.reasons(id).await, [Reason::InQueue { ahead, workers: 1 }]);
    }
}

pub(crate) async fn only_work_of_the_same_queue_comes_before_it(g: Fixture) {
    g.registered("ada", "cuda").await;
    g.needing("cuda").await;
    g.submit(Submit { lane: lane("slow"), ..g.work() }).await;
    g.elsewhere().waiting().await;
    g.delayed(ms(500)).await;
    g.advance(ms(1)).await;
    let id = g.waiting().await;
    assert_eq!(g.reasons(id).await, [Reason::InQueue { ahead: 0, workers: 1 }]);
}

pub(crate) async fn every_worker_that_could_run_it_is_counted(g: Fixture) {
    let id = g.needing("cuda").await;
    for (name, tokens) in [("ada", "cuda"), ("bob", "cuda,python"), ("eve", "python")] {
        g.registered(name, tokens).await;
    }
    assert_eq!(g.reasons(id).await, [Reason::InQueue { ahead: 0, workers: 2 }]);
    let plain = g.waiting().await;
    assert_eq!(g.reasons(plain).await, [Reason::InQueue { ahead: 0, workers: 3 }]);
    let waits = (EligibilityState::EligibleNow, BlockingReason::WaitingForWorker);
    assert_eq!(standing(&g, id).await, waits);
}

pub(crate) async fn work_of_a_lane_without_workers_says_so(g: Fixture) {
    let (plain, special) = (g.waiting().await, g.needing("cuda").await);
    assert_eq!(g.reasons(plain).await, [no_worker(), NEXT]);
    assert_eq!(g.reasons(special).await, [no_worker(), NEXT]);
    let waits = (EligibilityState::EligibleNow, BlockingReason::WaitingForWorker);
    assert_eq!(standing(&g, plain).await, waits, "any worker can claim it");
    let blocked = (EligibilityState::BlockedByRoute, BlockingReason::WaitingForCapableWorker);
    assert_eq!(standing(&g, special).await, blocked);
}

pub(crate) async fn a_claim_is_a_sign_of_life(g: Fixture) {
    let (plain, special) = (g.waiting().await, g.needing("cuda,tpu").await);
    let claim = ClaimRequest { capabilities: capabilities("cuda"), ..g.claim() };
    assert_eq!(g.take_ids(claim).await, [plain]);
    g.advance(ms(1)).await;
    let next = g.waiting().await;
    assert_eq!(g.reasons(next).await, [Reason::InQueue { ahead: 0, workers: 1 }]);
    assert_eq!(g.reasons(special).await, [incapable("cuda,tpu", "ada", "tpu"), NEXT]);
    g.registered("ada", "cuda").await;
    assert_eq!(g.reasons(next).await, [Reason::InQueue { ahead: 0, workers: 1 }], "it counts once");
}

pub(crate) async fn a_claim_of_another_lane_or_namespace_is_none(g: Fixture) {
    let id = g.waiting().await;
    assert!(g.take(ClaimRequest { lane: lane("slow"), ..g.claim() }).await.is_empty());
    let there = g.elsewhere();
    assert!(there.take(there.claim()).await.is_empty());
    assert_eq!(g.reasons(id).await, [no_worker(), NEXT]);
}

pub(crate) async fn work_that_no_worker_can_run_names_the_nearest_one(g: Fixture) {
    let id = g.needing("cuda,python,tpu").await;
    for (name, tokens) in [("ada", "cuda"), ("bob", "cuda,tpu"), ("eve", "ruby")] {
        g.registered(name, tokens).await;
    }
    assert_eq!(g.reasons(id).await, [incapable("cuda,python,tpu", "bob", "python"), NEXT]);
    let blocked = (EligibilityState::BlockedByRoute, BlockingReason::WaitingForCapableWorker);
    assert_eq!(standing(&g, id).await, blocked);
    let sentence = g.explained(id).await.sentence;
    assert!(sentence.contains("bob-1, lacks python"), "{sentence}");
}

pub(crate) async fn two_workers_together_do_not_cover_it(g: Fixture) {
    let id = g.needing("cuda,python").await;
    g.registered("ada", "cuda").await;
    g.registered("bob", "python").await;
    assert_eq!(g.reasons(id).await, [incapable("cuda,python", "ada", "python"), NEXT]);
}

pub(crate) async fn a_capable_worker_of_another_namespace_does_not_count(g: Fixture) {
    let id = g.needing("cuda").await;
    g.elsewhere().registered("ada", "cuda").await;
    assert_eq!(g.reasons(id).await, [no_worker(), NEXT]);
    g.registered("bob", "").await;
    assert_eq!(g.reasons(id).await, [incapable("cuda", "bob", "cuda"), NEXT]);
}

pub(crate) async fn a_capable_worker_of_another_lane_does_not_count(g: Fixture) {
    let id = g.needing("cuda").await;
    let elsewhere = Registering { lanes: vec![lane("slow")], ..g.registering("ada", "cuda") };
    g.try_register(&elsewhere).await.unwrap();
    assert_eq!(g.reasons(id).await, [no_worker(), NEXT]);
    let both = Registering { lanes: vec![lane("slow"), Lane::default()], ..elsewhere };
    g.try_register(&both).await.unwrap();
    assert_eq!(g.reasons(id).await, [Reason::InQueue { ahead: 0, workers: 1 }]);
}

pub(crate) async fn a_silent_worker_does_not_count(g: Fixture) {
    let id = g.needing("cuda").await;
    g.registered("ada", "cuda").await;
    let bob = g.registered("bob", "").await;
    g.advance(ms(9_999)).await;
    g.heartbeat(&bob).await.unwrap();
    assert_eq!(g.reasons(id).await, [Reason::InQueue { ahead: 0, workers: 1 }]);
    g.advance(ms(1)).await;
    assert_eq!(g.reasons(id).await, [incapable("cuda", "bob", "cuda"), NEXT], "before any timer");
    g.disconnect(&bob).await;
    assert_eq!(g.reasons(id).await, [no_worker(), NEXT]);
}

pub(crate) async fn every_page_of_workers_is_read(g: Fixture) {
    let id = g.needing("cuda").await;
    let register = |n: usize| {
        let (worker, tokens) = (worker(&format!("w{n:04}")), if n == 1_000 { "cuda" } else { "" });
        let key = ResourceKey::worker(&g.namespace, &worker.instance, g.backend().partitions());
        mint::command(Register {
            key,
            worker,
            session: mint::request_id(),
            lanes: vec![Lane::default()],
            capabilities: capabilities(tokens),
            ttl: ms(10_000),
        })
    };
    for answer in g.store().execute((0..1_000).map(register).collect()).await {
        answer.unwrap();
    }
    assert_eq!(g.reasons(id).await, [incapable("cuda", "w0000", "cuda"), NEXT]);
    g.store().execute(vec![register(1_000)]).await.remove(0).unwrap();
    assert_eq!(g.reasons(id).await, [Reason::InQueue { ahead: 0, workers: 1 }]);
}

pub(crate) async fn one_worker_that_covers_it_is_enough_at_once(g: Fixture) {
    let id = g.needing("cuda,python").await;
    g.registered("ada", "cuda").await;
    let short = ClaimRequest { capabilities: capabilities("cuda"), ..g.claim() };
    assert!(g.take(short).await.is_empty());
    assert_eq!(g.reasons(id).await[0].as_str(), "no_capable_worker");
    g.registered("bob", "cuda,python").await;
    assert_eq!(g.reasons(id).await, [Reason::InQueue { ahead: 0, workers: 1 }]);
    let waits = (EligibilityState::EligibleNow, BlockingReason::WaitingForWorker);
    assert_eq!(standing(&g, id).await, waits);
    let claim = ClaimRequest { capabilities: capabilities("cuda,python"), ..g.claim() };
    assert_eq!(g.take_ids(claim).await, [id]);
}

pub(crate) async fn a_paused_lane_is_the_first_reason(g: Fixture) {
    let id = g.needing("cuda").await;
    g.registered("ada", "").await;
    g.advance(ms(1)).await;
    let since = g.now().await;
    let reason = Some("rest".into());
    g.update_lane(LaneUpdate { paused: Some(true), reason: reason.clone(), ..g.lane_update() })
        .await;
    g.advance(ms(1_000)).await;
    let paused = Reason::LanePaused { lane: Lane::default(), reason, since };
    assert_eq!(g.reasons(id).await, [paused, incapable("cuda", "ada", "cuda"), NEXT]);
    let blocked = (EligibilityState::BlockedByLaneState, BlockingReason::PausedByOperator);
    assert_eq!(standing(&g, id).await, blocked);
    let sentence = g.explained(id).await.sentence;
    assert!(sentence.contains("lane default is paused (rest)"), "{sentence}");
    g.resume().await;
    assert_eq!(g.reasons(id).await, [incapable("cuda", "ada", "cuda"), NEXT]);
}

pub(crate) async fn a_pause_elsewhere_explains_nothing(g: Fixture) {
    let id = g.waiting().await;
    g.registered("ada", "").await;
    g.elsewhere().pause().await;
    g.update_lane(LaneUpdate { paused: Some(true), lane: lane("slow"), ..g.lane_update() }).await;
    g.drain().await;
    assert_eq!(g.reasons(id).await, [Reason::InQueue { ahead: 0, workers: 1 }]);
}

pub(crate) async fn delayed_work_says_until_when_and_why(g: Fixture) {
    let until = g.now().await + ms(1_000);
    let failing = g.held().await;
    let resting = g.held().await;
    let start = g.delayed(ms(1_000)).await;
    g.fail(&failing, failure("broken")).await.unwrap();
    g.delay(&resting, When::At(until)).await.unwrap();
    for (id, why, blocking) in [
        (start, DelayReason::Start, BlockingReason::WaitingForDelay),
        (failing.execution, DelayReason::Backoff, BlockingReason::WaitingForRetryBackoff),
        (resting.execution, DelayReason::Hold, BlockingReason::WaitingForResumeDelay),
    ] {
        assert_eq!(g.reasons(id).await, [Reason::NotBefore { until, why }]);
        let until_time = (EligibilityState::NotEligibleUntilTime, blocking);
        assert_eq!(standing(&g, id).await, until_time, "{why:?}");
        assert_eq!(g.explained(id).await.state, PublicState::Delayed);
    }
}

pub(crate) async fn reserved_work_names_its_worker(g: Fixture) {
    let id = g.waiting().await;
    let until = g.granted().await.until;
    assert_eq!(g.reasons(id).await, [Reason::Reserved { worker: worker("ada"), until }]);
    assert_eq!(g.explained(id).await.state, PublicState::Waiting);
}

pub(crate) async fn held_work_names_its_holder(g: Fixture) {
    g.waiting().await;
    let held = g.claimed_by("bob").await;
    let (worker, until) = (worker("bob"), held.until);
    let expected = Reason::Held { worker: worker.clone(), until, cancel_by: None };
    assert_eq!(g.reasons(held.execution).await, [expected]);
    let by = g.now().await + ms(500);
    g.cancel(held.execution, Some(ms(500))).await.unwrap();
    let expected = Reason::Held { worker, until, cancel_by: Some(by) };
    assert_eq!(g.reasons(held.execution).await, [expected]);
    let running = (EligibilityState::NotApplicable, BlockingReason::None);
    assert_eq!(standing(&g, held.execution).await, running);
}

pub(crate) async fn finished_work_says_since_when(g: Fixture) {
    let ended = [g.completed().await, g.failed().await, g.cancelled().await];
    let at = g.now().await;
    g.pause().await;
    g.advance(ms(500)).await;
    let states = [PublicState::Completed, PublicState::Failed, PublicState::Cancelled];
    for (id, state) in ended.into_iter().zip(states) {
        let explained = g.explained(id).await;
        assert_eq!(
            (explained.state, &explained.reasons[..]),
            (state, &[Reason::Finished { at }][..])
        );
        assert_eq!(explained.vector, g.record(id).await.state_vector());
    }
}

pub(crate) async fn an_explanation_changes_nothing(g: Fixture) {
    let id = g.needing("cuda").await;
    g.registered("ada", "").await;
    g.advance(ms(20_000)).await;
    let before = g.snapshot().await;
    g.explained(id).await;
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_missing_execution_is_not_explained(g: Fixture) {
    let target = g.target(g.new_id());
    assert_eq!(g.backend().explain(&target).await.refused(), Code::NotFound);
    let theirs = g.elsewhere().target(g.waiting().await);
    assert_eq!(g.backend().explain(&theirs).await.refused(), Code::NotFound);
}

pub(crate) async fn a_question_ends_the_sentence_that_explains_it(g: Fixture) {
    let held = g.held().await;
    let suspend = Suspend {
        reason: SuspendReason::Approval,
        message: Some("Deploy 2.0?".into()),
        ..g.parking(&held, &["gate"], any_signal("gate"))
    };
    g.suspend(suspend).await.unwrap();
    let sentence = g.explained(held.execution).await.sentence;
    assert_eq!(sentence, "The execution waits for an approval: Deploy 2.0?");
}
