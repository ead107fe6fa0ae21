//! A store survives what happens to its server, and opens only where it can be kept.

use std::time::Duration;

use ff_backend_valkey::{Options, Prefix, Secret};
use ff_core::event::{Event, EventName};
use ff_core::{ExecutionId, Millis, PublicState};
use ff_store::events::{EventFilter, EventsRequest, StartAt};
use ff_store::{ClientBackend, EventsBackend};
use ff_testkit::valkey::{Cluster, Config, Server};

use crate::fixture::{
    Home, Process, check, complete, submit, submit_many, take, target, try_submit, work,
};

const CANARY: &str = "hunter2-canary";

fn config() -> Config {
    Config::default().with("appendfsync", "no")
}

fn home(server: &Server) -> Home {
    Home::on(server, 4)
}

async fn refusal(home: &Home) -> (&'static str, String) {
    let error = home.try_open().await.expect_err("it is refused");
    (error.code(), error.to_string())
}

async fn is_completed(process: &Process, id: ExecutionId) -> bool {
    process.describe(&target(id)).await.unwrap().public_state() == PublicState::Completed
}

#[tokio::test]
async fn a_wrong_password_is_reported_and_never_printed() {
    let server = Server::start(config());
    server.command(&["CONFIG", "SET", "requirepass", "right"]).unwrap();
    let mut home = home(&server);
    home.options.password = Some(Secret::new(CANARY));
    let (code, message) = refusal(&home).await;
    assert_eq!(code, "store_denied");
    assert!(message.contains("password") && !message.contains(CANARY), "{message}");
    assert!(!format!("{:?} {}", home.options, home.options).contains(CANARY));
    home.options.password = Some(Secret::new("right"));
    home.open().await;
}

#[tokio::test]
async fn a_server_that_may_lose_work_is_refused_unless_that_is_accepted() {
    for (name, value) in [("appendonly", "no"), ("maxmemory-policy", "allkeys-lfu")] {
        let server = Server::start(config().with(name, value));
        let mut home = home(&server);
        let (code, message) = refusal(&home).await;
        assert_eq!(code, "store_incompatible");
        assert!(message.contains(name) && message.contains("accept_data_loss=true"), "{message}");
        home.options.accept_data_loss = true;
        home.open().await;
    }
}

#[tokio::test]
async fn another_number_of_partitions_is_refused_with_both() {
    let mut home = home(Server::shared());
    home.open().await;
    home.options.partitions = Some(8);
    let (code, message) = refusal(&home).await;
    assert_eq!(code, "store_incompatible");
    assert!(message.contains("4 partitions") && message.contains('8'), "{message}");
    home.options.partitions = None;
    home.open().await;
}

#[tokio::test]
async fn work_survives_a_crash_of_the_server() {
    let server = Server::start(config().with("appendfsync", "always"));
    let process = home(&server).open().await;
    let id = submit(&process).await;
    let taken = take(&process, 1).await;
    server.restart();
    // The outcome of a call during the crash is unknown, and it is repeated as it was.
    if let Err(error) = complete(&process, &taken[0]).await {
        assert!(error.is_retryable(), "{error}");
        complete(&process, &taken[0]).await.unwrap();
    }
    assert!(is_completed(&process, id).await);
    check(&process).await;
}

#[tokio::test]
async fn flushed_functions_are_loaded_again() {
    let server = Server::start(config());
    let process = home(&server).open().await;
    let flush = || server.command(&["FUNCTION", "FLUSH"]).unwrap();
    flush();
    let id = submit(&process).await;
    flush();
    let taken = take(&process, 1).await;
    flush();
    complete(&process, &taken[0]).await.unwrap();
    flush();
    assert!(is_completed(&process, id).await);
    flush();
    check(&process).await;
}

#[tokio::test]
async fn two_releases_work_on_one_store() {
    let old = home(Server::shared());
    let new = old.clone().with_prelude("-- another release\n");
    let (old, new) = (old.open().await, new.open().await);
    let id = submit(&old).await;
    let taken = take(&new, 1).await;
    assert_eq!(taken[0].execution, id);
    complete(&old, &taken[0]).await.unwrap();
    assert!(is_completed(&new, id).await);
    check(&new).await;
}

