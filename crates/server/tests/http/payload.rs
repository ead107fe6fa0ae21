//! The bytes that go in come out, by every route.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ff_core::machine::{Complete, Submit};
use ff_core::payload::ContentType;
use ff_core::{ExecutionId, Millis, Payload};
use ff_store::{ClientBackend, WorkerBackend};

use crate::fixture::raw::{Answer, ask, get, post};
use crate::fixture::{Fixture, claim, target};

fn awkward() -> Vec<Payload> {
    vec![
        Payload::bytes(""),
        Payload::bytes("\0"),
        Payload::bytes(&b"\xff\xfe\0\x80"[..]),
        Payload::bytes(vec![0xff; 1 << 20]),
        Payload::json(""),
        Payload::json("null"),
        Payload::json("[]"),
        Payload::json(" {\t\"b\" : 1 ,\n\"a\":1.0e0 } "),
        Payload::json("9007199254740993"),
        Payload::json("\"\\u0041\\ud83e\\udd80 \u{1f980}\""),
        Payload::json("{\"a\":1,\"a\":2}"),
        Payload::json("not json"),
        Payload::json(&b"\"\xff\""[..]),
        Payload::json(format!("{}{}", "[".repeat(5_000), "]".repeat(5_000))),
        Payload { content_type: ContentType::new("text/html").unwrap(), bytes: "<b>".into() },
    ]
}

/// What a route that gives bytes gave.
fn given(answer: &Answer) -> Payload {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-disposition"), Some("attachment"));
    let media = answer.header("content-type").unwrap();
    Payload { content_type: ContentType::new(media).unwrap(), bytes: answer.body.clone().into() }
}

async fn read(server: &Fixture, id: ExecutionId, part: &str) -> Payload {
    given(&ask(server.address, get(&format!("/v1/executions/{id}/{part}"))).await)
}

#[tokio::test]
async fn inputs_and_results_of_a_client_come_out_as_they_went_in() {
    let server = Fixture::start().await;
    let client = server.client();
    for payload in awkward() {
        let id = client.new_id(&Default::default(), None);
        let submit = Submit { input: payload.clone(), ..Submit::new(id) };
        client.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        assert!(client.input(&target(id)).await.unwrap() == payload);
        assert!(read(&server, id, "input").await == payload);
        assert!(server.store.input(&target(id)).await.unwrap() == payload, "as stored");
        let claimed = client.claim(claim(), Millis::ZERO).await.unwrap().assignments.remove(0);
        assert!(claimed.input == payload);
        let complete = Complete { hold: claimed.hold(), result: payload.clone() };
        client.complete(vec![complete]).await.unwrap().remove(0).unwrap();
        assert!(client.result(&target(id), None).await.unwrap() == payload);
        assert!(client.result(&target(id), Some(0)).await.unwrap() == payload);
        assert!(read(&server, id, "result").await == payload);
    }
}

#[tokio::test]
async fn json_in_a_request_is_kept_as_the_bytes_it_came_in() {
    let server = Fixture::start().await;
    for json in ["null", "[ ]", "{\"n\" : 9007199254740993,  \"x\":1.00}", "\"\\u0000\"", "1e400"] {
        let body = format!("{{ \"input\" :  {json} }}");
        let answer = ask(server.address, post("/v1/executions", body)).await;
        let id = serde_json::from_slice::<ff_api::SubmittedView>(&answer.body).unwrap().id;
        assert_eq!(read(&server, id, "input").await, Payload::json(json));
        let request = ff_store::mint::request_id();
        let body = format!(r#"{{"instance":"a","request":"{request}"}}"#);
        let claimed = ask(server.address, post("/v1/workers/a/claim", body)).await;
        assert!(
            claimed.text().contains(&format!("\"input\":{json},\"input_base64\":null")),
            "{}",
            claimed.text()
        );
    }
}

#[tokio::test]
async fn a_result_is_given_as_an_input_is() {
    let server = Fixture::start().await;
    for (fields, result) in [
        (r#""result":{"n" : 1}"#, Payload::json("{\"n\" : 1}")),
        (r#""result":null"#, Payload::json("null")),
        (r#""result_base64":"/wA=""#, Payload::bytes(&b"\xff\x00"[..])),
        (r#""content_type":"text/plain""#, Payload::default()),
    ] {
        let held = server.held().await;
        let fence = serde_json::to_string(&ff_api::http::FenceBody::from(held.fence)).unwrap();
        let path = format!("/v1/executions/{}/complete", held.execution);
        let done =
            ask(server.address, post(&path, format!("{{\"fence\":{fence},{fields}}}"))).await;
        assert_eq!(done.status, 200, "{}", done.text());
        assert_eq!(read(&server, held.execution, "result").await.bytes, result.bytes);
    }
    let held = server.held().await;
    let fence = serde_json::to_string(&ff_api::http::FenceBody::from(held.fence)).unwrap();
    let path = format!("/v1/executions/{}/complete", held.execution);
    let both = format!(r#"{{"fence":{fence},"result":1,"result_base64":""}}"#);
    let refused = ask(server.address, post(&path, both)).await;
    assert_eq!(refused.problem(400, "invalid_argument").field.as_deref(), Some("result"));
}

#[tokio::test]
async fn new_work_is_found_at_its_location() {
    let server = Fixture::start().await;
    let body = r#"{"idempotency_key":"k"}"#;
    let made = ask(server.address, post("/v1/executions?namespace=other", body)).await;
    let location = made.header("location").unwrap();
    assert_eq!(made.status, 201);
    let found = ask(server.address, get(location)).await;
    let id = serde_json::from_slice::<ff_api::SubmittedView>(&made.body).unwrap().id;
    assert_eq!(serde_json::from_slice::<ff_api::ExecutionView>(&found.body).unwrap().id, id);
    let again = ask(server.address, post("/v1/executions?namespace=other", body)).await;
    assert_eq!((again.status, again.header("location")), (200, None));
}

#[tokio::test]
async fn bytes_in_a_request_are_base64() {
    let server = Fixture::start().await;
    for bytes in [&b""[..], b"\0", b"\xff\xfe", &[0xff; 1 << 20]] {
        let body = format!(r#"{{"input_base64":"{}"}}"#, STANDARD.encode(bytes));
        let answer = ask(server.address, post("/v1/executions", body)).await;
        assert_eq!(answer.status, 201, "{}", bytes.len());
        let id = serde_json::from_slice::<ff_api::SubmittedView>(&answer.body).unwrap().id;
        assert_eq!(read(&server, id, "input").await, Payload::bytes(bytes.to_vec()));
    }
}

#[tokio::test]
async fn a_batch_of_large_results_goes_in_parts() {
    let server = Fixture::start().await;
    let client = server.client();
    let mut batch = Vec::new();
    for n in 0..8_u8 {
        let hold = server.held().await.hold();
        batch.push(Complete { hold, result: Payload::bytes(vec![n; 1 << 20]) });
    }
    for answer in client.complete(batch.clone()).await.unwrap() {
        answer.unwrap();
    }
    for complete in batch {
        assert!(client.result(&complete.hold.target, None).await.unwrap() == complete.result);
    }
}
