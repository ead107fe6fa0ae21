//! What an execution says while it runs, on its page.

use ff_core::machine::{AppendFrames, Assignment, Fail, PatchSummary, Submit};
use ff_core::policy::Backoff;
use ff_core::state::Failure;
use ff_core::stream::Frame;
use ff_core::{Category, Millis};
use ff_store::{ClientBackend, EmitBackend, WorkerBackend};

use super::dashboard::{HOSTILE, encoded, page};
use crate::fixture::raw::{Wire, ask, get};
use crate::fixture::{Fixture, claim};

#[tokio::test]
async fn output_is_shown_escaped_and_followed_as_it_comes() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let emit = async |first: u64, bytes: Vec<u8>| {
        let frame = Frame::new("stdout".parse().unwrap(), bytes);
        let append = AppendFrames { hold: held.hold(), first: Some(first), frames: vec![frame] };
        server.store.append_frames(append).await.unwrap();
    };
    emit(0, format!("{HOSTILE}\u{1b}[2J").into()).await;
    emit(1, vec![b'x'; 60 << 10]).await;
    emit(2, vec![0xff; 99]).await;
    let path = format!("/executions/{}", held.execution);
    let shown = page(&server, &path).await;
    let html = shown.text();
    assert!(html.contains("&lt;script&gt;alert(1)") && html.contains("␛[2J"), "{html}");
    assert!(html.contains("99 B that are no text") && shown.body.len() < 64 << 10);
    assert!(html.contains(&format!("data-follow=\"{path}/output?from=3\"")), "{html}");
    let mut wire = Wire::open(server.address).await;
    wire.send(get(&format!("{path}/output?from=2"))).await;
    wire.until("\"number\":2").await;
    emit(3, b"later".to_vec()).await;
    wire.until("\"text\":\"later\"").await;
    for (query, status) in [("from=x", 400), ("namespace=other", 404)] {
        let answer = ask(server.address, get(&format!("{path}/output?{query}"))).await;
        assert_eq!(answer.status, status, "{query}");
    }
}

/// A line of a megabyte is many frames, and a screen of control characters is longer when it is shown.
#[tokio::test]
async fn a_page_of_huge_output_is_bounded_and_continues_where_it_ends() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let (line, bomb) = (vec![b'x'; 64 << 10], "\u{1b}[31m\u{1b}[2J\u{7}".repeat(6_000));
    for number in 0..40 {
        let bytes = if number % 2 == 0 { line.clone() } else { bomb.clone().into_bytes() };
        let frames = vec![Frame::new("stdout".parse().unwrap(), bytes)];
        let append = AppendFrames { hold: held.hold(), first: Some(number), frames };
        server.store.append_frames(append).await.unwrap();
    }
    let (mut from, mut seen) = (0, 0);
    while from < 40 {
        let shown = page(&server, &format!("/executions/{}?frames={from}", held.execution)).await;
        let html = shown.text();
        assert!(shown.body.len() < 256 << 10, "{} bytes", shown.body.len());
        assert!(!html.contains(['\u{1b}', '\u{7}']));
        seen += html.matches("class=\"frame\"").count();
        let (_, rest) = html.split_once("/output?from=").unwrap();
        let next = rest.split('"').next().unwrap().parse().unwrap();
        assert!(next > from, "it does not continue after {from}");
        from = next;
    }
    assert_eq!(seen, 40, "every frame is on one page");
}

#[tokio::test]
async fn the_output_of_each_attempt_is_told_apart() {
    let server = Fixture::start().await;
    let mut submit = Submit::new(server.store.new_id(&Default::default(), None));
    submit.policy.backoff = Backoff::none().into();
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    let held = server.store.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
    let emit = async |held: &Assignment, first: u64, text: &str| {
        let frames = vec![Frame::new("token".parse().unwrap(), text.to_owned())];
        let append = AppendFrames { hold: held.hold(), first: Some(first), frames };
        server.store.append_frames(append).await.unwrap();
    };
    emit(&held, 0, "once ").await;
    let failure = Failure { category: Category::error(), retryable: true, message: "no".into() };
    server.store.fail(Fail { hold: held.hold(), failure }).await.unwrap();
    let again = server.store.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
    emit(&again, 1, "more").await;
    let shown = page(&server, &format!("/executions/{}", held.execution)).await;
    let output = "once </span><span class=\"turn\">attempt 1</span><span class=\"frame\"";
    assert!(shown.text().contains(output), "{}", shown.text());
}

#[tokio::test]
async fn a_summary_is_shown_and_changes_live() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let patch = async |patch: &str| {
        let patch = patch.to_owned().into();
        let patch = PatchSummary { hold: held.hold(), number: None, patch };
        server.store.patch_summary(patch).await.unwrap();
    };
    let path = format!("/executions/{}", held.execution);
    assert!(!page(&server, &path).await.text().contains("Summary"));
    patch(r#"{"done": 3, "of": 1.50}"#).await;
    let shown = page(&server, &path).await;
    assert!(shown.text().contains("&quot;of&quot;: 1.50"), "{}", shown.text());
    let mut wire = Wire::open(server.address).await;
    wire.send(get(&format!("/live?page={}", encoded(&path)))).await;
    wire.until("\"id\":\"summary\"").await;
    patch(r#"{"note": "<script>"}"#).await;
    let change = wire.until("\"id\":\"summary\"").await;
    assert!(change.contains("&lt;script&gt;") && !change.contains("<script>"), "{change}");
}
