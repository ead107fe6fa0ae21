//! Tokens of waitpoints: what they send arrives as from the one they were made for, or not at all.

use ff_core::condition::CountOf;
use ff_core::machine::{Assignment, Delete, OpenWaitpoint, Suspend};
use ff_core::signal::SignalEffect;
use ff_core::{
    Code, ExecutionId, IdempotencyKey, Payload, PublicState, Subject, WaitpointKey, When,
};
use ff_store::ring::{Key, KeyFile, Purpose, SignedToken};
use ff_store::roles::{NewToken, TokenSignal};
use tempfile::TempDir;

use crate::fixture::{Fixture, Refused, count, ms, waitpoint};

/// The key of every waitpoint here.
fn gate() -> WaitpointKey {
    WaitpointKey::new("gate").unwrap()
}

/// Gives the process of the fact keys of its own; they live as long as the folder.
async fn with_keys(g: &Fixture) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = KeyFile::at(folder.path().join("keys"));
    file.add(&Key::random().unwrap()).unwrap();
    g.backend().serve_keys(Some(file)).await.unwrap();
    folder
}

/// Work that waits until `n` different sources have sent a signal.
async fn waiting(g: &Fixture, n: u32) -> Assignment {
    let held = g.held().await;
    g.suspend(g.parking(&held, &["gate"], count(n, CountOf::Sources))).await.unwrap();
    held
}

fn wanted(g: &Fixture, id: ExecutionId, subject: Option<&str>) -> NewToken {
    NewToken {
        target: g.target(id),
        waitpoint: gate(),
        purpose: Purpose::Signal,
        subject: subject.map(|subject| Subject::new(subject).unwrap()),
        expires: None,
    }
}

async fn token(g: &Fixture, id: ExecutionId, subject: Option<&str>) -> SignedToken {
    g.backend().waitpoint_token(wanted(g, id, subject)).await.unwrap().token
}

fn yes() -> TokenSignal {
    TokenSignal { payload: Payload::json("true"), ..TokenSignal::default() }
}

async fn sent(g: &Fixture, token: &SignedToken) -> SignalEffect {
    g.backend().signal_by_token(token, yes()).await.unwrap().1.effect
}

pub(crate) async fn a_waitpoint_comes_with_a_token_for_nobody_in_particular(g: Fixture) {
    let held = g.held().await;
    let open = || OpenWaitpoint { hold: held.hold(), waitpoint: waitpoint("gate") };
    let _keys = with_keys(&g).await;
    let first = g.backend().open_waitpoint(open()).await.unwrap();
    let again = g.backend().open_waitpoint(open()).await.unwrap();
    assert_eq!((&again.waitpoint, &again.token), (&first.waitpoint, &first.token));
    assert_eq!(first.token, Some(token(&g, held.execution, None).await));
    let suspend = g.parking(&held, &["gate"], count(1, CountOf::Sources));
    let parked = g.backend().suspend(suspend).await.unwrap();
    assert_eq!(parked.waitpoints.len(), 1);
    assert_eq!(parked.waitpoints[0].token, first.token, "the same waitpoint, the same token");
    assert_eq!(sent(&g, &first.token.unwrap()).await, SignalEffect::Resumed);
}

pub(crate) async fn a_signal_by_token_is_from_the_one_it_was_made_for(g: Fixture) {
    let _keys = with_keys(&g).await;
    let held = waiting(&g, 3).await;
    for (subject, source) in [(Some("ann"), "ann"), (None, "bearer")] {
        let token = token(&g, held.execution, subject).await;
        let (id, done) = g.backend().signal_by_token(&token, yes()).await.unwrap();
        assert_eq!((id, done.effect), (held.execution, SignalEffect::Recorded));
        let number = done.number.unwrap();
        let signals = g.backend().signals(&g.target(id), number, 1).await.unwrap();
        assert_eq!(signals[0].source.as_str(), source);
        assert_eq!(signals[0].payload, Payload::json("true"));
    }
}

pub(crate) async fn two_approvers_have_two_tokens_and_each_counts_once(g: Fixture) {
    let _keys = with_keys(&g).await;
    let held = waiting(&g, 2).await;
    let (ann, bob) = (
        token(&g, held.execution, Some("ann")).await,
        token(&g, held.execution, Some("bob")).await,
    );
    assert_ne!(ann, bob);
    assert_eq!(token(&g, held.execution, Some("ann")).await, ann, "it is recomputed, not stored");
    assert_eq!(sent(&g, &ann).await, SignalEffect::Recorded);
    assert_eq!(sent(&g, &ann).await, SignalEffect::Duplicate);
    let key = Some(IdempotencyKey::new("another").unwrap());
    let again = TokenSignal { key, ..yes() };
    let (_, done) = g.backend().signal_by_token(&ann, again).await.unwrap();
    assert_eq!(done.effect, SignalEffect::Recorded, "a second approval of one person");
    assert_eq!(g.state(held.execution).await, PublicState::Suspended, "does not count");
    assert_eq!(sent(&g, &bob).await, SignalEffect::Resumed);
    assert_eq!(sent(&g, &bob).await, SignalEffect::Duplicate, "its reply may have been lost");
}

