//! Flows: what depends on others runs when it may, never before, and a flow ends as its members do.

use ff_core::flow::{HeldMembers, Rest, member_id};
use ff_core::graph::{FlowSubmission, Join, NodeSpec};
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{CancelFlow, Delete, Submit};
use ff_core::state::State;
use ff_core::suspension::OnTimeout;
use ff_core::{Code, Millis, PublicState, When};
use ff_store::listing::Filter;
use ff_store::roles::FlowCancelled;

use crate::fixture::{Fixture, at_once, key, ms, named, permanent};

pub(crate) async fn a_chain_runs_in_order_and_the_flow_completes(g: Fixture) {
    let nodes = vec![g.node("a", &[]), g.node("b", &["a"]), g.node("c", &["b"])];
    let flow = g.flow_of(nodes).await;
    for node in 0..3 {
        let held = g.claimed().await;
        assert_eq!(held.execution, member_id(flow, node));
        assert!(g.nothing_to_claim().await, "the next waits for this one");
        g.complete(&held, "done").await.unwrap();
    }
    g.follow().await;
    assert_eq!(g.state(flow).await, PublicState::Completed);
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn a_join_runs_once_and_only_when_all_upstreams_completed(g: Fixture) {
    let g = g.in_one_partition();
    let nodes = vec![g.node("a", &[]), g.node("b", &[]), g.node("end", &["a", "b"])];
    let flow = g.flow_of(nodes).await;
    let (a, b) = (g.claimed().await, g.claimed().await);
    g.complete(&a, "done").await.unwrap();
    g.follow().await;
    assert!(g.nothing_to_claim().await);
    g.complete(&b, "done").await.unwrap();
    let end = g.claimed().await;
    assert_eq!(end.execution, member_id(flow, 2));
    assert!(g.nothing_to_claim().await);
}

pub(crate) async fn losers_of_a_race_are_cancelled_unless_another_node_needs_them(g: Fixture) {
    let g = g.in_one_partition();
    let first =
        NodeSpec { join: Join::Any, rest: Rest::Cancel, ..g.node("first", &["a", "b", "c"]) };
    let nodes =
        vec![g.node("a", &[]), g.node("b", &[]), g.node("c", &[]), first, g.node("also", &["c"])];
    let flow = g.flow_of(nodes).await;
    let a = g.claimed().await;
    let _b = g.claimed().await;
    g.complete(&a, "won").await.unwrap();
    g.follow().await;
    use PublicState::{Cancelled, Completed, Waiting, WaitingChildren};
    let states = g.member_states(flow, 5).await;
    assert_eq!(states, [Completed, Cancelled, Waiting, Waiting, WaitingChildren]);
}

pub(crate) async fn a_cancelled_flow_has_nothing_claimed_after_the_acknowledgement(g: Fixture) {
    let g = g.in_one_partition();
    let nodes = vec![g.node("a", &[]), g.node("b", &[]), g.node("c", &[]), g.node("d", &["a"])];
    let flow = g.flow_of(nodes).await;
    let held = g.claimed().await;
    let offer = g.granted().await;
    let target = g.target(flow);
    let cancel = CancelFlow { target, held: HeldMembers::Cancel, reason: Some("enough".into()) };
    // The process that cancels dies before it goes through the members.
    g.run(cancel.clone()).await.unwrap();
    g.store().continuations().take(usize::MAX);
    assert!(g.nothing_to_claim().await);
    let granted = g.backend().grant(g.grant()).await.unwrap();
    assert!(granted.offer.is_none());
    let refused = g.backend().claim_granted(g.use_of(&offer)).await.unwrap_err();
    assert_eq!(refused.code(), Code::StaleGrant.as_str());
    g.follow().await;
    assert_eq!(g.member_states(flow, 4).await, [PublicState::Cancelled; 4]);
    assert_eq!(g.state(flow).await, PublicState::Cancelled);
    let refused = g.complete(&held, "late").await.unwrap_err();
    assert_eq!(refused.code(), Code::Cancelled.as_str());
    assert_eq!(g.backend().cancel_flow(cancel).await.unwrap(), FlowCancelled::default());
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn members_in_every_state_end_with_their_flow(g: Fixture) {
    let g = g.in_one_partition();
    g.put_quota("api", at_once(1)).await;
    let quotas = || ExecutionLimits { quotas: [named("api")].into(), ..Default::default() };
    g.submit(Submit { limits: quotas(), ..g.work() }).await;
    let _slot = g.claimed().await;
    let limited = NodeSpec {
        work: Submit { limits: quotas(), priority: 9, ..g.work() },
        ..g.node("limited", &[])
    };
    let later = NodeSpec {
        work: Submit { start: When::After(ms(9_000)), ..g.work() },
        ..g.node("later", &[])
    };
    let nodes =
        vec![limited, later, g.node("parked", &[]), g.node("held", &[]), g.node("x", &["held"])];
    let flow = g.flow_of(nodes).await;
    let parked = g.claimed().await;
    let gate = g.parking_for(&parked, ms(9_000), OnTimeout::Fail);
    g.suspend(gate).await.unwrap();
    let held = g.claimed().await;
    use PublicState::{Active, Delayed, RateLimited, Suspended, WaitingChildren};
    let states = g.member_states(flow, 5).await;
    assert_eq!(states, [RateLimited, Delayed, Suspended, Active, WaitingChildren]);
    let (target, reason) = (g.target(flow), None);
    let cancel = CancelFlow { target, held: HeldMembers::Finish, reason };
    let cancelled = g.backend().cancel_flow(cancel).await.unwrap();
    let pending: Vec<_> = cancelled.pending.iter().map(|it| (it.name.as_str(), it.state)).collect();
    assert_eq!((cancelled.left, pending), (1, vec![("held", Active)]));
    assert_eq!(g.state(flow).await, WaitingChildren, "one is allowed to finish");
    g.complete(&held, "done").await.unwrap();
    g.follow().await;
    let states = g.member_states(flow, 5).await;
    let mut expected = [PublicState::Cancelled; 5];
    expected[3] = PublicState::Completed;
    assert_eq!(states, expected);
    assert_eq!(g.state(flow).await, PublicState::Cancelled);
}

pub(crate) async fn a_large_graph_is_built_in_slices_and_continued_by_the_same_call(g: Fixture) {
    let g = g.in_one_partition();
    let leaves: Vec<_> = (0..150).map(|n| format!("leaf{n}")).collect();
    let names: Vec<_> = leaves.iter().map(String::as_str).collect();
    let mut nodes: Vec<_> = names.iter().map(|name| g.node(name, &[])).collect();
    nodes.push(g.node("end", &names));
    let flow = g.graph(nodes);
    // A process dies after the first slice.
    let mut slices = flow.clone().into_commands(g.store().partitions()).unwrap();
    g.run(slices.remove(0)).await.unwrap();
    assert!(g.nothing_to_claim().await, "nothing of an open flow runs");
    let again = g.backend().submit_flow(flow.clone()).await.unwrap();
    assert_eq!((again.flow, again.members), (flow.id, 151));
    g.follow().await;
    let mut done = 0;
    loop {
        let claim = ff_core::machine::ClaimRequest { max: 64, ..g.claim() };
        let some = g.take(claim).await;
        if some.is_empty() {
            break;
        }
        for held in &some {
            g.complete(held, "done").await.unwrap();
            done += 1;
        }
        g.follow().await;
    }
    assert_eq!(done, 151);
    assert_eq!(g.state(flow.id).await, PublicState::Completed);
    assert_eq!(g.flow_page(flow.id).await.counts.completed, 151);
}

pub(crate) async fn the_same_flow_again_is_the_same_and_another_body_is_refused(g: Fixture) {
    let flow = FlowSubmission {
        id: g.backend().new_id(&g.namespace, Some(&key("order-1"))),
        key: Some(key("order-1")),
        ..g.graph(vec![g.node("a", &[])])
    };
    g.submit_flow(flow.clone()).await;
    let before = g.snapshot().await;
    let mut again = flow.clone();
    again.id = g.backend().new_id(&g.namespace, Some(&key("order-1")));
    let found = g.backend().submit_flow(again.clone()).await.unwrap();
    assert_eq!((found.flow, found.created), (flow.id, false));
    again.priority = 3;
    let refused = g.backend().submit_flow(again).await.unwrap_err();
    assert_eq!(refused.code(), Code::IdempotencyConflict.as_str());
    assert_eq!(g.snapshot().await, before);
}

pub(crate) async fn an_upstream_result_is_read_by_name(g: Fixture) {
    let g = g.in_one_partition();
    let flow = g.flow_of(vec![g.node("a", &[]), g.node("b", &["a"])]).await;
    let a = g.claimed().await;
    g.complete(&a, "forty-two").await.unwrap();
    let b = g.claimed().await;
    let read = g.backend();
    let target = g.target(b.execution);
    let found = read.upstream(&target, &"a".parse().unwrap()).await.unwrap();
    assert_eq!(&found.bytes[..], b"forty-two");
    let missing = read.upstream(&target, &"b".parse().unwrap()).await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound.as_str());
    let elsewhere = g.elsewhere().target(b.execution);
    assert!(read.upstream(&elsewhere, &"a".parse().unwrap()).await.is_err());
    assert!(read.flow(&g.elsewhere().target(flow), 0, 10).await.is_err());
}

pub(crate) async fn an_explanation_names_what_a_member_waits_for(g: Fixture) {
    let g = g.in_one_partition();
    let flow = g.flow_of(vec![g.node("a", &[]), g.node("b", &[]), g.node("c", &["a", "b"])]).await;
    let held = g.claimed().await;
    let explained = g.backend().explain(&g.target(member_id(flow, 2))).await.unwrap();
    assert_eq!(
        explained.sentence,
        "The execution waits for node a, which is active, and for node b, which is waiting."
    );
    g.complete(&held, "done").await.unwrap();
    let explained = g.backend().explain(&g.target(member_id(flow, 2))).await.unwrap();
    assert_eq!(explained.sentence, "The execution waits for node b, which is waiting.");
    let explained = g.backend().explain(&g.target(flow)).await.unwrap();
    assert_eq!(explained.sentence, "The execution runs until its members have ended.");
}

pub(crate) async fn flows_are_listed_as_flows_and_members_as_work(g: Fixture) {
    let flow = g.flow_of(vec![g.node("a", &[])]).await;
    let plain = g.waiting().await;
    let flows = Filter { flows: true, ..Filter::default() };
    assert_eq!(g.listed(flows).await, [flow]);
    let mut work = g.listed(Filter::default()).await;
    let mut expected = vec![plain, member_id(flow, 0)];
    work.sort();
    expected.sort();
    assert_eq!(work, expected);
}

pub(crate) async fn a_flow_is_removed_with_its_members_when_its_retention_is_over(g: Fixture) {
    let empty = g.snapshot().await;
    let flow = FlowSubmission {
        retention: Some(Millis::from_hours(1)),
        ..g.graph(vec![g.node("a", &[]), g.node("b", &["a"])])
    };
    let flow = g.submit_flow(flow).await;
    let held = g.claimed().await;
    g.fail(&held, permanent("broken")).await.unwrap();
    g.follow().await;
    assert_eq!(g.state(flow).await, PublicState::Failed);
    let member = Delete { target: g.target(member_id(flow, 0)) };
    let refused = g.run(member).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument.as_str());
    g.pass(Millis::from_hours(1)).await;
    g.follow().await;
    let after = g.snapshot().await;
    assert_eq!((after.records.len(), after.entries.len()), (empty.records.len(), 0));
    assert_eq!(after.elements.len(), empty.elements.len());
}

