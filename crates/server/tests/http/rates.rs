//! How many requests a server takes: those over the rate are turned away before their body is read.

use std::num::NonZeroU32;

use ff_core::credential::Role;
use ff_server::{Config, Token};

use crate::dashboard_access::logged_in;
use crate::fixture::raw::{Answer, ask};
use crate::fixture::{Fixture, TOKEN, config};

/// How often a test tries to make two requests within a second.
const TRIES: usize = 100;

async fn server(rate: Option<u32>, token_rate: Option<u32>) -> Fixture {
    let (rate, token_rate) = (rate.and_then(NonZeroU32::new), token_rate.and_then(NonZeroU32::new));
    let token = Some(Token::new(TOKEN).unwrap());
    Fixture::with(Config { token, rate, token_rate, ..config() }).await
}

/// The first answer that turns a request away.
async fn refused(server: &Fixture, request: &str) -> Answer {
    for _ in 0..TRIES {
        let answer = ask(server.address, request.to_owned()).await;
        if answer.status == 429 {
            return answer;
        }
    }
    panic!("{TRIES} requests were let through");
}

fn get(token: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
}

const LIST: &str = "/v1/executions";

#[tokio::test]
async fn a_token_over_its_rate_is_turned_away_and_others_are_not() {
    let server = server(None, Some(1)).await;
    let first = server.issued("busy", Role::Producer, &["default"]).await;
    let second = server.issued("busy", Role::Producer, &["default"]).await;
    let other = server.issued("other", Role::Producer, &["default"]).await;
    let answer = refused(&server, &get(&first, LIST)).await;
    let problem = answer.problem(429, "rate_limited");
    assert!(problem.retryable);
    assert!(problem.detail.contains("the token busy may make 1 requests a second"), "{problem:?}");
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert_eq!(server.call_as(&other, "GET", LIST).await.status, 200);
    for _ in 0..3 {
        assert_eq!(server.call_as(TOKEN, "GET", LIST).await.status, 200, "root has no rate");
    }
    let both = get(&second, LIST);
    refused(&server, &both).await.problem(429, "rate_limited");
}

/// The body never comes: an answer shows that nothing waits for it.
#[tokio::test]
async fn a_request_is_turned_away_before_its_body_is_read() {
    let server = server(None, Some(1)).await;
    let busy = server.issued("busy", Role::Producer, &["default"]).await;
    refused(&server, &get(&busy, LIST)).await;
    let unsent = format!(
        "POST {LIST} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {busy}\r\n\
         content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    );
    refused(&server, &unsent).await.problem(429, "rate_limited");
}

#[tokio::test]
async fn all_callers_together_have_a_rate_and_health_checks_have_none() {
    let server = server(Some(1), None).await;
    for request in [get(TOKEN, LIST), get("wrong", LIST), get("", "/errors/not_found")] {
        let problem = refused(&server, &request).await.problem(429, "rate_limited");
        assert!(problem.detail.contains("the server takes 1 requests a second"), "{problem:?}");
    }
    for path in ["/livez", "/readyz", "/healthz"].repeat(2) {
        assert_eq!(server.call_as("", "GET", path).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_login_is_no_way_around_the_rate_of_its_token() {
    let server = server(None, Some(1)).await;
    let busy = server.issued("busy", Role::Reader, &["default"]).await;
    let cookie = logged_in(&server, &busy).await;
    for path in ["/", "/executions", "/live?page=%2F"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\n\r\n");
        let answer = refused(&server, &request).await;
        assert!(answer.text().contains("the token busy may make 1 requests a second"), "{path}");
    }
    let root = logged_in(&server, TOKEN).await;
    let request = format!("GET / HTTP/1.1\r\nhost: localhost\r\ncookie: {root}\r\n\r\n");
    for _ in 0..3 {
        assert_eq!(ask(server.address, request.clone()).await.status, 200, "root has no rate");
    }
}
