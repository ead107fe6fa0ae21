//! Who may open the dashboard and change something by it.

use ff_core::PublicState;
use ff_core::credential::Role;
use ff_store::SignalBackend;

use super::approve::asking;
use super::dashboard::{OWN, PAGES, page, proof, submit_form};
use crate::fixture::raw::{Answer, ask, get, post_with};
use crate::fixture::{Fixture, TOKEN, target};
use crate::tokens::guarded;

/// A page as who has this cookie.
pub(crate) async fn page_as(server: &Fixture, cookie: &str, path: &str) -> Answer {
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\ncookie: {cookie}\r\n\r\n");
    ask(server.address, request).await
}

/// Logs in, and gives the cookie.
pub(crate) async fn logged_in(server: &Fixture, token: &str) -> String {
    let answer =
        ask(server.address, post_with("/login", OWN, format!("token={token}&next=%2Flanes"))).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/lanes")), "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

pub(crate) async fn post_as(server: &Fixture, cookie: &str, to: &str, form: &str) -> Answer {
    let headers = format!("{OWN}cookie: {cookie}\r\n");
    ask(server.address, post_with(to, &headers, form)).await
}

#[tokio::test]
async fn a_server_with_a_token_shows_nothing_before_a_login() {
    let server = guarded().await;
    let id = server.submitted().await;
    let (own, input) = (format!("/executions/{id}"), format!("/executions/{id}/input"));
    for path in PAGES.into_iter().chain([own.as_str(), input.as_str()]) {
        for cookie in ["", "ff_session=", "ff_session=made-up"] {
            let answer = page_as(&server, cookie, path).await;
            assert_eq!(answer.status, 303, "{path}");
            assert!(answer.header("location").unwrap().starts_with("/login?next="), "{answer:?}");
            assert!(!String::from_utf8_lossy(&answer.body).contains(&id.to_string()));
        }
    }
    ask(server.address, get("/live?page=%2F")).await.problem(401, "unauthenticated");
    let wrong = ask(server.address, post_with("/login", OWN, "token=wrong&next=%2F")).await;
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    assert!(
        wrong.text().contains("does not accept this token") && !wrong.text().contains("wrong\"")
    );
}

#[tokio::test]
async fn a_login_lasts_until_the_logout_or_the_token_is_revoked() {
    let server = guarded().await;
    let root = logged_in(&server, TOKEN).await;
    assert_eq!(page_as(&server, &root, "/").await.status, 200);
    assert!(!root.contains(TOKEN), "the cookie is not the token");
    let out = post_as(&server, &root, "/logout", "").await;
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(page_as(&server, &root, "/").await.status, 303);
    let token = server.issued("ann", Role::Operator, &["*"]).await;
    let cookie = logged_in(&server, &token).await;
    assert!(page_as(&server, &cookie, "/").await.text().contains("ann (operator)"));
}

#[tokio::test]
async fn a_role_may_do_on_a_page_what_it_may_do_by_the_api() {
    let server = guarded().await;
    let id = server.submitted().await;
    let path = format!("/executions/{id}");
    for (role, cancels, operates) in [
        (Role::Reader, false, false),
        (Role::Approver, false, false),
        (Role::Worker, false, false),
        (Role::Producer, true, false),
        (Role::Operator, true, true),
    ] {
        let token = server.issued(role.as_str(), role, &["default"]).await;
        let cookie = logged_in(&server, &token).await;
        let shown = page_as(&server, &cookie, &path).await;
        assert_eq!(shown.text().contains("Cancel this execution"), cancels, "{role}");
        let lanes = page_as(&server, &cookie, "/lanes").await;
        assert_eq!(lanes.text().contains("value=\"pause\""), operates, "{role}");
        // Only the form is missing; whoever makes it up is refused all the same.
        let proof = proof(&shown);
        for (to, form, may) in [
            ("/lanes/default", "action=pause", operates),
            ("/bulk/start", &*format!("action=delete&id={id}"), operates),
            ("/limits/none/reset", "", operates),
            (&*format!("{path}/act"), "action=delete", operates),
            (&*format!("{path}/act"), "action=resume", operates),
        ] {
            let answer = post_as(&server, &cookie, to, &format!("proof={proof}&{form}")).await;
            assert_eq!(answer.status != 403, may, "{role} {to} {form}: {}", answer.status);
        }
        let other = page_as(&server, &cookie, "/executions?namespace=other").await;
        assert_eq!(other.status, 404, "{role} reaches another namespace");
        let charts = page_as(&server, &cookie, "/").await.text().contains("Throughput");
        assert!(!charts, "{role} of one namespace sees figures of all");
    }
    assert_eq!(server.described(id).await.public_state(), PublicState::Waiting);
}

#[tokio::test]
async fn an_approver_decides_under_the_name_of_the_token() {
    let server = guarded().await;
    let id = asking(&server, "ok?", 1).await;
    for (role, decides) in [(Role::Reader, false), (Role::Producer, false), (Role::Approver, true)]
    {
        let token = server.issued(role.as_str(), role, &["default"]).await;
        let cookie = logged_in(&server, &token).await;
        let inbox = page_as(&server, &cookie, "/approvals").await;
        assert_eq!(inbox.text().contains("value=\"approve\""), decides, "{role}");
        let form = format!("proof={}&decision=approve", proof(&inbox));
        let answer = post_as(&server, &cookie, &format!("/executions/{id}/decide"), &form).await;
        assert_eq!(answer.status, if decides { 303 } else { 403 }, "{role}");
    }
    let signals = server.store.signals(&target(id), 0, 9).await.unwrap();
    assert_eq!(signals[0].source.as_str(), "approver");
}

#[tokio::test]
async fn a_page_of_another_origin_changes_nothing() {
    let server = Fixture::start().await;
    let id = server.submitted().await;
    let (path, to) = (format!("/executions/{id}"), format!("/executions/{id}/act"));
    let proof = proof(&page(&server, &path).await);
    let form = "content-type: application/x-www-form-urlencoded\r\n";
    for headers in [
        "",
        "origin: http://evil.example\r\n",
        "origin: null\r\n",
        "origin: http://localhost:3000\r\n",
        "origin: http://evil.example\r\nsec-fetch-site: same-origin\r\n",
        "origin: http://localhost\r\nsec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
        "sec-fetch-site: none\r\n",
    ] {
        for to in [&*to, "/lanes/default", "/bulk/start", "/logout"] {
            let body = format!("proof={proof}&action=cancel&id={id}");
            let answer =
                ask(server.address, post_with(to, &format!("{form}{headers}"), body)).await;
            assert_eq!(answer.status, 403, "{to} {headers}");
        }
    }
    // From its own page, but without what only that page knows.
    for body in [
        "action=cancel".to_owned(),
        "proof=&action=cancel".into(),
        format!("proof={}&action=cancel", "0".repeat(64)),
    ] {
        assert_eq!(ask(server.address, post_with(&to, OWN, body)).await.status, 403);
    }
    let json = OWN.replace("x-www-form-urlencoded", "json");
    let body = format!("proof={proof}&action=cancel");
    assert_eq!(ask(server.address, post_with(&to, &json, &body)).await.status, 415);
    assert_eq!(ask(server.address, post_with(&to, OWN, "x".repeat(70_000))).await.status, 413);
    assert_eq!(ask(server.address, post_with(&to, OWN, "proof=%ff")).await.status, 400);
    assert_eq!(server.described(id).await.public_state(), PublicState::Waiting);
    assert_eq!(submit_form(&server, &path, &to, "action=cancel").await.status, 303);
    assert_eq!(server.described(id).await.public_state(), PublicState::Cancelled);
}

#[tokio::test]
async fn a_proof_is_of_one_session() {
    let server = guarded().await;
    let id = server.submitted().await;
    let (ann, bob) = (logged_in(&server, TOKEN).await, logged_in(&server, TOKEN).await);
    let path = format!("/executions/{id}");
    let of_ann = proof(&page_as(&server, &ann, &path).await);
    let form = format!("proof={of_ann}&action=cancel");
    let to = format!("{path}/act");
    assert_eq!(post_as(&server, &bob, &to, &form).await.status, 403);
    assert_eq!(post_as(&server, &ann, &to, &form).await.status, 303);
    assert_eq!(server.described(id).await.public_state(), PublicState::Cancelled);
}

#[tokio::test]
async fn a_link_from_elsewhere_finds_the_session() {
    let server = guarded().await;
    let headers = "host: localhost\r\nsec-fetch-site: cross-site\r\n";
    let request = format!("GET /lanes HTTP/1.1\r\n{headers}\r\n");
    let answer = ask(server.address, request).await;
    assert!(answer.status == 200 && answer.text().contains("http-equiv=\"refresh\" content=\"0\""));
    let request =
        format!("GET /lanes HTTP/1.1\r\n{}\r\n", headers.replace("cross-site", "same-origin"));
    assert_eq!(ask(server.address, request).await.status, 303);
}
