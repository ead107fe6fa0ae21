//! Handing back: a worker that stops returns what it holds, at no cost to the work.

use ff_core::Code;
use ff_core::record::Exited;
use ff_core::state::{Intent, State};
use ff_core::view::{AttemptState, OwnershipState};

use crate::fixture::{Fixture, Refused, ms};

pub(crate) async fn handing_back_keeps_the_place_in_the_queue(g: Fixture) {
    let first = g.held().await;
    g.advance(ms(1)).await;
    let second = g.waiting().await;
    assert_eq!(g.hand_back(&first).await.unwrap(), Exited::HandedBack);
    assert_eq!(g.claimed().await.execution, first.execution);
    assert_eq!(g.claimed().await.execution, second);
}

pub(crate) async fn handing_back_keeps_the_attempt_and_spends_no_retry(g: Fixture) {
    let assignment = g.held().await;
    g.hand_back(&assignment).await.unwrap();
    let record = g.record(assignment.execution).await;
    assert_eq!(record.state, State::Queued { why: Intent::HandBack });
    assert_eq!((record.run.failures, record.run.reclaims), (0, 0));
    let vector = record.state_vector();
    assert_eq!(vector.ownership_state, OwnershipState::Unowned);
    assert_eq!(vector.attempt_state, AttemptState::AttemptInterrupted);
    let again = g.claimed_by("bob").await;
    assert_eq!((again.fence.attempt, again.fence.epoch), (0, 2));
}

pub(crate) async fn a_worker_hands_back_all_it_holds_at_once(g: Fixture) {
    let good = [g.held().await, g.held().await];
    let lost = g.held().await;
    g.revoke(lost.execution, lost.fence).await.unwrap();
    let holds = vec![good[0].hold(), lost.hold(), good[1].hold()];
    let answers = g.backend().hand_back(holds).await.unwrap();
    let codes: Vec<_> = answers.iter().map(|a| a.as_ref().err().map(|e| e.code())).collect();
    assert_eq!(codes, [None, Some("stale_lease"), None]);
}

pub(crate) async fn the_next_worker_does_not_lose_its_lease_to_the_last(g: Fixture) {
    let old = g.held().await;
    g.hand_back(&old).await.unwrap();
    let new = g.claimed_by("bob").await;
    assert_eq!(g.renew(old.hold()).await.refused(), Code::StaleLease);
    assert_eq!(g.complete(&old, "late").await.refused(), Code::ExitConflict);
    g.complete(&new, "done").await.unwrap();
}
