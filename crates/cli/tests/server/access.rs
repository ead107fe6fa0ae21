//! Authentication, and the errors of a client that no server answers.

use std::process::Stdio;

use crate::fixture::{Ff, Process, bare, finish, get, get_with_token};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_server_open_to_the_network_does_not_start_without_a_token() {
    let ff = Ff::new();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let done = ff.run(&["serve", "--listen", listen]);
        assert_eq!((done.code, done.stdout.len()), (Some(1), 0), "{}", done.stderr);
        for words in [listen, "is not a loopback address", "FF_TOKEN", "127.0.0.1"] {
            assert!(done.stderr.contains(words), "{words}: {}", done.stderr);
        }
    }
    assert_eq!(ff.refusal(&["serve", "--listen", "0.0.0.0:0"])["code"], "start_failed");
}

#[test]
fn a_weak_token_starts_no_server() {
    for token in ["short", "x y".repeat(20).as_str(), &"ö".repeat(20)] {
        for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
            let done = Ff::new().with_token(token).run(&["serve", "--listen", listen]);
            assert_eq!((done.code, done.stdout.len()), (Some(1), 0), "{token}: {}", done.stderr);
            assert!(done.stderr.contains("at least 32 random visible ASCII"), "{}", done.stderr);
            assert!(!done.stderr.contains(token), "the token is not shown: {}", done.stderr);
        }
    }
}

#[test]
fn a_taken_address_is_reported() {
    let ff = Ff::new();
    let server = ff.serve();
    let taken = server.url.strip_prefix("http://").unwrap();
    let done = ff.run(&["serve", "--listen", taken]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains(&format!("cannot listen on {taken}")), "{}", done.stderr);
}

#[test]
fn a_client_with_the_token_is_served() {
    let ff = Ff::new().with_token(TOKEN);
    let server = ff.serve();
    let ff = server.ff();
    let id = ff.submit(&["--input", "1"]);
    ff.work("cat");
    assert_eq!(ff.ok(&["result", &id]), b"1");
    let (status, _) = get_with_token(&server.url, "/v1/executions", TOKEN).unwrap();
    assert_eq!(status, 200);
}

#[test]
fn without_the_token_every_command_is_refused_and_says_what_to_set() {
    let store = Ff::new().with_token(TOKEN);
    let server = store.serve();
    let id = server.ff().submit(&[]);
    let (stranger, guesser) = (
        Ff::new().over(&server.url),
        Ff::new().over(&server.url).with_token(&TOKEN.replace('0', "1")),
    );
    for ff in [stranger, guesser] {
        for args in [
            &["submit"][..],
            &["ls"],
            &["show", &id],
            &["attempts", &id],
            &["result", &id],
            &["input", &id],
            &["cancel", &id],
            &["replay", &id],
            &["priority", &id, "1"],
            &["tags", &id, "a=1"],
            &["revoke", &id],
            &["worker", "--exec", "true"],
        ] {
            let view = ff.failure(6, args);
            assert_eq!(view["code"], "unauthenticated", "{args:?}: {view}");
            assert_eq!(view["retryable"], false);
            let message = view["message"].as_str().unwrap();
            assert!(message.contains("FF_TOKEN"), "{args:?}: {message}");
        }
    }
    assert_eq!(server.ff().show(&id)["state"], "waiting");
}

#[test]
fn a_request_without_the_token_is_401() {
    let server = Ff::new().with_token(TOKEN).serve();
    for path in ["/v1/executions", "/metrics", "/openapi.json"] {
        for answer in [get(&server.url, path), get_with_token(&server.url, path, "guess")] {
            let (status, body) = answer.unwrap();
            let body: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!((status, &body["code"]), (401, &"unauthenticated".into()), "{path}");
        }
    }
    assert_eq!(get(&server.url, "/healthz").unwrap().0, 200);
}

#[test]
fn an_unreachable_server_is_reported_with_what_to_start() {
    let ff = Ff::new().over("http://127.0.0.1:1");
    for args in [&["ls"][..], &["submit"], &["cancel", "01890000-0000-7000-8000-000000000001"]] {
        let view = ff.failure(3, args);
        assert_eq!(
            (&view["code"], &view["retryable"]),
            (&"server_unreachable".into(), &true.into())
        );
        let message = view["message"].as_str().unwrap();
        for words in
            ["http://127.0.0.1:1", "refused", "ff dev", "ff serve --store sqlite:PATH", "--store"]
        {
            assert!(message.contains(words), "{words}: {message}");
        }
    }
    let done = ff.run(&["ls"]);
    assert_eq!((done.code, done.stdout.len()), (Some(3), 0));
    assert!(done.stderr.contains("(server_unreachable)"), "{}", done.stderr);
}

#[test]
fn a_url_that_is_none_is_refused_with_an_example() {
    for bad in [
        "",
        "nonsense",
        "http://127.0.0.1:1/?a",
        "http://127.0.0.1:1/#a",
        "http://u:p@127.0.0.1:1",
        "ftp://x",
    ] {
        let done = finish(&mut bare(&["ls", "--url", bad]), b"");
        assert_eq!(done.code, Some(1), "{bad}: {}", done.stderr);
        assert!(done.stderr.contains("http://127.0.0.1:7272"), "{bad}: {}", done.stderr);
    }
}

#[test]
fn the_address_can_come_from_the_environment() {
    let store = Ff::new();
    let mut command = bare(&["serve", "--store", &store.store()]);
    command.env("FF_LISTEN", "127.0.0.1:0").stdin(Stdio::null());
    let mut server = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let url = server.stdout().next().unwrap();
    assert_ne!(url, "http://127.0.0.1:7272");
    assert_eq!(get(&url, "/livez").unwrap().0, 200);
}
