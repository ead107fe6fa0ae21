//! Leases: one holder at a time, by the store's clock.

use ff_core::machine::Assignment;
use ff_core::policy::Policy;
use ff_core::record::EndReason;
use ff_core::state::{Intent, Outcome, State};
use ff_core::timer::DueAction;
use ff_core::view::OwnershipState;
use ff_core::{Code, PublicState};

use crate::fixture::{Fixture, Refused, forged, holder_calls, ms, steady};

/// Work whose first lease expired.
async fn lost(g: &Fixture) -> Assignment {
    let assignment = g.held().await;
    g.advance(assignment.lease_ttl).await;
    g.tick(assignment.execution).await;
    assignment
}

pub(crate) async fn a_renewal_lasts_the_whole_ttl_from_now(g: Fixture) {
    let assignment = g.held().await;
    g.advance(ms(4_000)).await;
    let renewed = g.renew(assignment.hold()).await.unwrap();
    assert_eq!(renewed.until, g.now().await + ms(10_000));
    assert_eq!(renewed.cancel_by, None);
    g.pass(ms(9_999)).await;
    assert_eq!(g.state(assignment.execution).await, PublicState::Active);
    g.renew(assignment.hold()).await.unwrap();
}

pub(crate) async fn renewal_by_a_stale_holder_is_refused(g: Fixture) {
    let old = lost(&g).await;
    let new = g.claimed_by("bob").await;
    assert_eq!(g.renew(old.hold()).await.refused(), Code::StaleLease);
    g.renew(new.hold()).await.unwrap();
}

pub(crate) async fn a_stale_holder_changes_nothing(g: Fixture) {
    let old = lost(&g).await;
    for holder in ["nobody", "another worker", "nobody, for it is finished"] {
        match holder {
            "nobody" => {}
            "another worker" => drop(g.claimed_by("bob").await),
            _ => drop(g.cancel(old.execution, None).await.unwrap()),
        }
        let before = g.snapshot().await;
        for (call, action) in holder_calls(&old.hold()) {
            let code = g.run(action).await.refused();
            assert_eq!(code, Code::StaleLease, "{call} while {holder} holds it");
        }
        g.snapshot().await.assert_same(&before);
    }
}

