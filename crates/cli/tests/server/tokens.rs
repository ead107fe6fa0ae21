//! Tokens of waitpoints over HTTP, none of which a server ever prints.

use std::fs;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fixture::{Ff, Process, bare, get, send};

/// The answer to a request with a JSON body.
fn call(url: &str, path: &str, body: &Value) -> (u16, Value) {
    let (status, text) = send(url, "POST", path, body).unwrap();
    (status, serde_json::from_str(&text).unwrap_or_default())
}

/// Suspends a new execution until two people have decided, and gives its id and a token.
fn asking(ff: &Ff, url: &str) -> (String, String) {
    let id = ff.submit(&[]);
    let request = "6c84fb90-12c4-11e1-840d-7b25c5ee775a";
    let claim = json!({ "instance": "one", "request": request });
    let (status, claimed) = call(url, "/v1/workers/one/claim", &claim);
    assert_eq!(status, 200, "{claimed}");
    let fence = &claimed["assignments"][0]["fence"];
    let suspend = json!({
        "fence": fence,
        "waitpoints": [{ "key": "gate" }],
        "condition": { "count": { "n": 2, "of": "sources" } },
        "reason": "approval",
        "message": "may it?",
    });
    let (status, suspended) = call(url, &format!("/v1/executions/{id}/suspend"), &suspend);
    assert_eq!(status, 200, "{suspended}");
    let token = suspended["waitpoints"][0]["token"].as_str().unwrap().to_owned();
    (id, token)
}

/// What a command prints, without the last line's end.
fn printed(ff: &Ff, args: &[&str]) -> String {
    String::from_utf8(ff.ok(args)).unwrap().trim_end().to_owned()
}

#[test]
fn a_person_decides_once_by_command_or_by_link() {
    let store = Ff::new();
    let server = store.serve();
    let (ff, url) = (server.ff(), &server.url);
    let (id, _) = asking(&ff, url);
    let decided = |args: &[&str]| ff.json(args)["effect"].clone();
    assert_eq!(decided(&["approve", &id, "--comment", "fine"]), "recorded");
    assert_eq!(decided(&["approve", &id, "--comment", "very fine"]), "duplicate");
    assert_eq!(decided(&["reject", &id]), "duplicate");
    let said = printed(&ff, &["reject", &id]);
    assert_eq!(said, "you have decided before; that decision stands");
    let link = printed(&ff, &["link", &id, "--for", "ann"]);
    let path = link.strip_prefix(url.as_str()).unwrap();
    assert_eq!(get(url, path).unwrap().0, 200);
    let signals = format!("/v1/executions/{id}/signals");
    let received = || get(url, &signals).unwrap().1.matches("\"source\"").count();
    assert_eq!(received(), 1, "looking changes nothing");
    let token = printed(&ff, &["link", &id, "gate", "--for", "bob", "--token"]);
    let (status, answer) = call(url, "/v1/signals", &json!({ "token": token, "name": "approve" }));
    assert_eq!((status, &answer["effect"]), (200, &json!("resumed")), "{answer}");
    assert_eq!(received(), 2);
}

#[test]
fn a_command_that_opens_the_store_signs_with_the_keys_it_is_given() {
    let store = Ff::new();
    let server = store.serve();
    let (id, _) = asking(&server.ff(), &server.url);
    let command = ["link", &id, "gate", "--for", "ann", "--token"];
    let over_http = printed(&server.ff(), &command);
    assert_eq!(printed(&store, &command), over_http, "by the keys beside the file");
    let moved = store.path("ring").display().to_string();
    fs::rename(store.path("ff.db.keys"), &moved).unwrap();
    assert_eq!(store.refusal(&command)["code"], "no_signing_key");
    let with = [&command[..], &["--signing-keys", &moved]].concat();
    assert_eq!(printed(&store, &with), over_http);
    let missing = store.path("nowhere").display().to_string();
    let worker = ["worker", "--exec", "true", "--until-idle", "--signing-keys", &missing];
    for args in [&["ls", "--signing-keys", &missing][..], &worker] {
        let done = store.run(args);
        assert!(done.code != Some(0) && done.stderr.contains(&missing), "{}", done.stderr);
    }
}

fn token(url: &str, id: &str, body: &Value) -> String {
    let path = format!("/v1/executions/{id}/waitpoints/gate/token");
    let (status, made) = call(url, &path, body);
    assert_eq!(status, 200, "{made}");
    made["token"].as_str().unwrap().to_owned()
}

#[test]
fn no_token_and_no_secret_is_in_any_log_listing_or_error() {
    let ff = Ff::new();
    let mut command = bare(&["serve", "--listen", "127.0.0.1:0", "--store", &ff.store()]);
    command.env("FF_LOG", "trace").stdin(Stdio::null());
    let mut server = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    let (stdout, stderr) = (server.stdout(), server.stderr());
    let url = stdout.next().unwrap();
    let ff = ff.over(&url);
    let (id, bearer) = asking(&ff, &url);
    let ann = token(&url, &id, &json!({ "subject": "ann" }));
    let link = json!({ "subject": "bob", "purpose": "approval_link", "expires_ms": 60_000 });
    let bob = token(&url, &id, &link);
    let bad = ann.replace("ff1.", "ff1.x");
    let mut shown = Vec::new();
    for token in [&bearer, &bad, &bob] {
        let (status, answer) = call(&url, "/v1/signals", &json!({ "token": token, "payload": 1 }));
        assert_eq!(status, if token == &bearer { 200 } else { 401 }, "{answer}");
        shown.push(answer.to_string());
    }
    for token in [&ann, &bob, &bad] {
        let (status, page) = get(&url, &format!("/approve/{token}")).unwrap();
        assert_eq!(status, if token == &bob { 200 } else { 401 });
        shown.push(page);
    }
    let (status, _) = call(&url, "/v1/signals", &json!({ "token": ann, "payload": 1 }));
    assert_eq!(status, 200);
    let one = format!("/v1/executions/{id}");
    for path in ["/v1/executions", &one, &format!("{one}/waitpoints"), &format!("{one}/signals")] {
        shown.push(get(&url, path).unwrap().1);
    }
    shown.push(get(&url, "/metrics").unwrap().1);
    assert!(shown.last().unwrap().contains("ff_invalid_tokens_total 4"), "{shown:?}");
    for args in [&["show", &id][..], &["show", &id, "--json"], &["ls"], &["explain", &id]] {
        shown.push(String::from_utf8(ff.ok(args)).unwrap());
    }
    server.signal(Signal::TERM);
    assert!(server.ended().success());
    shown.extend(stdout.rest().into_iter().chain(stderr.rest()));
    assert!(shown.iter().any(|line| line.contains("a token was made")), "making one is on record");
    let keys = fs::read_to_string(ff.path("ff.db.keys")).unwrap();
    let secret = keys.lines().last().unwrap().split_once(' ').unwrap().1;
    for (what, text) in
        [("bearer", &*bearer), ("ann", &ann), ("bob", &bob), ("bad", &bad), ("secret", secret)]
    {
        // The signature is what makes a token one.
        let tail = text.rsplit('.').next().unwrap();
        let found = shown.iter().find(|line| line.contains(tail));
        assert_eq!(found, None, "{what} is printed");
    }
}
