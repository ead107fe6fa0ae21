//! The library on the server.

use ff_testkit::valkey::Server;
use redis::Value;

use super::{LUA, VERBS, connect, get, link, options, put, server, text};
use crate::library::Library;
use crate::link::Link;

#[tokio::test]
async fn a_flushed_library_is_loaded_again_and_the_call_repeated() {
    let server = server();
    let link = link(&server).await;
    put(&link, "k", "1").await.unwrap();
    server.command(&["FUNCTION", "FLUSH"]).unwrap();
    assert_eq!(put(&link, "k", "2").await.unwrap(), text("2"));
}

#[tokio::test]
async fn many_calls_that_miss_the_library_load_it_once() {
    let server = server();
    let link = link(&server).await;
    server.command(&["FUNCTION", "FLUSH"]).unwrap();
    server.command(&["CONFIG", "RESETSTAT"]).unwrap();
    let calls: Vec<_> = (0..100)
        .map(|number| {
            let link = link.clone();
            tokio::spawn(async move { put(&link, "k", &number.to_string()).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    let stats = server.command(&["INFO", "commandstats"]).unwrap().to_string();
    assert!(stats.contains("cmdstat_function|load:calls=1,"), "{stats}");
}

#[tokio::test]
async fn two_versions_serve_concurrently() {
    let url = Server::shared().url();
    let version = |answer: &str| {
        let lua = format!("register('version', function() return '{answer}' end)");
        Library::of("", "", &lua, &["version"])
    };
    let old = Link::connect(&options(&url), version("old")).await.unwrap();
    let new = Link::connect(&options(&url), version("new")).await.unwrap();
    assert_eq!(old.call("version", "k", &[]).await.unwrap(), text("old"));
    assert_eq!(new.call("version", "k", &[]).await.unwrap(), text("new"));
    assert_eq!(old.call("version", "k", &[]).await.unwrap(), text("old"));
}

#[tokio::test]
async fn a_refusal_of_the_library_is_a_reply() {
    let link = link(Server::shared()).await;
    let Value::ServerError(error) = link.call("refuse", "k", &[]).await.unwrap() else {
        panic!("not a refusal");
    };
    assert_eq!((error.code(), error.details()), ("FF_NO", Some("for a reason")));
}

#[tokio::test]
async fn a_wrong_number_of_arguments_is_refused_before_anything_is_read() {
    let link = link(Server::shared()).await;
    let reply = link.call("put", "arity", &[]).await.unwrap();
    assert!(matches!(&reply, Value::ServerError(error) if error.code() == "FF_ARITY"), "{reply:?}");
    assert_eq!(get(&link, "arity").await.unwrap(), Value::Nil);
}

#[tokio::test]
async fn bytes_stay_what_they_are() {
    let link = link(Server::shared()).await;
    let bytes: Vec<u8> = (0..=255).collect();
    let reply = link.call("put", "bytes", &[bytes.as_slice().into()]).await.unwrap();
    assert_eq!(reply, Value::BulkString(bytes));
}

#[tokio::test]
async fn the_clock_is_the_servers_in_milliseconds() {
    let link = link(Server::shared()).await;
    let Value::Int(now) = link.call("time", "k", &[]).await.unwrap() else { panic!("no number") };
    let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    assert!((since - now).abs() < 60_000, "{now} is not near {since}");
}

#[tokio::test]
async fn a_prelude_replaces_the_clock() {
    let prelude = "local function wrap_now() return function() return 1234567890123 end end";
    let library = Library::of(prelude, "", LUA, VERBS);
    let link = Link::connect(&options(&Server::shared().url()), library).await.unwrap();
    assert_eq!(link.call("time", "k", &[]).await.unwrap(), Value::Int(1_234_567_890_123));
}

#[tokio::test]
async fn a_prelude_makes_the_second_call_of_a_function_fail() {
    let prelude = "
local count = 0
wrap_call = function(raw)
  return function(...)
    count = count + 1
    if count == 2 then error({err = 'FF_FORCED at call 2'}) end
    return raw(...)
  end
end
";
    let library = Library::of(prelude, "", LUA, VERBS);
    let link = Link::connect(&options(&Server::shared().url()), library).await.unwrap();
    let reply = put(&link, "forced", "kept").await.unwrap();
    assert!(
        matches!(&reply, Value::ServerError(error) if error.code() == "FF_FORCED"),
        "{reply:?}"
    );
    assert_eq!(get(&link, "forced").await.unwrap(), text("kept"));
}

#[tokio::test]
async fn another_library_of_the_same_name_is_refused() {
    let server = server();
    let library = Library::of("", "", LUA, VERBS);
    let other = format!(
        "#!lua name={}\nredis.register_function('other', function() return 1 end)",
        library.name()
    );
    server.command(&["FUNCTION", "LOAD", &other]).unwrap();
    let error = Link::connect(&options(&server.url()), library).await.err().unwrap();
    assert!(error.to_string().contains("not ours"), "{error}");
}

#[tokio::test]
async fn one_server_answers_for_all_keys_at_once() {
    let link = connect(&options(&Server::shared().url())).await;
    let keys: Vec<String> = (0..5).map(|number| format!("sum:{{{number}}}")).collect();
    for key in &keys {
        put(&link, key, "2").await.unwrap();
    }
    let answers = link.call_each("sum", &keys, &[b"1".as_slice().into()]).await.unwrap();
    assert_eq!(answers, [Value::Array(vec![Value::Int(5), Value::Int(11)])]);
}
