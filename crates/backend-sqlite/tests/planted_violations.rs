//! The audit finds what it is for: each store here is sound but for one thing, planted past the
//! store, and the audit names what that breaks and nothing else.
#![allow(clippy::unwrap_used)]

mod planted;

use ff_core::placement::Placement;
use ff_core::record::{AttemptEnd, EndReason};
use ff_core::resource::Body;
use ff_core::{LeaseId, RequestId, ResourceKind, Time};
use ff_store::audit::Rule;
use planted::{Garden, stranger};

/// One test per plant, and the list of the rules that have one.
macro_rules! plants {
    ($($name:ident: $($rule:ident),+ => $plant:expr;)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                let garden = Garden::grow().await;
                let plant: fn(&Garden) = $plant;
                plant(&garden);
                assert_eq!(garden.broken_rules().await, [$(Rule::$rule),+]);
            }
        )+

        const PLANTED: &[&[Rule]] = &[$(&[$(Rule::$rule),+]),+];
    };
}

#[tokio::test]
async fn a_sound_store_is_found_sound() {
    let garden = Garden::grow().await;
    assert_eq!(garden.broken_rules().await, []);
}

#[test]
fn every_rule_has_a_plant() {
    let planted = PLANTED.concat();
    let missing: Vec<_> = Rule::ALL.iter().filter(|rule| !planted.contains(rule)).collect();
    assert_eq!(missing, Vec::<&Rule>::new());
}

