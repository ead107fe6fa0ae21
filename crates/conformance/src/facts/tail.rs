//! Tails: a viewer gets every frame as it comes, once and in order, and learns of the end.

use ff_core::bounds::{END_WAIT_MAX, FRAMES};
use ff_core::machine::{AppendFrames, Assignment, Delete};
use ff_core::stream::Frame;
use ff_core::{Code, FrameType, Millis, PublicState};
use ff_store::tails::{Follow, FramePage, WINDOW};
use ff_store::{EmitBackend, Store, StreamBackend};

use crate::fixture::{CountedReads, Fixture, Refused, failure, frame, ms, told};

async fn follow(g: &Fixture, of: &Assignment, from: u64) -> Box<dyn Follow> {
    g.backend().follow(&g.target(of.execution), from).await.unwrap()
}

/// The next page that has something.
async fn some(viewer: &mut Box<dyn Follow>) -> FramePage {
    let page = viewer.next(END_WAIT_MAX).await.unwrap();
    assert!(!page.frames.is_empty() || page.end.is_some() || page.cut, "nothing came: {page:?}");
    page
}

fn texts(page: &FramePage) -> Vec<String> {
    page.frames.iter().map(|frame| told(frame).2).collect()
}

pub(crate) async fn a_viewer_gets_what_is_there_and_what_comes(g: Fixture) {
    let held = g.held().await;
    g.append(&held, 0, &["a", "b"]).await.unwrap();
    let mut viewer = follow(&g, &held, 0).await;
    assert_eq!(texts(&some(&mut viewer).await), ["a", "b"]);
    for (number, text) in [(2, "c"), (3, "d")] {
        g.append(&held, number, &[text]).await.unwrap();
        let page = some(&mut viewer).await;
        assert_eq!((texts(&page), page.next), (vec![text.to_owned()], number + 1));
    }
    g.complete(&held, "done").await.unwrap();
    assert_eq!(some(&mut viewer).await.end, Some(PublicState::Completed));
}

pub(crate) async fn a_viewer_that_waits_is_woken_by_a_frame_and_by_the_end(g: Fixture) {
    let held = g.held().await;
    let mut viewer = follow(&g, &held, 0).await;
    let waiting = tokio::spawn(async move {
        let first = some(&mut viewer).await;
        (first, some(&mut viewer).await)
    });
    while g.backend().wakeups().tails().watching(held.execution) == 0 {
        tokio::task::yield_now().await;
    }
    g.append(&held, 0, &["a"]).await.unwrap();
    g.complete(&held, "done").await.unwrap();
    let (first, second) = waiting.await.unwrap();
    assert_eq!(texts(&first), ["a"]);
    assert_eq!(second.end, Some(PublicState::Completed));
}

pub(crate) async fn a_viewer_begins_where_it_asks_to(g: Fixture) {
    let held = g.held().await;
    g.append(&held, 0, &["a", "b", "c"]).await.unwrap();
    let mut middle = follow(&g, &held, 1).await;
    assert_eq!(texts(&some(&mut middle).await), ["b", "c"]);
    let mut beyond = follow(&g, &held, 5).await;
    assert_eq!(beyond.next(Millis::ZERO).await.unwrap().frames, []);
    g.append(&held, 3, &["d", "e"]).await.unwrap();
    g.append(&held, 5, &["f"]).await.unwrap();
    assert_eq!(
        texts(&some(&mut beyond).await),
        ["f"],
        "a cursor past the end waits for its number"
    );
    let mut seen = texts(&some(&mut middle).await);
    while seen.len() < 3 {
        seen.extend(texts(&some(&mut middle).await));
    }
    assert_eq!(seen, ["d", "e", "f"]);
}

pub(crate) async fn a_viewer_reads_an_earlier_attempt_while_a_later_one_writes(g: Fixture) {
    let first = g.held().await;
    g.append(&first, 0, &["a"]).await.unwrap();
    let mut viewer = follow(&g, &first, 0).await;
    assert_eq!(some(&mut viewer).await.frames[0].attempt, 0);
    g.fail(&first, failure("broken")).await.unwrap();
    g.pass(ms(1_000)).await;
    let second = g.claimed().await;
    g.append(&second, 1, &["b"]).await.unwrap();
    let page = some(&mut viewer).await;
    assert_eq!((page.frames[0].attempt, page.end), (1, None), "the stream stays open");
}

pub(crate) async fn a_tail_of_what_is_paused_stays_open(g: Fixture) {
    let held = g.held().await;
    g.append(&held, 0, &["a"]).await.unwrap();
    let mut viewer = follow(&g, &held, 1).await;
    g.delay(&held, ff_core::When::After(ms(60_000))).await.unwrap();
    let page = viewer.next(Millis::ZERO).await.unwrap();
    assert_eq!((page.frames.len(), page.end), (0, None));
}

pub(crate) async fn a_tail_of_what_never_streams_ends_with_it(g: Fixture) {
    let held = g.held().await;
    let mut viewer = follow(&g, &held, 0).await;
    assert_eq!(viewer.next(Millis::ZERO).await.unwrap(), FramePage::default());
    g.complete(&held, "done").await.unwrap();
    assert_eq!(some(&mut viewer).await.end, Some(PublicState::Completed));
}

