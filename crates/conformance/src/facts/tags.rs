//! Tags can change while work is not finished.

use ff_core::bounds::TAGS;
use ff_core::machine::{SetTags, Submit};
use ff_core::record::Tags;
use ff_core::{Code, ExecutionId, TagKey};

use crate::fixture::{Fixture, Refused, tag};

fn change(g: &Fixture, id: ExecutionId, set: &[(&str, &str)], remove: &[&str]) -> SetTags {
    SetTags {
        target: g.target(id),
        set: set.iter().map(|(key, value)| tag(key, value)).collect(),
        remove: remove.iter().map(|key| TagKey::new(*key).unwrap()).collect(),
    }
}

pub(crate) async fn tags_are_set_replaced_and_removed(g: Fixture) {
    let tags = Tags::from([tag("a", "1"), tag("b", "2"), tag("c", "3")]);
    let id = g.submit(Submit { tags, ..g.work() }).await;
    let change = change(&g, id, &[("a", "9"), ("d", "4")], &["b", "unknown"]);
    g.backend().set_tags(change).await.unwrap();
    let expected = Tags::from([tag("a", "9"), tag("c", "3"), tag("d", "4")]);
    assert_eq!(g.record(id).await.tags, expected);
}

pub(crate) async fn the_same_tags_again_change_nothing(g: Fixture) {
    let id = g.waiting().await;
    let change = change(&g, id, &[("a", "1")], &["b"]);
    g.backend().set_tags(change.clone()).await.unwrap();
    let before = g.snapshot().await;
    g.backend().set_tags(change).await.unwrap();
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn more_tags_than_allowed_are_refused(g: Fixture) {
    let tags: Tags = (0..TAGS).map(|n| tag(&format!("t{n}"), "")).collect();
    let id = g.submit(Submit { tags, ..g.work() }).await;
    let before = g.snapshot().await;
    let one_more = change(&g, id, &[("more", "")], &[]);
    assert_eq!(g.backend().set_tags(one_more).await.refused(), Code::TooLarge);
    g.snapshot().await.assert_same(&before);
    g.backend().set_tags(change(&g, id, &[("more", "")], &["t0"])).await.unwrap();
}

pub(crate) async fn finished_work_keeps_its_tags(g: Fixture) {
    let id = g.completed().await;
    let refused = g.backend().set_tags(change(&g, id, &[("a", "1")], &[])).await.refused();
    assert_eq!(refused, Code::WrongState);
}

pub(crate) async fn the_next_holder_sees_the_new_tags(g: Fixture) {
    let assignment = g.held().await;
    g.backend().set_tags(change(&g, assignment.execution, &[("a", "1")], &[])).await.unwrap();
    g.hand_back(&assignment).await.unwrap();
    assert_eq!(g.claimed().await.tags, Tags::from([tag("a", "1")]));
}
