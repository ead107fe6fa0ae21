//! Streams: what a holder sends is kept in order, once, and up to a bound.

use bytes::Bytes;
use ff_core::bounds::{FRAME_BYTES, FRAMES, STREAM_BYTES_MIN};
use ff_core::machine::{AppendFrames, Delete};
use ff_core::stream::{Frame, StreamFrame};
use ff_core::{Code, FrameType, PublicState};

use crate::fixture::{Fixture, Refused, failure, forged, frame, ms, permanent, told};

fn number(number: u64, attempt: u32, text: &str) -> (u64, u32, String) {
    (number, attempt, text.to_owned())
}

pub(crate) async fn frames_are_numbered_over_all_attempts(g: Fixture) {
    let first = g.held().await;
    assert_eq!(g.append(&first, 0, &["a", "b"]).await.unwrap(), 2);
    assert_eq!(g.append(&first, 2, &["c"]).await.unwrap(), 3);
    g.fail(&first, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    let second = g.claimed().await;
    assert_eq!(g.append(&second, 3, &["d"]).await.unwrap(), 4);
    let all = [number(0, 0, "a"), number(1, 0, "b"), number(2, 0, "c"), number(3, 1, "d")];
    assert_eq!(g.streamed(first.execution).await, all);
    let page = g.backend().frames(&g.target(first.execution), 1, 2).await.unwrap();
    assert_eq!(page.frames.iter().map(told).collect::<Vec<_>>(), all[1..3]);
    assert_eq!((page.next, page.trimmed, page.end), (3, None, None));
}

pub(crate) async fn a_repeated_append_adds_only_what_is_missing(g: Fixture) {
    let held = g.held().await;
    g.append(&held, 0, &["a", "b"]).await.unwrap();
    let before = g.snapshot().await;
    assert_eq!(g.append(&held, 0, &["a", "b"]).await.unwrap(), 2);
    assert_eq!(g.append(&held, 1, &["b"]).await.unwrap(), 2);
    assert_eq!(g.append(&held, 0, &["a"]).await.unwrap(), 2);
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.append(&held, 1, &["b", "c"]).await.unwrap(), 3);
    let all = [number(0, 0, "a"), number(1, 0, "b"), number(2, 0, "c")];
    assert_eq!(g.streamed(held.execution).await, all);
}

/// Two writers in one hold that count for themselves: the numbers of the second are known. Its answer is the
/// next number, by which it sees that others have written.
pub(crate) async fn a_number_is_of_the_first_that_uses_it(g: Fixture) {
    let held = g.held().await;
    assert_eq!(g.append(&held, 0, &["a", "b"]).await.unwrap(), 2);
    assert_eq!(g.append(&held, 0, &["x"]).await.unwrap(), 2, "more than it has sent");
    assert_eq!(g.append(&held, None, &["x"]).await.unwrap(), 3);
    let all = [number(0, 0, "a"), number(1, 0, "b"), number(2, 0, "x")];
    assert_eq!(g.streamed(held.execution).await, all);
}

pub(crate) async fn frames_that_leave_a_gap_are_refused(g: Fixture) {
    let held = g.held().await;
    for next in [0, 1] {
        let before = g.snapshot().await;
        for first in [next + 1, next + 2, u64::MAX] {
            assert_eq!(g.append(&held, first, &["late"]).await.refused(), Code::FrameGap);
            assert_eq!(g.append(&held, first, &[]).await.refused(), Code::FrameGap);
        }
        g.snapshot().await.assert_same(&before);
        g.append(&held, next, &["in time"]).await.unwrap();
    }
}

pub(crate) async fn frames_without_a_number_go_to_the_end(g: Fixture) {
    let held = g.held().await;
    assert_eq!(g.append(&held, None, &["a"]).await.unwrap(), 1);
    assert_eq!(g.append(&held, None, &["a"]).await.unwrap(), 2, "it is not known again");
    assert_eq!(g.append(&held, 2, &["b"]).await.unwrap(), 3);
    let all = [number(0, 0, "a"), number(1, 0, "a"), number(2, 0, "b")];
    assert_eq!(g.streamed(held.execution).await, all);
}

