//! Replays of flows: what did not complete runs again, and nothing else.

use ff_core::flow::{HeldMembers, Rest, member_id};
use ff_core::graph::{Join, NodeSpec};
use ff_core::machine::{CancelFlow, ReopenMembers, ReopenedMember, ReplayFlow, Submit};
use ff_core::{Code, PublicState};

use crate::fixture::{Fixture, permanent};

pub(crate) async fn a_replay_runs_what_did_not_complete_and_keeps_the_rest(g: Fixture) {
    let g = g.in_one_partition();
    let race = NodeSpec { join: Join::Any, rest: Rest::Cancel, ..g.node("won", &["a", "loser"]) };
    let nodes = vec![
        g.node("a", &[]),
        NodeSpec { work: Submit { priority: -5, ..g.work() }, ..g.node("loser", &[]) },
        race,
        g.node("b", &["won"]),
        g.node("c", &["b", "a"]),
    ];
    let flow = g.flow_of(nodes).await;
    let run_next = async |fails: bool| {
        let held = g.claimed().await;
        match fails {
            true => _ = g.fail(&held, permanent("broken")).await.unwrap(),
            false => _ = g.complete(&held, "done").await.unwrap(),
        }
        g.follow().await;
        held.execution
    };
    for fails in [false, false, true] {
        run_next(fails).await;
    }
    use PublicState::{Cancelled, Completed, Failed, Skipped, Waiting, WaitingChildren};
    let states = g.member_states(flow, 5).await;
    assert_eq!(states, [Completed, Cancelled, Completed, Failed, Skipped]);
    assert_eq!(g.state(flow).await, Failed);
    assert_eq!(g.backend().replay_flow(&g.target(flow), 0).await.unwrap(), 1);
    g.follow().await;
    let states = g.member_states(flow, 5).await;
    assert_eq!(states, [Completed, Cancelled, Completed, Waiting, WaitingChildren]);
    assert_eq!(g.backend().replay_flow(&g.target(flow), 0).await.unwrap(), 1, "the same again");
    assert_eq!(g.audit().await.violations, []);
    assert_eq!(run_next(false).await, member_id(flow, 3));
    assert_eq!(run_next(false).await, member_id(flow, 4));
    assert_eq!(g.state(flow).await, Completed);
    assert!(g.nothing_to_claim().await);
    let page = g.flow_page(flow).await.counts;
    assert_eq!((page.left, page.completed, page.cancelled, page.failed), (0, 4, 1, 0));
    let refused = g.backend().replay_flow(&g.target(flow), 1).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument.as_str());
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn a_replay_that_is_left_halfway_is_finished_by_the_same_call(g: Fixture) {
    let g = g.in_one_partition();
    let flow = g.flow_of(vec![g.node("a", &[]), g.node("b", &["a"]), g.node("c", &["a"])]).await;
    let target = g.target(flow);
    let cancel = CancelFlow { target: target.clone(), held: HeldMembers::Cancel, reason: None };
    g.backend().cancel_flow(cancel).await.unwrap();
    g.follow().await;
    // Its process dies when it has reopened one of three.
    g.run(ReplayFlow { target: target.clone(), run: 0 }).await.unwrap();
    let members = vec![ReopenedMember { node: 1, run: 0, needs: 1, spare: 0 }];
    let reopen = ReopenMembers { target: target.clone(), run: 1, members, is_last: false };
    g.run(reopen).await.unwrap();
    g.follow().await;
    assert!(g.nothing_to_claim().await);
    assert_eq!(g.audit().await.violations, []);
    assert_eq!(g.backend().replay_flow(&target, 0).await.unwrap(), 1);
    g.follow().await;
    for _ in 0..3 {
        let held = g.claimed().await;
        g.complete(&held, "done").await.unwrap();
    }
    g.follow().await;
    assert_eq!(g.state(flow).await, PublicState::Completed);
    assert_eq!(g.audit().await.violations, []);
}