pub(crate) async fn a_flow_past_its_deadline_expires(g: Fixture) {
    let flow = FlowSubmission {
        deadline: Some(ms(500)),
        ..g.graph(vec![g.node("a", &[]), g.node("b", &["a"])])
    };
    let flow = g.submit_flow(flow).await;
    g.pass(ms(500)).await;
    g.follow().await;
    assert_eq!(g.state(flow).await, PublicState::Expired);
    assert_eq!(g.member_states(flow, 2).await, [PublicState::Cancelled; 2]);
}

pub(crate) async fn a_flow_completes_although_every_process_dies_after_its_commits(g: Fixture) {
    let g = g.in_one_partition();
    let flow = g.flow_of(vec![g.node("a", &[]), g.node("b", &["a"]), g.node("c", &["a"])]).await;
    let held = g.claimed().await;
    g.run(ff_core::machine::Fail { hold: held.hold(), failure: permanent("broken") })
        .await
        .unwrap();
    g.store().continuations().take(usize::MAX);
    assert_eq!(g.state(member_id(flow, 1)).await, PublicState::WaitingChildren);
    // The engine finds what was left.
    g.pass(ff_core::continuation::TAKEOVER).await;
    g.follow().await;
    assert_eq!(g.member_states(flow, 3).await[1..], [PublicState::Skipped; 2]);
    assert_eq!(g.state(flow).await, PublicState::Failed);
    let State::Finished { .. } = g.record(flow).await.state else { panic!("it has ended") };
}
