//! Writes that wait for replicas.

use std::time::Duration;

use ff_testkit::valkey::Server;

use super::{LIMIT, connect, link, options, server, text};
use crate::Options;

/// A primary and its replica, in sync.
fn pair() -> (Server, Server) {
    let (primary, replica) = (server(), server());
    replica.command(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]).unwrap();
    let in_step = || {
        let info = replica.command(&["INFO", "replication"]).unwrap().to_string();
        info.contains("master_link_status:up").then_some(())
    };
    ff_testkit::wait::until(LIMIT, in_step).unwrap();
    (primary, replica)
}

fn asking_for(replicas: u32, primary: &Server) -> Options {
    let request_timeout = Duration::from_secs(1);
    Options { confirm_replicas: replicas, request_timeout, ..options(&primary.url()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_a_replica_has_is_answered() {
    let (primary, replica) = pair();
    let link = connect(&asking_for(1, &primary)).await;
    let answer = link.call_confirmed("put", "k", &[b"v".as_slice().into()]).await;
    assert_eq!(answer.unwrap(), text("v"));
    assert_eq!(replica.command(&["GET", "k"]).unwrap(), "v");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_too_few_replicas_have_is_reported() {
    let (primary, _replica) = pair();
    let link = connect(&asking_for(2, &primary)).await;
    let error = link.call_confirmed("put", "k", &[b"v".as_slice().into()]).await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains("1 of 2"), "{error}");
    assert_eq!(primary.command(&["GET", "k"]).unwrap(), "v");
}

#[tokio::test]
async fn nothing_is_waited_for_unless_required() {
    let link = link(Server::shared()).await;
    let answer = link.call_confirmed("put", "unconfirmed", &[b"v".as_slice().into()]).await;
    assert_eq!(answer.unwrap(), text("v"));
}
