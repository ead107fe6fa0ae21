//! The approval page: what it shows, what it does, and what it never does.

use ff_core::condition::{Condition, CountOf};
use ff_core::machine::{Cancel, Delete, LeaseRef, NewWaitpoint, Suspend};
use ff_core::suspension::{OnTimeout, SuspendReason};
use ff_core::{ExecutionId, Millis, PublicState, Subject, When};
use ff_server::{Config, Token};
use ff_store::ring::{Purpose, SignedToken};
use ff_store::roles::NewToken;
use ff_store::{BulkBackend, ClientBackend, SignalBackend, SuspendBackend, TokenBackend, mint};

use crate::fixture::raw::{Answer, ask, get, post, post_with};
use crate::fixture::{Fixture, TOKEN, config, target};

const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";

/// Work that asks `message` and waits for the decisions of `approvers` people, for an hour.
pub(super) async fn asking(server: &Fixture, message: &str, approvers: u32) -> ExecutionId {
    let held = server.held().await;
    let suspend = Suspend {
        hold: LeaseRef { target: target(held.execution), fence: held.fence },
        waitpoints: vec![NewWaitpoint {
            id: mint::waitpoint_id(),
            key: "gate".parse().unwrap(),
            until: None,
        }],
        condition: Condition::Count {
            n: approvers,
            of: CountOf::Sources,
            waitpoints: Vec::new(),
            name: None,
        },
        timeout: Some(When::After(Millis::from_hours(1))),
        on_timeout: OnTimeout::Resume,
        reason: SuspendReason::Approval,
        message: Some(message.into()),
        step: None,
        keep_if_satisfied: false,
    };
    server.store.suspend(suspend).await.unwrap();
    held.execution
}

/// The path of the page for `subject`.
pub(super) async fn link(server: &Fixture, id: ExecutionId, subject: &str) -> String {
    let new = NewToken {
        target: target(id),
        waitpoint: "gate".parse().unwrap(),
        purpose: Purpose::ApprovalLink,
        subject: Some(Subject::new(subject).unwrap()),
        expires: None,
    };
    let made = server.store.waitpoint_token(new).await.unwrap();
    format!("/approve/{}", made.token.reveal())
}

async fn state(server: &Fixture, id: ExecutionId) -> PublicState {
    server.described(id).await.public_state()
}

/// What the answer says that it did.
#[track_caller]
fn effect(answer: &Answer) -> &str {
    let (_, rest) = answer.text().split_once("data-effect=\"").unwrap();
    rest.split('"').next().unwrap()
}

async fn decide(server: &Fixture, path: &str, form: &str) -> Answer {
    ask(server.address, post_with(path, FORM, form)).await
}