pub(crate) async fn a_call_without_frames_answers_the_next_number(g: Fixture) {
    let held = g.held().await;
    let before = g.snapshot().await;
    for first in [None, Some(0)] {
        assert_eq!(g.append(&held, first, &[]).await.unwrap(), 0);
    }
    g.snapshot().await.assert_same(&before);
    g.append(&held, 0, &["a", "b"]).await.unwrap();
    for first in [None, Some(0), Some(1), Some(2)] {
        assert_eq!(g.append(&held, first, &[]).await.unwrap(), 2);
    }
}

pub(crate) async fn an_append_leaves_the_record_as_it_is(g: Fixture) {
    let held = g.held().await;
    g.append(&held, 0, &["a"]).await.unwrap();
    let before = g.store().record(held.execution).await.unwrap().unwrap();
    g.append(&held, 1, &["b", "c"]).await.unwrap();
    g.append(&held, None, &["d"]).await.unwrap();
    assert_eq!(g.store().record(held.execution).await.unwrap().unwrap(), before);
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn a_stale_holder_appends_nothing(g: Fixture) {
    let stale = g.held().await;
    g.append(&stale, 0, &["a"]).await.unwrap();
    g.pass(ms(10_000)).await;
    let present = g.claimed_by("bob").await;
    let before = g.snapshot().await;
    for first in [Some(0), Some(1), None] {
        assert_eq!(g.append(&stale, first, &["x"]).await.refused(), Code::StaleLease);
        assert_eq!(g.append(&stale, first, &[]).await.refused(), Code::StaleLease);
    }
    for (what, hold) in forged(&present.hold()) {
        let append = AppendFrames { hold, first: None, frames: vec![frame("x")] };
        assert_eq!(g.backend().append_frames(append).await.refused(), Code::StaleLease, "{what}");
    }
    g.snapshot().await.assert_same(&before);
    g.append(&present, 1, &["b"]).await.unwrap();
    g.complete(&present, "done").await.unwrap();
    assert_eq!(g.append(&present, None, &["late"]).await.refused(), Code::StaleLease);
    assert_eq!(g.streamed(present.execution).await, [number(0, 0, "a"), number(1, 1, "b")]);
}

pub(crate) async fn a_holder_that_is_past_its_lease_appends_nothing(g: Fixture) {
    let held = g.held().await;
    g.append(&held, 0, &["a"]).await.unwrap();
    g.advance(ms(10_000)).await;
    let before = g.snapshot().await;
    assert_eq!(g.append(&held, 1, &["b"]).await.refused(), Code::StaleLease);
    g.snapshot().await.assert_same(&before);
}

pub(crate) async fn a_holder_that_is_asked_to_stop_still_appends(g: Fixture) {
    let held = g.held().await;
    g.cancel(held.execution, Some(ms(5_000))).await.unwrap();
    g.append(&held, 0, &["a"]).await.unwrap();
    g.append(&held, 1, &["b"]).await.unwrap();
    g.fail(&held, permanent("stopped")).await.unwrap();
    assert_eq!(g.streamed(held.execution).await.len(), 2);
}

pub(crate) async fn the_bytes_of_a_frame_come_out_as_they_went_in(g: Fixture) {
    let held = g.held().await;
    let odd: &[&'static [u8]] =
        &[b"", b"\0", b"\xff\xfe\r\n", b"[]", b"{}", b"\x1b[31mred\x1b[0m", b"9007199254740993"];
    let mut frames: Vec<_> = odd
        .iter()
        .enumerate()
        .map(|(n, bytes)| Frame::new(FrameType::new(format!("type.{n}")).unwrap(), *bytes))
        .collect();
    frames.push(Frame::new(FrameType::token(), vec![0; FRAME_BYTES]));
    g.append_frames(&held, 0, frames[..3].to_vec()).await.unwrap();
    g.append_frames(&held, 3, frames[3..].to_vec()).await.unwrap();
    let expected = frames.into_iter().zip(0..).map(|(Frame { kind, bytes }, number)| StreamFrame {
        number,
        attempt: 0,
        kind,
        bytes,
    });
    assert_eq!(g.page(held.execution, 0).await.frames, expected.collect::<Vec<_>>());
}

pub(crate) async fn what_is_too_much_for_one_call_is_refused(g: Fixture) {
    let held = g.held().await;
    let of = |bytes: usize| Frame::new(FrameType::output(), Bytes::from(vec![b'x'; bytes]));
    let before = g.snapshot().await;
    for frames in [vec![of(FRAME_BYTES + 1)], vec![of(0); FRAMES + 1], vec![of(FRAME_BYTES); 17]] {
        assert_eq!(g.append_frames(&held, 0, frames).await.refused(), Code::TooLarge);
    }
    g.snapshot().await.assert_same(&before);
    assert_eq!(g.append_frames(&held, 0, vec![of(FRAME_BYTES); 16]).await.unwrap(), 16);
    assert_eq!(g.append_frames(&held, 16, vec![of(1); FRAMES]).await.unwrap(), 1_016);
}

pub(crate) async fn a_read_ends_early_and_continues(g: Fixture) {
    let held = g.held().await;
    let large = Frame::new(FrameType::output(), Bytes::from(vec![b'x'; FRAME_BYTES]));
    for first in [0, 16] {
        g.append_frames(&held, first, vec![large.clone(); 16]).await.unwrap();
    }
    let (mut from, mut pages) = (0, 0);
    while from < 32 {
        let page = g.page(held.execution, from).await;
        assert!(!page.frames.is_empty() && page.frames.len() < 17, "about a megabyte");
        (from, pages) = (page.next, pages + 1);
    }
    assert!(pages >= 3);
    assert_eq!(g.page(held.execution, 32).await.frames, []);
}

pub(crate) async fn the_oldest_frames_past_the_bound_are_trimmed(g: Fixture) {
    let held = g.held_streaming(3, STREAM_BYTES_MIN).await;
    g.append(&held, 0, &["a", "b", "c", "d"]).await.unwrap();
    assert_eq!(g.page(held.execution, 1).await.trimmed, None);
    g.append(&held, 4, &["e"]).await.unwrap();
    let all = [number(2, 0, "c"), number(3, 0, "d"), number(4, 0, "e")];
    assert_eq!(g.streamed(held.execution).await, all);
    let page = g.page(held.execution, 0).await;
    assert_eq!((page.trimmed, page.next), (Some(2), 5));
    assert_eq!(g.page(held.execution, 2).await.trimmed, None);
    assert_eq!(g.append(&held, 0, &["a", "b"]).await.unwrap(), 5, "they are known, though gone");
    g.append(&held, 5, &["f", "g", "h", "i"]).await.unwrap();
    let all = [number(6, 0, "g"), number(7, 0, "h"), number(8, 0, "i")];
    assert_eq!(g.streamed(held.execution).await, all);
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn the_oldest_bytes_past_the_bound_are_trimmed(g: Fixture) {
    let held = g.held_streaming(100, STREAM_BYTES_MIN).await;
    let of = |bytes: usize| Frame::new(FrameType::output(), Bytes::from(vec![b'x'; bytes]));
    let kept = async || {
        let page = g.page(held.execution, 0).await;
        page.frames.iter().map(|frame| frame.number).collect::<Vec<_>>()
    };
    let half = STREAM_BYTES_MIN as usize / 2;
    g.append_frames(&held, 0, vec![of(1), of(0), of(half)]).await.unwrap();
    g.append_frames(&held, 3, vec![of(half - 1)]).await.unwrap();
    assert_eq!(kept().await, [0, 1, 2, 3], "it is full to the byte");
    g.append_frames(&held, 4, vec![of(0)]).await.unwrap();
    assert_eq!(kept().await, [0, 1, 2, 3, 4], "and nothing takes no room");
    g.append_frames(&held, 5, vec![of(1)]).await.unwrap();
    assert_eq!(kept().await, [1, 2, 3, 4, 5]);
    g.append_frames(&held, 6, vec![of(FRAME_BYTES)]).await.unwrap();
    assert_eq!(kept().await, [6], "the newest stays");
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn a_first_append_past_the_bound_keeps_its_end(g: Fixture) {
    let held = g.held_streaming(2, STREAM_BYTES_MIN).await;
    assert_eq!(g.append(&held, 0, &["a", "b", "c"]).await.unwrap(), 3);
    assert_eq!(g.streamed(held.execution).await, [number(1, 0, "b"), number(2, 0, "c")]);
    assert_eq!(g.append(&held, 3, &["d"]).await.unwrap(), 4);
    assert_eq!(g.audit().await.violations, []);
}

pub(crate) async fn a_stream_is_closed_when_the_record_says_so(g: Fixture) {
    let held = g.held().await;
    let end = async |from| g.page(held.execution, from).await.end;
    assert_eq!(end(0).await, None, "it may stream yet");
    g.append(&held, 0, &["a", "b"]).await.unwrap();
    assert_eq!(end(2).await, None);
    g.complete(&held, "done").await.unwrap();
    for from in [0, 1, 2, 100] {
        assert_eq!(end(from).await, Some(PublicState::Completed), "{from}");
    }
    let page = g.backend().frames(&g.target(held.execution), 0, 1).await.unwrap();
    assert_eq!((page.frames.len(), page.end), (1, None), "there is one more");
    g.replay(held.execution, 0).await.unwrap();
    assert_eq!(end(2).await, None, "it runs again");
    let again = g.claimed().await;
    assert_eq!(g.append(&again, 2, &["c"]).await.unwrap(), 3);
}

pub(crate) async fn one_that_never_streams_has_an_empty_stream(g: Fixture) {
    let id = g.waiting().await;
    let page = g.page(id, 7).await;
    assert_eq!((page.frames.len(), page.next, page.end), (0, 7, None));
    g.cancel(id, None).await.unwrap();
    assert_eq!(g.page(id, 0).await.end, Some(PublicState::Cancelled));
    let held = g.held().await;
    g.append(&held, 0, &["a"]).await.unwrap();
    assert_eq!(g.page(held.execution, u64::MAX).await.next, u64::MAX, "far past the end");
}

pub(crate) async fn a_stream_goes_with_its_execution(g: Fixture) {
    let before = g.snapshot().await;
    let held = g.held().await;
    g.append(&held, 0, &["a"]).await.unwrap();
    g.append(&held, 1, &["b"]).await.unwrap();
    g.patch(&held, 0, "{}").await.unwrap();
    g.complete(&held, "done").await.unwrap();
    g.run(Delete { target: g.target(held.execution) }).await.unwrap();
    g.snapshot().await.assert_same(&before);
    let gone = g.backend().frames(&g.target(held.execution), 0, 10).await;
    assert_eq!(gone.refused(), Code::NotFound);
}

pub(crate) async fn a_stream_is_of_its_namespace(g: Fixture) {
    let held = g.held().await;
    g.append(&held, 0, &["a"]).await.unwrap();
    let target = g.elsewhere().target(held.execution);
    assert_eq!(g.backend().frames(&target, 0, 10).await.refused(), Code::NotFound);
    assert_eq!(g.backend().summary(&target).await.refused(), Code::NotFound);
    let hold = ff_core::machine::LeaseRef { target, ..held.hold() };
    let append = AppendFrames { hold, first: None, frames: vec![frame("x")] };
    assert_eq!(g.backend().append_frames(append).await.refused(), Code::NotFound);
}

pub(crate) async fn a_page_of_frames_has_a_bound(g: Fixture) {
    let id = g.waiting().await;
    for limit in [0, 1_001] {
        let refused = g.backend().frames(&g.target(id), 0, limit).await;
        assert_eq!(refused.refused(), Code::InvalidArgument);
    }
}
