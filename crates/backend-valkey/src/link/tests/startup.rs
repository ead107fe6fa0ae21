//! What is checked before a store is served.

use std::sync::Arc;
use std::time::Duration;

use ff_store::StoreError;
use ff_testkit::valkey::{Cluster, Server};

use super::{config, connect, hasty, library, link, options, server, text, until};
use crate::link::Link;
use crate::options::Options;
use crate::startup::partitions;

async fn refusal(url: &str) -> StoreError {
    match Link::connect(&options(url), library()).await {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_server_that_forgets_is_refused() {
    let server = Server::start(config().with("appendonly", "no"));
    let error = refusal(&server.url()).await;
    assert_eq!(error.code(), "store_incompatible");
    let error_text = error.to_string();
    assert!(
        error_text.contains("appendonly yes") && error_text.contains("accept_data_loss"),
        "{error_text}"
    );
    connect(&options(&format!("{}?accept_data_loss=true", server.url()))).await;
}

#[tokio::test]
async fn a_server_that_evicts_is_refused() {
    let server = Server::start(config().with("maxmemory-policy", "allkeys-lru"));
    let error = refusal(&server.url()).await;
    assert_eq!(error.code(), "store_incompatible");
    let error_text = error.to_string();
    assert!(
        error_text.contains("allkeys-lru") && error_text.contains("noeviction"),
        "{error_text}"
    );
    connect(&options(&format!("{}?accept_data_loss=true", server.url()))).await;
}

#[tokio::test]
async fn a_replica_is_refused_and_its_primary_named() {
    let (primary, replica) = (server(), server());
    let port = primary.port().to_string();
    replica.command(&["REPLICAOF", "127.0.0.1", &port]).unwrap();
    let error_text = refusal(&replica.url()).await.to_string();
    assert!(error_text.contains(&format!("127.0.0.1:{port}")), "{error_text}");
}

#[tokio::test]
async fn a_url_of_the_wrong_topology_is_refused_with_the_right_one() {
    let node = &Cluster::shared().nodes()[0];
    let error_text = refusal(&node.url()).await.to_string();
    assert!(error_text.contains("valkey-cluster://"), "{error_text}");
    let error_text = refusal(&format!("valkey-cluster://{}", Server::shared().address())).await;
    assert!(error_text.to_string().contains("valkey://"), "{error_text}");
}

#[tokio::test]
async fn an_unreachable_server_is_reported_at_once() {
    let server = server();
    server.kill();
    let error = Link::connect(&hasty(&server.url()), library()).await.err().unwrap();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains(&server.address()), "{error}");
}

#[tokio::test]
async fn the_number_of_partitions_is_fixed_at_first_start() {
    let link = link(Server::shared()).await;
    let key = format!("{}:config:partitions", link.prefix());
    link.send(super::command(&["DEL", &key])).await.unwrap();
    assert_eq!(partitions(&link, None).await.unwrap(), 64);
    assert_eq!(partitions(&link, Some(64)).await.unwrap(), 64);
    let error = partitions(&link, Some(8)).await.unwrap_err();
    assert_eq!(error.code(), "store_incompatible");
    let error_text = error.to_string();
    assert!(error_text.contains("64") && error_text.contains('8'), "{error_text}");
}

#[tokio::test]
async fn the_requested_number_of_partitions_is_kept() {
    let link = connect(&options(&format!("{}?prefix=asked", Server::shared().url()))).await;
    assert_eq!(partitions(&link, Some(4)).await.unwrap(), 4);
    assert_eq!(partitions(&link, None).await.unwrap(), 4);
    let stored = link.send(super::command(&["GET", "asked:config:partitions"])).await.unwrap();
    assert_eq!(stored, text("4"));
}

#[tokio::test]
async fn a_number_of_partitions_that_is_none_is_corrupt() {
    let link = connect(&options(&format!("{}?prefix=odd", Server::shared().url()))).await;
    for odd in ["many", "0", "5000"] {
        link.send(super::command(&["SET", "odd:config:partitions", odd])).await.unwrap();
        assert_eq!(partitions(&link, None).await.unwrap_err().code(), "store_corrupt", "{odd}");
    }
}

#[tokio::test]
async fn databases_are_apart() {
    let link = connect(&options(&format!("{}/5", Server::shared().url()))).await;
    super::put(&link, "apart", "5").await.unwrap();
    let zero = connect(&options(&Server::shared().url())).await;
    assert_eq!(super::get(&zero, "apart").await.unwrap(), redis::Value::Nil);
    assert_eq!(super::get(&link, "apart").await.unwrap(), text("5"));
}

/// A server that takes as long as a test needs to load its data: it spends `key-load-delay` on
/// each of its commands, which a test sets to 0 when it has seen enough.
struct Loading {
    server: Arc<Server>,
    restart: tokio::task::JoinHandle<()>,
}

impl Loading {
    async fn start() -> Loading {
        let server = Arc::new(Server::start(config().with("key-load-delay", "200")));
        connect(&options(&server.url())).await;
        let fill = "for i = 1, 50000 do redis.call('SET', 'k' .. i, 'v') end";
        server.command(&["EVAL", fill, "0"]).unwrap();
        let restarted = server.clone();
        let restart = tokio::task::spawn_blocking(move || restarted.restart());
        let seen = server.clone();
        until(move || {
            let info = seen.command(&["INFO", "persistence"]).map(|info| info.to_string());
            info.is_ok_and(|info| info.contains("\nloading:1"))
        })
        .await;
        Loading { server, restart }
    }

    async fn finish(self) -> Arc<Server> {
        self.server.command(&["CONFIG", "SET", "key-load-delay", "0"]).unwrap();
        self.restart.await.unwrap();
        self.server
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_loads_its_data_is_waited_for() {
    let loading = Loading::start().await;
    let url = loading.server.url();
    let opening = tokio::spawn(async move { Link::connect(&options(&url), library()).await });
    let polled = loading.server.clone();
    until(move || {
        let stats = polled.command(&["INFO", "commandstats"]).map(|stats| stats.to_string());
        let hello =
            |stats: &String| stats.lines().any(|line| line.starts_with("cmdstat_client|setinfo"));
        stats.is_ok_and(|stats| hello(&stats))
    })
    .await;
    assert!(!opening.is_finished(), "it answers while the server loads");
    let server = loading.finish().await;
    let link = opening.await.unwrap().unwrap();
    assert_eq!(link.send(super::command(&["GET", "k50000"])).await.unwrap(), text("v"));
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_never_finishes_loading_is_reported() {
    let loading = Loading::start().await;
    let hasty = Options { loading_timeout: Duration::ZERO, ..options(&loading.server.url()) };
    let error = Link::connect(&hasty, library()).await.err().unwrap();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains("is still loading its data"), "{error}");
    loading.finish().await;
}
