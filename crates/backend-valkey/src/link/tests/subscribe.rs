//! Published messages arrive, whatever happens in between.

use std::sync::Arc;

use bytes::Bytes;
use ff_testkit::proxy::Proxy;
use ff_testkit::valkey::{Cluster, Server};
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;
use tokio::time::timeout;

use super::{LIMIT, command, connect, link, options, server, until};
use crate::link::{Channels, Link, SubscriptionEvent};

async fn next(events: &mut Receiver<SubscriptionEvent>) -> SubscriptionEvent {
    timeout(LIMIT, events.recv()).await.unwrap().unwrap()
}

fn message(channel: &str, payload: &str) -> SubscriptionEvent {
    let payload = Bytes::copy_from_slice(payload.as_bytes());
    SubscriptionEvent::Message { channel: channel.to_owned(), payload }
}

async fn publish(link: &Link, channel: &str, payload: &str) {
    link.send(command(&["SPUBLISH", channel, payload])).await.unwrap();
}

/// Publishes until it arrives: once, and again after each gap.
async fn arrives(
    link: &Link,
    events: &mut Receiver<SubscriptionEvent>,
    channel: &str,
    payload: &str,
) {
    publish(link, channel, payload).await;
    loop {
        match next(events).await {
            SubscriptionEvent::Gap | SubscriptionEvent::Joined { .. } => {
                publish(link, channel, payload).await
            }
            event if event == message(channel, payload) => return,
            // What an earlier one published twice.
            SubscriptionEvent::Message { .. } => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn published_messages_arrive() {
    let link = link(Server::shared()).await;
    let mut events = link.subscribe(vec!["events:a".into(), "events:b".into()]);
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    publish(&link, "events:a", "1").await;
    publish(&link, "events:c", "2").await;
    publish(&link, "events:b", "3").await;
    assert_eq!(next(&mut events).await, message("events:a", "1"));
    assert_eq!(next(&mut events).await, message("events:b", "3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_is_reported_as_a_gap() {
    let proxy = Proxy::to(Server::shared().port());
    let link = connect(&options(&proxy.url())).await;
    let mut events = link.subscribe(vec!["cut".into()]);
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    proxy.cut();
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    publish(&link, "cut", "after").await;
    assert_eq!(next(&mut events).await, message("cut", "after"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_is_subscribed_to_again() {
    let server = server();
    let link = link(&server).await;
    let mut events = link.subscribe(vec!["c".into()]);
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    server.restart();
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    publish(&link, "c", "after").await;
    assert_eq!(next(&mut events).await, message("c", "after"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_listener_gets_a_gap() {
    let link = link(Server::shared()).await;
    let mut events = link.subscribe(vec!["slow".into()]);
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    // More than is kept for it.
    for number in 0..5_000 {
        publish(&link, "slow", &number.to_string()).await;
    }
    let mut gaps = 0;
    let mut messages = 0;
    while gaps == 0 {
        match next(&mut events).await {
            SubscriptionEvent::Gap | SubscriptionEvent::Joined { .. } => gaps += 1,
            SubscriptionEvent::Message { .. } => messages += 1,
        }
    }
    assert!(messages < 5_000);
    publish(&link, "slow", "last").await;
    while next(&mut events).await != message("slow", "last") {}
}

#[tokio::test(flavor = "multi_thread")]
async fn the_subscription_ends_with_its_receiver() {
    let server = server();
    let link = link(&server).await;
    let mut events = link.subscribe(vec!["gone".into()]);
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    drop(events);
    until(move || {
        let counts = server.command(&["PUBSUB", "SHARDNUMSUB", "gone"]).unwrap().to_string();
        counts.contains("gone\n0")
    })
    .await;
}

fn channels<const N: usize>(names: [&str; N]) -> Channels {
    names.map(str::to_owned).into()
}

fn joined(channel: &str) -> SubscriptionEvent {
    SubscriptionEvent::Joined { channels: vec![channel.to_owned()] }
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
    let mut events = link.follow(follows);
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    wanted.send_replace(channels(["first", "second"]));
    assert_eq!(next(&mut events).await, joined("second"));
    publish(&link, "first", "1").await;
    publish(&link, "second", "2").await;
    assert_eq!(next(&mut events).await, message("first", "1"));
    assert_eq!(next(&mut events).await, message("second", "2"));
    wanted.send_replace(channels(["second"]));
    listened("first", "0").await;
    publish(&link, "first", "3").await;
    publish(&link, "second", "4").await;
    assert_eq!(next(&mut events).await, message("second", "4"), "the connection continues");
    wanted.send_replace(channels([]));
    listened("second", "0").await;
    wanted.send_replace(channels(["first"]));
    assert_eq!(next(&mut events).await, SubscriptionEvent::Gap, "by a new connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_of_a_cluster_are_joined_at_their_owners() {
    let link = connect(&options(&Cluster::shared().url())).await;
    let (wanted, follows) = watch::channel(channels([]));
    let mut events = link.follow(follows);
    for number in 0..12 {
        let channel = format!("grows:{number}");
        wanted.send_modify(|wanted| wanted.extend([channel.clone()]));
        // By a new connection, or by one that is there.
        let begun = next(&mut events).await;
        assert!(begun == SubscriptionEvent::Gap || begun == joined(&channel), "{begun:?}");
        publish(&link, &channel, "x").await;
        assert_eq!(next(&mut events).await, message(&channel, "x"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn channels_of_every_primary_are_received() {
    let cluster = Cluster::shared();
    let link = connect(&options(&cluster.url())).await;
    let channels: Vec<String> = (0..12).map(|number| format!("wide:{number}")).collect();
    let mut events = link.subscribe(channels.clone());
    for _ in cluster.nodes() {
        assert_eq!(next(&mut events).await, SubscriptionEvent::Gap);
    }
    for channel in &channels {
        publish(&link, channel, "x").await;
        assert_eq!(next(&mut events).await, message(channel, "x"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_whose_slot_moves_is_received_from_its_new_owner() {
    let cluster = Cluster::start(2, 0);
    let link = connect(&options(&cluster.url())).await;
    let mut events = link.subscribe(vec!["also{moves}".into(), "moves".into(), "a".into()]);
    arrives(&link, &mut events, "moves", "before").await;
    let slot = cluster.slot_of("moves");
    let from = cluster.primary_of(slot);
    let to = cluster.nodes().iter().find(|node| node.port() != from.port()).unwrap();
    cluster.migrate_slot(slot, from, to);
    // Until the move is noticed, what is published is lost: the gap comes after it.
    while let SubscriptionEvent::Message { .. } = next(&mut events).await {}
    arrives(&link, &mut events, "moves", "after").await;
    arrives(&link, &mut events, "also{moves}", "too").await;
    arrives(&link, &mut events, "a", "last").await;
}
