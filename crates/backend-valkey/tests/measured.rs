//! The metrics of Valkey, by its functions and by the slow path.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

mod fixture;

use ff_conformance::measured;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executions_are_counted_by_lane_and_kind_on_valkey() {
    measured([fixture::standalone().await, fixture::four_partitions().await]).await;
}