#[tokio::test]
async fn the_page_shows_what_is_asked_and_changes_nothing() {
    let server = Fixture::start().await;
    let id = asking(&server, "Deploy 2.0?\nIt takes an hour.", 1).await;
    let path = link(&server, id, "ann@example.com").await;
    let before = server.described(id).await;
    for _ in 0..2 {
        let page = ask(server.address, get(&path)).await;
        assert_eq!(page.status, 200);
        let id = id.to_string();
        for words in ["Deploy 2.0?\nIt takes an hour.", "ann@example.com", &id, "task", "default"] {
            assert!(page.text().contains(words), "{words}: {}", page.text());
        }
        assert!(page.text().contains("Answer by") && !page.text().contains("<script"));
    }
    assert_eq!(server.described(id).await, before);
    assert!(server.store.signals(&target(id), 0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_decision_is_recorded_once_and_resumes_when_all_have_decided() {
    let server = Fixture::start().await;
    let id = asking(&server, "ok?", 2).await;
    let (ann, bob) = (link(&server, id, "ann").await, link(&server, id, "bob").await);
    let first = decide(&server, &ann, "decision=approve&comment=fine+%26+good").await;
    assert_eq!((first.status, effect(&first)), (200, "recorded"));
    for again in ["decision=approve&comment=fine+%26+good", "decision=reject&comment="] {
        assert_eq!(effect(&decide(&server, &ann, again).await), "duplicate");
    }
    assert_eq!(state(&server, id).await, PublicState::Suspended);
    let last = decide(&server, &bob, "decision=reject&comment=").await;
    assert_eq!(effect(&last), "resumed");
    assert!(last.text().contains("<h1>Rejected</h1>"));
    assert_ne!(state(&server, id).await, PublicState::Suspended);
    let signals = server.store.signals(&target(id), 0, 10).await.unwrap();
    let seen: Vec<_> = signals
        .iter()
        .map(|one| (one.source.as_str(), one.name.as_ref().unwrap().as_str(), &*one.payload.bytes))
        .collect();
    assert_eq!(
        seen,
        [
            ("ann", "approve", &br#"{"approved":true,"comment":"fine & good"}"#[..]),
            ("bob", "reject", br#"{"approved":false,"comment":null}"#),
        ]
    );
    assert_eq!(effect(&decide(&server, &bob, "decision=approve").await), "duplicate");
    let closed = ask(server.address, get(&bob)).await;
    assert_eq!((closed.status, effect(&closed)), (410, "closed"));
}

#[tokio::test]
async fn a_decision_after_the_time_is_too_late() {
    let server = Fixture::start().await;
    let id = asking(&server, "ok?", 1).await;
    let path = link(&server, id, "ann").await;
    server.clock.advance(Millis::from_hours(1));
    assert_eq!(effect(&decide(&server, &path, "decision=approve").await), "too_late");
    assert!(server.store.signals(&target(id), 0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn every_bad_link_gets_the_same_page() {
    let server = Fixture::start().await;
    let id = asking(&server, "secret question", 1).await;
    let good = link(&server, id, "ann").await;
    let signal = NewToken {
        target: target(id),
        waitpoint: "gate".parse().unwrap(),
        purpose: Purpose::Signal,
        subject: None,
        expires: None,
    };
    let signal = server.store.waitpoint_token(signal).await.unwrap().token;
    let mut pages = std::collections::BTreeSet::new();
    for path in [
        good[..good.len() - 1].to_owned(),
        format!("{good}A"),
        good.replace("ffa1.", "ff1."),
        format!("/approve/{}", signal.reveal()),
        "/approve/x".to_owned(),
        "/approve/%ff%fe".to_owned(),
        format!("/approve/{}", "Z".repeat(4_000)),
    ] {
        for request in [get(&path).into_bytes(), post_with(&path, FORM, "decision=approve")] {
            let answer = ask(server.address, request).await;
            assert_eq!(answer.status, 401, "{path}");
            pages.insert(answer.text().to_owned());
        }
    }
    assert_eq!(pages.len(), 1);
    assert!(!pages.first().unwrap().contains("secret question"));
    assert_eq!(state(&server, id).await, PublicState::Suspended);
}

#[tokio::test]
async fn what_is_shown_is_escaped() {
    let server = Fixture::start().await;
    let message = "</p><script>alert(1)</script><img src=x onerror='alert(2)'>\"&\u{202e}";
    let id = asking(&server, message, 1).await;
    let path = link(&server, id, "<b>ann</b>\" onclick=\"x").await;
    for answer in [
        ask(server.address, get(&path)).await,
        decide(&server, &path, "decision=approve&comment=%3Cscript%3E").await,
    ] {
        for markup in ["<script", "<img", "<b>", "onclick=\"", "\u{202e}"] {
            assert!(!answer.text().contains(markup), "{markup}: {}", answer.text());
        }
        assert!(answer.text().contains("&lt;script&gt;alert(1)"));
    }
}

#[tokio::test]
async fn every_page_is_safe_to_open() {
    let server = Fixture::start().await;
    let id = asking(&server, "ok?", 1).await;
    let path = link(&server, id, "ann").await;
    for answer in [
        ask(server.address, get(&path)).await,
        ask(server.address, get("/approve/x")).await,
        decide(&server, &path, "nonsense").await,
        decide(&server, &path, "decision=approve").await,
        ask(server.address, get(&path)).await,
    ] {
        let header = |name| answer.header(name).unwrap_or("");
        let policy = header("content-security-policy");
        for part in ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && policy.contains("style-src 'sha256-"), "{policy}");
        assert_eq!(header("referrer-policy"), "no-referrer");
        assert_eq!(header("cache-control"), "no-store");
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert!(!answer.text().contains(path.strip_prefix("/approve/").unwrap()));
    }
}

#[tokio::test]
async fn only_the_form_of_the_page_decides() {
    let server = Fixture::start().await;
    let id = asking(&server, "ok?", 1).await;
    let path = link(&server, id, "ann").await;
    let json = ask(server.address, post(&path, r#"{"decision":"approve"}"#)).await;
    assert_eq!((json.status, effect(&json)), (415, "refused"));
    let long = format!("decision=approve&comment={}", "x".repeat(5_000));
    for (form, status) in [("decision=maybe", 400), ("", 400), (&long, 400)] {
        let answer = decide(&server, &path, form).await;
        assert_eq!((answer.status, effect(&answer)), (status, "refused"));
    }
    let huge = format!("decision=approve&comment={}", "x".repeat(20_000));
    assert_eq!(decide(&server, &path, &huge).await.status, 413);
    assert_eq!(state(&server, id).await, PublicState::Suspended);
}

#[tokio::test]
async fn a_page_of_another_origin_posts_nothing_to_a_server_without_a_token() {
    let server = Fixture::start().await;
    let id = asking(&server, "ok?", 1).await;
    let path = link(&server, id, "ann").await;
    for headers in [
        "origin: http://evil.example\r\n",
        "origin: null\r\n",
        "origin: null\r\nsec-fetch-site: cross-site\r\n",
        "origin: null\r\nsec-fetch-site: none\r\n",
        "origin: http://evil.example\r\nsec-fetch-site: same-origin\r\n",
    ] {
        let headers = format!("{FORM}{headers}");
        let answer = ask(server.address, post_with(&path, &headers, "decision=approve")).await;
        answer.problem(403, "origin_not_allowed");
    }
    assert_eq!(state(&server, id).await, PublicState::Suspended);
    let own = format!("{FORM}origin: null\r\nsec-fetch-site: same-origin\r\n");
    let answer = ask(server.address, post_with(&path, &own, "decision=approve")).await;
    assert_eq!(effect(&answer), "resumed");
}

#[tokio::test]
async fn the_link_is_all_the_permission_that_it_takes() {
    let token = Some(Token::new(TOKEN).unwrap());
    let server = Fixture::with(Config { token, ..config() }).await;
    let id = asking(&server, "ok?", 1).await;
    let path = link(&server, id, "ann").await;
    assert_eq!(ask(server.address, get(&path)).await.status, 200);
    assert_eq!(effect(&decide(&server, &path, "decision=approve").await), "resumed");
}

#[tokio::test]
async fn a_signal_by_token_needs_no_other_credential() {
    let token = Some(Token::new(TOKEN).unwrap());
    let server = Fixture::with(Config { token, ..config() }).await;
    let id = asking(&server, "ok?", 3).await;
    let made = async |subject: &str| {
        let new = NewToken {
            target: target(id),
            waitpoint: "gate".parse().unwrap(),
            purpose: Purpose::Signal,
            subject: Some(Subject::new(subject).unwrap()),
            expires: None,
        };
        server.store.waitpoint_token(new).await.unwrap().token
    };
    let body = |token: &SignedToken| format!(r#"{{"token":"{}","payload":1}}"#, token.reveal());
    let answer = ask(server.address, post("/v1/signals", body(&made("ann").await))).await;
    assert!(answer.text().contains(r#""effect":"recorded""#), "{}", answer.text());
    let bearer = format!(
        "content-type: application/json\r\nauthorization: Bearer {}\r\n",
        made("bob").await.reveal()
    );
    let answer = ask(server.address, post_with("/v1/signals", &bearer, r#"{"payload":1}"#)).await;
    assert!(answer.text().contains(r#""effect":"recorded""#), "{}", answer.text());
    let root = format!("content-type: application/json\r\nauthorization: Bearer {TOKEN}\r\n");
    for (headers, body) in [
        ("content-type: application/json\r\n", r#"{"payload":1}"#.to_owned()),
        (&root, r#"{"payload":1}"#.to_owned()),
        (&root, body(&SignedToken::received("ff1.x.y.z"))),
    ] {
        let answer = ask(server.address, post_with("/v1/signals", headers, body)).await;
        answer.problem(401, "invalid_token");
    }
}

/// Who has a good token learns that it came too late, not that it is wrong.
#[tokio::test]
async fn a_token_for_what_was_removed_is_gone_and_not_wrong() {
    let server = Fixture::with(config()).await;
    let id = asking(&server, "ok?", 1).await;
    let new = NewToken {
        target: target(id),
        waitpoint: "gate".parse().unwrap(),
        purpose: Purpose::Signal,
        subject: None,
        expires: None,
    };
    let token = server.store.waitpoint_token(new).await.unwrap().token;
    let cancel = Cancel { target: target(id), grace: None, reason: None };
    server.store.cancel(cancel).await.unwrap();
    let body = format!(r#"{{"token":"{}","payload":1}}"#, token.reveal());
    for removed in [false, true] {
        if removed {
            server.store.delete(Delete { target: target(id) }).await.unwrap();
        }
        let answer = ask(server.address, post("/v1/signals", body.clone())).await;
        answer.problem(410, "waitpoint_closed");
    }
}
