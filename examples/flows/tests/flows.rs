//! The examples, each in memory.

// A test that cannot continue panics.
#![allow(clippy::unwrap_used)]

use ff_example_flows::{agent_team, map_reduce, pipeline, race};
use flowfabric::prelude::*;

#[tokio::test]
async fn a_reducer_reads_the_results_of_a_hundred_mappers() {
    let ff = FlowFabric::open("memory:").await.unwrap();
    assert_eq!(map_reduce::run(&ff).await.unwrap(), (0..map_reduce::PARTS).sum::<u32>());
    ff.close().await;
}

#[tokio::test]
async fn the_fastest_wins_and_the_others_are_cancelled() {
    let ff = FlowFabric::open("memory:").await.unwrap();
    let said = race::run(&ff).await.unwrap();
    assert_eq!(said, "fast says 42; 2 were cancelled, and the flow is completed");
    ff.close().await;
}

#[tokio::test]
async fn an_arm_that_failed_is_replayed() {
    let ff = FlowFabric::open("memory:").await.unwrap();
    let said = pipeline::run(&ff).await.unwrap();
    assert_eq!(said, "first failed, 1 skipped; then completed with 76");
    ff.close().await;
}

#[tokio::test]
async fn an_agent_waits_for_its_helpers_without_the_only_worker() {
    let ff = FlowFabric::open("memory:").await.unwrap();
    let said = agent_team::run(&ff).await.unwrap();
    assert_eq!(said, "3 topics, 16 facts, title of 4 letters or more");
    ff.close().await;
}
