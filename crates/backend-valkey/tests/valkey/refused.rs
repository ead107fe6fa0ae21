//! A refused command leaves nothing behind, not even the name of its namespace.

use std::collections::BTreeMap;

use ff_core::machine::Submit;
use ff_core::{Code, Namespace, Payload};
use ff_testkit::valkey::Server;

use crate::fixture::{Home, try_submit, work};

/// Every key of the store, as the server dumps it.
fn everything(server: &Server, home: &Home) -> BTreeMap<String, String> {
    let all = format!("{}:*", home.options.prefix.as_str());
    let keys = server.command(&["KEYS", &all]).unwrap().to_string();
    let dump = |key: &str| format!("{:?}", server.command(&["DUMP", key]).unwrap());
    keys.lines().map(|key| (key.to_owned(), dump(key))).collect()
}

#[tokio::test]
async fn an_id_that_is_taken_elsewhere_leaves_no_namespace() {
    let server = Server::shared();
    let home = Home::on(server, 4);
    let process = home.open().await;
    let mine = work(&process);
    try_submit(&process, mine.clone()).await.unwrap();
    let before = everything(server, &home);
    assert!(!before.is_empty());
    let short = Payload::bytes("short");
    let long = Payload::bytes("x".repeat(1_000));
    for input in [short, long] {
        let namespace = Namespace::new("elsewhere").unwrap();
        let theirs = Submit { namespace, input, ..mine.clone() };
        let error = try_submit(&process, theirs).await.unwrap_err();
        assert_eq!(error.refused(), Some(Code::IdConflict), "{error}");
        assert_eq!(everything(server, &home), before);
    }
}
