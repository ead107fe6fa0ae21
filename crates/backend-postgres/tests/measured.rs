//! What Postgres counts. A process of its own: counters are those of a process.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

#[path = "fixture/mod.rs"]
mod fixture;
#[path = "fixture/subject.rs"]
mod subject;

#[tokio::test]
async fn executions_are_counted_by_lane_and_kind_on_postgres() {
    ff_conformance::measured([subject::subject().await]).await;
}
