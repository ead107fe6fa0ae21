//! Payloads: the bytes that go in come out.

use bytes::Bytes;
use ff_core::bounds::PAYLOAD_BYTES;
use ff_core::machine::{Complete, Submit};
use ff_core::payload::ContentType;
use ff_core::{Code, Payload, PublicState};

use crate::fixture::{Fixture, Refused, failure, ms};

/// Bytes that some store, some encoding or some language has changed before.
fn awkward() -> Vec<Payload> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let typed = |text: &str| Payload {
        content_type: ContentType::new(text).unwrap(),
        bytes: Bytes::from_static(b"x"),
    };
    vec![
        Payload::bytes(""),
        Payload::bytes("\0"),
        Payload::bytes("a\0b\0"),
        Payload::bytes(&b"\xff\xfe\x80"[..]),
        Payload::bytes(every_byte.repeat(4)),
        Payload::bytes(every_byte),
        Payload::json("[]"),
        Payload::json("{}"),
        Payload::json("9007199254740993"),
        Payload::json(" { \"b\" : 1, \"a\" : 1.0 } "),
        Payload::bytes("größe \u{1F980}"),
        typed("text/plain; charset=utf-8"),
        Payload::bytes(vec![0xA5; 64]),
        Payload::bytes(vec![0xA5; 65]),
        Payload::bytes(vec![0x5A; PAYLOAD_BYTES]),
    ]
}

pub(crate) async fn inputs_come_out_as_they_went_in(g: Fixture) {
    for input in awkward() {
        let id = g.submit(Submit { input: input.clone(), ..g.work() }).await;
        assert!(g.backend().input(&g.target(id)).await.unwrap() == input, "by reading");
        assert!(g.claimed().await.input == input, "by claiming");
    }
}

pub(crate) async fn results_come_out_as_they_went_in(g: Fixture) {
    for result in awkward() {
        let hold = g.held().await.hold();
        let id = hold.target.execution;
        let complete = Complete { hold, result: result.clone() };
        g.backend().complete(vec![complete]).await.unwrap().remove(0).unwrap();
        assert!(g.result(id).await.unwrap() == result);
    }
}

pub(crate) async fn inputs_come_out_by_every_route_of_a_claim(g: Fixture) {
    let input = Payload::bytes(&b"\xff\0\xfe"[..]);
    let id = g.submit(Submit { input: input.clone(), ..g.work() }).await;
    let claim = g.claim();
    let first = g.take(claim.clone()).await.remove(0);
    let retried = g.take(ff_core::machine::ClaimRequest { retry: true, ..claim }).await.remove(0);
    g.fail(&first, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    let offer = g.granted().await;
    assert_eq!(offer.execution, id);
    let granted = g.backend().claim_granted(g.use_of(&offer)).await.unwrap();
    for assignment in [&first, &retried, &granted.assignments[0]] {
        assert_eq!(assignment.input, input);
    }
}

pub(crate) async fn an_input_over_the_limit_is_refused(g: Fixture) {
    let input = Payload::bytes(vec![0; PAYLOAD_BYTES + 1]);
    let before = g.snapshot().await;
    let refused = g.try_submit(Submit { input, ..g.work() }).await.refused();
    assert_eq!(refused, Code::TooLarge);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_result_over_the_limit_is_refused_and_the_lease_kept(g: Fixture) {
    let assignment = g.held().await;
    let result = Payload::bytes(vec![0; PAYLOAD_BYTES + 1]);
    let complete = Complete { hold: assignment.hold(), result };
    let before = g.snapshot().await;
    let answers = g.backend().complete(vec![complete]).await.unwrap();
    assert_eq!(answers.into_iter().next().unwrap().refused(), Code::TooLarge);
    g.snapshot().await.assert_same(&before);
    g.complete(&assignment, "smaller").await.unwrap();
}

pub(crate) async fn only_completed_work_has_a_result(g: Fixture) {
    for id in [g.failed().await, g.cancelled().await, g.expired().await, g.delayed(ms(9)).await] {
        assert_eq!(g.result(id).await.refused(), Code::WrongState);
    }
    let completed = g.held().await;
    g.complete(&completed, "").await.unwrap();
    assert_eq!(g.result(completed.execution).await.unwrap(), Payload::bytes(""));
    assert_eq!(g.state(completed.execution).await, PublicState::Completed);
}

pub(crate) async fn a_run_that_never_was_has_no_result(g: Fixture) {
    let target = g.target(g.completed().await);
    for run in [1, 63, u32::MAX] {
        let refused = g.backend().result(&target, Some(run)).await.refused();
        assert_eq!(refused, Code::WrongState);
    }
}
