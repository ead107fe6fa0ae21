//! The servers that tests run on do what tests rely on.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use ff_testkit::{
    valkey::{Cluster, CommandError, Config, Server},
    wait,
};

const END_LIMIT: Duration = Duration::from_secs(10);

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

#[test]
fn a_server_ends_with_its_process_even_when_that_is_killed() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_ff-valkey"))
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let (url, folder) = (lines.next().unwrap(), lines.next().unwrap());
    let address = url.strip_prefix("valkey://").unwrap();
    TcpStream::connect(address).unwrap();

    owner.kill().unwrap();
    owner.wait().unwrap();
    let gone = || !Path::new(&folder).exists() && TcpStream::connect(address).is_err();
    assert!(wait::until(END_LIMIT, || gone().then_some(())).is_some(), "{url} {folder}");
}

#[test]
fn a_paused_server_continues_when_it_is_resumed() {
    let server = Server::start(Config::default());
    server.pause();
    let slow = thread::scope(|scope| {
        let reply = scope.spawn(|| server.command(&["PING"]));
        server.resume();
        reply.join().unwrap()
    });
    assert_eq!(slow.unwrap(), "PONG");
}

#[test]
fn every_primary_of_a_cluster_serves_its_slots() {
    let cluster = Cluster::shared();
    let mut ports = BTreeSet::new();
    for key in ["a", "b", "c"] {
        let primary = cluster.primary_of(cluster.slot_of(key));
        primary.command(&["SET", key, "value"]).unwrap();
        assert_eq!(primary.command(&["GET", key]).unwrap(), "value");
        ports.insert(primary.port());
    }
    assert_eq!(ports.len(), 3, "the keys are on different primaries");
}

#[test]
fn a_migrated_slot_is_served_by_its_new_primary() {
    let cluster = Cluster::start(2, 0);
    let slot = cluster.slot_of("key");
    let from = cluster.primary_of(slot);
    let to = cluster.nodes().iter().find(|node| node.port() != from.port()).unwrap();
    from.command(&["SET", "key", "value"]).unwrap();

    cluster.begin_migration(slot, from, to);
    let reply = from.command(&["GET", "{key}2"]);
    assert!(matches!(reply, Err(CommandError::Refused(why)) if why.starts_with("ASK")));
    cluster.move_keys(slot, from, to);
    cluster.finish_migration(slot, from, to);

    assert_eq!(cluster.primary_of(slot).port(), to.port());
    assert_eq!(to.command(&["GET", "key"]).unwrap(), "value");
}

#[test]
fn a_replica_succeeds_a_killed_primary() {
    let cluster = Cluster::start(3, 1);
    let slot = cluster.slot_of("key");
    let former = cluster.primary_of(slot);
    former.kill();
    let successor = cluster.successor_of(former, slot);
    cluster.wait_ok();
    successor.command(&["SET", "key", "value"]).unwrap();
    former.restart();
    cluster.wait_ok();
    assert_eq!(cluster.primary_of(slot).port(), successor.port());
}
