//! The stored format, pinned: a file written by any release is read by every later one.
//!
//! When a test here fails, the bytes that are written have changed. Old files have the old bytes:
//! a change needs a new format number and a way to read the old one, not new bytes here.

use std::sync::Arc;

use crate::fixture::{self, Place};
use ff_backend_sqlite::backend;
use ff_core::collection::{Collection, ElementRange};
use ff_core::machine::{Command, Complete, Fail, Reply, Submit};
use ff_core::policy::{Backoff, Growth, Policy, Retry};
use ff_core::state::Failure;
use ff_core::{
    Capabilities, Category, Execution, ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace,
    Partition, Payload, RequestId, TagKey, TagValue, Time,
};
use ff_store::Store;
use ff_testkit::ManualClock;

/// Records and attempts in every format that was ever written, oldest first.
const FORMATS: &[[&str; 2]] = &[
    [include_str!("format/record-1.hex"), include_str!("format/attempt-1.hex")],
    [include_str!("format/record-2.hex"), include_str!("format/attempt-2.hex")],
    [include_str!("format/record-3.hex"), include_str!("format/attempt-3.hex")],
    [include_str!("format/record-4.hex"), include_str!("format/attempt-4.hex")],
    [include_str!("format/record-5.hex"), include_str!("format/attempt-5.hex")],
];

fn id() -> ExecutionId {
    ExecutionId::mint(Time::from_ms(1_700_000_000_000), Partition::ONLY, 7, 42)
}

fn work() -> Submit {
    let mut work = Submit::new(id());
    work.namespace = Namespace::new("acme").unwrap();
    work.lane = Lane::new("letters").unwrap();
    work.kind = Kind::new("translate").unwrap();
    work.input = Payload::json(r#"{"text":"hello"}"#);
    work.tags.insert(TagKey::new("team").unwrap(), TagValue::new("größe").unwrap());
    work.priority = 12;
    work.key = Some(IdempotencyKey::new("letter-1").unwrap());
    work.requires = Capabilities::new(["gpu", "python"]).unwrap();
    work.policy = Policy {
        retry: Retry {
            max_attempts: 5,
            backoff: Backoff {
                growth: Growth::Fixed,
                base: Millis::ZERO,
                cap: Millis::ZERO,
                jitter_percent: 0,
            },
            categories: Some([Category::error()].into()),
        },
        attempt_timeout: Some(Millis::from_secs(60)),
        deadline: Some(Millis::from_hours(48)),
        lease_ttl: Millis::from_secs(30),
        max_reclaims: 3,
        retention: Millis::from_days(2),
        stream: Default::default(),
    }
    .into();
    work.policy.stream = Default::default();
    work
}

/// A store in which an execution was tried twice: its bytes, and the record the store reads.
async fn written() -> (String, String, Execution) {
    let place = Place::new();
    let clock = ManualClock::default();
    let backend = backend(place.options().clock(Arc::new(clock.clone()))).unwrap();
    let run = |action: ff_core::machine::Action| {
        clock.advance(Millis::new(10));
        let backend = backend.clone();
        async move {
            let command = Command { entropy: 0x1234_5678_9abc_def0, by: None, action };
            fixture::accepted(&backend, vec![command]).await.remove(0)
        }
    };
    run(work().into()).await;
    for attempt in 0..2 {
        let mut claim = fixture::claim(1);
        claim.namespace = work().namespace;
        claim.lane = work().lane;
        claim.capabilities = work().requires;
        claim.request = RequestId::new(99 + attempt);
        let Reply::Claimed(claimed) = run(claim.into()).await else { panic!() };
        let hold = claimed.assignments[0].hold();
        let failure = Failure {
            category: Category::error(),
            retryable: true,
            message: "the dictionary was away".into(),
        };
        match attempt {
            0 => run(Fail { hold, failure }.into()).await,
            _ => run(Complete { hold, result: Payload::bytes("bonjour") }.into()).await,
        };
    }
    let record = backend.store().record(id()).await.unwrap().unwrap();
    let sql = place.sql();
    let hex = |query: &str| sql.query_row(query, (), |row| row.get::<_, String>(0)).unwrap();
    (hex("SELECT hex(record) FROM execution"), hex("SELECT hex(bytes) FROM element"), record)
}

#[tokio::test]
async fn records_and_attempts_are_written_in_these_bytes() {
    let (record, attempt, _) = written().await;
    let newest = FORMATS.last().unwrap().map(str::trim);
    assert_eq!([record.as_str(), attempt.as_str()], newest);
}

#[tokio::test]
async fn records_and_attempts_are_read_from_these_bytes() {
    let (_, _, expected) = written().await;
    for [record, attempt] in FORMATS {
        let place = Place::new();
        let backend = place.open();
        let write = format!(
            "INSERT INTO execution VALUES (x'{id}', {version}, x'{record}');
             INSERT INTO element VALUES (x'{id}', 0, 0, NULL, x'{attempt}');",
            id = id().to_string().replace('-', ""),
            version = expected.version.get(),
            record = record.trim(),
            attempt = attempt.trim(),
        );
        place.sql().execute_batch(&write).unwrap();
        assert_eq!(backend.store().record(id()).await.unwrap().as_ref(), Some(&expected));
        let collection = Collection::Attempts;
        let range = ElementRange { owner: id(), collection, from: 0, limit: 10 };
        let mut elements = backend.store().elements(range).await.unwrap();
        assert_eq!(elements.len(), 1);
        let attempt = elements.remove(0).into_attempt().unwrap();
        assert_eq!(attempt.lease.request, RequestId::new(99));
    }
}
