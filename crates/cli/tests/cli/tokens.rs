//! Tokens: made, shown once, listed, used over HTTP, revoked.

use serde_json::{Value, json};

use crate::fixture::{Ff, wait_for};

const ROOT: &str = "a-root-token-of-at-least-32-characters";

fn text(ff: &Ff, args: &[&str]) -> String {
    String::from_utf8(ff.ok(args)).unwrap()
}

/// Makes a token and gives its text.
fn made(ff: &Ff, args: &[&str]) -> String {
    text(ff, &[&["token", "create"], args].concat()).trim().to_owned()
}

#[test]
fn a_token_is_printed_once_and_listed_without_its_secret() {
    let ff = Ff::new();
    let done = ff.run(&["token", "ls"]);
    assert!(done.stdout.is_empty() && done.stderr.contains("there is no token"));
    let args = ["token", "create", "ci", "--role", "producer", "--expires", "90d"];
    let done = ff.run(&[&args[..], &["--namespace", "acme", "--namespace", "beta"]].concat());
    let token = String::from_utf8(done.stdout).unwrap();
    assert!(token.starts_with("fft_ci_") && token.lines().count() == 1, "{token}");
    assert!(!done.stderr.contains(token.trim()), "{}", done.stderr);
    let listed = text(&ff, &["token", "ls"]);
    let secret = token.trim().rsplit('_').next().unwrap();
    assert!(!listed.contains(secret), "{listed}");
    assert!(listed.contains("acme beta") && listed.contains("expires in 90d"), "{listed}");
    let view = ff.json(&["token", "ls"]);
    assert!(!view.to_string().contains(secret), "{view}");
    assert_eq!(view["tokens"][0]["role"], "producer");
    assert_eq!(view["tokens"][0]["secrets"][0]["created_by"], "local");
    let revoked = ff.json(&["token", "revoke", "ci"]);
    assert_eq!(
        (&revoked["live"], &revoked["secrets"][0]["revoked_by"]),
        (&json!(false), &json!("local"))
    );
    assert_eq!(ff.refusal(&["token", "revoke", "nobody"])["code"], "not_found");
    ff.check();
}

#[test]
fn what_a_token_may_not_be_is_refused() {
    let ff = Ff::new();
    for (args, words) in [
        (&["token", "create", "ci"][..], "--role"),
        (&["token", "create", "ci", "--role", "king"], "producer"),
        (&["token", "create", "root", "--role", "reader"], "root"),
        (&["token", "create", "ci", "--role", "reader", "--expires", "0"], "--expires"),
        (&["token", "create", "ci", "--role", "reader", "--namespace", "@system"], "namespace"),
        (&["ls", "--namespace", "a", "--namespace", "b"], "--namespace b is one too many"),
        (&["token", "ls", "--namespace", "a", "--namespace", "b"], "--namespace b is one too many"),
    ] {
        let done = ff.run(args);
        assert_eq!(done.code, Some(2), "ff {args:?}: {}", done.stderr);
        assert!(done.stderr.contains(words), "ff {args:?}: {}", done.stderr);
    }
    let refused = ff.refusal(&["token", "create", "ci", "--role", "reader", "--expires", "1ms"]);
    assert_eq!(refused["code"], "invalid_argument");
}

#[test]
fn a_token_works_where_it_may_and_is_gone_once_revoked() {
    let server = Ff::new().with_token(ROOT).serve();
    let root = server.ff();
    let producer = made(&root, &["ci", "--role", "producer", "--namespace", "acme"]);
    let ci = root.with_token(&producer);
    let id = ci.submit(&["--namespace", "acme"]);
    assert_eq!(ci.json(&["show", &id, "--namespace", "acme"])["namespace"], "acme");
    assert_eq!(ci.refusal(&["show", &id, "--namespace", "rival"])["code"], "not_found");
    assert_eq!(ci.refusal(&["submit", "--namespace", "rival"])["code"], "not_found");
    let forbidden = ci.failure(7, &["lane", "pause", "default", "--namespace", "acme"]);
    assert_eq!(forbidden["code"], "forbidden");
    assert!(forbidden["message"].as_str().unwrap().contains("operator"), "{forbidden}");
    assert_eq!(ci.failure(7, &["token", "ls"])["code"], "forbidden");
    let view: Value = root.json(&["token", "revoke", "ci"]);
    assert_eq!(view["secrets"][0]["revoked_by"], "root");
    wait_for("the revocation to hold", || {
        (ci.run(&["ls", "--namespace", "acme"]).code == Some(6)).then_some(())
    });
}
