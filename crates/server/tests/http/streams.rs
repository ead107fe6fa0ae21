//! Streams over HTTP: pages, waits and events.

use std::time::Duration;

use ff_core::machine::{AppendFrames, Assignment, Complete, Submit};
use ff_core::overrides::StreamOverrides;
use ff_core::stream::Frame;
use ff_core::{FrameType, Millis, Payload};
use ff_server::Config;
use ff_store::{ClientBackend, EmitBackend, MaintenanceBackend, WorkerBackend};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::raw::{Answer, Wire, ask, get};
use crate::fixture::{Fixture, claim, config, within};

fn stream(held: &Assignment, more: &str) -> String {
    get(&format!("/v1/executions/{}/stream?{more}", held.execution))
}

fn json_of(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_str(answer.text()).unwrap()
}

async fn append(server: &Fixture, held: &Assignment, first: u64, texts: &[&[u8]]) {
    let frames = texts.iter().map(|text| Frame::new(FrameType::stdout(), text.to_vec())).collect();
    let append = AppendFrames { hold: held.hold(), first: Some(first), frames };
    server.store.append_frames(append).await.unwrap();
}

async fn complete(server: &Fixture, held: &Assignment) {
    let complete = Complete { hold: held.hold(), result: Payload::default() };
    server.store.complete(vec![complete]).await.unwrap().remove(0).unwrap();
}

/// Events of one connection, as they come.
struct Events {
    socket: TcpStream,
    text: String,
}

impl Events {
    async fn open(server: &Fixture, held: &Assignment, from: u64, headers: &str) -> Events {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        let path = format!("/v1/executions/{}/stream?from={from}", held.execution);
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n{headers}\r\n"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        Events { socket, text: String::new() }
    }

    /// Reads until the text has come.
    async fn until(&mut self, text: &str) {
        within(async {
            while !self.text.contains(text) {
                let mut bytes = [0; 4_096];
                let read = self.socket.read(&mut bytes).await.unwrap();
                assert!(read > 0, "it ended before {text:?}: {}", self.text);
                self.text.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_page_has_text_or_base64_and_says_what_is_over() {
    let server = Fixture::start().await;
    let held = server.held().await;
    append(&server, &held, 0, &[b"hi\n", b"\xff\x00", b"<script>alert(1)</script>"]).await;
    let page = json_of(&ask(server.address, stream(&held, "limit=2")).await);
    let frames = json!([
        {"number": 0, "attempt": 0, "type": "stdout", "text": "hi\n", "base64": null},
        {"number": 1, "attempt": 0, "type": "stdout", "text": null, "base64": "/wA="},
    ]);
    assert_eq!(page, json!({"frames": frames, "trimmed": null, "next": 2, "end": null}));
    complete(&server, &held).await;
    let answer = ask(server.address, stream(&held, "from=2")).await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let page = json_of(&answer);
    assert_eq!((&page["end"], &page["next"]), (&"completed".into(), &3.into()));
}

#[tokio::test]
async fn a_wait_is_answered_by_a_frame() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let mut wire = Wire::open(server.address).await;
    wire.send(stream(&held, "wait_ms=30000")).await;
    within(async {
        while server.store.wakeups().tails().watching(held.execution) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    append(&server, &held, 0, &[b"now"]).await;
    let page = json_of(&wire.answer().await.unwrap());
    assert_eq!((&page["frames"][0]["text"], &page["next"]), (&"now".into(), &1.into()));
}

#[tokio::test]
async fn events_come_with_the_frames_and_end_with_the_execution() {
    let server = Fixture::start().await;
    let held = server.held().await;
    append(&server, &held, 0, &[b"a\nb"]).await;
    let mut events = Events::open(&server, &held, 0, "").await;
    events.until("id: 0\ndata: {\"number\":0,").await;
    assert!(events.text.contains("text/event-stream"), "{}", events.text);
    append(&server, &held, 1, &[b"c"]).await;
    events.until("id: 1\n").await;
    complete(&server, &held).await;
    events.until("event: end\ndata: {\"next\":2,\"state\":\"completed\"}").await;
    assert_eq!(events.text.matches("data: ").count(), 3);
}

#[tokio::test]
async fn events_resume_after_the_last_one() {
    let server = Fixture::start().await;
    let held = server.held().await;
    append(&server, &held, 0, &[b"a", b"b", b"c"]).await;
    complete(&server, &held).await;
    let mut events = Events::open(&server, &held, 0, "last-event-id: 1\r\n").await;
    events.until("event: end").await;
    assert!(events.text.contains("id: 2\n") && !events.text.contains("id: 1\n"), "{}", events.text);
    let bad = format!(
        "GET /v1/executions/{}/stream HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\
         last-event-id: -1\r\n\r\n",
        held.execution
    );
    let problem = ask(server.address, bad).await;
    assert_eq!(problem.problem(400, "invalid_argument").field.as_deref(), Some("last-event-id"));
}

#[tokio::test]
async fn a_client_that_goes_away_and_a_server_that_stops_end_the_events() {
    let mut server = Fixture::start().await;
    let held = server.held().await;
    append(&server, &held, 0, &[b"a"]).await;
    let watching = || server.store.wakeups().tails().watching(held.execution);
    let mut events = Events::open(&server, &held, 0, "").await;
    events.until("id: 0").await;
    assert_eq!(watching(), 1);
    drop(events);
    within(async {
        while server.store.wakeups().tails().watching(held.execution) > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut events = Events::open(&server, &held, 0, "").await;
    events.until("id: 0").await;
    server.shutdown.cancel();
    within(server.running.take().unwrap()).await.unwrap();
    assert_eq!(watching(), 0);
}

#[tokio::test]
async fn what_does_not_exist_has_no_events() {
    let server = Fixture::start().await;
    let held = server.held().await;
    let missing = format!(
        "GET /v1/executions/{}/stream?namespace=rival HTTP/1.1\r\nhost: 127.0.0.1\r\n\
         accept: text/event-stream\r\n\r\n",
        held.execution
    );
    ask(server.address, missing).await.problem(404, "not_found");
}

#[tokio::test]
async fn a_viewer_that_never_reads_is_dropped_and_holds_up_nobody() {
    let patience = Duration::from_millis(400);
    let server = Fixture::with(Config { body_timeout: patience, ..config() }).await;
    let mut submit = Submit::new(server.store.new_id(&Default::default(), None));
    submit.policy.stream = StreamOverrides { frames: None, bytes: Some(64 << 20) };
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    let claimed = server.store.claim(claim(), Millis::ZERO).await.unwrap();
    let held = &claimed.assignments[0];
    let watching = || server.store.wakeups().tails().watching(held.execution);
    let _deaf = Events::open(&server, held, 0, "").await;
    let mut reader = Events::open(&server, held, 0, "").await;
    within(async {
        while watching() < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // More than any buffer in between holds.
    let line = vec![b'x'; 60 << 10];
    for number in 0..400 {
        append(&server, held, number, &[&line]).await;
        reader.until(&format!("id: {number}\n")).await;
        reader.text.clear();
    }
    within(async {
        while watching() > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    complete(&server, held).await;
    reader.until("event: end").await;
}
