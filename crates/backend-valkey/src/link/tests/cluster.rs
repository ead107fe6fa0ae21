//! A cluster whose slots move and whose nodes die.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use ff_testkit::valkey::{Cluster, Server};
use redis::Value;

use super::{command, connect, get, hasty, options, put, text, until_repeated};
use crate::link::Link;

/// The cluster in which these tests move slots, each its own.
fn moving() -> &'static Cluster {
    static MOVING: OnceLock<Cluster> = OnceLock::new();
    MOVING.get_or_init(|| Cluster::start(2, 0))
}

fn other<'a>(cluster: &'a Cluster, than: &Server) -> &'a Server {
    cluster.nodes().iter().find(|node| node.port() != than.port()).unwrap()
}

/// A key's slot, its primary, and a node it can move to.
fn places(cluster: &'static Cluster, key: &str) -> (u16, &'static Server, &'static Server) {
    let slot = cluster.slot_of(key);
    let from = cluster.primary_of(slot);
    (slot, from, other(cluster, from))
}

async fn cluster_link(cluster: &Cluster) -> Link {
    connect(&options(&cluster.url())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_go_to_the_primary_of_their_key() {
    let cluster = Cluster::shared();
    let link = cluster_link(cluster).await;
    let before = link.calls();
    let mut served = BTreeSet::new();
    for key in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(put(&link, key, key).await.unwrap(), text(key));
        let primary = cluster.primary_of(cluster.slot_of(key));
        assert_eq!(primary.command(&["GET", key]).unwrap(), key);
        served.insert(primary.port());
        assert_eq!(link.send(command(&["GET", key])).await.unwrap(), text(key));
    }
    assert_eq!(served.len(), 3);
    assert_eq!(link.calls(), before + 12, "no call needed a second try");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_reads_each_primary_for_its_keys() {
    let cluster = Cluster::shared();
    let link = cluster_link(cluster).await;
    let keys: Vec<String> = (0..30).map(|number| format!("each:{{{number}}}")).collect();
    for key in &keys {
        put(&link, key, "1").await.unwrap();
    }
    let before = link.calls();
    let answers = link.call_each("sum", &keys, &[b"0".as_slice().into()]).await.unwrap();
    assert_eq!(link.calls(), before + 3);
    assert_eq!(totals(&answers), (30, 30));
}

/// How many keys were asked for, and the sum of their values.
fn totals(answers: &[Value]) -> (i64, i64) {
    answers.iter().fold((0, 0), |(keys, sum), answer| match answer {
        Value::Array(parts) => match parts[..] {
            [Value::Int(more_keys), Value::Int(more)] => (keys + more_keys, sum + more),
            _ => panic!("{answer:?}"),
        },
        _ => panic!("{answer:?}"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_slot_is_followed_once() {
    let (slot, from, to) = places(moving(), "moved");
    let link = cluster_link(moving()).await;
    put(&link, "moved", "1").await.unwrap();
    moving().migrate_slot(slot, from, to);
    assert_eq!(get(&link, "moved").await.unwrap(), text("1"));
    let before = link.calls();
    assert_eq!(put(&link, "moved", "2").await.unwrap(), text("2"));
    assert_eq!(link.calls(), before + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_moves_to_a_node_without_the_library_brings_it() {
    let (slot, from, to) = places(moving(), "bare");
    let link = cluster_link(moving()).await;
    put(&link, "bare", "1").await.unwrap();
    to.command(&["FUNCTION", "FLUSH"]).unwrap();
    moving().migrate_slot(slot, from, to);
    assert_eq!(put(&link, "bare", "2").await.unwrap(), text("2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_moving_slot_is_read_at_its_target() {
    let (slot, from, to) = places(moving(), "asked");
    let link = cluster_link(moving()).await;
    moving().begin_migration(slot, from, to);
    assert_eq!(put(&link, "asked", "1").await.unwrap(), text("1"));
    assert_eq!(get(&link, "asked").await.unwrap(), text("1"));
    assert!(from.command(&["GET", "asked"]).unwrap_err().to_string().contains("ASK"));
    moving().finish_migration(slot, from, to);
    assert_eq!(get(&link, "asked").await.unwrap(), text("1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_serves_nothing_yet_is_called_on_one_connection() {
    let cluster = Cluster::start(2, 0);
    let link = cluster_link(&cluster).await;
    let (empty, full) = (&cluster.nodes()[0], &cluster.nodes()[1]);
    for slot in 0..8_192 {
        full.command(&["CLUSTER", "SETSLOT", &slot.to_string(), "NODE", &id(full)]).unwrap();
    }
    for slot in 0..8_192 {
        empty.command(&["CLUSTER", "SETSLOT", &slot.to_string(), "NODE", &id(full)]).unwrap();
    }
    let slot = cluster.slot_of("k");
    put(&link, "a", "v").await.unwrap();
    cluster.begin_migration(slot, full, empty);
    empty.command(&["CONFIG", "RESETSTAT"]).unwrap();
    for _ in 0..20 {
        put(&link, "k", "v").await.unwrap();
    }
    let stats = empty.command(&["INFO", "stats"]).unwrap().to_string();
    let count = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    let count: u32 = count.unwrap().trim().parse().unwrap();
    assert!(count < 10, "{count} connections for 20 calls");
}

/// A node's name in its cluster.
fn id(node: &Server) -> String {
    node.command(&["CLUSTER", "MYID"]).unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_on_both_sides_of_a_move_are_waited_for() {
    let (slot, from, to) = places(moving(), "both");
    let link = cluster_link(moving()).await;
    let hasty = connect(&hasty(&moving().url())).await;
    put(&link, "{both}1", "1").await.unwrap();
    put(&link, "{both}2", "2").await.unwrap();
    moving().begin_migration(slot, from, to);
    let port = to.port().to_string();
    from.command(&["MIGRATE", "127.0.0.1", &port, "{both}1", "0", "5000"]).unwrap();
    let error = hasty.send(command(&["MGET", "{both}1", "{both}2"])).await.unwrap_err();
    assert_eq!(error.code(), "store_busy");
    assert!(error.to_string().contains("TRYAGAIN"), "{error}");
    let call = tokio::spawn({
        let link = link.clone();
        async move { link.send(command(&["MGET", "{both}1", "{both}2"])).await }
    });
    until_repeated(&link).await;
    moving().move_keys(slot, from, to);
    moving().finish_migration(slot, from, to);
    assert_eq!(call.await.unwrap().unwrap(), Value::Array(vec![text("1"), text("2")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_of_all_follows_a_moved_slot() {
    let (slot, from, to) = places(moving(), "strayed");
    let link = cluster_link(moving()).await;
    let keys = ["strayed", "a", "b"].map(str::to_owned);
    for key in &keys {
        put(&link, key, "1").await.unwrap();
    }
    moving().migrate_slot(slot, from, to);
    let answers = link.call_each("sum", &keys, &[b"0".as_slice().into()]).await.unwrap();
    assert_eq!(totals(&answers), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_misses_a_primary_is_waited_for() {
    let cluster = Cluster::start(3, 0);
    let link = cluster_link(&cluster).await;
    let hasty = connect(&hasty(&cluster.url())).await;
    let dead = cluster.primary_of(cluster.slot_of("a"));
    let alive = cluster.primary_of(cluster.slot_of("b"));
    dead.kill();
    let down =
        || alive.command(&["GET", "b"]).is_err_and(|e| e.to_string().contains("CLUSTERDOWN"));
    ff_testkit::wait::until(super::LIMIT, || down().then_some(())).unwrap();
    let error = put(&hasty, "b", "v").await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains("CLUSTERDOWN"), "{error}");
    dead.restart();
    cluster.wait_ok();
    assert_eq!(put(&link, "b", "v").await.unwrap(), text("v"));
    assert_eq!(put(&link, "a", "v").await.unwrap(), text("v"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoted_replica_is_found() {
    let cluster = Cluster::start(3, 1);
    let link = cluster_link(&cluster).await;
    let slot = cluster.slot_of("k");
    put(&link, "k", "before").await.unwrap();
    let former = cluster.primary_of(slot);
    former.kill();
    cluster.successor_of(former, slot);
    cluster.wait_ok();
    assert_eq!(put(&link, "k", "after").await.unwrap(), text("after"));
    former.restart();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_freezes_is_left_for_its_replica() {
    let cluster = Cluster::start(3, 1);
    let link = cluster_link(&cluster).await;
    let slot = cluster.slot_of("k");
    put(&link, "k", "before").await.unwrap();
    let former = cluster.primary_of(slot);
    former.pause();
    cluster.successor_of(former, slot);
    // The first may have gone to the frozen one, which never says.
    let _ = put(&link, "k", "unknown").await;
    assert_eq!(put(&link, "k", "after").await.unwrap(), text("after"));
    former.resume();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_seed_does_not_matter() {
    let cluster = Cluster::shared();
    let dead = super::server();
    dead.kill();
    let seeds = format!("valkey-cluster://{},{}", dead.address(), cluster.nodes()[1].address());
    let link = connect(&options(&seeds)).await;
    put(&link, "seeded", "v").await.unwrap();
}