pub(crate) async fn a_tail_of_what_is_removed_learns_that(g: Fixture) {
    let held = g.held().await;
    g.append(&held, 0, &["a"]).await.unwrap();
    let mut viewer = follow(&g, &held, 1).await;
    assert_eq!(viewer.next(Millis::ZERO).await.unwrap().frames, []);
    g.complete(&held, "done").await.unwrap();
    g.run(Delete { target: g.target(held.execution) }).await.unwrap();
    assert_eq!(viewer.next(END_WAIT_MAX).await.refused(), Code::NotFound);
    let mut other = follow(&g.elsewhere(), &held, 0).await;
    assert_eq!(other.next(END_WAIT_MAX).await.refused(), Code::NotFound);
}

pub(crate) async fn a_viewer_is_told_what_was_trimmed(g: Fixture) {
    let held = g.held_streaming(2, 65_536).await;
    g.append(&held, 0, &["a", "b", "c"]).await.unwrap();
    let mut viewer = follow(&g, &held, 0).await;
    let page = some(&mut viewer).await;
    assert_eq!((texts(&page), page.trimmed), (vec!["b".into(), "c".into()], Some(1)));
}

pub(crate) async fn an_ended_stream_is_read_to_its_end(g: Fixture) {
    let held = g.held().await;
    let many = vec![frame("x"); FRAMES];
    for first in [0, 1_000, 2_000] {
        g.append_frames(&held, first, many.clone()).await.unwrap();
    }
    g.complete(&held, "done").await.unwrap();
    let mut viewer = follow(&g, &held, 0).await;
    let (mut count, mut end) = (0, None);
    while end.is_none() {
        let page = some(&mut viewer).await;
        (count, end) = (count + page.frames.len(), page.end);
    }
    assert_eq!((count, end), (3_000, Some(PublicState::Completed)));
}

pub(crate) async fn viewers_of_one_stream_share_its_reads(g: Fixture) {
    let held = g.held().await;
    let counted = CountedReads::over(&g);
    let (engine, target) = (counted.engine(), g.target(held.execution));
    let append = async |first: u64| {
        let (hold, frames) = (held.hold(), vec![frame("x")]);
        engine.append_frames(AppendFrames { hold, first: Some(first), frames }).await.unwrap();
    };
    append(0).await;
    let mut viewers = Vec::new();
    for _ in 0..100 {
        let mut viewer = engine.follow(&target, 1).await.unwrap();
        assert_eq!(viewer.next(Millis::ZERO).await.unwrap().frames, []);
        viewers.push(viewer);
    }
    let before = counted.element_reads();
    for number in 1..=10 {
        append(number).await;
        for viewer in &mut viewers {
            assert_eq!(some(viewer).await.frames[0].number, number);
        }
    }
    assert_eq!(counted.element_reads() - before, 10, "one read a frame, not one a viewer");
}

pub(crate) async fn a_viewer_that_is_too_slow_is_cut_and_can_resume(g: Fixture) {
    let held = g.held().await;
    let process = g.process();
    let target = g.target(held.execution);
    let mut slow = process.follow(&target, 0).await.unwrap();
    let mut fast = process.follow(&target, 0).await.unwrap();
    g.append(&held, 0, &["x"]).await.unwrap();
    process.store().wakeups().tails().hint(held.execution);
    for viewer in [&mut slow, &mut fast] {
        assert_eq!(some(viewer).await.next, 1);
        assert_eq!(viewer.next(Millis::ZERO).await.unwrap().frames, [], "it has caught up");
    }
    let mut number = 1;
    for _ in 0..2 {
        let frames = vec![Frame::new(FrameType::output(), "y"); WINDOW];
        number = g.append_frames(&held, number, frames).await.unwrap();
        process.store().wakeups().tails().hint(held.execution);
        while some(&mut fast).await.next < number {}
    }
    let page = some(&mut slow).await;
    assert_eq!((page.cut, page.next, page.frames.len()), (true, 1, 0));
    drop(slow);
    let mut again = process.follow(&target, page.next).await.unwrap();
    let mut next = 1;
    while next < number {
        let page = some(&mut again).await;
        assert_eq!(page.frames[0].number, next, "nothing is missing");
        next = page.next;
    }
}

pub(crate) async fn a_frame_whose_hint_is_lost_is_found_by_the_poll(g: Fixture) {
    let held = g.held().await;
    let deaf = g.without_wakeups();
    let mut viewers = Vec::new();
    for _ in 0..2 {
        let mut viewer = deaf.follow(&g.target(held.execution), 0).await.unwrap();
        assert_eq!(viewer.next(Millis::ZERO).await.unwrap().frames, []);
        viewers.push(viewer);
    }
    g.append(&held, 0, &["a"]).await.unwrap();
    let [one, two] = &mut viewers[..] else { panic!("there are two") };
    let both = futures(some(one), some(two)).await;
    assert_eq!((texts(&both.0), texts(&both.1)), (vec!["a".into()], vec!["a".into()]));
    g.complete(&held, "done").await.unwrap();
    assert_eq!(some(&mut viewers[0]).await.end, Some(PublicState::Completed));
}

async fn futures<A, B>(one: impl Future<Output = A>, two: impl Future<Output = B>) -> (A, B) {
    tokio::join!(one, two)
}

pub(crate) async fn a_viewer_that_leaves_leaves_nothing(g: Fixture) {
    let held = g.held().await;
    let process = g.process();
    let tails = process.store().wakeups().tails();
    let viewer = process.follow(&g.target(held.execution), 0).await.unwrap();
    assert_eq!(tails.watching(held.execution), 1);
    drop(viewer);
    assert_eq!(tails.watching(held.execution), 0);
    assert_eq!(process.store().wakeups().ends().waiting(held.execution), 0);
}
