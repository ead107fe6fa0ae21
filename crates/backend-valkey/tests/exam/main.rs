//! Valkey sits the exam, alone and as a cluster, and agrees with the model over random histories.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

#[path = "../fixture/mod.rs"]
mod fixture;
mod planted;

use ff_conformance::{Making, Options, exam, facts_of, histories, sit};

exam!(valkey, fixture::standalone);
histories!(valkey_histories, fixture::standalone);
exam!(valkey_cluster, fixture::cluster);
histories!(valkey_cluster_histories, fixture::cluster, Options { count: 200, ..Options::default() });

/// Lane settings are copied to every partition, and workers have one home.
#[test]
fn facts_about_resources_hold_over_several_partitions() {
    fn subject() -> Making {
        Box::pin(fixture::four_partitions())
    }
    for module in ["worker", "lane", "lane_defaults", "explain"] {
        facts_of(module).for_each(|name| sit(name, subject));
    }
}
