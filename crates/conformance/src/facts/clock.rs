//! The store's clock decides, and it may be set wrong.

use ff_core::{Code, Millis, PublicState};

use crate::fixture::{Fixture, Refused, holder_calls, ms};

const HOUR: Millis = Millis::from_hours(1);

pub(crate) async fn a_clock_set_back_revives_no_stale_holder(g: Fixture) {
    let old = g.held().await;
    g.pass(old.lease_ttl).await;
    let new = g.claimed_by("bob").await;
    g.clock().step_back(HOUR).await;
    let before = g.snapshot().await;
    for (call, action) in holder_calls(&old.hold()) {
        assert_eq!(g.run(action).await.refused(), Code::StaleLease, "{call}");
    }
    g.snapshot().await.assert_same(&before);
    g.complete(&new, "done").await.unwrap();
}

pub(crate) async fn a_clock_set_back_expires_nothing_early(g: Fixture) {
    let assignment = g.held().await;
    g.clock().step_back(HOUR).await;
    g.pass(ms(9_999)).await;
    assert_eq!(g.state(assignment.execution).await, PublicState::Active);
    g.renew(assignment.hold()).await.unwrap();
}

pub(crate) async fn a_clock_set_back_loses_no_timer(g: Fixture) {
    let id = g.delayed(ms(500)).await;
    g.clock().step_back(HOUR).await;
    g.pass(HOUR).await;
    g.pass(ms(500)).await;
    assert_eq!(g.claimed().await.execution, id);
}

pub(crate) async fn a_clock_that_jumps_ahead_costs_leases_and_nothing_else(g: Fixture) {
    let assignment = g.held().await;
    g.pass(Millis::from_days(365)).await;
    assert_eq!(g.renew(assignment.hold()).await.refused(), Code::StaleLease);
    let again = g.claimed().await;
    assert_eq!(again.execution, assignment.execution);
    g.complete(&again, "done").await.unwrap();
}
