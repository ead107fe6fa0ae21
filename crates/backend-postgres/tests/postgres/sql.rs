//! Work that is submitted by SQL.

use std::time::Duration;

use ff_backend_postgres::{PostgresStore, backend};
use ff_core::machine::Submit;
use ff_core::{ExecutionId, IdempotencyKey, Payload};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, Store};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, GenericClient};
use uuid::Uuid;

use crate::calls::{Place, new_id, take, target, violations};
use crate::fixture::sql;

/// Calls the function; `rest` are its further arguments, as SQL.
async fn call(
    client: &impl GenericClient,
    place: &Place,
    rest: &str,
) -> Result<ExecutionId, tokio_postgres::Error> {
    let text = format!("SELECT {}.submit('resize'{rest})", place.schema());
    let none: [&(dyn ToSql + Sync); 0] = [];
    let row = client.query_one(&text, &none).await?;
    Ok(ExecutionId::try_from(row.get::<_, Uuid>(0)).unwrap())
}

/// A store that takes submissions.
async fn taking(place: &Place) -> Engine<PostgresStore> {
    let mut options = place.options();
    options.takes_submissions = true;
    backend(&options).await.unwrap()
}

/// Waits until it has become an execution.
async fn taken_up(store: &Engine<PostgresStore>, id: ExecutionId) {
    let there = ff_testkit::wait::until_async(Duration::from_secs(20), async || {
        store.store().record(id).await.unwrap().map(drop)
    });
    there.await.expect("it becomes an execution");
}

async fn waiting(client: &Client, place: &Place) -> i64 {
    let count = format!("SELECT count(*) FROM {}.submission", place.schema());
    client.query_one(&count, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn it_is_there_if_and_only_if_the_caller_commits() {
    let place = Place::new().await;
    let store = taking(&place).await;
    let mut client = sql().await;
    let transaction = client.transaction().await.unwrap();
    let undone = call(&transaction, &place, "").await.unwrap();
    transaction.rollback().await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let options = r#", '{"w": [1, 2]}', '{"priority": 7, "tags": {"team": "größe"}}'"#;
    let id = call(&transaction, &place, options).await.unwrap();
    transaction.commit().await.unwrap();
    taken_up(&store, id).await;
    assert!(store.store().record(undone).await.unwrap().is_none());
    let record = store.store().record(id).await.unwrap().unwrap();
    assert_eq!((record.spec.kind.as_str(), record.priority), ("resize", 7));
    assert_eq!(record.tags.values().next().map(|value| value.as_str()), Some("größe"));
    let taken = take(&store, 10).await;
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].input, Payload::json(r#"{"w": [1, 2]}"#));
    assert_eq!(waiting(&client, &place).await, 0);
    assert_eq!(violations(&**store.store()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_key_names_one_execution_before_and_after_it_is_taken_up() {
    let place = Place::new().await;
    let client = sql().await;
    let keyed = r#", '1', '{"key": "order-7"}'"#;
    let id = call(&client, &place, keyed).await.unwrap();
    assert_eq!(call(&client, &place, keyed).await.unwrap(), id);
    let other = call(&client, &place, r#", '2', '{"key": "order-7"}'"#).await.unwrap_err();
    assert_eq!(other.code().unwrap().code(), "23505");
    let store = taking(&place).await;
    taken_up(&store, id).await;
    assert_eq!(call(&client, &place, keyed).await.unwrap(), id);
    assert_eq!(waiting(&client, &place).await, 0);
    assert_eq!(store.describe(&target(id)).await.unwrap().id, id);
}

#[tokio::test]
async fn what_cannot_be_submitted_is_refused_at_once() {
    let place = Place::new().await;
    let client = sql().await;
    for bad in [
        r#", '1', '{"lanes": "x"}'"#,
        r#", '1', '[]'"#,
        r#", '1', '{"lane": "a b"}'"#,
        r#", '1', '{"lane": "a\n"}'"#,
        r#", '1', '{"namespace": ""}'"#,
        r#", '1', '{"priority": 9001}'"#,
        r#", '1', '{"priority": 0.5}'"#,
        r#", '1', '{"priority": "1"}'"#,
        r#", '1', '{"delay_ms": -1}'"#,
        r#", '1', '{"tags": []}'"#,
        r#", '1', '{"tags": {"a": 1}}'"#,
        r#", '1', '{"tags": {"a b": "x"}}'"#,
        r#", '1', '{"key": "größe"}'"#,
        r#", '1', '{"key": ""}'"#,
        ", to_jsonb(repeat('x', 1048576))",
    ] {
        let refused = call(&client, &place, bad).await.unwrap_err();
        assert_eq!(refused.code().map(|code| code.code()), Some("22023"), "{bad}: {refused:?}");
    }
    let text = format!("SELECT {}.submit('a; DROP TABLE x')", place.schema());
    client.query_one(&text, &[]).await.unwrap_err();
    assert_eq!(waiting(&client, &place).await, 0);
}

#[tokio::test]
async fn one_that_the_store_refuses_stays_with_the_reason() {
    let place = Place::new().await;
    let client = sql().await;
    let store = taking(&place).await;
    let key = Some(IdempotencyKey::new("order-8").unwrap());
    let work = Submit { key, ..Submit::new(new_id()) };
    store.submit(vec![work.clone()]).await.unwrap().remove(0).unwrap();
    let known = call(&client, &place, r#", '1', '{"key": "order-8"}'"#).await.unwrap();
    assert_eq!(known, work.id, "a key that is known answers what it names");
    let late = Uuid::from_bytes(*new_id().as_bytes());
    let planted = format!(
        "INSERT INTO submission VALUES ('{late}', 'default', 'order-8', 'resize', '1', '{{}}')"
    );
    place.sql(&planted).await;
    let reason = format!("SELECT refused FROM {}.submission", place.schema());
    let refused = ff_testkit::wait::until_async(Duration::from_secs(20), async || {
        client.query_one(&reason, &[]).await.unwrap().get::<_, Option<String>>(0)
    });
    assert!(refused.await.expect("it is refused").contains("idempotency"));
}

#[tokio::test]
async fn a_role_needs_nothing_but_the_function() {
    let place = Place::new().await;
    let store = taking(&place).await;
    let client = sql().await;
    let schema = place.schema();
    let role = format!(
        "DROP ROLE IF EXISTS shop; CREATE ROLE shop LOGIN; GRANT USAGE ON SCHEMA {schema} TO shop;
         SET ROLE shop"
    );
    client.batch_execute(&role).await.unwrap();
    let denied = call(&client, &place, "").await.unwrap_err();
    assert_eq!(denied.code().unwrap().code(), "42501");
    let grant =
        format!("RESET ROLE; GRANT EXECUTE ON FUNCTION {schema}.submit TO shop; SET ROLE shop");
    client.batch_execute(&grant).await.unwrap();
    let id = call(&client, &place, "").await.unwrap();
    client.query(&format!("SELECT 1 FROM {schema}.execution"), &[]).await.unwrap_err();
    client.batch_execute("RESET ROLE; DROP OWNED BY shop; DROP ROLE shop").await.unwrap();
    taken_up(&store, id).await;
}
