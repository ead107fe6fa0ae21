//! Webhooks over HTTP: made, read without their secrets, refused, removed.

use ff_store::webhooks::{mint_secret, secret_text};
use serde_json::{Value, json};

use crate::fixture::Fixture;
use crate::fixture::raw::{Answer, ask, get, send};

const PATH: &str = "/v1/webhooks/hook";

fn read(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

async fn made(server: &Fixture, body: Value) -> Answer {
    ask(server.address, send("PUT", PATH, body.to_string())).await
}

#[tokio::test]
async fn a_webhook_is_made_and_read_without_its_secret() {
    let server = Fixture::start().await;
    let secret = secret_text(&mint_secret().unwrap());
    let body = json!({"url": "https://1.1.1.1/x", "events": ["completed", "failed"], "lane": "a",
        "secret": secret});
    for _ in 0..2 {
        let answer = made(&server, body.clone()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let view = read(&answer);
        assert_eq!((&view["webhook"], &view["url"]), (&json!("hook"), &json!("https://1.1.1.1/x")));
        assert_eq!(
            (&view["events"], &view["lane"]),
            (&json!(["completed", "failed"]), &json!("a"))
        );
        assert_eq!((&view["delivered"], &view["dead"]), (&json!(0), &json!(0)));
        assert_eq!((&view["failing"], &view["dead_letters"]), (&Value::Null, &json!([])));
    }
    let changed = made(&server, json!({"url": "https://1.1.1.1/y"})).await;
    assert_eq!((changed.status, &read(&changed)["events"]), (200, &json!([])));
    for path in [PATH, "/v1/webhooks"] {
        let answer = ask(server.address, get(path)).await;
        assert_eq!(answer.status, 200);
        assert!(!answer.text().contains("whsec_") && answer.text().contains("https://1.1.1.1/y"));
    }
    assert_eq!(ask(server.address, send("DELETE", PATH, "")).await.status, 204);
    for _ in 0..2 {
        assert_eq!(ask(server.address, send("DELETE", PATH, "")).await.status, 404);
        assert_eq!(ask(server.address, get(PATH)).await.status, 404);
    }
}

#[tokio::test]
async fn a_wrong_webhook_is_refused_by_name() {
    let server = Fixture::start().await;
    let secret = secret_text(&mint_secret().unwrap());
    for (body, status, code) in [
        (json!({"url": "https://1.1.1.1/"}), 400, "invalid_argument"),
        (json!({"url": "http://1.1.1.1/", "secret": secret}), 400, "target_refused"),
        (json!({"url": "https://127.0.0.1/", "secret": secret}), 400, "target_refused"),
        (json!({"url": "https://localhost/", "secret": secret}), 400, "target_refused"),
        (json!({"url": "https://169.254.169.254/", "secret": secret}), 400, "target_refused"),
        (json!({"url": "https://[::1]/", "secret": secret}), 400, "target_refused"),
        (json!({"url": "ftp://1.1.1.1/", "secret": secret}), 400, "invalid_argument"),
        (json!({"url": "https://a@1.1.1.1/", "secret": secret}), 400, "invalid_argument"),
        (json!({"url": format!("https://1.1.1.1/{}", "x".repeat(4_000))}), 413, "too_large"),
        (json!({"url": "https://1.1.1.1/", "secret": "whsec_AAAA"}), 400, "invalid_argument"),
        (
            json!({"url": "https://1.1.1.1/", "secret": secret, "grace_ms": 604_800_001}),
            400,
            "invalid_argument",
        ),
        (json!({"url": "https://1.1.1.1/", "events": ["exploded"]}), 400, "invalid_json"),
    ] {
        let answer = made(&server, body.clone()).await;
        assert_eq!((answer.status, &read(&answer)["code"]), (status, &json!(code)), "{body}");
        assert!(!answer.text().contains(&secret[10..]), "no answer repeats a secret");
    }
    assert_eq!(read(&ask(server.address, get("/v1/webhooks")).await)["webhooks"], json!([]));
}