plants! {
    a_record_that_cannot_be_read_is_found: Readable => |garden| {
        let sql = "INSERT INTO execution (id, version, record) VALUES (?1, 1, x'01ff')";
        garden.execute(sql, [stranger().as_bytes()]);
    };
    a_record_of_an_unknown_format_is_found: Readable => |garden| {
        let sql = "INSERT INTO execution (id, version, record) VALUES (?1, 1, x'7f')";
        garden.execute(sql, [stranger().as_bytes()]);
    };
    an_index_entry_of_no_execution_id_is_found: Readable => |garden| {
        garden.execute("INSERT INTO timer (due, id) VALUES (1, x'00')", ());
    };
    a_name_outside_its_alphabet_is_found: Readable => |garden| {
        let sql = "INSERT INTO list (namespace, created, id) VALUES ('a b', 1, ?1)";
        garden.execute(sql, [garden.queued.as_bytes()]);
    };

    a_record_whose_place_is_not_that_of_its_priority_is_found: Placed => |garden| {
        garden.alter(garden.queued, |record| record.priority += 1);
    };
    a_record_whose_timer_is_not_that_of_its_state_is_found: Placed => |garden| {
        garden.alter(garden.delayed, |record| record.placed.timer = Some(Time::from_ms(7)));
        garden.execute("UPDATE timer SET due = 7 WHERE id = ?1", [garden.delayed.as_bytes()]);
    };

    // What nothing leads to cannot have the entries of its state: it breaks two rules at once.
    unfinished_work_that_nothing_leads_to_is_found: Placed, Reachable => |garden| {
        garden.delete("queue", garden.queued);
        garden.alter(garden.queued, |record| record.placed = Placement::default());
    };

    claimable_work_that_is_in_no_queue_is_found: EntryThere => |garden| {
        garden.delete("queue", garden.queued);
    };
    a_lost_timer_is_found: EntryThere => |garden| {
        garden.delete("timer", garden.delayed);
    };
    a_claim_that_cannot_be_answered_again_is_found: EntryThere => |garden| {
        garden.delete("request", garden.active);
    };
    an_execution_that_is_not_listed_is_found: EntryThere => |garden| {
        garden.delete("list", garden.queued);
    };
    a_failure_that_nobody_is_told_of_is_found: EntryThere => |garden| {
        garden.delete("attention", garden.failed);
    };
    a_lost_idempotency_key_is_found: EntryThere => |garden| {
        garden.delete("idempotency_key", garden.completed);
    };

    finished_work_that_is_still_queued_is_found: EntryOwned => |garden| {
        let sql = "INSERT INTO queue (namespace, lane, class, score, id) \
                   VALUES ('default', 'default', '', 1, ?1)";
        garden.execute(sql, [garden.completed.as_bytes()]);
    };
    a_second_place_in_the_queue_is_found: EntryOwned => |garden| {
        let sql = "INSERT INTO queue (namespace, lane, class, score, id) \
                   SELECT namespace, lane, class, score + 1, id FROM queue WHERE id = ?1";
        garden.execute(sql, [garden.queued.as_bytes()]);
    };
    a_timer_of_an_execution_that_is_gone_is_found: EntryOwned => |garden| {
        let sql = "INSERT INTO timer (due, id) VALUES (1, ?1)";
        garden.execute(sql, [stranger().as_bytes()]);
    };
    a_claim_that_holds_nothing_is_found: EntryOwned => |garden| {
        let sql = "INSERT INTO request (request, id) VALUES (zeroblob(16), ?1)";
        garden.execute(sql, [garden.completed.as_bytes()]);
    };
    a_second_place_in_the_listing_is_found: EntryOwned => |garden| {
        let sql = "INSERT INTO list (namespace, created, id) VALUES ('default', 1, ?1)";
        garden.execute(sql, [garden.queued.as_bytes()]);
    };
    attention_for_work_that_did_not_fail_is_found: EntryOwned => |garden| {
        let sql = "INSERT INTO attention (namespace, attention, created, id) \
                   VALUES ('default', 'failed', 1, ?1)";
        garden.execute(sql, [garden.completed.as_bytes()]);
    };
    a_key_of_an_execution_that_is_gone_is_found: EntryOwned => |garden| {
        let sql = "INSERT INTO idempotency_key (namespace, key, id) VALUES ('default', 'k', ?1)";
        garden.execute(sql, [stranger().as_bytes()]);
    };

    a_class_with_queued_work_that_is_not_registered_is_found: ClassRegistered => |garden| {
        garden.execute("DELETE FROM class", ());
    };
    a_registered_class_without_queued_work_is_found: ClassRegistered => |garden| {
        garden.execute("INSERT INTO class (namespace, lane, class) VALUES ('n', 'l', 'c')", ());
    };

    a_lost_input_is_found: PayloadThere => |garden| {
        garden.delete("blob", garden.queued);
    };
    a_lost_result_is_found: PayloadThere => |garden| {
        let sql = "DELETE FROM blob WHERE id = ?1 AND part = 0";
        garden.execute(sql, [garden.completed.as_bytes()]);
    };
    the_lost_result_of_an_earlier_run_is_found: PayloadThere => |garden| {
        let sql = "DELETE FROM blob WHERE id = ?1 AND part = 0";
        garden.execute(sql, [garden.replayed.as_bytes()]);
    };
    a_payload_of_another_length_is_found: PayloadThere => |garden| {
        let sql = "UPDATE blob SET bytes = x'00' WHERE id = ?1 AND part = -1";
        garden.execute(sql, [garden.completed.as_bytes()]);
    };

    a_payload_of_an_execution_that_is_gone_is_found: PayloadOwned => |garden| {
        let sql = "INSERT INTO blob (id, part, bytes) VALUES (?1, -1, x'00')";
        garden.execute(sql, [stranger().as_bytes()]);
    };
    a_result_of_work_that_has_not_ended_is_found: PayloadOwned => |garden| {
        let sql = "INSERT INTO blob (id, part, bytes) VALUES (?1, 0, x'00')";
        garden.execute(sql, [garden.active.as_bytes()]);
    };

    a_lost_attempt_is_found: AttemptsInOrder => |garden| {
        garden.delete("attempt", garden.failed);
    };
    an_earlier_attempt_that_was_never_made_is_found: AttemptsInOrder => |garden| {
        let mut attempt = garden.past_attempt(garden.failed);
        attempt.number = 9;
        garden.insert_attempt(garden.failed, &attempt);
    };
    an_attempt_of_an_execution_that_is_gone_is_found: AttemptsInOrder => |garden| {
        let attempt = garden.past_attempt(garden.failed);
        garden.insert_attempt(stranger(), &attempt);
    };

    an_earlier_attempt_that_has_not_ended_is_found: AttemptsEnded => |garden| {
        let mut attempt = garden.past_attempt(garden.failed);
        attempt.end = None;
        garden.insert_attempt(garden.failed, &attempt);
    };
    a_finished_execution_whose_attempt_goes_on_is_found: AttemptsEnded => |garden| {
        garden.alter(garden.completed, |record| record.attempt.as_mut().unwrap().end = None);
    };
    a_held_execution_whose_attempt_has_ended_is_found: AttemptsEnded => |garden| {
        let end = AttemptEnd { at: Time::from_ms(1), reason: EndReason::LeaseLost };
        garden.alter(garden.active, |record| record.attempt.as_mut().unwrap().end = Some(end));
    };

    an_attempt_of_another_lease_is_found: LeaseMatches => |garden| {
        garden.alter(garden.active, |record| {
            let lease = LeaseId { request: RequestId::new(1), index: 0 };
            record.attempt.as_mut().unwrap().lease = lease;
        });
    };
    held_work_without_an_attempt_is_found: LeaseMatches => |garden| {
        garden.alter(garden.active, |record| record.attempt = None);
    };
    a_lease_that_is_not_the_newest_is_found: LeaseMatches => |garden| {
        garden.alter(garden.active, |record| record.epoch += 1);
    };

    a_timer_of_a_worker_that_is_not_its_own_is_found: ResourceThere, ResourceOwned => |garden| {
        garden.execute("UPDATE resource SET due = due + 1 WHERE kind = 'worker'", ());
    };
    a_worker_without_its_timer_is_found: ResourceThere => |garden| {
        garden.execute("UPDATE resource SET due = NULL WHERE kind = 'worker'", ());
    };

    a_place_of_a_quota_that_nobody_holds_is_found: Counted => |garden| {
        garden.alter_resource(ResourceKind::Quota, |body| {
            let Body::Quota(quota) = body else { panic!("{body:?}") };
            quota.active += 1;
        });
    };
    a_reservation_that_nobody_holds_is_found: Counted => |garden| {
        garden.alter_resource(ResourceKind::Budget, |body| {
            let Body::Budget(budget) = body else { panic!("{body:?}") };
            budget.reserve(&planted::estimate());
        });
    };
    a_quota_and_a_budget_whose_ticket_is_lost_are_found: Counted, Counted => |garden| {
        garden.execute("DELETE FROM resource WHERE kind = 'ticket'", ());
    };

    a_run_that_follows_none_is_found: RunsInOrder => |garden| {
        garden.alter(garden.queued, |record| record.run.number = 1);
    };
    a_forgotten_run_is_found: RunsInOrder => |garden| {
        garden.alter(garden.replayed, |record| record.run.number = 2);
    };
}
