//! Work that is submitted inside a caller's own transaction.

use ff_backend_postgres::{Schema, submit_in};
use ff_core::machine::Submit;
use ff_core::{Code, IdempotencyKey};
use ff_store::{ClientBackend, Store};

use crate::calls::{Place, new_id, take, target, violations};
use crate::fixture::sql;

#[tokio::test]
async fn it_is_there_if_and_only_if_the_caller_commits() {
    let place = Place::new().await;
    let store = place.open().await;
    let schema = Schema::new(&place.schema()).unwrap();
    let mut client = sql().await;
    client.batch_execute("CREATE TEMPORARY TABLE orders (x int)").await.unwrap();
    for commits in [false, true] {
        let work = Submit::new(new_id());
        let transaction = client.transaction().await.unwrap();
        transaction.execute("INSERT INTO orders VALUES (1)", &[]).await.unwrap();
        assert_eq!(
            submit_in(&transaction, &schema, work.clone()).await.unwrap().execution,
            work.id
        );
        let rows = transaction.query("SELECT x FROM orders", &[]).await.unwrap();
        assert_eq!(rows.len(), 1, "the caller's names mean what they did");
        assert!(store.store().record(work.id).await.unwrap().is_none(), "it is not committed");
        match commits {
            true => transaction.commit().await.unwrap(),
            false => transaction.rollback().await.unwrap(),
        }
        assert_eq!(store.store().record(work.id).await.unwrap().is_some(), commits);
        let taken = take(&store, 1).await;
        assert_eq!(
            taken.iter().map(|one| one.execution).collect::<Vec<_>>(),
            match commits {
                true => vec![work.id],
                false => vec![],
            }
        );
    }
    assert_eq!(violations(&**store.store()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_refusal_leaves_the_callers_transaction_as_it_is() {
    let place = Place::new().await;
    let store = place.open().await;
    let schema = Schema::new(&place.schema()).unwrap();
    let key = Some(IdempotencyKey::new("order-1").unwrap());
    let first = Submit { key: key.clone(), ..Submit::new(new_id()) };
    let mut client = sql().await;
    let transaction = client.transaction().await.unwrap();
    submit_in(&transaction, &schema, first.clone()).await.unwrap();
    let other = Submit { key, priority: 7, ..Submit::new(new_id()) };
    let refused = submit_in(&transaction, &schema, other).await.unwrap_err();
    assert_eq!(refused.refused(), Some(Code::IdempotencyConflict));
    let again = submit_in(&transaction, &schema, first.clone()).await.unwrap();
    assert_eq!(again.execution, first.id);
    transaction.commit().await.unwrap();
    assert_eq!(store.describe(&target(first.id)).await.unwrap().id, first.id);
}