#[tokio::test]
async fn a_full_store_accepts_no_work_and_ends_what_it_has() {
    let server = Server::start(config());
    let process = home(&server).open().await;
    submit(&process).await;
    let taken = take(&process, 1).await;
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).unwrap();
    let error = try_submit(&process, work(&process)).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("store_full", true));
    complete(&process, &taken[0]).await.unwrap();
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).unwrap();
    submit(&process).await;
}

#[tokio::test]
async fn a_user_confined_to_the_prefix_can_do_everything() {
    let server = Server::start(config());
    let mut home = home(&server);
    let prefix = home.options.prefix.as_str();
    let (keys, channels) = (format!("~{prefix}:*"), format!("&{prefix}:*"));
    let no = ["-@admin", "-@dangerous", "+info", "-eval", "-keys", "+cluster|slots"];
    let words = ["ACL", "SETUSER", "app", "on", ">secret", &keys, &channels, "+@all"];
    server.command(&[&words[..], &no[..]].concat()).unwrap();
    home.options.user = Some("app".to_owned());
    home.options.password = Some(Secret::new("secret"));
    let process = home.open().await;
    let id = submit(&process).await;
    let taken = take(&process, 1).await;
    complete(&process, &taken[0]).await.unwrap();
    assert!(is_completed(&process, id).await);
    check(&process).await;
}

#[tokio::test]
async fn a_call_to_a_silent_server_times_out() {
    let server = Server::start(config());
    let mut home = home(&server);
    home.options.request_timeout = Duration::from_millis(300);
    let process = home.open().await;
    server.pause();
    let error = try_submit(&process, work(&process)).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("store_unavailable", true));
    server.resume();
    submit(&process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_continues_while_slots_move() {
    let cluster = Cluster::start(2, 0);
    let mut options: Options = cluster.url().parse().unwrap();
    options.prefix = Prefix::new("moving").unwrap();
    options.partitions = Some(4);
    let process = Home { options }.open().await;
    let mut from = StartAt::Now;
    let mut told = events(&process, &mut from).await;
    let ids = submit_many(&process, 100).await;
    for partition in 0..4 {
        told.extend(events(&process, &mut from).await);
        let slot = cluster.slot_of(&format!("moving:{{p:{partition}}}"));
        let owner = cluster.primary_of(slot);
        let to = cluster.nodes().iter().find(|node| node.port() != owner.port()).unwrap();
        let taken = take(&process, 10).await;
        cluster.migrate_slot(slot, owner, to);
        for assignment in &taken {
            complete(&process, assignment).await.unwrap();
        }
    }
    let mut done = 40;
    while let assignments @ [_, ..] = &*process_all(&process).await {
        done += assignments.len();
    }
    assert_eq!(done, ids.len());
    check(&process).await;
    told.extend(events(&process, &mut from).await);
    let names = [EventName::Submitted, EventName::Claimed, EventName::Completed];
    for id in ids {
        let of_one = told.iter().filter(|event| event.execution() == id);
        let of_one: Vec<_> = of_one.map(|event| event.what.name()).collect();
        assert_eq!(of_one, names, "nothing is missed, and in its order");
    }
}

/// Everything that has happened since.
async fn events(process: &Process, from: &mut StartAt) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        let request = EventsRequest {
            namespace: Default::default(),
            from: from.clone(),
            filter: EventFilter::default(),
            limit: 100,
            wait: Millis::ZERO,
        };
        let page = process.events(request).await.unwrap();
        *from = StartAt::After(page.cursor);
        all.extend(page.events);
        if !page.more {
            return all;
        }
    }
}

/// Takes and completes a few.
async fn process_all(process: &Process) -> Vec<ff_core::machine::Assignment> {
    let taken = take(process, 20).await;
    for assignment in &taken {
        complete(process, assignment).await.unwrap();
    }
    taken
}
