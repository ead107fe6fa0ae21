//! The audit finds what it is for: each store here is sound but for one thing, planted past the
//! store, and the audit names what that breaks and nothing else. Repair puts right what a fault in a
//! function can leave, and leaves the rest alone.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod garden;
mod ground;
mod scene;

use std::collections::BTreeSet;

use ff_core::machine::{ClaimRequest, Submit};
use ff_core::{Lane, Millis};
use ff_store::audit::Rule;
use ff_store::{ClientBackend, MaintenanceBackend, Store, WorkerBackend};
use garden::{Garden, WORKER};
use tokio::time::timeout;

/// One test per plant: the rules that it breaks, and those that are still broken after repair.
macro_rules! plants {
    ($($name:ident: [$($rule:ident),+], then [$($left:ident),*] => $plant:expr;)+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let garden = Garden::grow().await;
                let plant: fn(&Garden) = $plant;
                plant(&garden);
                assert_eq!(garden.broken_rules().await, [$(Rule::$rule),+]);
                garden.process.store().repair().await.unwrap();
                let left: &[Rule] = &[$(Rule::$left),*];
                assert_eq!(garden.broken_rules().await, left);
            }
        )+
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sound_store_is_found_sound_and_left_alone() {
    let garden = Garden::grow().await;
    assert_eq!(garden.broken_rules().await, []);
    let before = scene::everything(&garden.process).await;
    let repaired = garden.process.store().repair().await.unwrap();
    assert_eq!(repaired.fixed(), 0, "{repaired:?}");
    assert!(repaired.examined >= 15, "{repaired:?}");
    scene::everything(&garden.process).await.assert_same(&before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_record_costs_itself_alone() {
    for damage in [&b"\x01damaged"[..], b"\x7f", &[1; 120]] {
        let garden = Garden::grow().await;
        let lane = Lane::new("queued").unwrap();
        let mut behind = BTreeSet::new();
        for _ in 0..3 {
            let submit = Submit { lane: lane.clone(), ..scene::work(&garden.process) };
            behind.insert(submit.id);
            garden.process.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        }
        let record = garden.record(&garden.queued, "");
        garden.order(&[b"SET", record.as_bytes(), damage]);
        for _ in 0..3 {
            let claim = ClaimRequest { lane: lane.clone(), ..scene::claim(2) };
            let claim = timeout(scene::PATIENCE, garden.process.claim(claim, Millis::ZERO));
            for taken in claim.await.expect("a claim comes to an end").unwrap().assignments {
                assert!(behind.remove(&taken.execution));
            }
        }
        assert_eq!(behind, BTreeSet::new(), "nobody came past {damage:?}");
    }
}

/// Of a tenant that nobody knows of, only the entries of a partition's own indexes are seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_is_not_registered_is_found() {
    let garden = Garden::grow().await;
    let before = scene::everything(&garden.process).await;
    garden.change(&["SREM", &garden.index("namespaces"), "default"]);
    let broken = garden.broken_rules().await;
    assert!(broken.contains(&Rule::EntryOwned), "{broken:?}");
    garden.process.store().repair().await.unwrap();
    scene::everything(&garden.process).await.assert_same(&before);
}

/// Something else in the place of a worker keeps nobody from being repaired.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_another_type_costs_itself_alone() {
    let garden = Garden::grow().await;
    let before = scene::everything(&garden.process).await;
    let good = garden.order(&["GET", &garden.worker()]);
    garden.order(&["DEL", &garden.worker()]);
    garden.order(&["RPUSH", &garden.worker(), "a list"]);
    garden.change(&["ZREM", &garden.index("timer"), &garden.delayed]);
    assert_eq!(garden.process.store().repair().await.unwrap().fixed(), 1);
    garden.order(&[b"SET", garden.worker().as_bytes(), good.bytes()]);
    scene::everything(&garden.process).await.assert_same(&before);
}

