//! Summaries: one document, changed by merge patches of its holder.

use ff_core::Code;
use ff_core::bounds::SUMMARY_BYTES;
use ff_core::machine::PatchSummary;

use crate::fixture::{Fixture, Refused, failure, ms};

pub(crate) async fn a_summary_is_what_its_patches_make(g: Fixture) {
    let held = g.held().await;
    assert_eq!(g.summary(held.execution).await, None);
    assert_eq!(g.patch(&held, 0, r#"{"done":1,"of":9007199254740993}"#).await.unwrap(), 1);
    assert_eq!(g.patch(&held, 1, r#"{"done":2,"now":{"at":"b","x":null}}"#).await.unwrap(), 2);
    let text = r#"{"done":2,"now":{"at":"b"},"of":9007199254740993}"#;
    assert_eq!(g.summary(held.execution).await.as_deref(), Some(text));
    assert_eq!(g.audit().await.violations, []);
    g.complete(&held, "done").await.unwrap();
    assert_eq!(g.summary(held.execution).await.as_deref(), Some(text));
}

pub(crate) async fn a_repeated_patch_changes_nothing(g: Fixture) {
    let held = g.held().await;
    g.patch(&held, 0, r#"{"a":1}"#).await.unwrap();
    g.patch(&held, 1, r#"{"a":2}"#).await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.patch(&held, 0, r#"{"a":1}"#).await.unwrap(), 2);
    assert_eq!(g.patch(&held, 1, r#"{"a":2}"#).await.unwrap(), 2);
    assert_eq!(g.patch(&held, 3, r#"{"a":3}"#).await.refused(), Code::FrameGap);
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.patch(&held, None, r#"{"a":null}"#).await.unwrap(), 3);
    assert_eq!(g.summary(held.execution).await.as_deref(), Some("{}"));
}

pub(crate) async fn a_summary_is_continued_by_the_next_attempt(g: Fixture) {
    let first = g.held().await;
    g.patch(&first, 0, r#"{"a":1}"#).await.unwrap();
    g.fail(&first, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    let second = g.claimed().await;
    assert_eq!(g.patch(&first, 1, r#"{"a":7}"#).await.refused(), Code::StaleLease);
    assert_eq!(g.patch(&second, 1, r#"{"b":2}"#).await.unwrap(), 2);
    assert_eq!(g.summary(second.execution).await.as_deref(), Some(r#"{"a":1,"b":2}"#));
}

pub(crate) async fn a_summary_has_a_bound(g: Fixture) {
    let held = g.held().await;
    let half = |member: &str| {
        format!(r#"{{"{member}":"{}"}}"#, "x".repeat(SUMMARY_BYTES / 2)).into_bytes()
    };
    let patch = |patch: Vec<u8>| {
        let patch = PatchSummary { hold: held.hold(), number: None, patch: patch.into() };
        g.backend().patch_summary(patch)
    };
    patch(half("a")).await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(patch(half("b")).await.refused(), Code::TooLarge);
    let deep = ["[".repeat(33), "]".repeat(33)].concat();
    assert_eq!(patch(deep.into_bytes()).await.refused(), Code::TooLarge);
    g.snapshot().await.assert_same(&before);
    patch(half("a")).await.unwrap();
}
