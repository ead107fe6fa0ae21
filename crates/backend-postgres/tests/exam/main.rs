//! Postgres sits the exam, and agrees with the model over random histories.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

#[path = "../fixture/mod.rs"]
mod fixture;

use ff_conformance::{Options, exam, histories};

exam!(postgres, fixture::subject);
histories!(
    postgres_histories,
    fixture::subject,
    Options { count: Some(500), ..Options::default() }
);
