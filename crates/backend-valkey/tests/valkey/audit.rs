//! The audit finds violations: each store here is sound but for one, planted past the
//! store, and the audit names what that breaks and nothing else. Repair fixes what a fault in a
//! function can leave, and leaves the rest alone.

use std::collections::BTreeSet;

use ff_core::limits::ExecutionLimits;
use ff_core::machine::{ClaimRequest, Submit};
use ff_core::{Lane, Millis, Namespace, ResourceName};
use ff_store::audit::Rule;
use ff_store::{ClientBackend, MaintenanceBackend, Store, WorkerBackend};
use tokio::time::timeout;

use crate::fixture::{self, Planted, WORKER};

/// One test per plant: the rules that it breaks, and those that are still broken after repair.
macro_rules! plants {
    ($($name:ident: [$($rule:ident),+], then [$($left:ident),*] => $plant:expr;)+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let planted = Planted::new().await;
                let plant: fn(&Planted) = $plant;
                plant(&planted);
                assert_eq!(planted.broken_rules().await, [$(Rule::$rule),+]);
                planted.process.store().repair().await.unwrap();
                let left: &[Rule] = &[$(Rule::$left),*];
                assert_eq!(planted.broken_rules().await, left);
            }
        )+
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_store_is_found_sound_and_left_alone() {
    let planted = Planted::new().await;
    assert_eq!(planted.broken_rules().await, []);
    let before = fixture::everything(&planted.process).await;
    let repaired = planted.process.store().repair().await.unwrap();
    assert_eq!(repaired.fixed(), 0, "{repaired:?}");
    assert!(repaired.examined >= 15, "{repaired:?}");
    fixture::everything(&planted.process).await.assert_same(&before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_affects_only_itself() {
    for damage in [&b"\x01damaged"[..], b"\x7f", &[1; 120]] {
        let planted = Planted::new().await;
        let lane = Lane::new("queued").unwrap();
        let mut behind = BTreeSet::new();
        for _ in 0..3 {
            let submit = Submit { lane: lane.clone(), ..fixture::work(&planted.process) };
            behind.insert(submit.id);
            planted.process.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        }
        let record = planted.record(&planted.queued, "");
        planted.order(&[b"SET", record.as_bytes(), damage]);
        for _ in 0..3 {
            let claim = ClaimRequest { lane: lane.clone(), ..fixture::claim(2) };
            let claim = timeout(fixture::TIMEOUT, planted.process.claim(claim, Millis::ZERO));
            for taken in claim.await.expect("a claim comes to an end").unwrap().assignments {
                assert!(behind.remove(&taken.execution));
            }
        }
        assert_eq!(behind, BTreeSet::new(), "no claim got past {damage:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_hides_no_blocked_execution_of_its_lane() {
    let planted = Planted::new().await;
    let (lane, process) = (Lane::new("limited").unwrap(), &planted.process);
    let quotas = [ResourceName::new("absent").unwrap()].into();
    let limits = ExecutionLimits { quotas, ..ExecutionLimits::default() };
    for _ in 0..3 {
        let (lane, limits) = (lane.clone(), limits.clone());
        let submit = Submit { lane, limits, ..fixture::work(process) };
        process.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    }
    let blocked = async || {
        let counted = process.backlog().await.unwrap().blocked_by_lane;
        counted.get(&(Namespace::default(), lane.clone())).copied()
    };
    fixture::until("all to be blocked", async || {
        let claim = ClaimRequest { lane: lane.clone(), ..fixture::claim(3) };
        assert_eq!(process.claim(claim, Millis::ZERO).await.unwrap().assignments, []);
        (blocked().await == Some(3)).then_some(())
    })
    .await;
    let names = planted.order(&["ZRANGE", &planted.index("blockers"), "0", "-1"]);
    let name = names.list().iter().map(ToString::to_string).find(|name| name.contains("absent"));
    let waiting = planted.index(&format!("blocked:{}", name.unwrap()));
    let first = planted.order(&["ZRANGE", &waiting, "0", "0"]).list()[0].to_string();
    planted.order(&["SET", &planted.record(&first, ""), "damaged"]);
    assert_eq!(blocked().await, Some(3));
}

/// Of an unregistered namespace, only the entries of a partition's indexes are seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_not_registered_is_found() {
    let planted = Planted::new().await;
    let before = fixture::everything(&planted.process).await;
    planted.change(&["SREM", &planted.index("namespaces"), "default"]);
    let broken = planted.broken_rules().await;
    assert!(broken.contains(&Rule::EntryOwned), "{broken:?}");
    planted.process.store().repair().await.unwrap();
    fixture::everything(&planted.process).await.assert_same(&before);
}

/// A key of another type in place of a worker keeps no other from being repaired.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_another_type_affects_only_itself() {
    let planted = Planted::new().await;
    let before = fixture::everything(&planted.process).await;
    let good = planted.order(&["GET", &planted.worker()]);
    planted.order(&["DEL", &planted.worker()]);
    planted.order(&["RPUSH", &planted.worker(), "a list"]);
    planted.change(&["ZREM", &planted.index("timer"), &planted.delayed]);
    assert_eq!(planted.process.store().repair().await.unwrap().fixed(), 1);
    planted.order(&[b"SET", planted.worker().as_bytes(), good.bytes()]);
    fixture::everything(&planted.process).await.assert_same(&before);
}

/// The timer of an execution is not removed because its record cannot be read now.
#[tokio::test(flavor = "multi_thread")]
async fn the_timer_of_a_damaged_record_stays() {
    let planted = Planted::new().await;
    let before = fixture::everything(&planted.process).await;
    let record = planted.record(&planted.delayed, "");
    let good = planted.order(&["GET", &record]);
    planted.order(&["SET", &record, "damaged"]);
    let ids = before.records.keys().copied().collect();
    let ticked = planted.process.tick(ids).await.unwrap();
    assert_eq!(ticked.iter().filter(|answer| answer.is_err()).count(), 1, "{ticked:?}");
    planted.process.store().repair().await.unwrap();
    planted.order(&[b"SET", record.as_bytes(), good.bytes()]);
    fixture::everything(&planted.process).await.assert_same(&before);
}

plants! {
    claimable_work_that_is_in_no_queue_is_found: [EntryThere], then [] => |planted| {
        planted.change(&["ZREM", &planted.queue("queued"), &planted.queued]);
    };
    work_in_an_earlier_place_is_found: [EntryThere, EntryOwned], then [] => |planted| {
        planted.order(&["ZADD", &planted.queue("queued"), "7", &planted.queued]);
    };
    a_lost_timer_is_found: [EntryThere], then [] => |planted| {
        planted.change(&["ZREM", &planted.index("timer"), &planted.delayed]);
    };
    a_claim_that_cannot_be_answered_again_is_found: [EntryThere], then [] => |planted| {
        planted.change(&["DEL", &planted.index("requests")]);
    };
    a_failure_that_nobody_is_told_of_is_found: [EntryThere], then [] => |planted| {
        planted.change(&["ZREM", &planted.index("attention:default:failed"), &planted.failed]);
    };
    a_lost_idempotency_key_is_found: [EntryThere], then [] => |planted| {
        planted.change(&["HDEL", &planted.index("keys:default"), "order-1"]);
    };
    // The audit finds records by their lists: of one that is not listed it sees the other entries.
    queued_work_that_is_not_listed_is_found: [EntryOwned], then [] => |planted| {
        planted.change(&["ZREM", &planted.index("list:default"), &planted.queued]);
    };
    finished_work_that_is_not_listed_is_found: [EntryOwned, EntryOwned], then [] => |planted| {
        planted.change(&["ZREM", &planted.index("list:default"), &planted.failed]);
    };
    a_queue_that_is_not_registered_is_found: [EntryThere], then [] => |planted| {
        planted.change(&["SREM", &planted.index("queues"), "default:queued"]);
    };

    a_lost_timer_of_a_worker_is_found: [ResourceThere], then [] => |planted| {
        planted.change(&["ZREM", &planted.index("resource_timers"), WORKER]);
    };
    a_worker_with_another_timer_is_found: [ResourceThere, ResourceOwned], then [] => |planted| {
        planted.order(&["ZADD", &planted.index("resource_timers"), "7", WORKER]);
    };
    // The audit finds resources by their list: of one that is not listed it sees the timer.
    a_worker_that_is_not_listed_is_found: [ResourceOwned], then [] => |planted| {
        planted.change(&["ZREM", &planted.index("resources"), WORKER]);
    };
    a_listed_worker_that_is_gone_is_found: [ResourceOwned], then [] => |planted| {
        planted.change(&["ZADD", &planted.index("resources"), "0", "worker:default:nobody"]);
    };
    a_timer_of_a_worker_that_is_gone_is_found: [ResourceOwned], then [] => |planted| {
        planted.change(&["ZADD", &planted.index("resource_timers"), "1", "worker:default:nobody"]);
    };
    a_damaged_worker_is_found: [Readable, ResourceOwned], then [Readable, ResourceOwned] =>
        |planted| drop(planted.order(&["SET", &planted.worker(), "damaged"]));

    a_timer_of_an_execution_that_is_gone_is_found: [EntryOwned], then [] => |planted| {
        planted.change(&["ZADD", &planted.index("timer"), "1", &planted.stranger()]);
    };
    a_timer_of_work_that_has_none_is_found: [EntryOwned], then [] => |planted| {
        planted.change(&["ZADD", &planted.index("timer"), "1", &planted.queued]);
    };
    finished_work_that_is_still_queued_is_found: [EntryOwned], then [] => |planted| {
        planted.change(&["ZADD", &planted.queue("queued"), "1", &planted.completed]);
    };
    a_claim_that_holds_nothing_is_found: [EntryOwned], then [] => |planted| {
        let member = format!("0123456789abcdef{}", planted.completed);
        planted.change(&["ZADD", &planted.index("requests"), "0", &member]);
    };
    attention_for_work_that_did_not_fail_is_found: [EntryOwned], then [] => |planted| {
        let failed = planted.index("attention:default:failed");
        planted.change(&["ZADD", &failed, "1", &planted.completed]);
    };
    a_key_of_an_execution_that_is_gone_is_found: [EntryOwned], then [] => |planted| {
        planted.change(&["HSET", &planted.index("keys:default"), "k", &planted.stranger()]);
    };
    a_listed_execution_that_is_gone_is_found: [EntryOwned], then [] => |planted| {
        planted.change(&["ZADD", &planted.index("list:default"), "1", &planted.stranger()]);
    };
    an_entry_that_names_no_execution_is_found: [Readable], then [] => |planted| {
        planted.change(&["ZADD", &planted.index("timer"), "1", "nonsense"]);
    };

    a_class_with_queued_work_that_is_not_registered_is_found: [ClassRegistered], then [] =>
        |planted| planted.change(&["DEL", &planted.classes("classed")]);
    a_registered_class_without_queued_work_is_found: [ClassRegistered], then [] => |planted| {
        planted.change(&["HSET", &planted.classes("classed"), "tpu", "tpu"]);
    };

    // What these were cannot be determined. They stay as they are, and so does what belongs to them.
    a_damaged_record_is_found: [Readable, EntryOwned, EntryOwned],
        then [Readable, EntryOwned, EntryOwned] => |planted| {
        planted.order(&["SET", &planted.record(&planted.queued, ""), "\u{1}damaged"]);
    };
    a_record_of_an_unknown_format_is_found: [Readable, EntryOwned, EntryOwned],
        then [Readable, EntryOwned, EntryOwned] => |planted| {
        planted.order(&["SET", &planted.record(&planted.queued, ""), "\u{7f}"]);
    };
    a_lost_input_is_found: [PayloadThere], then [PayloadThere] => |planted| {
        planted.change(&["DEL", &planted.record(&planted.completed, ":in")]);
    };
    a_lost_result_is_found: [PayloadThere], then [PayloadThere] => |planted| {
        planted.change(&["DEL", &planted.record(&planted.completed, ":out:0")]);
    };
    the_lost_result_of_an_earlier_run_is_found: [PayloadThere], then [PayloadThere] => |planted| {
        planted.change(&["DEL", &planted.record(&planted.replayed, ":out:0")]);
    };
    a_payload_of_another_length_is_found: [PayloadThere], then [PayloadThere] => |planted| {
        planted.order(&["SET", &planted.record(&planted.completed, ":in"), "short"]);
    };
    a_lost_attempt_is_found: [ElementsInOrder], then [ElementsInOrder] => |planted| {
        planted.change(&["HDEL", &planted.record(&planted.failed, ":c0"), "0"]);
    };
    a_damaged_attempt_is_found: [Readable, ElementsInOrder], then [Readable, ElementsInOrder] =>
        |planted| drop(planted.order(&["HSET", &planted.record(&planted.failed, ":c0"), "0", "x"]));

    // One stretch of one visible entry, and a journal of 101 bytes that no replay has hidden.
    a_journal_that_shows_what_is_not_counted_is_found: [JournalVisible], then [JournalVisible] =>
        |planted| {
            let key = planted.record(&planted.active, "");
            let mut record = planted.order(&["GET", &key]).bytes().to_vec();
            let journal = [0x93, 0x91, 0x92, 0, 1, 101, 0];
            let at = record.windows(journal.len()).position(|bytes| bytes == journal).unwrap();
            record[at + 4] = 2;
            planted.order(&[b"SET", key.as_bytes(), &record]);
        };

    a_result_of_work_that_has_not_ended_is_found: [PayloadOwned], then [] => |planted| {
        planted.order(&["SET", &planted.record(&planted.active, ":out:0"), "early"]);
    };
    the_newest_attempt_beside_its_record_is_found: [ElementsInOrder, AttemptsEnded], then [] =>
        |planted| {
            let first = planted.order(&["HGET", &planted.record(&planted.failed, ":c0"), "0"]);
            let mut open = first.bytes().to_vec();
            // The time and the reason of its end, then its number.
            open[..7].fill(0);
            open[7..11].copy_from_slice(&1_u32.to_be_bytes());
            let key = planted.record(&planted.failed, ":c0");
            let words = [b"HSET".to_vec(), key.into_bytes(), b"1".to_vec(), open];
            planted.change(&words);
        };
}
