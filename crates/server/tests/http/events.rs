//! Events over HTTP: a long poll, filters, cursors that are wrong, and who may.

use ff_core::Millis;
use ff_core::machine::Complete;
use ff_core::{Payload, TagKey, TagValue};
use ff_store::events::{EventFilter, EventsRequest, StartAt};
use ff_store::{ClientBackend, EventsBackend, WorkerBackend};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::fixture::raw::{Answer, ask, get, patch};
use crate::fixture::{Fixture, LIMIT, claim};

/// Server-sent events of one connection.
struct Stream {
    socket: TcpStream,
    text: String,
}

impl Stream {
    async fn open(server: &Fixture, query: &str, headers: &str) -> Stream {
        let mut socket = TcpStream::connect(server.address).await.unwrap();
        let request = format!(
            "GET /v1/events?{query} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: text/event-stream\r\n\
             {headers}\r\n"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        Stream { socket, text: String::new() }
    }

    /// Reads until the text has come.
    async fn until(&mut self, text: &str) {
        let reading = async {
            while !self.text.contains(text) {
                let mut bytes = [0; 4_096];
                let read = self.socket.read(&mut bytes).await.unwrap();
                assert!(read > 0, "it ended before {text:?}: {}", self.text);
                self.text.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        };
        timeout(LIMIT, reading).await.unwrap();
    }

    /// The id that came last.
    fn id(&self) -> &str {
        let mut ids = self.text.lines().filter_map(|line| line.strip_prefix("id: "));
        ids.next_back().unwrap().trim()
    }
}

#[tokio::test]
async fn server_sent_events_come_as_they_happen_and_resume_at_the_last_id() {
    let server = Fixture::start().await;
    let mut stream = Stream::open(&server, "event=submitted", "").await;
    stream.until("id: ").await;
    let first = server.submitted().await;
    stream.until(&first.to_string()).await;
    stream.until("\n\n").await;
    let header = format!("last-event-id: {}\r\n", stream.id());
    drop(stream);
    let second = server.submitted().await;
    let mut stream = Stream::open(&server, "event=submitted", &header).await;
    stream.until(&second.to_string()).await;
    let mut wrong = Stream::open(&server, "", "last-event-id: 7\r\n").await;
    wrong.until("invalid_argument").await;
}

#[tokio::test]
async fn a_client_that_does_not_read_delays_no_other_and_misses_nothing() {
    let server = Fixture::start().await;
    let mut idle = Stream::open(&server, "event=submitted", "").await;
    idle.until("id: ").await;
    let mut reads = Stream::open(&server, "event=submitted", "").await;
    reads.until("id: ").await;
    let mut ids = Vec::new();
    for _ in 0..30 {
        let id = server.submitted().await.to_string();
        reads.until(&id).await;
        ids.push(id);
    }
    for id in &ids {
        idle.until(id).await;
    }
}

async fn asked(server: &Fixture, query: &str) -> Answer {
    ask(server.address, get(&format!("/v1/events?{query}"))).await
}

async fn events(server: &Fixture, query: &str) -> Value {
    let answer = asked(server, query).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

async fn refused(server: &Fixture, query: &str) -> (u16, Value) {
    let answer = asked(server, query).await;
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    (answer.status, body["code"].clone())
}

#[tokio::test]
async fn an_event_shows_all_that_it_says() {
    let server = Fixture::start().await;
    let start = events(&server, "").await;
    assert_eq!((&start["events"], &start["more"]), (&json!([]), &json!(false)));
    let id = server.submitted().await;
    let cursor = start["cursor"].as_str().unwrap();
    let page = events(&server, &format!("cursor={cursor}&wait_ms=10000")).await;
    let event = &page["events"][0];
    assert_eq!(
        (&event["event"], &event["execution"]),
        (&json!("submitted"), &json!(id.to_string()))
    );
    assert_eq!((&event["run"], &event["attempt"]), (&json!(0), &Value::Null));
    for (field, value) in [("lane", "default"), ("kind", "task"), ("namespace", "default")] {
        assert_eq!(event[field], json!(value), "{field}");
    }
    for field in ["not_before", "reason", "resumes", "timed_out"] {
        assert_eq!(event[field], Value::Null, "{field}");
    }
    let again = events(&server, &format!("cursor={cursor}")).await;
    assert_eq!(again["events"], page["events"], "with the same id");
}

#[tokio::test]
async fn filters_are_taken_in_either_form() {
    let server = Fixture::start().await;
    let start = events(&server, "").await["cursor"].as_str().unwrap().to_owned();
    server.submitted().await;
    let held = server.client().claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
    let complete = Complete { hold: held.hold(), result: Payload::bytes("done") };
    server.client().complete(vec![complete]).await.unwrap().remove(0).unwrap();
    for (query, count) in [
        ("event=completed,claimed", 2),
        ("event=completed&event=claimed", 2),
        ("lane=default&kind=task", 3),
        ("lane=other", 0),
        ("tags=team%3Dred", 0),
    ] {
        let page = events(&server, &format!("cursor={start}&{query}")).await;
        assert_eq!(page["events"].as_array().unwrap().len(), count, "{query}");
    }
}

#[tokio::test]
async fn a_wrong_cursor_or_query_is_refused_by_name() {
    let server = Fixture::start().await;
    let good = events(&server, "").await["cursor"].as_str().unwrap().to_owned();
    let mut flipped = good.clone().into_bytes();
    flipped[3] = if flipped[3] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    let long = "A".repeat(12 << 10);
    for (query, status, code) in [
        (format!("cursor={flipped}"), 400, "invalid_argument"),
        ("cursor=".to_owned(), 400, "invalid_argument"),
        (format!("cursor={}", &good[1..]), 400, "invalid_argument"),
        (format!("cursor={long}"), 413, "too_large"),
        (format!("namespace=rival&cursor={good}"), 400, "invalid_argument"),
        ("event=exploded".to_owned(), 400, "invalid_argument"),
        ("event=".to_owned(), 400, "invalid_argument"),
        ("from=yesterday".to_owned(), 400, "invalid_query"),
        ("limit=0".to_owned(), 400, "invalid_argument"),
        ("wait_ms=30001".to_owned(), 400, "invalid_argument"),
    ] {
        assert_eq!(
            refused(&server, &query).await,
            (status, json!(code)),
            "{}",
            &query[..query.len().min(60)]
        );
    }
    let feed = patch("/v1/feed", json!({"on": false}).to_string());
    assert_eq!(ask(server.address, feed).await.status, 200);
    let expired = refused(&server, &format!("cursor={good}")).await;
    assert_eq!(expired, (410, json!("cursor_expired")));
}

#[tokio::test]
async fn a_server_that_stops_answers_who_waits() {
    let mut server = Fixture::start().await;
    let request = EventsRequest {
        namespace: Default::default(),
        from: StartAt::Now,
        filter: EventFilter::default(),
        limit: 10,
        wait: Millis::from_secs(30),
    };
    let client = server.client();
    let waits = tokio::spawn(async move { client.events(request).await });
    server.shutdown.cancel();
    server.running.take().unwrap().await.unwrap();
    // It is answered, or was too late to be.
    drop(waits.await.unwrap());
}

#[tokio::test]
async fn tags_go_through_a_filter_as_they_are() {
    let server = Fixture::start().await;
    let client = server.client();
    let tag = (TagKey::new("note").unwrap(), TagValue::new("a=b, \\ größe & more").unwrap());
    let request = |from, tags| EventsRequest {
        namespace: Default::default(),
        from,
        filter: EventFilter { tags, ..EventFilter::default() },
        limit: 10,
        wait: Millis::ZERO,
    };
    let start = client.events(request(StartAt::Now, Vec::new())).await.unwrap().cursor;
    let id = client.new_id(&Default::default(), None);
    let submit = ff_core::machine::Submit {
        tags: [tag.clone()].into(),
        ..ff_core::machine::Submit::new(id)
    };
    client.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    let page = client.events(request(StartAt::After(start), vec![tag])).await.unwrap();
    assert_eq!(page.events.len(), 1);
}