pub(crate) async fn a_lease_ends_on_time_without_a_tick(g: Fixture) {
    let assignment = g.held().await;
    g.advance(assignment.lease_ttl).await;
    let before = g.snapshot().await;
    for (call, action) in holder_calls(&assignment.hold()) {
        assert_eq!(g.run(action).await.refused(), Code::StaleLease, "{call}");
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_lease_holds_until_its_last_millisecond(g: Fixture) {
    let assignment = g.held().await;
    g.advance(ms(9_999)).await;
    g.complete(&assignment, "just in time").await.unwrap();
}

pub(crate) async fn a_fence_that_differs_in_any_part_is_refused(g: Fixture) {
    let assignment = g.held().await;
    let before = g.snapshot().await;
    for (part, hold) in forged(&assignment.hold()) {
        for (call, action) in holder_calls(&hold) {
            assert_eq!(g.run(action).await.refused(), Code::StaleLease, "{call} with {part}");
        }
    }
    g.snapshot().await.assert_same(&before);
    g.complete(&assignment, "done").await.unwrap();
}

pub(crate) async fn each_lease_has_the_next_epoch(g: Fixture) {
    let id = g.waiting().await;
    for epoch in 1..5 {
        let assignment = g.claimed().await;
        assert_eq!((assignment.execution, assignment.fence.epoch), (id, epoch));
        g.hand_back(&assignment).await.unwrap();
    }
}

pub(crate) async fn an_expired_lease_is_claimable_by_another_worker(g: Fixture) {
    let old = lost(&g).await;
    let record = g.record(old.execution).await;
    assert_eq!(record.state, State::Queued { why: Intent::Reclaim });
    let owned = record.state_vector().ownership_state;
    assert_eq!(owned, OwnershipState::LeaseExpiredReclaimable);
    let new = g.claimed_by("bob").await;
    assert_eq!((new.execution, new.fence.attempt), (old.execution, 1));
    g.complete(&new, "done").await.unwrap();
}

pub(crate) async fn lost_leases_do_not_hide_later_ones(g: Fixture) {
    let mut held = Vec::new();
    for _ in 0..30 {
        held.push(g.held().await.execution);
    }
    g.advance(ms(10_000)).await;
    let due = g.backend().due(&ff_store::PartitionSet::All, None, 1_000).await.unwrap().due;
    assert_eq!(due.len(), held.len());
    g.pass(ms(0)).await;
    for id in held {
        assert_eq!(g.state(id).await, PublicState::Waiting);
    }
}

pub(crate) async fn reclaimed_work_goes_behind_what_waits(g: Fixture) {
    let poison = g.held().await;
    g.advance(ms(1)).await;
    let waiting = g.waiting().await;
    g.pass(poison.lease_ttl).await;
    assert_eq!(g.claimed().await.execution, waiting, "poison never returns to the head");
    assert_eq!(g.claimed().await.execution, poison.execution);
}

pub(crate) async fn work_that_kills_its_workers_ends_failed(g: Fixture) {
    let id = g.waiting().await;
    for lost in 0..=2 {
        assert_eq!(g.claimed().await.fence.attempt, lost);
        g.pass(ms(10_000)).await;
    }
    let record = g.record(id).await;
    let Some((Outcome::Failed { failure }, _)) = record.outcome() else {
        panic!("it ended as {:?}", record.state);
    };
    assert_eq!(failure.category.as_str(), "lease_lost");
    assert_eq!(record.run.reclaims, 3);
    for attempt in g.attempts(id).await {
        assert_eq!(attempt.end.unwrap().reason, EndReason::LeaseLost);
    }
}

pub(crate) async fn work_that_may_lose_no_lease_fails_with_the_first(g: Fixture) {
    let assignment = g.held_under(Policy { max_reclaims: 0, ..steady() }).await;
    g.advance(assignment.lease_ttl).await;
    let ticked = g.tick(assignment.execution).await;
    assert_eq!(ticked.did, Some(DueAction::LeaseExpired));
    assert_eq!(g.state(assignment.execution).await, PublicState::Failed);
}

pub(crate) async fn a_lost_lease_spends_no_retry(g: Fixture) {
    let old = lost(&g).await;
    let record = g.record(old.execution).await;
    assert_eq!((record.run.failures, record.run.reclaims), (0, 1));
}

pub(crate) async fn progress_is_kept_with_the_attempt(g: Fixture) {
    let assignment = g.held().await;
    g.progress(&assignment, 10).await.unwrap();
    g.progress(&assignment, 40).await.unwrap();
    let attempt = g.record(assignment.execution).await.attempt.unwrap();
    assert_eq!(attempt.progress.unwrap().percent, Some(40));
}

pub(crate) async fn progress_does_not_renew(g: Fixture) {
    let assignment = g.held().await;
    g.advance(ms(5_000)).await;
    g.progress(&assignment, 50).await.unwrap();
    g.advance(ms(5_000)).await;
    assert_eq!(g.renew(assignment.hold()).await.refused(), Code::StaleLease);
}

pub(crate) async fn one_bad_renewal_of_a_batch_spoils_no_other(g: Fixture) {
    let bad = lost(&g).await;
    g.claimed_by("bob").await;
    let good = g.held().await;
    let answers = g.backend().renew(vec![bad.hold(), good.hold(), bad.hold()]).await.unwrap();
    let codes: Vec<_> = answers.iter().map(|a| a.as_ref().err().map(|e| e.code())).collect();
    assert_eq!(codes, [Some("stale_lease"), None, Some("stale_lease")]);
}
