//! Claims whose replies are lost, many times over: no attempt is burnt and no execution lost.

use std::collections::BTreeSet;

use ff_core::Millis;
use ff_core::machine::{ClaimRequest, Complete};
use ff_core::{Payload, PublicState};
use ff_store::WorkerBackend;
use ff_testkit::report;

use super::lost_replies::BehindProxy;
use crate::fixture::claim;

/// How many replies are cut: `FF_CUTS`, or 200.
fn cuts() -> usize {
    std::env::var("FF_CUTS").map_or(200, |text| text.parse().expect("FF_CUTS is a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_with_cut_replies_burn_no_attempt_and_lose_no_execution() {
    let behind = BehindProxy::new().await;
    let (mut submitted, mut done) = (BTreeSet::new(), BTreeSet::new());
    let mut round = 0;
    while behind.proxy.cut() < cuts() {
        round += 1;
        let claim = ClaimRequest { max: 1 + round % 3, ..claim() };
        for _ in 0..claim.max {
            submitted.insert(behind.server.submitted().await);
        }
        // Sometimes the first reply is cut, sometimes its repetition too; sometimes work arrives
        // during the wait.
        let wait = Millis::new(u64::from(round % 2) * 50);
        behind.proxy.cut_next(1 + usize::from(round % 4 == 0));
        let mut answer = behind.client.claim(claim.clone(), wait).await;
        while answer.is_err() {
            answer = behind.client.claim(ClaimRequest { retry: true, ..claim.clone() }, wait).await;
        }
        let assignments = answer.unwrap().assignments;
        assert_eq!(assignments.len(), usize::from(claim.max));
        for assignment in assignments {
            assert_eq!((assignment.fence.attempt, assignment.fence.epoch), (0, 1));
            let complete = Complete { hold: assignment.hold(), result: Payload::default() };
            behind.client.complete(vec![complete]).await.unwrap().remove(0).unwrap();
            assert!(done.insert(assignment.execution), "it was dispatched once");
        }
    }
    assert_eq!(done, submitted, "none is lost and none invented");
    for id in submitted {
        let described = behind.server.described(id).await;
        assert_eq!(described.public_state(), PublicState::Completed);
        assert_eq!((described.epoch, described.run.failures, described.run.reclaims), (1, 0, 0));
    }
    report::count("claim replies cut", behind.proxy.cut() as u64);
}
