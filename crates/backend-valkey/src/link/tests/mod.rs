//! The link against real servers that really fail.

mod access;
mod cluster;
mod confirm;
mod faults;
mod library;
mod network;
mod startup;
mod subscribe;
mod tls;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ff_store::StoreError;
use ff_testkit::valkey::{Config, Server};
use redis::{Cmd, Value};

use super::{Arg, Link};
use crate::library::Library;
use crate::options::Options;

/// Longer than any wait of a test.
const LIMIT: Duration = Duration::from_secs(30);

const LUA: &str = r"
register('put', function(keys, args)
  call('SET', keys[1], args[1])
  return call('GET', keys[1])
end, {}, 1)

register('get', function(keys)
  return call('GET', keys[1])
end, {'no-writes'}, 0)

register('time', function()
  return now()
end, {'no-writes'})

register('drop', function(keys)
  return call('DEL', keys[1])
end, {'allow-oom'})

register('refuse', function()
  return redis.error_reply('FF_NO for a reason')
end)

register('sum', function(keys, args)
  local sum = tonumber(args[1])
  for _, key in ipairs(keys) do
    sum = sum + tonumber(call('GET', key) or 0)
  end
  return {#keys, sum}
end, {'no-writes', 'allow-cross-slot-keys'}, 1)

register('spin', function()
  while true do end
end, {'no-writes'})
";

const VERBS: &[&str] = &["put", "get", "time", "drop", "refuse", "sum", "spin"];

fn library() -> Library {
    Library::of("", "", LUA, VERBS)
}

/// A library of this content alone, so that what one test does to it affects no other.
fn own_library() -> Library {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Library::of("", &format!("-- {}.{number}", std::process::id()), LUA, VERBS)
}

fn options(url: &str) -> Options {
    url.parse().unwrap()
}

/// Options with a shorter request timeout, for calls that are expected to give up.
fn hasty(url: &str) -> Options {
    Options { request_timeout: Duration::from_secs(1), ..options(url) }
}

async fn connect(options: &Options) -> Link {
    Link::connect(options, own_library()).await.unwrap()
}

async fn link(server: &Server) -> Link {
    connect(&options(&server.url())).await
}

/// A server for one test.
fn server() -> Server {
    Server::start(config())
}

fn config() -> Config {
    Config::default().with("appendfsync", "no").with("enable-debug-command", "yes")
}

async fn put(link: &Link, key: &str, value: &str) -> Result<Value, StoreError> {
    link.call("put", key, &[Arg::from(value.as_bytes())]).await
}

/// A call that continues while the test does something else.
fn spawn_put(link: &Link) -> tokio::task::JoinHandle<Result<Value, StoreError>> {
    let link = link.clone();
    tokio::spawn(async move { put(&link, "k", "v").await })
}

async fn get(link: &Link, key: &str) -> Result<Value, StoreError> {
    link.call("get", key, &[]).await
}

fn text(value: &str) -> Value {
    Value::BulkString(value.as_bytes().to_vec())
}

fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}

/// Waits, off the runtime, until `ask` is true.
async fn until(ask: impl Fn() -> bool + Send + 'static) {
    let wait = move || ff_testkit::wait::until(LIMIT, || ask().then_some(()));
    let seen = tokio::task::spawn_blocking(wait).await.unwrap();
    assert!(seen.is_some(), "it did not come to pass in {LIMIT:?}");
}

/// Waits until the link has repeated a call: the answer of the server was not final.
async fn until_repeated(link: &Link) {
    let (link, before) = (link.clone(), link.calls());
    until(move || link.calls() >= before + 2).await;
}

/// Waits until the link has noticed that its connection is gone: the outcome of a call that is cut
/// off itself is unknown.
async fn until_disconnected(link: &Link) {
    let nodes = link.0.nodes.primaries();
    until(move || nodes.iter().all(|node| !node.is_connected())).await;
}
