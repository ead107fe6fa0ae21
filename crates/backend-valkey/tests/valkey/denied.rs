//! Denials, damage and unknown errors are distinguished, on a real server with
//! users of few permissions.

use ff_backend_valkey::Secret;
use ff_store::{ClientBackend, Failure, StoreError};
use ff_testkit::valkey::{Config, Server};

use crate::fixture::{Home, submit, target, try_submit, work};

fn server() -> Server {
    Server::start(Config::default().with("appendfsync", "no"))
}

/// A user who may do everything but what `rules` remove.
fn user(server: &Server, name: &str, rules: &[&str]) {
    let all = ["ACL", "SETUSER", name, "on", ">secret", "~*", "&*", "+@all"];
    server.command(&[&all, rules].concat()).unwrap();
}

/// The store, opened by `name`.
fn home(server: &Server, name: &str, password: &str) -> Home {
    let mut home = Home::on(server, 1);
    home.options.user = Some(name.to_owned());
    home.options.password = Some(Secret::new(password));
    home
}

#[track_caller]
fn must_be_denied(error: &StoreError, words: &[&str]) {
    assert_eq!(error.failure(), Some(Failure::Denied), "{error}");
    assert!(!error.is_retryable());
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{word}: {message}");
    }
}

#[tokio::test]
async fn every_denial_says_what_to_do() {
    let server = server();
    let open = Home::on(&server, 1);
    user(&server, "bob", &["-function|load"]);
    user(&server, "eve", &["resetkeys", "~mine:*"]);
    let error = home(&server, "bob", "guess").try_open().await.err().unwrap();
    must_be_denied(&error, &["check the user and password"]);
    let error = home(&server, "bob", "secret").try_open().await.err().unwrap();
    must_be_denied(&error, &["NOPERM", "FUNCTION LOAD", "ACL SETUSER"]);
    let error = home(&server, "eve", "secret").try_open().await.err().unwrap();
    must_be_denied(&error, &["NOPERM", "key", "ACL SETUSER"]);
    server.command(&["CONFIG", "SET", "requirepass", "right"]).unwrap();
    let error = open.try_open().await.err().unwrap();
    must_be_denied(&error, &["NOAUTH", "put a user and password into the store's URL"]);
}

#[tokio::test]
async fn a_permission_that_is_taken_away_is_named() {
    let server = server();
    user(&server, "bob", &[]);
    let home = home(&server, "bob", "secret");
    let process = home.open().await;
    submit(&process).await;
    server.command(&["ACL", "SETUSER", "bob", "-fcall"]).unwrap();
    let error = try_submit(&process, work(&process)).await.unwrap_err();
    must_be_denied(&error, &["NOPERM", "fcall"]);
    server.command(&["ACL", "SETUSER", "bob", "+fcall", "-zadd"]).unwrap();
    let error = try_submit(&process, work(&process)).await.unwrap_err();
    must_be_denied(&error, &["ACL failure", "'zadd'", "ACL SETUSER"]);
    server.command(&["ACL", "SETUSER", "bob", "+@all"]).unwrap();
    let id = submit(&process).await;
    assert_eq!(process.describe(&target(id)).await.unwrap().id, id);
}

#[tokio::test]
async fn a_key_of_another_type_is_damage() {
    let server = server();
    let home = Home::on(&server, 1);
    let process = home.open().await;
    let id = submit(&process).await;
    let keys = server.command(&["KEYS", &format!("{}:*", home.options.prefix.as_str())]).unwrap();
    let record = keys.to_string();
    let record = record.lines().find(|key| key.contains(":exec:")).expect("a record");
    server.command(&["DEL", record]).unwrap();
    server.command(&["LPUSH", record, "not a record"]).unwrap();
    let error = process.describe(&target(id)).await.unwrap_err();
    assert_eq!((error.failure(), error.is_retryable()), (Some(Failure::Corrupt), false), "{error}");
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
}
