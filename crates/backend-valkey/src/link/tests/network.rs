//! Connections that break.

use std::time::{Duration, Instant};

use ff_testkit::proxy::{Mode, Proxy};
use ff_testkit::valkey::Server;
use redis::Value;

use super::{
    connect, get, hasty, link, options, put, server, spawn_put, text, until, until_disconnected,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_server_is_found_again() {
    let server = server();
    let link = link(&server).await;
    put(&link, "k", "v").await.unwrap();
    server.restart();
    until_disconnected(&link).await;
    assert_eq!(put(&link, "k", "w").await.unwrap(), text("w"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_waits_for_a_server_that_comes_back() {
    let server = server();
    let link = link(&server).await;
    server.kill();
    until_disconnected(&link).await;
    let call = spawn_put(&link);
    server.restart();
    assert_eq!(call.await.unwrap().unwrap(), text("v"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stays_away_is_reported() {
    let server = server();
    let link = connect(&hasty(&server.url())).await;
    server.kill();
    let error = put(&link, "k", "v").await.unwrap_err();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains(&server.address()), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_is_reported_and_not_repeated() {
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
async fn a_read_whose_answer_is_lost_is_repeated() {
    let proxy = Proxy::to(Server::shared().port());
    let link = connect(&options(&proxy.url())).await;
    proxy.set(Mode::CutAfterRequest);
    let before = link.calls();
    let call = tokio::spawn({
        let link = link.clone();
        async move { link.call_each("sum", &["unasked".into()], &[b"7".as_slice().into()]).await }
    });
    let counted = link.clone();
    until(move || counted.calls() >= before + 2).await;
    proxy.set(Mode::Forward);
    let answer = Value::Array(vec![Value::Int(1), Value::Int(7)]);
    assert_eq!(call.await.unwrap().unwrap(), [answer]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_times_out_even_if_it_first_waited_for_a_connection() {
    let proxy = Proxy::to(Server::shared().port());
    let link = connect(&hasty(&proxy.url())).await;
    proxy.set(Mode::Refuse);
    proxy.cut();
    until_disconnected(&link).await;
    let started = Instant::now();
    let call = spawn_put(&link);
    let seen = proxy.accepted();
    ff_testkit::wait::until(super::LIMIT, || (proxy.accepted() > seen).then_some(())).unwrap();
    proxy.set(Mode::DropReplies);
    assert_eq!(call.await.unwrap().unwrap_err().code(), "store_unavailable");
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
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
    until_disconnected(&link).await;
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
    assert!((2..=12).contains(&tries), "{tries} tries in a second");
    proxy.set(Mode::Forward);
    // It may pause for longer than a hasty call waits.
    let back = ff_testkit::wait::until_async(super::LIMIT, async || get(&link, "k").await.ok());
    assert!(back.await.is_some());
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
