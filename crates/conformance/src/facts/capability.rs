//! Capabilities: which worker can run what, and that no worker blocks another.

use ff_core::machine::{ClaimRequest, Claimed, Submit};
use ff_core::{Capabilities, ExecutionId, PublicState};

use crate::fixture::{Fixture, capabilities, ms, worker};

/// What a worker that offers `tokens` gets.
async fn offered(g: &Fixture, tokens: &str) -> Option<ExecutionId> {
    let claim = ClaimRequest { capabilities: capabilities(tokens), ..g.claim() };
    g.take(claim).await.first().map(|assignment| assignment.execution)
}

pub(crate) async fn a_worker_gets_only_what_it_covers(g: Fixture) {
    let id = g.needing("cuda,python").await;
    for short in ["", "cuda", "python", "cuda,ruby", "cud,python", "cuda-python"] {
        assert_eq!(offered(&g, short).await, None, "{short:?}");
    }
    assert_eq!(offered(&g, "a,cuda,m,python,z").await, Some(id));
}

pub(crate) async fn work_without_requirements_goes_to_anyone(g: Fixture) {
    let first = g.waiting().await;
    g.advance(ms(1)).await;
    let second = g.waiting().await;
    assert_eq!(offered(&g, "cuda").await, Some(first));
    assert_eq!(offered(&g, "").await, Some(second));
}

pub(crate) async fn a_set_is_the_same_however_it_was_written(g: Fixture) {
    let requires = Capabilities::new(["b", "a", "b"]).unwrap();
    let id = g.submit(Submit { requires, ..g.work() }).await;
    assert_eq!(offered(&g, "a,b").await, Some(id));
}

pub(crate) async fn an_incapable_worker_changes_nothing(g: Fixture) {
    let id = g.needing("cuda").await;
    let before = g.snapshot().await;
    for _ in 0..3 {
        assert_eq!(g.try_claim(g.claim()).await.unwrap(), Claimed::default());
        assert_eq!(g.backend().grant(g.grant()).await.unwrap().offer, None);
    }
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.state(id).await, PublicState::Waiting);
    assert_eq!(offered(&g, "cuda").await, Some(id));
}

pub(crate) async fn two_workers_together_do_not_cover_a_requirement(g: Fixture) {
    let id = g.needing("cuda,python").await;
    for (name, tokens) in [("ada", "cuda"), ("bob", "python"), ("ada", "cuda")] {
        let claim =
            ClaimRequest { worker: worker(name), capabilities: capabilities(tokens), ..g.claim() };
        assert!(g.take(claim).await.is_empty(), "{name}");
    }
    assert_eq!(offered(&g, "cuda,python").await, Some(id));
}

pub(crate) async fn a_scarce_class_at_the_head_hides_nothing(g: Fixture) {
    for _ in 0..20 {
        g.needing("quantum").await;
        g.advance(ms(1)).await;
    }
    let plain = g.waiting().await;
    g.advance(ms(1)).await;
    let cuda = g.needing("cuda").await;
    assert_eq!(offered(&g, "cuda").await, Some(plain));
    assert_eq!(offered(&g, "cuda").await, Some(cuda));
}

pub(crate) async fn the_best_of_all_covered_classes_goes_first(g: Fixture) {
    let oldest = g.needing("b").await;
    g.advance(ms(1)).await;
    let younger = g.needing("a").await;
    g.advance(ms(1)).await;
    let youngest = g.waiting().await;
    let urgent = g.submit(Submit { requires: capabilities("a,b"), priority: 1, ..g.work() }).await;
    for expected in [urgent, oldest, younger, youngest] {
        assert_eq!(offered(&g, "a,b,c").await, Some(expected));
    }
}

pub(crate) async fn every_class_a_worker_covers_is_scanned(g: Fixture) {
    let g = g.in_one_partition();
    let mut ids = Vec::new();
    for n in 0..40 {
        ids.push(g.needing(&format!("c{n:02}")).await);
        g.advance(ms(1)).await;
    }
    let all: Vec<_> = (0..40).map(|n| format!("c{n:02}")).collect();
    let claim =
        ClaimRequest { capabilities: Capabilities::new(&all).unwrap(), max: 40, ..g.claim() };
    assert_eq!(g.take_ids(claim).await, ids);
}

pub(crate) async fn a_class_is_registered_while_it_has_something_queued(g: Fixture) {
    assert!(g.snapshot().await.classes.is_empty());
    g.needing("cuda").await;
    g.needing("cuda").await;
    g.waiting().await;
    assert_eq!(g.snapshot().await.classes.len(), 1);
    offered(&g, "cuda").await;
    assert_eq!(g.snapshot().await.classes.len(), 1);
    g.pass(ms(0)).await;
    while offered(&g, "cuda").await.is_some() {}
    assert!(g.snapshot().await.classes.is_empty());
}
