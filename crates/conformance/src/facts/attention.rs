//! Attention: an execution is listed by the reason that it has now, and by no other.

use ff_core::ExecutionId;
use ff_core::machine::{TOY_ATTENTION, Toy};
use ff_core::placement::Attention;
use ff_core::policy::Policy;
use ff_store::{ListIndex, ListScan};

use crate::fixture::{Fixture, ms, permanent, steady};

impl Fixture {
    /// Makes an unfinished execution need attention.
    async fn ask_for_attention(&self, id: ExecutionId) {
        let (target, into) = (self.target(id), TOY_ATTENTION);
        self.run(Toy { target, into, name: None, parts: Vec::new(), follower: None })
            .await
            .unwrap();
    }

    /// What is listed by a reason.
    async fn listed_by(&self, reason: Attention) -> Vec<ExecutionId> {
        let (namespace, which) = (self.namespace.clone(), ListIndex::Attention(reason));
        let scan = ListScan { namespace, which, after: None, limit: 10 };
        let listed = self.store().list(scan).await.unwrap();
        listed.iter().map(|one| ExecutionId::from_bytes(&one.position().id).unwrap()).collect()
    }

    /// What is listed, by each reason.
    async fn by_reason(&self) -> (Vec<ExecutionId>, Vec<ExecutionId>) {
        assert_eq!(self.audit().await.violations, []);
        (self.listed_by(Attention::Failed).await, self.listed_by(Attention::Toy).await)
    }
}

pub(crate) async fn an_execution_moves_from_one_reason_to_another(g: Fixture) {
    let assignment = g.held().await;
    let id = assignment.execution;
    assert_eq!(g.by_reason().await, (vec![], vec![]));
    g.ask_for_attention(id).await;
    assert_eq!(g.by_reason().await, (vec![], vec![id]));
    g.fail(&assignment, permanent("broken")).await.unwrap();
    assert_eq!(g.by_reason().await, (vec![id], vec![]));
    g.replay(id, 0).await.unwrap();
    assert_eq!(g.by_reason().await, (vec![], vec![id]));
}

pub(crate) async fn an_execution_that_is_held_keeps_its_reason(g: Fixture) {
    let id = g.waiting().await;
    g.ask_for_attention(id).await;
    let assignment = g.claimed().await;
    g.renew(assignment.hold()).await.unwrap();
    assert_eq!(g.by_reason().await, (vec![], vec![id]));
    g.complete(&assignment, "done").await.unwrap();
    assert_eq!(g.by_reason().await, (vec![], vec![]));
}

pub(crate) async fn a_removed_execution_is_listed_by_no_reason(g: Fixture) {
    let assignment = g.held_under(Policy { retention: ms(2_000), ..steady() }).await;
    let id = assignment.execution;
    g.ask_for_attention(id).await;
    g.fail(&assignment, permanent("broken")).await.unwrap();
    g.pass(ms(4_000)).await;
    assert_eq!(g.by_reason().await, (vec![], vec![]));
    let snapshot = g.snapshot().await;
    assert!(snapshot.naming(id).is_empty(), "{:?}", snapshot.naming(id));
}

pub(crate) async fn reasons_of_namespaces_are_separate(g: Fixture) {
    let (ours, theirs) = (g.waiting().await, g.elsewhere().waiting().await);
    g.ask_for_attention(ours).await;
    g.elsewhere().ask_for_attention(theirs).await;
    assert_eq!(g.by_reason().await, (vec![], vec![ours]));
    assert_eq!(g.elsewhere().by_reason().await, (vec![], vec![theirs]));
}
