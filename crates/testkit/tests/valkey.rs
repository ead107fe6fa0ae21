//! The servers that tests run on do what tests rely on.

use ff_testkit::valkey::{CommandError, Config, Server};

#[test]
fn a_server_answers() {
    assert_eq!(Server::shared().command(&["PING"]).unwrap(), "PONG");
}

#[test]
fn a_server_keeps_its_keys_over_a_kill_and_a_restart() {
    let server = Server::start(Config::default().with("appendfsync", "always"));
    let pid = server.pid();
    server.command(&["SET", "key", "value"]).unwrap();
    server.kill();
    let refused = server.command(&["GET", "key"]);
    assert!(matches!(refused, Err(CommandError::Connection(_))), "{refused:?}");
    server.restart();
    assert_eq!(server.command(&["GET", "key"]).unwrap(), "value");
    assert_ne!(server.pid(), pid);
}

#[test]
fn a_server_that_is_dropped_leaves_nothing() {
    let server = Server::start(Config::default());
    let folder = server.folder().to_owned();
    assert!(folder.exists());
    drop(server);
    assert!(!folder.exists());
}
