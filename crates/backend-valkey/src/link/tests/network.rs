//! Connections that break.

use ff_testkit::proxy::{Mode, Proxy};
use ff_testkit::valkey::Server;

use super::{connect, get, hasty, link, options, put, server, spawn_put, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_is_found_again() {
    let server = server();
    let link = link(&server).await;
    put(&link, "k", "v").await.unwrap();
    server.restart();
    assert_eq!(put(&link, "k", "w").await.unwrap(), text("w"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_for_a_server_that_comes_back() {
    let server = server();
    let link = link(&server).await;
    server.kill();
    let call = spawn_put(&link);
    server.restart();
    assert_eq!(call.await.unwrap().unwrap(), text("v"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stays_away_is_told() {
    let server = server();
    let link = connect(&hasty(&server.url())).await;
    server.kill();
    let error = put(&link, "k", "v").await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains(&server.address()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_is_told_and_not_repeated() {
    let proxy = Proxy::to(Server::shared().port());
    let link = connect(&options(&proxy.url())).await;
    let before = link.calls();
    proxy.set(Mode::CutAfterRequest);
    let error = put(&link, "lost", "reply").await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    assert_eq!(link.calls(), before + 1);
    proxy.set(Mode::Forward);
    assert_eq!(get(&link, "lost").await.unwrap(), text("reply"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_swallows_everything_is_left() {
    let proxy = Proxy::to(Server::shared().port());
    let link = connect(&hasty(&proxy.url())).await;
    proxy.set(Mode::BlackHole);
    let error = put(&link, "hole", "v").await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    proxy.set(Mode::Forward);
    assert_eq!(put(&link, "hole", "v").await.unwrap(), text("v"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_is_tried_with_growing_pauses() {
    let proxy = Proxy::to(Server::shared().port());
    let link = connect(&hasty(&proxy.url())).await;
    proxy.set(Mode::Refuse);
    proxy.cut();
    let before = proxy.accepted();
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let link = link.clone();
            tokio::spawn(async move { get(&link, "k").await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err().code(), "store_unavailable");
    }
    let tries = proxy.accepted() - before;
    assert!((2..=10).contains(&tries), "{tries} tries in half a second");
    proxy.set(Mode::Forward);
    get(&link, "k").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_share_one_connection() {
    let proxy = Proxy::to(Server::shared().port());
    let link = connect(&options(&proxy.url())).await;
    let before = proxy.accepted();
    let calls: Vec<_> = (0..1_000)
        .map(|number| {
            let link = link.clone();
            let key = format!("many:{number}");
            tokio::spawn(async move { put(&link, &key, &key).await.unwrap() == text(&key) })
        })
        .collect();
    for call in calls {
        assert!(call.await.unwrap());
    }
    assert_eq!(proxy.accepted(), before);
}
