//! A server without a token and the web pages of its machine's browser.

use ff_server::{Config, Token};

use crate::fixture::raw::{Answer, Wire, ask, post, send};
use crate::fixture::routes::{METHODS, paths, routes};
use crate::fixture::{Fixture, TOKEN, config};

async fn answer_to(server: &Fixture, method: &str, path: &str, headers: &str) -> Answer {
    let mut wire = Wire::open(server.address).await;
    wire.send(format!("{method} {path} HTTP/1.1\r\n{headers}content-length: 0\r\n\r\n")).await;
    wire.answer_to(method).await.unwrap()
}

/// The answer must refuse with 403 and, where it has a body, this code.
fn forbids(answer: &Answer, code: &str, method: &str, path: &str) {
    assert_eq!(answer.status, 403, "{method} {path}");
    if method != "HEAD" {
        answer.problem(403, code);
    }
}

#[tokio::test]
async fn nothing_is_answered_under_a_foreign_name() {
    let server = Fixture::start().await;
    let nowhere = ("/nowhere".to_owned(), true);
    for (path, _) in paths().into_iter().chain([nowhere]) {
        for method in METHODS {
            for headers in ["host: evil.example\r\n", "host: evil.example:7272\r\n", ""] {
                let answer = answer_to(&server, method, &path, headers).await;
                forbids(&answer, "host_not_allowed", method, &path);
            }
        }
    }
}

#[tokio::test]
async fn nothing_is_taken_from_a_page_of_another_origin() {
    let server = Fixture::start().await;
    let host = format!("host: {}\r\n", server.address);
    for (path, _) in paths() {
        for method in METHODS {
            for origin in ["http://evil.example", "http://localhost:3000", "null"] {
                let headers = format!("{host}origin: {origin}\r\n");
                let answer = answer_to(&server, method, &path, &headers).await;
                forbids(&answer, "origin_not_allowed", method, &path);
            }
        }
    }
    let own = format!("{host}origin: http://{}\r\n", server.address);
    assert_eq!(answer_to(&server, "GET", "/v1/executions", &own).await.status, 200);
}

/// A form of another site, from a browser that does not say where it is from.
#[tokio::test]
async fn no_route_that_changes_something_takes_what_a_form_can_send() {
    let server = Fixture::start().await;
    server.submitted().await;
    let forms = [
        "",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: text/plain\r\n",
        "content-type: multipart/form-data; boundary=x\r\n",
    ];
    let id = server.submitted().await.to_string();
    let mut posts = 0;
    for route in routes().iter().filter(|route| route.method == "POST") {
        let path = route.path.replace("/executions/a/", &format!("/executions/{id}/"));
        let path = path.replace("/flows/a/", &format!("/flows/{id}/"));
        for form in forms {
            let answer =
                answer_to(&server, "POST", &path, &format!("host: localhost\r\n{form}")).await;
            answer.problem(415, "unsupported_media_type");
        }
        posts += 1;
    }
    assert!(posts >= 19, "{posts}");
}

#[tokio::test]
async fn a_budget_is_not_reset_by_a_form() {
    let server = Fixture::start().await;
    let body = r#"{"dimensions": {"tokens": {"hard": 1}}}"#;
    let made = ask(server.address, send("PUT", "/v1/budgets/b", body)).await;
    assert_eq!(made.status, 200, "{}", made.text());
    let path = "/v1/budgets/b/reset";
    let form = answer_to(&server, "POST", path, "host: localhost\r\n").await;
    form.problem(415, "unsupported_media_type");
    let json = ask(server.address, post(path, "{}")).await;
    assert_eq!(json.status, 200, "{}", json.text());
}

#[tokio::test]
async fn a_server_with_a_token_answers_to_any_name() {
    let token = Some(Token::new(TOKEN).unwrap());
    let server = Fixture::with(Config { token, ..config() }).await;
    let headers = format!(
        "host: work.example\r\norigin: https://board.example\r\nauthorization: Bearer {TOKEN}\r\n"
    );
    assert_eq!(answer_to(&server, "GET", "/v1/executions", &headers).await.status, 200);
}
