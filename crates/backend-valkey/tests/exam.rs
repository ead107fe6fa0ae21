//! Valkey sits the exam, alone and as a cluster, and agrees with the model over random histories.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod ground;

use ff_conformance::{Making, Options, exam, facts_of, histories, sit};

exam!(valkey, ground::standalone);
histories!(valkey_histories, ground::standalone);
exam!(valkey_cluster, ground::cluster);
histories!(valkey_cluster_histories, ground::cluster, Options { count: 200, ..Options::default() });

/// Lane settings are copied to every partition, and workers have one home.
#[test]
fn facts_about_resources_hold_over_several_partitions() {
    fn subject() -> Making {
        Box::pin(ground::four_partitions())
    }
    for module in ["worker", "lane", "lane_defaults", "explain"] {
        facts_of(module).for_each(|name| sit(name, subject));
    }
}
