//! Named tokens at the server: who is let in, until when, and how soon a revocation holds.

use std::time::Duration;

use ff_core::bounds::TOKEN_TRUST;
use ff_core::credential::{Role, Scope};
use ff_core::machine::Submit;
use ff_core::{Actor, Millis, Namespace, PublicState, TokenName};
use ff_server::{Config, Token};
use ff_store::roles::CreateToken;
use ff_store::{ClientBackend, NamedTokensBackend};
use serde_json::{Value, json};

use crate::fixture::raw::{Answer, ask};
use crate::fixture::{Fixture, TOKEN, config, within};

/// A server that requires a token.
pub(crate) async fn guarded() -> Fixture {
    Fixture::with(Config { token: Some(Token::new(TOKEN).unwrap()), ..config() }).await
}

impl Fixture {
    /// A new secret of token `name`, for these namespaces.
    pub(crate) async fn issued(&self, name: &str, role: Role, namespaces: &[&str]) -> String {
        self.issued_for(name, role, namespaces, None).await
    }

    async fn issued_for(
        &self,
        name: &str,
        role: Role,
        namespaces: &[&str],
        ttl: Option<Millis>,
    ) -> String {
        let names = namespaces.iter().map(|name| Namespace::new(*name).unwrap());
        let scope = match namespaces {
            ["*"] => Scope::Every,
            _ => Scope::Only(names.collect()),
        };
        let (name, by) = (TokenName::new(name).unwrap(), Actor::local());
        let create = CreateToken { name, role, scope, ttl, by };
        self.store.create_token(create).await.unwrap().text.reveal().to_owned()
    }

    async fn revoked(&self, name: &str) {
        let name = TokenName::new(name).unwrap();
        self.store.revoke_token(&name, None, Actor::local()).await.unwrap();
    }

    /// One request, showing `token`.
    pub(crate) async fn call_as(&self, token: &str, method: &str, path: &str) -> Answer {
        self.send_as(token, method, path, "").await
    }

    /// One request with a body, showing `token`.
    pub(crate) async fn send_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> Answer {
        ask(self.address, written(token, method, path, body)).await
    }
}

fn written(token: &str, method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap()
}

/// Lets as much time pass as servers trust what they have read of a token.
async fn trust_passes() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(TOKEN_TRUST.get())).await;
    tokio::time::resume();
}

const LIST: &str = "/v1/executions?namespace=acme";

