//! Postgres sits the exam, and agrees with the model over random histories.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue fails")]

#[path = "../fixture/mod.rs"]
mod fixture;
#[path = "../fixture/subject.rs"]
mod subject;
mod two;

use ff_conformance::{Options, exam, histories};

exam!(postgres, subject::subject);
histories!(
    postgres_histories,
    subject::subject,
    Options { count: Some(120), ..Options::default() }
);
histories!(
    postgres_histories_of_two_processes,
    two::subject,
    Options { count: Some(40), ..Options::default() }
);
