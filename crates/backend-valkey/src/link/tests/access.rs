//! Users, passwords and rights.

use super::{connect, library, options, own_library, put, server, text};
use crate::link::Link;

const CANARY: &str = "hunter2-canary";

async fn refusal(url: &str) -> String {
    let error = Link::connect(&options(url), library()).await.err().unwrap();
    assert_eq!((error.code(), error.is_retryable()), ("store_denied", false));
    let error_text = format!("{error} {error:?}");
    assert!(!error_text.contains(CANARY), "{error_text}");
    error_text
}

#[tokio::test]
async fn a_wrong_password_is_reported_but_not_repeated() {
    let server = server();
    server.command(&["CONFIG", "SET", "requirepass", "right"]).unwrap();
    let error_text = refusal(&format!("valkey://:{CANARY}@{}", server.address())).await;
    assert!(error_text.contains("password"), "{error_text}");
    let error_text = refusal(&format!("valkey://ann:{CANARY}@{}", server.address())).await;
    assert!(error_text.contains("password"), "{error_text}");
    let error_text = refusal(&server.url()).await;
    assert!(error_text.contains("NOAUTH") && error_text.contains("password"), "{error_text}");
    connect(&options(&format!("valkey://:right@{}", server.address()))).await;
}

#[tokio::test]
async fn a_user_is_logged_in() {
    let server = server();
    let rule = ["ACL", "SETUSER", "ann", "on", ">p@ss/word", "~*", "&*", "+@all"];
    server.command(&rule).unwrap();
    let url = format!("valkey://ann:p%40ss%2Fword@{}", server.address());
    let link = connect(&options(&url)).await;
    let who = link.send(super::command(&["ACL", "WHOAMI"])).await.unwrap();
    assert_eq!(who, text("ann"));
}

#[tokio::test]
async fn a_missing_right_is_named() {
    let server = server();
    let rule = ["ACL", "SETUSER", "bob", "on", ">x", "~*", "&*", "+@all", "-function|load"];
    server.command(&rule).unwrap();
    let url = format!("valkey://bob:x@{}", server.address());
    let error_text = refusal(&url).await;
    assert!(error_text.contains("FUNCTION LOAD"), "{error_text}");
}

#[tokio::test]
async fn a_user_who_may_not_load_uses_what_is_loaded() {
    let server = server();
    let rule = ["ACL", "SETUSER", "bob", "on", ">x", "~*", "&*", "+@all", "-function|load"];
    server.command(&rule).unwrap();
    let library = own_library();
    server.command(&["FUNCTION", "LOAD", library.source()]).unwrap();
    let url = format!("valkey://bob:x@{}", server.address());
    let link = Link::connect(&options(&url), library).await.unwrap();
    assert_eq!(put(&link, "k", "v").await.unwrap(), text("v"));
}

#[tokio::test]
async fn a_key_outside_the_rights_is_refused_without_end() {
    let server = server();
    let rule = ["ACL", "SETUSER", "eve", "on", ">x", "~mine:*", "&*", "+@all"];
    server.command(&rule).unwrap();
    let link = connect(&options(&format!("valkey://eve:x@{}", server.address()))).await;
    put(&link, "mine:k", "v").await.unwrap();
    let error = put(&link, "other:k", "v").await.unwrap_err();
    assert!(error.to_string().contains("NOPERM"), "{error}");
}