#[tokio::test]
async fn every_token_that_is_not_accepted_gets_one_answer() {
    let server = guarded().await;
    let live = server.issued("live", Role::Reader, &["acme"]).await;
    let secret = live.rsplit('_').next().unwrap().to_owned();
    let expired = Some(Millis::from_secs(1));
    let expired = server.issued_for("expired", Role::Reader, &["acme"], expired).await;
    server.clock.advance(Millis::from_secs(1));
    let revoked = server.issued("revoked", Role::Reader, &["acme"]).await;
    server.revoked("revoked").await;
    let mut answers = Vec::new();
    for wrong in [
        String::new(),
        "fft_".into(),
        "nothing".into(),
        format!("fft_unknown_{secret}"),
        format!("fft_expired_{secret}"),
        format!("{}0", &live[..live.len() - 1]).replace("00", "01"),
        live[..live.len() - 1].to_owned(),
        format!("{live}0"),
        expired,
        revoked,
    ] {
        let answer = server.call_as(&wrong, "GET", LIST).await;
        let problem = answer.problem(401, "unauthenticated");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        answers.push(answer.text().replace(&problem.request_id, ""));
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(server.call_as(&live, "GET", LIST).await.status, 200);
}

#[tokio::test]
async fn a_revocation_holds_once_the_trust_is_over() {
    let server = guarded().await;
    let token = server.issued("ci", Role::Reader, &["acme"]).await;
    assert_eq!(server.call_as(&token, "GET", LIST).await.status, 200);
    server.revoked("ci").await;
    trust_passes().await;
    server.call_as(&token, "GET", LIST).await.problem(401, "unauthenticated");
    server.call_as(&token, "GET", LIST).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_token_that_is_remembered_still_expires() {
    let server = guarded().await;
    let ttl = Millis::from_secs(2);
    let token = server.issued_for("ci", Role::Reader, &["acme"], Some(ttl)).await;
    assert_eq!(server.call_as(&token, "GET", LIST).await.status, 200);
    server.clock.advance(ttl);
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(ttl.get())).await;
    tokio::time::resume();
    server.call_as(&token, "GET", LIST).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_claim_that_waits_ends_with_its_token() {
    let server = guarded().await;
    let token = server.issued("pod", Role::Worker, &["default"]).await;
    let body = json!({
        "instance": "pod-1", "request": "00000000-0000-4000-8000-000000000001", "wait_ms": 60_000,
    });
    let claim = written(&token, "POST", "/v1/workers/pod/claim", &body.to_string());
    let claiming = tokio::spawn(ask(server.address, claim));
    server.until_waiting(1).await;
    server.revoked("pod").await;
    trust_passes().await;
    within(claiming).await.unwrap().problem(401, "unauthenticated");
    let id = server.submitted().await;
    assert_eq!(server.waiting(), 0);
    assert_eq!(server.described(id).await.public_state(), PublicState::Waiting);
}

#[tokio::test]
async fn the_use_of_a_token_is_seen() {
    let server = guarded().await;
    let token = server.issued("ci", Role::Reader, &["acme"]).await;
    assert_eq!(server.call_as(&token, "GET", LIST).await.status, 200);
    within(async {
        while server.store.tokens(None, 10).await.unwrap()[0].last_used.is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let listed = json(&server.call_as(TOKEN, "GET", "/v1/tokens").await);
    assert!(listed["tokens"][0]["last_used"].is_string(), "{listed}");
}

#[tokio::test]
async fn root_makes_lists_and_revokes_tokens_and_a_secret_is_shown_once() {
    let server = guarded().await;
    let body = json!({"name": "ci", "role": "producer", "namespaces": ["acme", "beta"]});
    let made = server.send_as(TOKEN, "POST", "/v1/tokens", &body.to_string()).await;
    assert_eq!(made.status, 201, "{made:?}");
    let made = json(&made);
    let secret = made["secret"].as_str().unwrap();
    assert_eq!(made["token"]["namespaces"], json!(["acme", "beta"]));
    assert_eq!(made["token"]["secrets"][0]["created_by"], "root");
    let submit = json!({"kind": "hello"}).to_string();
    for namespace in ["acme", "beta"] {
        let path = format!("/v1/executions?namespace={namespace}");
        assert_eq!(server.send_as(secret, "POST", &path, &submit).await.status, 201);
    }
    let listed = server.call_as(TOKEN, "GET", "/v1/tokens").await;
    assert!(!listed.text().contains(secret) && !listed.text().contains(&secret[8..]));
    let revoked = server.call_as(TOKEN, "DELETE", "/v1/tokens/ci").await;
    assert_eq!(revoked.status, 200);
    assert_eq!(json(&revoked)["live"], false);
    assert_eq!(json(&revoked)["secrets"][0]["revoked_by"], "root");
    server.call_as(TOKEN, "DELETE", "/v1/tokens/nobody").await.problem(404, "not_found");
    for bad in [
        json!({"name": "ci", "role": "king", "namespaces": ["a"]}),
        json!({"name": "root", "role": "reader", "namespaces": ["a"]}),
        json!({"name": "ci", "role": "reader", "namespaces": ["@system"]}),
        json!({"name": "ci", "role": "reader"}),
        json!({"name": "ci", "role": "reader", "namespaces": ["a"], "every_namespace": true}),
        json!({"name": "ci", "role": "reader", "namespaces": ["a"], "expires_ms": 0}),
        json!({"name": "ci", "role": "reader", "namespaces": ["a"], "secret": "mine"}),
    ] {
        let answer = server.send_as(TOKEN, "POST", "/v1/tokens", &bad.to_string()).await;
        assert_eq!(answer.status, 400, "{bad}: {answer:?}");
    }
}

#[tokio::test]
async fn a_server_without_a_token_is_open_and_still_goes_by_a_named_one_that_is_shown() {
    let server = Fixture::start().await;
    let reader = server.issued("ann", Role::Reader, &["acme"]).await;
    assert_eq!(server.call_as("anything", "GET", "/v1/tokens").await.status, 200);
    assert_eq!(server.call_as(&reader, "GET", LIST).await.status, 200);
    server.call_as(&reader, "GET", "/v1/tokens").await.problem(403, "forbidden");
    server.call_as(&reader, "GET", "/v1/executions").await.problem(404, "not_found");
    server.revoked("ann").await;
    trust_passes().await;
    server.call_as(&reader, "GET", LIST).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn guessing_ids_of_another_namespace_finds_nothing() {
    let server = guarded().await;
    let token = server.issued("ann", Role::Operator, &["acme"]).await;
    let rival = Namespace::new("rival").unwrap();
    let (there, nowhere) = (server.store.new_id(&rival, None), server.store.new_id(&rival, None));
    let submit = Submit { namespace: rival, ..Submit::new(there) };
    server.store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    for (method, call, body) in [
        ("GET", "", ""),
        ("GET", "/explain", ""),
        ("GET", "/input", ""),
        ("GET", "/result", ""),
        ("GET", "/attempts", ""),
        ("DELETE", "", ""),
        ("POST", "/cancel", "{}"),
        ("POST", "/replay", r#"{"run":0}"#),
        ("POST", "/priority", r#"{"priority":1}"#),
        ("POST", "/tags", r#"{"set":{"a":"b"}}"#),
    ] {
        let mut answers = Vec::new();
        for namespace in ["acme", "rival", "default"] {
            for id in [there, nowhere] {
                let path = format!("/v1/executions/{id}{call}?namespace={namespace}");
                let answer = server.send_as(&token, method, &path, body).await;
                let problem = answer.problem(404, "not_found");
                answers.push(answer.text().replace(&problem.request_id, ""));
            }
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{method} {call}: {answers:?}");
    }
}
