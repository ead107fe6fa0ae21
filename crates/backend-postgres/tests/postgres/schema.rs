//! The schema: who makes it, who may use it, and what is refused.

use ff_backend_postgres::{Migrated, Options, PostgresStore, Schema, migrate};
use ff_store::StoreError;
use ff_testkit::postgres::Server;

use crate::calls::{Place, claim, submit, take};
use crate::fixture::{options, sql};

/// A schema of this name that is not there.
async fn missing(name: &str) -> Options {
    sql().await.batch_execute(&format!("DROP SCHEMA IF EXISTS {name} CASCADE")).await.unwrap();
    options(name)
}

async fn refused(options: &Options) -> String {
    match PostgresStore::open(options).await {
        Err(StoreError::Incompatible(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_migrations_at_once_make_one_schema() {
    let options = missing("twice").await;
    let both = [options.clone(), options.clone()]
        .map(|options| tokio::spawn(async move { migrate(&options, None).await.unwrap() }));
    let mut from = Vec::new();
    for one in both {
        from.push(one.await.unwrap().from);
    }
    from.sort();
    assert_eq!(from, [None, Some(3)]);
    assert_eq!(migrate(&options, None).await.unwrap(), Migrated { from: Some(3), to: 3 });
}

#[tokio::test]
async fn a_schema_of_a_newer_release_or_of_another_product_is_refused_and_left_alone() {
    let options = missing("newer").await;
    migrate(&options, None).await.unwrap();
    let sql = sql().await;
    sql.batch_execute("UPDATE newer.store SET version = 99").await.unwrap();
    assert!(refused(&options).await.contains("this release knows"));
    sql.batch_execute("UPDATE newer.store SET product = 'shop'").await.unwrap();
    assert!(refused(&options).await.contains("another application"));
    let foreign = missing("shop").await;
    sql.batch_execute("CREATE SCHEMA shop; CREATE TABLE shop.goods (x int)").await.unwrap();
    assert!(refused(&foreign).await.contains("another application"));
}

#[tokio::test]
async fn a_role_without_the_right_to_create_runs_a_store_that_another_has_migrated() {
    let options = missing("apart").await;
    let sql = sql().await;
    let role = "DROP ROLE IF EXISTS runs_it; CREATE ROLE runs_it LOGIN";
    sql.batch_execute(role).await.unwrap();
    let url =
        format!("postgres://runs_it@{}/postgres?accept_data_loss=true", Server::shared().address());
    let mut as_role: Options = url.parse().unwrap();
    as_role.schema = Schema::new("apart").unwrap();
    assert!(refused(&as_role).await.contains("ff migrate"));
    migrate(&options, Some("runs_it")).await.unwrap();
    let store = ff_backend_postgres::backend(&as_role).await.unwrap();
    let id = submit(&store).await;
    assert_eq!(take(&store, claim(1).max).await[0].execution, id);
    let owned = "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
         WHERE r.rolname = 'runs_it'";
    assert_eq!(sql.query_one(owned, &[]).await.unwrap().get::<_, i64>(0), 0);
    drop(store);
    sql.batch_execute("DROP OWNED BY runs_it; DROP ROLE runs_it").await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_sync_is_refused_unless_that_is_accepted() {
    let place = Place::new().await;
    let mut careful = place.options();
    careful.accept_data_loss = false;
    assert!(refused(&careful).await.contains("fsync"));
    place.open().await;
}
