//! Children: a held execution spawns work, and waits for it without a worker.

use ff_core::flow::{HeldMembers, member_id};
use ff_core::machine::{Assignment, CancelFlow, Delete, NewChild, Submit, WaitChildren};
use ff_core::record::Exited;
use ff_core::{Code, ExecutionId, NodeName, Payload, PublicState};

use crate::fixture::{Fixture, forged, permanent};

fn name(text: &str) -> NodeName {
    text.parse().unwrap()
}

impl Fixture {
    fn child(&self, text: &str) -> NewChild {
        NewChild { name: name(text), work: self.work() }
    }

    async fn spawn(&self, parent: &Assignment, names: &[&str]) -> Vec<ExecutionId> {
        let children = names.iter().map(|name| self.child(name)).collect();
        let spawned = self.backend().spawn(parent.hold(), children).await.unwrap();
        spawned.children.iter().map(|child| child.execution).collect()
    }

    async fn wait_for(
        &self,
        parent: &Assignment,
        names: &[&str],
        completed: Option<u32>,
    ) -> Option<Exited> {
        let children = names.iter().map(|it| name(it)).collect();
        let wait = WaitChildren { hold: parent.hold(), children, completed };
        self.backend().wait_children(wait).await.unwrap()
    }
}

const PARKED: Option<Exited> = Some(Exited::Suspended { until: None });

pub(crate) async fn a_spawned_child_runs_beside_its_parent(g: Fixture) {
    let g = g.in_one_partition();
    let parent = g.held().await;
    let children = g.spawn(&parent, &["a", "b"]).await;
    assert_eq!(children, [0, 1].map(|node| member_id(parent.execution, node)));
    let a = g.claimed().await;
    assert_eq!(a.execution, children[0]);
    assert_eq!(a.member, Some((parent.execution, name("a"))));
    assert_eq!(g.state(parent.execution).await, PublicState::Active);
    g.complete(&a, "forty-two").await.unwrap();
    let target = g.target(parent.execution);
    let found = g.backend().upstream(&target, &name("a")).await.unwrap();
    assert_eq!(&found.bytes[..], b"forty-two");
    let early = g.backend().upstream(&target, &name("b")).await.unwrap_err();
    assert_eq!(early.code(), Code::WrongState.as_str());
    let page = g.backend().children(&target, 0, 100).await.unwrap();
    assert_eq!((page.members.len(), page.counts.completed, page.counts.left), (2, 1, 1));
}

pub(crate) async fn the_same_name_is_the_same_child_and_other_work_is_refused(g: Fixture) {
    let g = g.in_one_partition();
    let parent = g.held().await;
    let first = g.spawn(&parent, &["a"]).await;
    let both = vec![g.child("b"), g.child("a")];
    let spawned = g.backend().spawn(parent.hold(), both).await.unwrap();
    let created: Vec<_> = spawned.children.iter().map(|child| child.created).collect();
    assert_eq!((created, spawned.children[1].execution), (vec![true, false], first[0]));
    let before = g.snapshot().await;
    let other = Submit { input: Payload::bytes("else"), ..g.work() };
    let other = NewChild { name: name("a"), work: other };
    let refused = g.backend().spawn(parent.hold(), vec![other]).await.unwrap_err();
    assert_eq!(refused.code(), Code::IdempotencyConflict.as_str());
    for wrong in [vec![], vec![g.child("x"), g.child("x")]] {
        let refused = g.backend().spawn(parent.hold(), wrong).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument.as_str());
    }
    let many = (0..101).map(|n| g.child(&format!("n{n}"))).collect();
    let refused = g.backend().spawn(parent.hold(), many).await.unwrap_err();
    assert_eq!(refused.code(), Code::TooLarge.as_str());
    assert_eq!(g.snapshot().await, before);
}

pub(crate) async fn only_the_holder_spawns_and_waits(g: Fixture) {
    let g = g.in_one_partition();
    let parent = g.held().await;
    g.spawn(&parent, &["a"]).await;
    let before = g.snapshot().await;
    for (why, hold) in forged(&parent.hold()) {
        let children = vec![g.child("b")];
        assert!(g.backend().spawn(hold.clone(), children).await.is_err(), "{why}");
        let wait = WaitChildren { hold, children: Vec::new(), completed: None };
        assert!(g.backend().wait_children(wait).await.is_err(), "{why}");
    }
    assert_eq!(g.snapshot().await, before);
    g.complete(&parent, "done").await.unwrap();
    assert!(g.backend().spawn(parent.hold(), vec![g.child("b")]).await.is_err(), "it has ended");
}

pub(crate) async fn a_parent_waits_without_a_worker_until_its_children_have_ended(g: Fixture) {
    for names in [&["a", "b"][..], &[]] {
        let g = g.in_one_partition();
        let parent = g.held().await;
        g.spawn(&parent, &["a", "b"]).await;
        assert_eq!(g.wait_for(&parent, names, None).await, PARKED);
        assert_eq!(g.wait_for(&parent, names, None).await, PARKED, "the same call again");
        assert_eq!(g.state(parent.execution).await, PublicState::WaitingChildren);
        let (a, b) = (g.claimed().await, g.claimed().await);
        assert!(g.nothing_to_claim().await, "the parent is parked");
        g.complete(&a, "done").await.unwrap();
        g.follow().await;
        assert!(g.nothing_to_claim().await, "one has not ended");
        g.fail(&b, permanent("broken")).await.unwrap();
        g.follow().await;
        let again = g.claimed().await;
        assert_eq!(again.execution, parent.execution);
        assert_eq!(again.fence.attempt, parent.fence.attempt, "the same attempt continues");
        assert_eq!(g.wait_for(&again, names, None).await, None, "they have ended");
        g.complete(&again, "done").await.unwrap();
    }
}

