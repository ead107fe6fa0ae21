//! Repair and slots that are moving from one primary to another.

use ff_backend_valkey::{Options, Prefix, ValkeyStore};
use ff_conformance::snapshot;
use ff_store::Store;
use ff_testkit::valkey::Cluster;

use crate::fixture::fresh_prefix;
use crate::words::{command, laden, work};

/// While a slot is being moved, keys that have not arrived seem absent.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_repaired_while_its_slot_is_being_moved() {
    let cluster = Cluster::start(2, 0);
    let prefix = fresh_prefix();
    let mut options: Options = cluster.url().parse().unwrap();
    options.prefix = Prefix::new(&prefix).unwrap();
    options.partitions = Some(1);
    options.request_timeout = std::time::Duration::from_millis(500);
    let store = ValkeyStore::open(&options).await.unwrap();
    for submit in [work(1), laden(2)] {
        store.execute(vec![command(submit)]).await.remove(0).unwrap();
    }
    let before = snapshot(&store).await.unwrap();
    let slot = cluster.slot_of(&format!("{prefix}:{{p:0}}"));
    let from = cluster.primary_of(slot);
    let to = cluster.nodes().iter().find(|node| node.port() != from.port()).unwrap();
    cluster.begin_migration(slot, from, to);
    store.repair().await.unwrap_err();
    cluster.move_keys(slot, from, to);
    store.repair().await.unwrap_err();
    cluster.finish_migration(slot, from, to);
    assert_eq!(store.repair().await.unwrap().fixed(), 0);
    snapshot(&store).await.unwrap().assert_same(&before);
}
