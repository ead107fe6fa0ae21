//! The proxy fails according to its mode.

use std::{
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpStream},
    time::Duration,
};

use ff_testkit::{
    proxy::{Mode, Proxy},
    valkey::{Reply, Server},
    wait,
};

const REPLY_LIMIT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_millis(100);

#[test]
fn a_forwarding_proxy_passes_requests_and_replies() {
    let proxy = Proxy::to(Server::shared().port());
    let mut client = connect(&proxy);
    assert_eq!(ask(&mut client, "PING"), "+PONG\r\n");
    assert_eq!(ask(&mut client, "ECHO x"), "$1\r\nx\r\n");
    assert_eq!(proxy.accepted(), 1);
}

#[test]
fn a_refusing_proxy_closes_new_connections_and_keeps_old_ones() {
    let proxy = Proxy::to(Server::shared().port());
    let mut old = connect(&proxy);
    assert_eq!(ask(&mut old, "PING"), "+PONG\r\n");
    proxy.set(Mode::Refuse);
    assert_eq!(ask(&mut connect(&proxy), "PING"), "");
    assert_eq!(ask(&mut old, "PING"), "+PONG\r\n");
}

#[test]
fn one_reply_is_cut_and_nothing_else() {
    let proxy = Proxy::to(Server::shared().port());
    let (mut first, mut second) = (connect(&proxy), connect(&proxy));
    proxy.cut_once("cut-once");
    assert_eq!(ask(&mut second, "PING"), "+PONG\r\n");
    assert_eq!((ask(&mut first, "SET cut-once 1"), proxy.cuts()), (String::new(), 1));
    assert_eq!(ask(&mut connect(&proxy), "GET cut-once"), "$1\r\n1\r\n", "it ran");
    assert_eq!(ask(&mut second, "PING"), "+PONG\r\n");
}

#[test]
fn a_black_hole_swallows_requests() {
    let proxy = Proxy::to(Server::shared().port());
    let mut old = connect(&proxy);
    assert_eq!(ask(&mut old, "PING"), "+PONG\r\n");
    proxy.set(Mode::BlackHole);
    for client in [&mut old, &mut connect(&proxy)] {
        let before = proxy.swallowed();
        send(client, "SET swallowed 1");
        wait_for(|| proxy.swallowed() > before);
        assert_silent(client);
    }
    assert_eq!(Server::shared().command(&["EXISTS", "swallowed"]).unwrap(), Reply::Number(0));
}

#[test]
fn a_request_runs_when_its_reply_is_dropped() {
    let proxy = Proxy::to(Server::shared().port());
    let mut client = connect(&proxy);
    proxy.set(Mode::DropReplies);
    send(&mut client, "SET dropped 1");
    wait_for(|| proxy.swallowed() > 0);
    assert_silent(&mut client);
    assert_eq!(Server::shared().command(&["GET", "dropped"]).unwrap(), "1");
}

#[test]
fn a_stream_that_lost_a_reply_never_carries_another() {
    let proxy = Proxy::to(Server::shared().port());
    let mut client = connect(&proxy);
    proxy.set(Mode::DropReplies);
    send(&mut client, "PING");
    wait_for(|| proxy.swallowed() > 0);
    proxy.set(Mode::Forward);
    send(&mut client, "PING");
    wait_for(|| proxy.swallowed() > 1);
    assert_silent(&mut client);
    assert_eq!(ask(&mut connect(&proxy), "PING"), "+PONG\r\n");
}

#[test]
fn a_request_runs_when_the_connection_is_cut_after_it() {
    let proxy = Proxy::to(Server::shared().port());
    let mut client = connect(&proxy);
    proxy.set(Mode::CutAfterRequest);
    assert_eq!(ask(&mut client, "SET cut 1"), "");
    assert_eq!(Server::shared().command(&["GET", "cut"]).unwrap(), "1");
}

#[test]
fn a_cut_closes_the_open_connections_only() {
    let proxy = Proxy::to(Server::shared().port());
    let mut client = connect(&proxy);
    assert_eq!(ask(&mut client, "PING"), "+PONG\r\n");
    proxy.cut();
    assert_eq!(read(&mut client), "");
    assert_eq!(ask(&mut connect(&proxy), "PING"), "+PONG\r\n");
}

#[test]
fn a_held_request_runs_when_the_mode_changes() {
    let proxy = Proxy::to(Server::shared().port());
    let mut client = connect(&proxy);
    proxy.set(Mode::Hold);
    send(&mut client, "SET held 1");
    assert_silent(&mut client);
    assert_eq!(Server::shared().command(&["EXISTS", "held"]).unwrap(), Reply::Number(0));
    proxy.set(Mode::Forward);
    assert_eq!(read(&mut client), "+OK\r\n");
}

#[test]
fn a_mode_can_begin_with_a_request() {
    let proxy = Proxy::to(Server::shared().port());
    let mut client = connect(&proxy);
    proxy.set_at("two", Mode::CutAfterRequest);
    assert_eq!(ask(&mut client, "SET begin one"), "+OK\r\n");
    assert_eq!(proxy.mode(), Mode::Forward);
    assert_eq!(ask(&mut client, "SET begin two"), "");
    assert_eq!(proxy.mode(), Mode::CutAfterRequest);
    assert_eq!(Server::shared().command(&["GET", "begin"]).unwrap(), "two");
}

fn connect(proxy: &Proxy) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).unwrap()
}

fn send(client: &mut TcpStream, line: &str) {
    client.write_all(format!("{line}\r\n").as_bytes()).unwrap();
}

/// The reply to a line; empty when the connection ends instead.
fn ask(client: &mut TcpStream, line: &str) -> String {
    match client.write_all(format!("{line}\r\n").as_bytes()) {
        Ok(()) => read(client),
        Err(_) => String::new(),
    }
}

fn read(client: &mut TcpStream) -> String {
    client.set_read_timeout(Some(REPLY_LIMIT)).unwrap();
    let mut buffer = [0; 100];
    match client.read(&mut buffer) {
        Ok(count) => String::from_utf8_lossy(&buffer[..count]).into_owned(),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => String::new(),
        Err(error) => panic!("no reply and no end: {error}"),
    }
}

fn assert_silent(client: &mut TcpStream) {
    client.set_read_timeout(Some(SILENCE)).unwrap();
    let read = client.read(&mut [0; 100]);
    assert!(matches!(&read, Err(error) if error.kind() == ErrorKind::WouldBlock), "{read:?}");
}

fn wait_for(mut fact: impl FnMut() -> bool) {
    assert!(wait::until(REPLY_LIMIT, || fact().then_some(())).is_some());
}
