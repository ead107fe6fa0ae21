//! Authentication: the token, and the routes that are open without it.

use ff_api::client::{HttpClient, HttpOptions};
use ff_server::{Config, ConfigError, Server, Token};
use ff_store::{StoreError, WorkerBackend};

use crate::fixture::raw::{Answer, Wire, ask, get};
use crate::fixture::routes::{METHODS, Route, paths, routes};
use crate::fixture::{Fixture, TOKEN, config};

async fn guarded() -> Fixture {
    Fixture::with(Config { token: Some(Token::new(TOKEN).unwrap()), ..config() }).await
}

async fn call(server: &Fixture, method: &str, path: &str, header: &str) -> Answer {
    let request =
        format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n{header}\r\n");
    ask(server.address, request).await
}

#[tokio::test]
async fn every_route_but_the_open_ones_requires_the_token() {
    let server = guarded().await;
    assert!(routes().len() >= 26, "{}", routes().len());
    for Route { method, path, open } in routes() {
        let answer = call(&server, method, &path, "").await;
        match open {
            true if method == "GET" => assert_eq!(answer.status, 200, "{path}"),
            // It requires a token of its own, in a body.
            true => assert_eq!(answer.status, 415, "{path}"),
            false => {
                answer.problem(401, "unauthenticated");
                assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{path}");
            }
        }
        let shown =
            call(&server, method, &path, &format!("authorization: Bearer {TOKEN}\r\n")).await;
        assert_ne!(shown.status, 401, "{method} {path}");
    }
}

#[tokio::test]
async fn every_method_of_every_path_requires_the_token_whether_or_not_the_path_takes_it() {
    let server = guarded().await;
    for (path, open) in paths() {
        for method in METHODS {
            let mut wire = Wire::open(server.address).await;
            let request = format!("{method} {path} HTTP/1.1\r\nhost: ff\r\n\r\n");
            wire.send(request).await;
            let answer = wire.answer_to(method).await.unwrap();
            match open {
                true => assert_ne!(answer.status, 401, "{method} {path}"),
                false => assert_eq!(answer.status, 401, "{method} {path}"),
            }
            if method == "HEAD" && !open {
                assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn an_absent_a_malformed_and_a_wrong_token_get_one_answer() {
    let server = guarded().await;
    let mut answers = Vec::new();
    let wrong = TOKEN.to_uppercase();
    for header in [
        String::new(),
        "authorization: \r\n".into(),
        "authorization: Bearer\r\n".into(),
        "authorization: Bearer \r\n".into(),
        "authorization: Basic YTpi\r\n".into(),
        format!("authorization: {TOKEN}\r\n"),
        format!("authorization: Bearer {wrong}\r\n"),
        format!("authorization: Bearer {TOKEN}x\r\n"),
        format!("authorization: Bearer {}\r\n", &TOKEN[1..]),
        format!("authorization: Bearer  {TOKEN}\r\n"),
        "authorization: Bearer \u{fffd}\r\n".into(),
    ] {
        let answer = call(&server, "GET", "/v1/executions", &header).await;
        let problem = answer.problem(401, "unauthenticated");
        answers.push(answer.text().replace(&problem.request_id, ""));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let header = format!("authorization: {scheme} {TOKEN}\r\n");
        assert_eq!(call(&server, "GET", "/v1/executions", &header).await.status, 200);
    }
}

#[tokio::test]
async fn the_token_is_checked_before_the_body_is_read() {
    let server = guarded().await;
    let request =
        "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 999999999\r\n\r\n";
    ask(server.address, request).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn health_reports_nothing_but_health() {
    let server = guarded().await;
    for path in ["/livez", "/readyz", "/healthz"] {
        let answer = call(&server, "GET", path, "").await;
        assert_eq!((answer.status, answer.text()), (200, "ok\n"), "{path}");
    }
    call(&server, "GET", "/metrics", "").await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn no_answer_invites_other_origins_and_all_are_safe_in_a_browser() {
    let server = Fixture::start().await;
    let nowhere = Route { method: "GET", path: "/nowhere".into(), open: true };
    for Route { method, path, .. } in routes().into_iter().chain([nowhere]) {
        let answer = call(&server, method, &path, "").await;
        let cors = answer.headers.iter().find(|(name, _)| name.starts_with("access-control"));
        assert_eq!(cors, None, "{method} {path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert!(answer.header("content-security-policy").unwrap().contains("sandbox"));
    }
}

#[tokio::test]
async fn a_client_with_the_wrong_token_gets_an_error_and_does_not_try_again() {
    let server = guarded().await;
    let client = |token: Option<&str>| {
        let url = format!("http://{}", server.address);
        let token = token.map(str::to_owned);
        HttpClient::new(HttpOptions { token, ..HttpOptions::new(url) }).unwrap()
    };
    client(Some(TOKEN)).ping().await.unwrap();
    for wrong in [None, Some("wrong")] {
        let error = client(wrong).ping().await.unwrap_err();
        assert!(matches!(error, StoreError::Unauthenticated { .. }), "{error:?}");
        assert!(!error.is_retryable() && error.to_string().contains("token"), "{error}");
        assert!(!error.to_string().contains("store"), "{error}");
    }
}

#[tokio::test]
async fn an_open_address_without_a_token_is_not_bound() {
    let store = Fixture::start().await.store.clone();
    let open = Config { listen: "0.0.0.0:0".parse().unwrap(), ..Config::default() };
    let refused = Server::bind(std::sync::Arc::new(store.clone()), open.clone()).await;
    let refused = refused.err().unwrap();
    assert!(matches!(refused, ConfigError::Open(_)) && refused.to_string().contains("FF_TOKEN"));
    let token = Some(Token::new(TOKEN).unwrap());
    assert!(Server::bind(std::sync::Arc::new(store), Config { token, ..open }).await.is_ok());
}

#[tokio::test]
async fn every_code_has_its_page() {
    let server = guarded().await;
    let machine = ff_core::Code::ALL.iter().map(|code| code.as_str());
    let store = ff_store::Failure::ALL.iter().map(|failure| failure.code());
    let http = ff_server::HTTP_CODES.iter().map(|(code, ..)| *code);
    for code in machine.chain(store).chain(http) {
        let answer = ask(server.address, get(&format!("/errors/{code}"))).await;
        assert_eq!(answer.status, 200, "{code}");
        assert!(answer.text().starts_with(code) && answer.text().len() > code.len() + 20, "{code}");
    }
}