/// What time has to do to an execution is not forgotten because nobody can read it now.
#[tokio::test(flavor = "multi_thread")]
async fn the_timer_of_a_damaged_record_stays() {
    let garden = Garden::grow().await;
    let before = scene::everything(&garden.process).await;
    let record = garden.record(&garden.delayed, "");
    let good = garden.order(&["GET", &record]);
    garden.order(&["SET", &record, "damaged"]);
    let ids = before.records.iter().map(|record| record.id).collect();
    let ticked = garden.process.tick(ids).await.unwrap();
    assert_eq!(ticked.iter().filter(|answer| answer.is_err()).count(), 1, "{ticked:?}");
    garden.process.store().repair().await.unwrap();
    garden.order(&[b"SET", record.as_bytes(), good.bytes()]);
    scene::everything(&garden.process).await.assert_same(&before);
}

plants! {
    claimable_work_that_is_in_no_queue_is_found: [EntryThere], then [] => |garden| {
        garden.change(&["ZREM", &garden.queue("queued"), &garden.queued]);
    };
    work_in_an_earlier_place_is_found: [EntryThere, EntryOwned], then [] => |garden| {
        garden.order(&["ZADD", &garden.queue("queued"), "7", &garden.queued]);
    };
    a_lost_timer_is_found: [EntryThere], then [] => |garden| {
        garden.change(&["ZREM", &garden.index("timer"), &garden.delayed]);
    };
    a_claim_that_cannot_be_answered_again_is_found: [EntryThere], then [] => |garden| {
        garden.change(&["DEL", &garden.index("requests")]);
    };
    a_failure_that_nobody_is_told_of_is_found: [EntryThere], then [] => |garden| {
        garden.change(&["ZREM", &garden.index("attention:default:failed"), &garden.failed]);
    };
    a_lost_idempotency_key_is_found: [EntryThere], then [] => |garden| {
        garden.change(&["HDEL", &garden.index("keys:default"), "order-1"]);
    };
    // The audit finds records by their lists: of one that is not listed it sees the other entries.
    queued_work_that_is_not_listed_is_found: [EntryOwned], then [] => |garden| {
        garden.change(&["ZREM", &garden.index("list:default"), &garden.queued]);
    };
    finished_work_that_is_not_listed_is_found: [EntryOwned, EntryOwned], then [] => |garden| {
        garden.change(&["ZREM", &garden.index("list:default"), &garden.failed]);
    };
    a_queue_that_is_not_registered_is_found: [EntryThere], then [] => |garden| {
        garden.change(&["SREM", &garden.index("queues"), "default:queued"]);
    };

    a_lost_timer_of_a_worker_is_found: [ResourceThere], then [] => |garden| {
        garden.change(&["ZREM", &garden.index("resource_timers"), WORKER]);
    };
    a_worker_with_another_timer_is_found: [ResourceThere, ResourceOwned], then [] => |garden| {
        garden.order(&["ZADD", &garden.index("resource_timers"), "7", WORKER]);
    };
    // The audit finds resources by their list: of one that is not listed it sees the timer.
    a_worker_that_is_not_listed_is_found: [ResourceOwned], then [] => |garden| {
        garden.change(&["ZREM", &garden.index("resources"), WORKER]);
    };
    a_listed_worker_that_is_gone_is_found: [ResourceOwned], then [] => |garden| {
        garden.change(&["ZADD", &garden.index("resources"), "0", "worker:default:nobody"]);
    };
    a_timer_of_a_worker_that_is_gone_is_found: [ResourceOwned], then [] => |garden| {
        garden.change(&["ZADD", &garden.index("resource_timers"), "1", "worker:default:nobody"]);
    };
    a_damaged_worker_is_found: [Readable, ResourceOwned], then [Readable, ResourceOwned] =>
        |garden| drop(garden.order(&["SET", &garden.worker(), "damaged"]));

    a_timer_of_an_execution_that_is_gone_is_found: [EntryOwned], then [] => |garden| {
        garden.change(&["ZADD", &garden.index("timer"), "1", &garden.stranger()]);
    };
    a_timer_of_work_that_has_none_is_found: [EntryOwned], then [] => |garden| {
        garden.change(&["ZADD", &garden.index("timer"), "1", &garden.queued]);
    };
    finished_work_that_is_still_queued_is_found: [EntryOwned], then [] => |garden| {
        garden.change(&["ZADD", &garden.queue("queued"), "1", &garden.completed]);
    };
    a_claim_that_holds_nothing_is_found: [EntryOwned], then [] => |garden| {
        let member = format!("0123456789abcdef{}", garden.completed);
        garden.change(&["ZADD", &garden.index("requests"), "0", &member]);
    };
    attention_for_work_that_did_not_fail_is_found: [EntryOwned], then [] => |garden| {
        let failed = garden.index("attention:default:failed");
        garden.change(&["ZADD", &failed, "1", &garden.completed]);
    };
    a_key_of_an_execution_that_is_gone_is_found: [EntryOwned], then [] => |garden| {
        garden.change(&["HSET", &garden.index("keys:default"), "k", &garden.stranger()]);
    };
    a_listed_execution_that_is_gone_is_found: [EntryOwned], then [] => |garden| {
        garden.change(&["ZADD", &garden.index("list:default"), "1", &garden.stranger()]);
    };
    an_entry_that_names_no_execution_is_found: [Readable], then [] => |garden| {
        garden.change(&["ZADD", &garden.index("timer"), "1", "nonsense"]);
    };

    a_class_with_queued_work_that_is_not_registered_is_found: [ClassRegistered], then [] =>
        |garden| garden.change(&["DEL", &garden.classes("classed")]);
    a_registered_class_without_queued_work_is_found: [ClassRegistered], then [] => |garden| {
        garden.change(&["HSET", &garden.classes("classed"), "tpu", "tpu"]);
    };

    // Nobody can tell what these were. They stay as they are, and so does what belongs to them.
    a_damaged_record_is_found: [Readable, EntryOwned, EntryOwned],
        then [Readable, EntryOwned, EntryOwned] => |garden| {
        garden.order(&["SET", &garden.record(&garden.queued, ""), "\u{1}damaged"]);
    };
    a_record_of_an_unknown_format_is_found: [Readable, EntryOwned, EntryOwned],
        then [Readable, EntryOwned, EntryOwned] => |garden| {
        garden.order(&["SET", &garden.record(&garden.queued, ""), "\u{7f}"]);
    };
    a_lost_input_is_found: [PayloadThere], then [PayloadThere] => |garden| {
        garden.change(&["DEL", &garden.record(&garden.completed, ":in")]);
    };
    a_lost_result_is_found: [PayloadThere], then [PayloadThere] => |garden| {
        garden.change(&["DEL", &garden.record(&garden.completed, ":out:0")]);
    };
    the_lost_result_of_an_earlier_run_is_found: [PayloadThere], then [PayloadThere] => |garden| {
        garden.change(&["DEL", &garden.record(&garden.replayed, ":out:0")]);
    };
    a_payload_of_another_length_is_found: [PayloadThere], then [PayloadThere] => |garden| {
        garden.order(&["SET", &garden.record(&garden.completed, ":in"), "short"]);
    };
    a_lost_attempt_is_found: [AttemptsInOrder], then [AttemptsInOrder] => |garden| {
        garden.change(&["HDEL", &garden.record(&garden.failed, ":att"), "0"]);
    };
    a_damaged_attempt_is_found: [Readable, AttemptsInOrder], then [Readable, AttemptsInOrder] =>
        |garden| drop(garden.order(&["HSET", &garden.record(&garden.failed, ":att"), "0", "x"]));

    a_result_of_work_that_has_not_ended_is_found: [PayloadOwned], then [] => |garden| {
        garden.order(&["SET", &garden.record(&garden.active, ":out:0"), "early"]);
    };
    the_newest_attempt_beside_its_record_is_found: [AttemptsInOrder, AttemptsEnded], then [] =>
        |garden| {
            let first = garden.order(&["HGET", &garden.record(&garden.failed, ":att"), "0"]);
            let mut open = first.bytes().to_vec();
            // The time and the reason of its end, then its number.
            open[..7].fill(0);
            open[7..11].copy_from_slice(&1_u32.to_be_bytes());
            let key = garden.record(&garden.failed, ":att");
            let words = [b"HSET".to_vec(), key.into_bytes(), b"1".to_vec(), open];
            garden.change(&words);
        };
}
