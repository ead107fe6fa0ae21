//! Every named error of one server, from a server that really answers it.

use std::thread;

use ff_testkit::valkey::Server;
use redis::Value;

use super::{
    config, get, hasty, library, link, options, own_library, put, server, spawn_put, text,
    until_repeated,
};
use crate::link::Link;

#[tokio::test(flavor = "multi_thread")]
async fn loading_is_waited_for() {
    let config = config().with("loading-process-events-interval-bytes", "1024");
    let server = Server::start(config.with("key-load-delay", "500"));
    fill(&server);
    let link = link(&server).await;
    let hasty = Link::connect(&hasty(&server.url()), library()).await.unwrap();
    thread::scope(|scope| {
        // It returns only when everything is loaded.
        let restarted = scope.spawn(|| server.restart());
        wait_for_error(&server, "LOADING");
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let error = put(&hasty, "k", "v").await.unwrap_err();
                assert_eq!(error.code(), "store_busy");
                assert!(error.to_string().contains("LOADING"), "{error}");
                assert_eq!(put(&link, "k", "v").await.unwrap(), text("v"));
            });
        });
        restarted.join().unwrap();
    });
}

/// Gives the server enough keys that loading them takes a while.
fn fill(server: &Server) {
    server.command(&["DEBUG", "POPULATE", "6000", "key", "100"]).unwrap();
    server.command(&["BGREWRITEAOF"]).unwrap();
    let written = || {
        let info = server.command(&["INFO", "persistence"]).unwrap().to_string();
        info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
    };
    ff_testkit::wait::until(super::LIMIT, || written().then_some(())).unwrap();
}

fn wait_for_error(server: &Server, code: &str) {
    let fails = || server.command(&["PING"]).is_err_and(|error| error.to_string().contains(code));
    ff_testkit::wait::until(super::LIMIT, || fails().then_some(())).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_is_waited_for() {
    let server = Server::start(config().with("busy-reply-threshold", "10"));
    let library = own_library();
    let spin = library.function("spin").to_owned();
    let link = Link::connect(&options(&server.url()), library).await.unwrap();
    let hasty = Link::connect(&hasty(&server.url()), super::library()).await.unwrap();
    thread::scope(|scope| {
        let spinning = scope.spawn(|| server.command(&["FCALL", &spin, "1", "k"]));
        wait_for_error(&server, "BUSY");
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(async {
                let error = put(&hasty, "k", "v").await.unwrap_err();
                assert_eq!(error.code(), "store_busy");
                assert!(error.to_string().contains("BUSY"), "{error}");
                let call = spawn_put(&link);
                until_repeated(&link).await;
                server.command(&["FUNCTION", "KILL"]).unwrap();
                assert_eq!(call.await.unwrap().unwrap(), text("v"));
            });
        });
        spinning.join().unwrap().unwrap_err();
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn readonly_is_waited_for() {
    let (primary, demoted) = (server(), server());
    let link = link(&demoted).await;
    let hasty = Link::connect(&hasty(&demoted.url()), library()).await.unwrap();
    demoted.command(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]).unwrap();
    let error = put(&hasty, "k", "v").await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains("READONLY"), "{error}");
    let call = spawn_put(&link);
    until_repeated(&link).await;
    demoted.command(&["REPLICAOF", "NO", "ONE"]).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), text("v"));
}

#[tokio::test(flavor = "multi_thread")]
async fn masterdown_is_waited_for() {
    let (primary, orphan) = (server(), server());
    let link = link(&orphan).await;
    let hasty = Link::connect(&hasty(&orphan.url()), library()).await.unwrap();
    orphan.command(&["CONFIG", "SET", "replica-serve-stale-data", "no"]).unwrap();
    primary.kill();
    orphan.command(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]).unwrap();
    let error = get(&hasty, "k").await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains("MASTERDOWN"), "{error}");
    let call = tokio::spawn({
        let link = link.clone();
        async move { get(&link, "k").await }
    });
    until_repeated(&link).await;
    orphan.command(&["REPLICAOF", "NO", "ONE"]).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), Value::Nil);
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_replicas_are_waited_for() {
    let server = server();
    let link = link(&server).await;
    let hasty = Link::connect(&hasty(&server.url()), library()).await.unwrap();
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]).unwrap();
    let error = put(&hasty, "k", "v").await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains("NOREPLICAS"), "{error}");
    let call = spawn_put(&link);
    until_repeated(&link).await;
    server.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), text("v"));
}

#[tokio::test]
async fn a_full_server_is_reported_and_still_frees() {
    let server = server();
    let link = link(&server).await;
    put(&link, "k", "v").await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    let error = put(&link, "k", "w").await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("store_full", true));
    assert_eq!(get(&link, "k").await.unwrap(), text("v"));
    assert_eq!(link.call("drop", "k", &[]).await.unwrap(), Value::Int(1));
}

#[tokio::test]
async fn an_unknown_error_keeps_its_text() {
    let link = link(Server::shared()).await;
    let before = link.calls();
    let error = link.send(super::command(&["NONSENSE", "k"])).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("store_failed", false));
    assert!(error.to_string().contains("unknown command"), "{error}");
    assert_eq!(link.calls(), before + 1);
}

#[tokio::test]
async fn a_command_is_counted_when_it_is_sent() {
    let link = link(Server::shared()).await;
    let before = link.calls();
    get(&link, "k").await.unwrap();
    link.send(super::command(&["GET", "k"])).await.unwrap();
    assert_eq!(link.calls(), before + 2);
}