pub(crate) async fn a_token_of_an_earlier_suspension_does_not_fit_a_later_one(g: Fixture) {
    let _keys = with_keys(&g).await;
    let held = waiting(&g, 1).await;
    let old = token(&g, held.execution, None).await;
    assert_eq!(sent(&g, &old).await, SignalEffect::Resumed);
    let held = g.claimed().await;
    g.suspend(g.parking(&held, &["gate"], count(1, CountOf::Sources))).await.unwrap();
    let before = g.snapshot().await;
    let again = TokenSignal { payload: Payload::json("\"other\""), ..TokenSignal::default() };
    assert_eq!(g.backend().signal_by_token(&old, again).await.refused(), Code::WaitpointClosed);
    g.snapshot().await.assert_same(&before);
    let new = token(&g, held.execution, None).await;
    assert_ne!(new, old);
    assert_eq!(sent(&g, &new).await, SignalEffect::Resumed);
}

pub(crate) async fn a_token_for_what_was_removed_is_closed_and_not_invalid(g: Fixture) {
    let _keys = with_keys(&g).await;
    let held = waiting(&g, 1).await;
    let token = token(&g, held.execution, Some("ann")).await;
    g.cancel(held.execution, None).await.unwrap();
    let closed = g.backend().signal_by_token(&token, yes()).await;
    assert_eq!(closed.refused(), Code::WaitpointClosed);
    let target = g.target(held.execution);
    g.backend().delete(Delete { target }).await.unwrap();
    let removed = g.backend().signal_by_token(&token, yes()).await;
    assert_eq!(removed.refused(), Code::WaitpointClosed);
    let wanted = wanted(&g, held.execution, None);
    assert_eq!(g.backend().waitpoint_token(wanted).await.refused(), Code::NotFound);
}

pub(crate) async fn a_token_is_made_for_an_open_waitpoint_of_the_callers_namespace(g: Fixture) {
    let _keys = with_keys(&g).await;
    let held = waiting(&g, 1).await;
    let elsewhere = wanted(&g.elsewhere(), held.execution, None);
    assert_eq!(g.backend().waitpoint_token(elsewhere).await.refused(), Code::NotFound);
    let waitpoint = WaitpointKey::new("other").unwrap();
    let other = NewToken { waitpoint, ..wanted(&g, held.execution, None) };
    assert_eq!(g.backend().waitpoint_token(other).await.refused(), Code::WaitpointClosed);
    for expires in [When::Now, When::At(g.now().await), When::After(ms(0))] {
        let new = NewToken { expires: Some(expires), ..wanted(&g, held.execution, None) };
        assert_eq!(g.backend().waitpoint_token(new).await.refused(), Code::InvalidArgument);
    }
}

pub(crate) async fn a_token_expires_before_its_waitpoint(g: Fixture) {
    let _keys = with_keys(&g).await;
    let held = waiting(&g, 1).await;
    let new = NewToken { expires: Some(When::After(ms(500))), ..wanted(&g, held.execution, None) };
    let made = g.backend().waitpoint_token(new).await.unwrap();
    assert_eq!(made.expires, Some(g.now().await + ms(500)));
    g.advance(ms(500)).await;
    let before = g.snapshot().await;
    let late = g.backend().signal_by_token(&made.token, yes()).await;
    assert_eq!(late.refused(), Code::InvalidToken);
    g.snapshot().await.assert_same(&before);
    assert_eq!(sent(&g, &token(&g, held.execution, None).await).await, SignalEffect::Resumed);
}

pub(crate) async fn at_the_moment_of_the_timeout_a_signal_by_token_is_too_late(g: Fixture) {
    let _keys = with_keys(&g).await;
    let held = g.held().await;
    let timeout = Some(When::After(ms(1_000)));
    let parking = g.parking(&held, &["gate"], count(1, CountOf::Sources));
    g.suspend(Suspend { timeout, ..parking }).await.unwrap();
    let token = token(&g, held.execution, None).await;
    g.advance(ms(1_000)).await;
    assert_eq!(sent(&g, &token).await, SignalEffect::TooLate);
}

pub(crate) async fn a_link_sends_no_signal_and_a_bad_token_changes_nothing(g: Fixture) {
    let _keys = with_keys(&g).await;
    let held = waiting(&g, 1).await;
    let link = NewToken { purpose: Purpose::ApprovalLink, ..wanted(&g, held.execution, None) };
    let link = g.backend().waitpoint_token(link).await.unwrap().token;
    let good = token(&g, held.execution, None).await;
    let before = g.snapshot().await;
    let forged = good.reveal().replacen('.', ".x", 1);
    for bad in [link, SignedToken::received(forged), SignedToken::received("")] {
        let answer = g.backend().signal_by_token(&bad, yes()).await;
        assert_eq!(answer.refused(), Code::InvalidToken);
    }
    g.snapshot().await.assert_same(&before);
    assert_eq!(sent(&g, &good).await, SignalEffect::Resumed);
}
