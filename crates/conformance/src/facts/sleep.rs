//! Durable sleeps: whatever ends one writes that to the journal.

use ff_core::journal::Recorded;
use ff_core::machine::{Assignment, Delay};
use ff_core::policy::Policy;
use ff_core::record::Exited;
use ff_core::state::{DelayReason, State};
use ff_core::timer::DueAction;
use ff_core::{Code, PublicState, StepName, Time, When};
use ff_store::roles::Answer;

use crate::fixture::{Fixture, Refused, ms, steady};

fn nap() -> StepName {
    StepName::new("nap").unwrap()
}

async fn sleep(g: &Fixture, of: &Assignment, until: When) -> Answer<Exited> {
    g.backend().delay(Delay { hold: of.hold(), until, step: Some(nap()) }).await
}

/// Work that sleeps for a second.
async fn asleep(g: &Fixture) -> Assignment {
    let held = g.held().await;
    sleep(g, &held, When::After(ms(1_000))).await.unwrap();
    held
}

pub(crate) async fn a_sleep_frees_the_worker_and_names_its_step(g: Fixture) {
    let held = g.held().await;
    let until = g.now().await + ms(1_000);
    assert_eq!(sleep(&g, &held, When::At(until)).await.unwrap(), Exited::Delayed { until });
    let record = g.record(held.execution).await;
    let step = Some(nap());
    assert_eq!(record.state, State::Delayed { until, why: DelayReason::Hold, step });
    assert!(g.nothing_to_claim().await);
    assert!(g.steps(held.execution).await.is_empty(), "it is not over");
}

pub(crate) async fn the_tick_that_ends_a_sleep_writes_its_entry(g: Fixture) {
    let first = asleep(&g).await;
    g.advance(ms(1_500)).await;
    assert_eq!(g.tick(first.execution).await.did, Some(DueAction::DelayOver));
    let at = g.now().await;
    let [entry] = &g.steps(first.execution).await[..] else { panic!("there is one entry") };
    assert_eq!((entry.entry.name.as_str(), &entry.entry.what), ("nap", &Recorded::Sleep));
    assert_eq!((entry.entry.at, entry.entry.attempt, entry.visible), (at, 0, true));
    let second = g.claimed_by("bob").await;
    assert_eq!((second.fence.attempt, second.steps), (0, 1));
    assert_eq!(g.record(first.execution).await.queued_at, at - ms(500), "it was over then");
}

pub(crate) async fn a_plain_delay_writes_no_entry(g: Fixture) {
    let held = g.held().await;
    g.delay(&held, When::After(ms(1_000))).await.unwrap();
    g.pass(ms(1_000)).await;
    assert_eq!(g.claimed().await.steps, 0);
    assert!(g.steps(held.execution).await.is_empty());
}

pub(crate) async fn a_sleep_into_the_past_is_over_at_once(g: Fixture) {
    for until in [When::Now, When::At(Time::EPOCH)] {
        let held = g.held().await;
        sleep(&g, &held, until).await.unwrap();
        assert_eq!(g.names(held.execution).await, ["nap"], "{until:?}");
        let before = g.snapshot().await;
        sleep(&g, &held, until).await.unwrap();
        g.snapshot().await.assert_same(&before);
        g.complete(&g.claimed().await, "done").await.unwrap();
    }
}

pub(crate) async fn a_repeated_sleep_is_one_sleep(g: Fixture) {
    let held = asleep(&g).await;
    let until = g.now().await + ms(1_000);
    let before = g.snapshot().await;
    g.advance(ms(300)).await;
    let again = sleep(&g, &held, When::After(ms(1_000))).await.unwrap();
    assert_eq!(again, Exited::Delayed { until });
    g.snapshot().await.assert_same(&before);
    g.pass(ms(700)).await;
    assert_eq!(g.names(held.execution).await, ["nap"]);
    let late = sleep(&g, &held, When::After(ms(1_000))).await.unwrap();
    assert_eq!(late, Exited::Delayed { until });
    assert_eq!(g.names(held.execution).await, ["nap"]);
}

pub(crate) async fn a_sleep_under_a_name_that_is_used_is_refused(g: Fixture) {
    let held = g.held().await;
    g.record_step(&held, "nap", "taken").await.unwrap();
    let before = g.snapshot().await;
    for until in [When::Now, When::After(ms(1_000))] {
        assert_eq!(sleep(&g, &held, until).await.refused(), Code::StepConflict);
    }
    g.snapshot().await.assert_same(&before);
    g.complete(&held, "done").await.unwrap();
    let slept = asleep(&g).await;
    g.pass(ms(1_000)).await;
    let again = g.claimed().await;
    assert_eq!(again.execution, slept.execution);
    assert_eq!(g.record_step(&again, "nap", "taken").await.refused(), Code::StepConflict);
    assert_eq!(sleep(&g, &again, When::Now).await.refused(), Code::StepConflict);
}

pub(crate) async fn a_sleep_that_is_cut_short_writes_no_entry(g: Fixture) {
    let cancelled = asleep(&g).await;
    g.cancel(cancelled.execution, None).await.unwrap();
    let expires = Policy { deadline: Some(ms(500)), ..steady() };
    let expired = g.held_under(expires).await;
    sleep(&g, &expired, When::After(ms(900))).await.unwrap();
    let stopped = g.held().await;
    g.cancel(stopped.execution, Some(ms(5_000))).await.unwrap();
    assert_eq!(sleep(&g, &stopped, When::Now).await.unwrap(), Exited::Cancelled);
    g.pass(ms(1_000)).await;
    for held in [cancelled, expired, stopped] {
        assert!(g.state(held.execution).await.is_finished());
        assert!(g.steps(held.execution).await.is_empty());
    }
}

pub(crate) async fn a_replay_that_hides_a_sleep_sleeps_again(g: Fixture) {
    let first = asleep(&g).await;
    g.pass(ms(1_000)).await;
    g.complete(&g.claimed().await, "done").await.unwrap();
    g.replay_with(first.execution, 0, "drop").await.unwrap();
    let again = g.claimed().await;
    assert_eq!(again.steps, 0);
    sleep(&g, &again, When::After(ms(1_000))).await.unwrap();
    assert_eq!(g.state(first.execution).await, PublicState::Delayed);
    g.pass(ms(1_000)).await;
    assert_eq!(g.claimed().await.steps, 1);
}

pub(crate) async fn a_sleep_says_so_when_asked_why_it_waits(g: Fixture) {
    let held = asleep(&g).await;
    let said = g.backend().explain(&g.target(held.execution)).await.unwrap().phrase;
    assert_eq!(said, "sleeps in step nap and continues in 1s");
}