pub(crate) async fn children_that_ended_before_the_wait_count_at_once(g: Fixture) {
    let g = g.in_one_partition();
    let parent = g.held().await;
    g.spawn(&parent, &["a", "b"]).await;
    let a = g.claimed().await;
    g.complete(&a, "done").await.unwrap();
    assert_eq!(g.wait_for(&parent, &["a"], None).await, None, "the holder keeps its lease");
    assert_eq!(g.wait_for(&parent, &["a", "b"], Some(1)).await, None);
    let missing =
        WaitChildren { hold: parent.hold(), children: vec![name("nobody")], completed: None };
    let refused = g.backend().wait_children(missing).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound.as_str());
    assert_eq!(g.wait_for(&parent, &["a", "b"], None).await, PARKED);
    let b = g.claimed().await;
    g.complete(&b, "done").await.unwrap();
    g.follow().await;
    assert_eq!(g.claimed().await.execution, parent.execution);
}

pub(crate) async fn a_race_is_over_when_one_child_completes_or_none_can(g: Fixture) {
    let g = g.in_one_partition();
    let parent = g.held().await;
    g.spawn(&parent, &["a", "b", "c"]).await;
    assert_eq!(g.wait_for(&parent, &["a", "b"], Some(1)).await, PARKED);
    let (a, b) = (g.claimed().await, g.claimed().await);
    g.fail(&a, permanent("broken")).await.unwrap();
    g.follow().await;
    assert_eq!(g.state(parent.execution).await, PublicState::WaitingChildren);
    g.complete(&b, "won").await.unwrap();
    g.follow().await;
    assert_eq!(g.state(parent.execution).await, PublicState::Waiting);
    let mut both = vec![g.claimed().await, g.claimed().await];
    both.sort_by_key(|held| held.execution == parent.execution);
    let (parent, c) = (both.remove(1), both.remove(0));
    assert_eq!(g.wait_for(&parent, &["c"], Some(1)).await, PARKED);
    g.fail(&c, permanent("broken")).await.unwrap();
    g.follow().await;
    assert_eq!(g.claimed().await.execution, parent.execution, "none can any more");
}

pub(crate) async fn a_child_that_ends_while_its_parent_is_parked_is_not_lost(g: Fixture) {
    let g = g.in_one_partition();
    let parent = g.held().await;
    g.spawn(&parent, &["a", "b"]).await;
    let (a, b) = (g.claimed().await, g.claimed().await);
    assert_eq!(g.wait_for(&parent, &["a", "b"], None).await, PARKED);
    // The processes that complete the children die before they tell the parent.
    for child in [a, b] {
        let result = Payload::bytes("done");
        g.run(ff_core::machine::Complete { hold: child.hold(), result }).await.unwrap();
        g.store().continuations().take(usize::MAX);
    }
    g.pass(ff_core::continuation::TAKEOVER).await;
    g.follow().await;
    assert_eq!(g.claimed().await.execution, parent.execution);
}

pub(crate) async fn children_are_cancelled_when_their_parent_ends_and_removed_with_it(g: Fixture) {
    let g = g.in_one_partition();
    let empty = g.snapshot().await;
    let parent = g.held().await;
    let children = g.spawn(&parent, &["a", "b"]).await;
    let a = g.claimed().await;
    let inner = g.spawn(&a, &["of-a"]).await;
    g.complete(&parent, "done").await.unwrap();
    g.follow().await;
    for child in children.iter().chain(&inner) {
        assert_eq!(g.state(*child).await, PublicState::Cancelled);
    }
    assert_eq!(g.audit().await.violations, []);
    let refused = g.run(Delete { target: g.target(children[0]) }).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument.as_str());
    g.run(Delete { target: g.target(parent.execution) }).await.unwrap();
    g.follow().await;
    let after = g.snapshot().await;
    assert_eq!(after.records.len(), empty.records.len());
    assert_eq!(after.elements.len(), empty.elements.len());
}

pub(crate) async fn a_cancelled_flow_admits_no_child(g: Fixture) {
    let g = g.in_one_partition();
    let flow = g.flow_of(vec![g.node("a", &[])]).await;
    let held = g.claimed().await;
    let inner = g.spawn(&held, &["x"]).await;
    let target = g.target(flow);
    let cancel = CancelFlow { target, held: HeldMembers::Finish, reason: None };
    g.backend().cancel_flow(cancel).await.unwrap();
    let refused = g.backend().spawn(held.hold(), vec![g.child("y")]).await.unwrap_err();
    assert_eq!(refused.code(), Code::WrongState.as_str());
    g.complete(&held, "done").await.unwrap();
    g.follow().await;
    assert_eq!(g.state(inner[0]).await, PublicState::Cancelled);
    assert_eq!(g.state(flow).await, PublicState::Cancelled);
}

pub(crate) async fn a_parent_that_waits_is_cancelled_and_expires_like_any_other(g: Fixture) {
    let g = g.in_one_partition();
    let parent = g.held().await;
    let children = g.spawn(&parent, &["a"]).await;
    assert_eq!(g.wait_for(&parent, &[], None).await, PARKED);
    let explained = g.backend().explain(&g.target(parent.execution)).await.unwrap();
    assert_eq!(explained.sentence, "The execution waits until its children have ended.");
    g.cancel(parent.execution, None).await.unwrap();
    g.follow().await;
    assert_eq!(g.state(parent.execution).await, PublicState::Cancelled);
    assert_eq!(g.state(children[0]).await, PublicState::Cancelled);
}
