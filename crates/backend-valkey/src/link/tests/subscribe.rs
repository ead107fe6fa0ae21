//! What is published is heard, whatever happens in between.

use std::sync::Arc;

use bytes::Bytes;
use ff_testkit::proxy::Proxy;
use ff_testkit::valkey::{Cluster, Server};
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{LIMIT, command, connect, link, options, server, until};
use crate::link::{Channels, Heard, Link};

async fn next(heard: &mut Receiver<Heard>) -> Heard {
    timeout(LIMIT, heard.recv()).await.unwrap().unwrap()
}

fn message(channel: &str, payload: &str) -> Heard {
    let payload = Bytes::copy_from_slice(payload.as_bytes());
    Heard::Message { channel: channel.to_owned(), payload }
}

async fn publish(link: &Link, channel: &str, payload: &str) {
    link.send(command(&["SPUBLISH", channel, payload])).await.unwrap();
}

/// Publishes until it is heard: once, and again after each gap.
async fn arrives(link: &Link, heard: &mut Receiver<Heard>, channel: &str, payload: &str) {
    publish(link, channel, payload).await;
    loop {
        match next(heard).await {
            Heard::Gap | Heard::Joined { .. } => publish(link, channel, payload).await,
            heard if heard == message(channel, payload) => return,
            // What an earlier one published twice.
            Heard::Message { .. } => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_is_heard() {
    let link = link(Server::shared()).await;
    let mut heard = link.subscribe(vec!["heard:a".into(), "heard:b".into()]);
    assert_eq!(next(&mut heard).await, Heard::Gap);
    publish(&link, "heard:a", "1").await;
    publish(&link, "heard:c", "2").await;
    publish(&link, "heard:b", "3").await;
    assert_eq!(next(&mut heard).await, message("heard:a", "1"));
    assert_eq!(next(&mut heard).await, message("heard:b", "3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_is_told_as_a_gap() {
    let proxy = Proxy::to(Server::shared().port());
    let link = connect(&options(&proxy.url())).await;
    let mut heard = link.subscribe(vec!["cut".into()]);
    assert_eq!(next(&mut heard).await, Heard::Gap);
    proxy.cut();
    assert_eq!(next(&mut heard).await, Heard::Gap);
    publish(&link, "cut", "after").await;
    assert_eq!(next(&mut heard).await, message("cut", "after"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_is_listened_to_again() {
    let server = server();
    let link = link(&server).await;
    let mut heard = link.subscribe(vec!["c".into()]);
    assert_eq!(next(&mut heard).await, Heard::Gap);
    server.restart();
    assert_eq!(next(&mut heard).await, Heard::Gap);
    publish(&link, "c", "after").await;
    assert_eq!(next(&mut heard).await, message("c", "after"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_listener_is_told_of_a_gap() {
    let link = link(Server::shared()).await;
    let mut heard = link.subscribe(vec!["slow".into()]);
    assert_eq!(next(&mut heard).await, Heard::Gap);
    // More than is kept for it.
    for number in 0..5_000 {
        publish(&link, "slow", &number.to_string()).await;
    }
    let mut gaps = 0;
    let mut messages = 0;
    while gaps == 0 {
        match next(&mut heard).await {
            Heard::Gap | Heard::Joined { .. } => gaps += 1,
            Heard::Message { .. } => messages += 1,
        }
    }
    assert!(messages < 5_000);
    publish(&link, "slow", "last").await;
    while next(&mut heard).await != message("slow", "last") {}
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens_when_the_receiver_is_gone() {
    let server = server();
    let link = link(&server).await;
    let mut heard = link.subscribe(vec!["gone".into()]);
    assert_eq!(next(&mut heard).await, Heard::Gap);
    drop(heard);
    until(move || {
        let counts = server.command(&["PUBSUB", "SHARDNUMSUB", "gone"]).unwrap().to_string();
        counts.contains("gone\n0")
    })
    .await;
}

fn channels<const N: usize>(names: [&str; N]) -> Channels {
    names.map(str::to_owned).into()
}

fn joined(channel: &str) -> Heard {
    Heard::Joined { channels: vec![channel.to_owned()] }
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_are_joined_and_left_as_they_are_wanted() {
    let server = Arc::new(server());
    let link = link(&server).await;
    let listened = |channel: &'static str, count: &'static str| {
        let server = server.clone();
        until(move || {
            let counts = server.command(&["PUBSUB", "SHARDNUMSUB", channel]).unwrap().to_string();
            counts.contains(&format!("{channel}\n{count}"))
        })
    };
    let (wanted, follows) = watch::channel(channels(["first"]));
    let mut heard = link.follow(follows);
    assert_eq!(next(&mut heard).await, Heard::Gap);
    wanted.send_replace(channels(["first", "second"]));
    assert_eq!(next(&mut heard).await, joined("second"));
    publish(&link, "first", "1").await;
    publish(&link, "second", "2").await;
    assert_eq!(next(&mut heard).await, message("first", "1"));
    assert_eq!(next(&mut heard).await, message("second", "2"));
    wanted.send_replace(channels(["second"]));
    listened("first", "0").await;
    publish(&link, "first", "3").await;
    publish(&link, "second", "4").await;
    assert_eq!(next(&mut heard).await, message("second", "4"), "the connection goes on");
    wanted.send_replace(channels([]));
    listened("second", "0").await;
    wanted.send_replace(channels(["first"]));
    assert_eq!(next(&mut heard).await, Heard::Gap, "by a new connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_of_a_cluster_are_joined_at_their_owners() {
    let link = connect(&options(&Cluster::shared().url())).await;
    let (wanted, follows) = watch::channel(channels([]));
    let mut heard = link.follow(follows);
    for number in 0..12 {
        let channel = format!("grows:{number}");
        wanted.send_modify(|wanted| wanted.extend([channel.clone()]));
        // By a new connection, or by one that is there.
        let begun = next(&mut heard).await;
        assert!(begun == Heard::Gap || begun == joined(&channel), "{begun:?}");
        publish(&link, &channel, "x").await;
        assert_eq!(next(&mut heard).await, message(&channel, "x"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_of_every_primary_are_heard() {
    let cluster = Cluster::shared();
    let link = connect(&options(&cluster.url())).await;
    let channels: Vec<String> = (0..12).map(|number| format!("wide:{number}")).collect();
    let mut heard = link.subscribe(channels.clone());
    for _ in cluster.nodes() {
        assert_eq!(next(&mut heard).await, Heard::Gap);
    }
    for channel in &channels {
        publish(&link, channel, "x").await;
        assert_eq!(next(&mut heard).await, message(channel, "x"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_whose_slot_moves_is_heard_from_its_new_owner() {
    let cluster = Cluster::start(2, 0);
    let link = connect(&options(&cluster.url())).await;
    let mut heard = link.subscribe(vec!["also{moves}".into(), "moves".into(), "a".into()]);
    arrives(&link, &mut heard, "moves", "before").await;
    let slot = cluster.slot_of("moves");
    let from = cluster.primary_of(slot);
    let to = cluster.nodes().iter().find(|node| node.port() != from.port()).unwrap();
    cluster.migrate_slot(slot, from, to);
    // Until the move is noticed, what is published is lost: the gap comes after it.
    while let Heard::Message { .. } = next(&mut heard).await {}
    arrives(&link, &mut heard, "moves", "after").await;
    arrives(&link, &mut heard, "also{moves}", "too").await;
    arrives(&link, &mut heard, "a", "last").await;
}
