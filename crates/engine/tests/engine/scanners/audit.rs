//! The audit scanner: violations are reported, and left as they are.

use std::time::Duration;

use ff_core::Namespace;
use ff_core::machine::Submit;
use ff_engine::audit::AuditScanner;
use ff_engine::scanner::{Scanned, Scanner};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, PartitionSet};
use ff_testkit::Forwarding;

use super::broken::Broken;
use super::memory;

async fn with_work(count: u64) -> Engine<Forwarding<Broken>> {
    let backend = Engine::new(Broken::new(memory(), "broken"));
    for _ in 0..count {
        let submit = Submit::new(backend.new_id(&Namespace::default(), None));
        backend.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    }
    backend
}

async fn audit(backend: &Engine<Forwarding<Broken>>, scanner: AuditScanner) -> Scanned {
    scanner.scan(backend, &PartitionSet::All).await.unwrap()
}

#[tokio::test]
async fn a_sound_store_has_nothing_to_report() {
    let backend = with_work(3).await;
    let sound = Scanned { processed: 3, changed: 0, errors: 0 };
    assert_eq!(audit(&backend, AuditScanner::default()).await, sound);
}

#[tokio::test]
async fn a_violation_is_counted_for_as_long_as_it_lasts() {
    let backend = with_work(3).await;
    backend.store().spoil(4);
    let broken = Scanned { processed: 3, changed: 0, errors: 1 };
    for _ in 0..2 {
        assert_eq!(audit(&backend, AuditScanner::default()).await, broken, "nothing is repaired");
    }
    assert_eq!(audit(&backend, AuditScanner::default()).await.errors, 0);
}

#[tokio::test]
async fn a_violation_that_a_second_read_does_not_find_is_not_counted() {
    let backend = with_work(3).await;
    backend.store().spoil(1);
    assert_eq!(audit(&backend, AuditScanner::default()).await.errors, 0);
}

#[tokio::test(start_paused = true)]
async fn it_reads_at_a_bounded_pace() {
    let backend = with_work(50).await;
    let rest = Duration::from_secs(1);
    let scanner = AuditScanner { batch: 10, rest, ..AuditScanner::default() };
    let began = tokio::time::Instant::now();
    assert_eq!(audit(&backend, scanner).await.processed, 50);
    assert!(began.elapsed() >= 5 * rest, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_store_of_too_many_rows_is_left_alone() {
    let backend = with_work(20).await;
    backend.store().spoil(2);
    let scanner = AuditScanner { most: 10, ..AuditScanner::default() };
    assert_eq!(audit(&backend, scanner).await, Scanned::default());
}

#[tokio::test]
async fn one_process_audits_for_all() {
    let backend = with_work(3).await;
    let scanner = AuditScanner::default();
    let other = scanner.scan(&backend, &PartitionSet::Some(vec![1, 2])).await.unwrap();
    assert_eq!(other, Scanned::default());
    let first = scanner.scan(&backend, &PartitionSet::Some(vec![0])).await.unwrap();
    assert_eq!(first.processed, 3);
}
