//! Valkey sits the exam, alone and as a cluster, and agrees with the model over random histories.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod ground;

use ff_conformance::{Options, exam, histories};

exam!(valkey, ground::standalone);
histories!(valkey_histories, ground::standalone);
exam!(valkey_cluster, ground::cluster);
histories!(valkey_cluster_histories, ground::cluster, Options { count: 200, ..Options::default() });
