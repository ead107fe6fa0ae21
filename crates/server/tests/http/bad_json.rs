//! Bodies that are not what a route takes.

use crate::fixture::Fixture;
use crate::fixture::raw::{Answer, LONG, ask, post, post_with};

async fn submit(server: &Fixture, body: impl AsRef<[u8]>) -> Answer {
    ask(server.address, post("/v1/executions", body)).await
}

/// Each body is refused with this status and code, and the detail contains the text.
async fn each_refused(code: &str, bodies: &[(&str, &str)]) {
    let server = Fixture::start().await;
    for (body, text) in bodies {
        let problem = submit(&server, body).await.problem(400, code);
        assert!(problem.detail.contains(text), "{body} gives {}", problem.detail);
        assert!(!problem.retryable);
    }
}

#[tokio::test]
async fn unknown_fields_are_refused_by_name() {
    each_refused(
        "invalid_json",
        &[
            (r#"{"lanes":"x"}"#, "unknown field `lanes`"),
            (
                r#"{"policy":{"backoff":{"grwth":1}}}"#,
                "policy.backoff.grwth: unknown field `grwth`",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn bad_json_is_refused_with_its_place() {
    each_refused(
        "invalid_json",
        &[
            ("", "line 1 column 0"),
            ("{", "line 1 column 1"),
            ("{\"lane\":\n}", "line 2 column 1"),
            (r#"{"lane":"a"} x"#, "trailing characters at line 1 column 14"),
            (r#"{"input":[1,]}"#, "line 1 column 13"),
            (r#"{"input":nul}"#, "line 1 column"),
            (r#"{"input":NaN}"#, "line 1 column"),
            (r#"{"priority":NaN}"#, "line 1 column"),
            (r#"{"input":01}"#, "line 1 column"),
            ("\u{feff}{}", "line 1 column 1"),
            ("[]", "invalid type: sequence, expected an object"),
            (r#"["x"]"#, "invalid type: sequence, expected an object"),
            (r#"{"policy":[3]}"#, "policy: invalid type: sequence, expected an object"),
            ("null", "line 1 column"),
        ],
    )
    .await;
}

#[tokio::test]
async fn repeated_keys_are_refused() {
    each_refused(
        "invalid_json",
        &[
            (r#"{"lane":"a","lane":"a"}"#, "duplicate field `lane`"),
            (r#"{"input":1,"input":1}"#, "duplicate field `input`"),
            (r#"{"tags":{"a":"1","b":"1","a":"1"}}"#, "tags: a key is given twice"),
        ],
    )
    .await;
}

#[tokio::test]
async fn numbers_out_of_range_are_refused() {
    each_refused(
        "invalid_json",
        &[
            (r#"{"priority":-32769}"#, "priority: invalid value: integer `-32769`, expected i16"),
            (r#"{"priority":65536}"#, "priority"),
            (r#"{"priority":1.5}"#, "priority"),
            (r#"{"priority":"1"}"#, "priority"),
            (r#"{"priority":1e400}"#, "number out of range"),
            (r#"{"delay_ms":18446744073709551616}"#, "delay_ms"),
            (r#"{"policy":{"max_attempts":4294967296}}"#, "policy.max_attempts"),
            (r#"{"policy":{"backoff":{"jitter_percent":256}}}"#, "policy.backoff.jitter_percent"),
        ],
    )
    .await;
    each_refused(
        "invalid_argument",
        &[
            (r#"{"priority":9001}"#, "priority"),
            (r#"{"delay_ms":18446744073709551615}"#, "start"),
            (r#"{"policy":{"max_attempts":0}}"#, "max_attempts"),
            (r#"{"policy":{"lease_ttl_ms":99}}"#, "lease_ttl"),
            (r#"{"policy":{"backoff":{"jitter_percent":101}}}"#, "jitter"),
        ],
    )
    .await;
}

#[tokio::test]
async fn values_of_the_wrong_type_are_refused_with_their_place() {
    each_refused(
        "invalid_json",
        &[
            (r#"{"lane":"a b"}"#, "lane: lane has a character outside"),
            (r#"{"lane":7}"#, "lane: invalid type: integer `7`"),
            (r#"{"id":"7"}"#, "id: "),
            (r#"{"id":"550e8400-e29b-41d4-a716-446655440000"}"#, "id: id is not an execution id"),
            (r#"{"start":"tomorrow"}"#, "start: time is not RFC 3339"),
            (r#"{"tags":{"a":"\u0000"}}"#, "tag value has a control character"),
            (r#"{"policy":{"retry_on":["a b"]}}"#, "policy.retry_on[0]"),
        ],
    )
    .await;
    each_refused(
        "invalid_argument",
        &[
            (r#"{"input":1,"input_base64":""}"#, "input"),
            (r#"{"input_base64":"%"}"#, "not base64"),
            (r#"{"delay_ms":1,"start":"2026-01-01T00:00:00Z"}"#, "start"),
            (r#"{"requires":["a b"]}"#, "capabilities"),
            (r#"{"content_type":"\u0000"}"#, "content_type"),
        ],
    )
    .await;
}

#[tokio::test]
async fn deep_nesting_is_refused_with_its_place() {
    let server = Fixture::start().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let input = submit(&server, format!(r#"{{"input":{deep}}}"#)).await;
    assert_eq!(input.problem(400, "invalid_json").field.as_deref(), Some("input"));
    for body in [
        format!(r#"{{"nothing":{deep}}}"#),
        format!(r#"{{"policy":{deep}}}"#),
        format!(r#"{{"lane":{deep}}}"#),
        "{\"policy\":".repeat(10_000),
        deep.clone(),
    ] {
        submit(&server, body).await.problem(400, "invalid_json");
    }
    let fine = format!("{}{}", "[".repeat(128), "]".repeat(128));
    assert_eq!(submit(&server, format!(r#"{{"input":{fine}}}"#)).await.status, 201);
    let object = format!("{}1{}", r#"{"a":"#.repeat(129), "}".repeat(129));
    submit(&server, format!(r#"{{"input":{object}}}"#)).await.problem(400, "invalid_json");
}

#[tokio::test]
async fn bytes_that_are_not_utf_8_are_refused() {
    let server = Fixture::start().await;
    for body in [&b"\xff"[..], b"{\"lane\":\"\xff\"}", b"{\"input\":\"\xff\"}", b"{\"\xff\":1}"] {
        submit(&server, body).await.problem(400, "invalid_json");
    }
}

#[tokio::test]
async fn a_refusal_repeats_only_part_of_the_request() {
    let server = Fixture::start().await;
    let long = LONG.repeat(100);
    for body in [
        format!(r#"{{"{long}":1}}"#),
        format!(r#"{{"policy":{{"{long}":1}}}}"#),
        format!(r#"{{"priority":"{long}"}}"#),
        format!(r#"{{"tags":{{"{long}":1}}}}"#),
        format!(r#"{{"tags":{{"{long}":"{long}"}}}}"#),
        format!(r#"{{"id":"{long}"}}"#),
        format!(r#"{{"start":"{long}"}}"#),
        format!(r#"{{"lane":"{long}"}}"#),
        format!(r#"{{"\u0000\n`{long}`, expected":1}}"#),
        format!(r#""{long}""#),
    ] {
        submit(&server, body).await.problem(400, "invalid_json");
    }
}

#[tokio::test]
async fn only_plain_json_is_accepted() {
    let server = Fixture::start().await;
    for headers in [
        "",
        "content-type: text/plain\r\n",
        "content-type: application/jsonp\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: \u{fffd}\r\n",
        "content-type: application/json\r\ncontent-encoding: gzip\r\n",
        "content-type: application/json\r\ncontent-encoding: identity, br\r\n",
    ] {
        let answer = ask(server.address, post_with("/v1/executions", headers, "{}")).await;
        let problem = answer.problem(415, "unsupported_media_type");
        assert!(problem.detail.contains("application/json"), "{headers}");
    }
    for media in ["application/json", "Application/JSON; charset=utf-8"] {
        let headers = format!("content-type: {media}\r\ncontent-encoding: identity\r\n");
        let answer = ask(server.address, post_with("/v1/executions", &headers, "{}")).await;
        assert_eq!(answer.status, 201, "{media}");
    }
}

#[tokio::test]
async fn a_whole_number_is_an_integer_however_it_is_written() {
    let server = Fixture::start().await;
    let made = submit(&server, r#"{"priority":-7.0,"policy":{"lease_ttl_ms":3e4}}"#).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let id = serde_json::from_slice::<ff_api::SubmittedView>(&made.body).unwrap().id;
    let record = server.described(id).await;
    assert_eq!((record.priority, record.spec.policy.lease_ttl.get()), (-7, 30_000));
    let refused = submit(&server, r#"{"priority":7.5}"#).await;
    assert_eq!(refused.problem(400, "invalid_json").field.as_deref(), Some("priority"));
}
