//! Valkey sits the exam, alone and as a cluster, and agrees with the model over random histories.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

#[path = "../fixture/mod.rs"]
mod fixture;
mod planted;

use ff_conformance::{Options, exam, histories};

exam!(valkey, fixture::standalone);
histories!(valkey_histories, fixture::standalone);
exam!(valkey_cluster, fixture::cluster);
histories!(
    valkey_cluster_histories,
    fixture::cluster,
    Options { count: Some(200), ..Options::default() }
);

histories!(
    valkey_4_partitions_histories,
    fixture::four_partitions,
    Options { count: Some(200), ..Options::default() }
);

/// Sits what is about resources: lane settings are copied to every partition, and workers, budgets and
/// quotas have one home, which is rarely the partition of their work.
macro_rules! resources {
    ($name:ident, $factory:expr) => {
        exam!(
            $name,
            $factory,
            admission,
            backlog,
            budget,
            continuations,
            explain,
            lane,
            lane_defaults,
            lane_limit,
            quota,
            release,
            worker
        );
    };
}

resources!(valkey_4_partitions, fixture::four_partitions);
resources!(valkey_64_partitions, fixture::sixty_four_partitions);
