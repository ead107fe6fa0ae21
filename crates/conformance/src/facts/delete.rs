//! Delete: finished work is removed before its retention is over.

use ff_core::machine::{Delete, Submit};
use ff_core::{Code, ExecutionId};
use ff_store::listing::Filter;
use ff_store::roles::Answer;

use crate::fixture::{Fixture, Refused, key, ms};

async fn delete(g: &Fixture, id: ExecutionId) -> Answer<()> {
    g.backend().delete(Delete { target: g.target(id) }).await
}

pub(crate) async fn nothing_is_left_of_deleted_work_whatever_its_outcome(g: Fixture) {
    let finished = [g.expired().await, g.completed().await, g.failed().await, g.cancelled().await];
    for id in finished {
        delete(&g, id).await.unwrap();
        assert_eq!(g.backend().describe(&g.target(id)).await.refused(), Code::NotFound);
        assert_eq!(g.snapshot().await.naming(id), Vec::<String>::new());
    }
    assert!(g.listed(Filter::default()).await.is_empty());
    assert_eq!(g.snapshot().await, crate::Snapshot::default());
}

pub(crate) async fn deleted_work_is_not_found_again(g: Fixture) {
    let id = g.completed().await;
    delete(&g, id).await.unwrap();
    assert_eq!(delete(&g, id).await.refused(), Code::NotFound);
    assert_eq!(g.replay(id, 0).await.refused(), Code::NotFound);
}

pub(crate) async fn unfinished_work_is_not_deleted(g: Fixture) {
    let held = g.held().await;
    let unfinished = [held.execution, g.waiting().await, g.delayed(ms(5_000)).await];
    let before = g.snapshot().await;
    for id in unfinished {
        assert_eq!(delete(&g, id).await.refused(), Code::WrongState);
    }
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn the_key_of_deleted_work_is_free(g: Fixture) {
    let named = |g: &Fixture| {
        let id = g.backend().new_id(&g.namespace, Some(&key("once")));
        Submit { id, key: Some(key("once")), ..g.work() }
    };
    let first = g.submit(named(&g)).await;
    g.cancel(first, None).await.unwrap();
    assert_eq!(g.try_submit(named(&g)).await.unwrap().execution, first);
    delete(&g, first).await.unwrap();
    let second = g.submit(named(&g)).await;
    assert_ne!(second, first);
}
