//! The audit finds violations: each store here is sound but for one, planted past the
//! store, and the audit names what that breaks and nothing else.

use ff_core::flow::{Flow, Phase};
use ff_core::journal::Journal;
use ff_core::placement::Placement;
use ff_core::record::{AttemptEnd, EndReason};
use ff_core::resource::Body;
use ff_core::suspension::Waitpoint;
use ff_core::{LeaseId, RequestId, ResourceKind, Time, WaitpointId, WaitpointKey};
use ff_store::audit::Rule;

use crate::fixture::new_id;
use crate::planted::{Planted, estimate};

/// A journal of which these stretches are visible, as a store would read it.
fn journal(kept: &[(u64, u64)]) -> Journal {
    stored(kept, 0)
}

/// A task with two children.
fn parent() -> Box<Flow> {
    Box::new(Flow {
        phase: Phase::Running,
        graph: false,
        members: 2,
        size: 2,
        sealed: true,
        starting: false,
        wait: None,
    })
}

fn stored(kept: &[(u64, u64)], generation: u32) -> Journal {
    rmp_serde::from_slice(&rmp_serde::to_vec(&(kept, 101, generation)).unwrap()).unwrap()
}

/// One test per plant, and the list of the rules that have one.
macro_rules! plants {
    ($($name:ident: $($rule:ident),+ => $plant:expr;)+) => {
        $(
            #[tokio::test]
            async fn $name() {
                let planted = Planted::new().await;
                let plant: fn(&Planted) = $plant;
                plant(&planted);
                assert_eq!(planted.broken_rules().await, [$(Rule::$rule),+]);
            }
        )+

        const PLANTED: &[&[Rule]] = &[$(&[$(Rule::$rule),+]),+];
    };
}

#[tokio::test]
async fn a_sound_store_is_found_sound() {
    let planted = Planted::new().await;
    assert_eq!(planted.broken_rules().await, []);
}

#[test]
fn every_rule_has_a_plant() {
    let rules = PLANTED.concat();
    let missing: Vec<_> = Rule::ALL.iter().filter(|rule| !rules.contains(rule)).collect();
    assert_eq!(missing, Vec::<&Rule>::new());
}

plants! {
    a_record_that_cannot_be_read_is_found: Readable => |planted| {
        let sql = "INSERT INTO execution (id, version, record) VALUES (?1, 1, x'01ff')";
        planted.execute(sql, [new_id().as_bytes()]);
    };
    a_record_of_an_unknown_format_is_found: Readable => |planted| {
        let sql = "INSERT INTO execution (id, version, record) VALUES (?1, 1, x'7f')";
        planted.execute(sql, [new_id().as_bytes()]);
    };
    an_index_entry_of_no_execution_id_is_found: Readable => |planted| {
        planted.execute("INSERT INTO timer (due, id) VALUES (1, x'00')", ());
    };
    a_name_outside_its_alphabet_is_found: Readable => |planted| {
        let sql = "INSERT INTO list (namespace, created, id) VALUES ('a b', 1, ?1)";
        planted.execute(sql, [planted.queued.as_bytes()]);
    };

    a_record_whose_place_is_not_that_of_its_priority_is_found: Placed => |planted| {
        planted.alter(planted.queued, |record| record.priority += 1);
    };
    a_record_whose_timer_is_not_that_of_its_state_is_found: Placed => |planted| {
        planted.alter(planted.delayed, |record| record.placed.timer = Some(Time::from_ms(7)));
        planted.execute("UPDATE timer SET due = 7 WHERE id = ?1", [planted.delayed.as_bytes()]);
    };

    // A payload without a record cannot have the entries of its state: it breaks two rules at once.
    unfinished_work_that_nothing_leads_to_is_found: Placed, Reachable => |planted| {
        planted.delete("queue", planted.queued);
        planted.alter(planted.queued, |record| record.placed = Placement::default());
    };

    claimable_work_that_is_in_no_queue_is_found: EntryThere => |planted| {
        planted.delete("queue", planted.queued);
    };
    a_lost_timer_is_found: EntryThere => |planted| {
        planted.delete("timer", planted.delayed);
    };
    a_claim_that_cannot_be_answered_again_is_found: EntryThere => |planted| {
        planted.delete("request", planted.active);
    };
    an_execution_that_is_not_listed_is_found: EntryThere => |planted| {
        planted.delete("list", planted.queued);
    };
    a_failure_that_nobody_is_told_of_is_found: EntryThere => |planted| {
        planted.delete("attention", planted.failed);
    };
    a_lost_idempotency_key_is_found: EntryThere => |planted| {
        planted.delete("idempotency_key", planted.completed);
    };

    finished_work_that_is_still_queued_is_found: EntryOwned => |planted| {
        let sql = "INSERT INTO queue (namespace, lane, class, score, id) \
                   VALUES ('default', 'default', '', 1, ?1)";
        planted.execute(sql, [planted.completed.as_bytes()]);
    };
    a_second_place_in_the_queue_is_found: EntryOwned => |planted| {
        let sql = "INSERT INTO queue (namespace, lane, class, score, id) \
                   SELECT namespace, lane, class, score + 1, id FROM queue WHERE id = ?1";
        planted.execute(sql, [planted.queued.as_bytes()]);
    };
    a_timer_of_an_execution_that_is_gone_is_found: EntryOwned => |planted| {
        let sql = "INSERT INTO timer (due, id) VALUES (1, ?1)";
        planted.execute(sql, [new_id().as_bytes()]);
    };
    a_claim_that_holds_nothing_is_found: EntryOwned => |planted| {
        let sql = "INSERT INTO request (request, id) VALUES (zeroblob(16), ?1)";
        planted.execute(sql, [planted.completed.as_bytes()]);
    };
    a_second_place_in_the_listing_is_found: EntryOwned => |planted| {
        let sql = "INSERT INTO list (namespace, created, id) VALUES ('default', 1, ?1)";
        planted.execute(sql, [planted.queued.as_bytes()]);
    };
    attention_for_work_that_did_not_fail_is_found: EntryOwned => |planted| {
        let sql = "INSERT INTO attention (namespace, attention, created, id) \
                   VALUES ('default', 'failed', 1, ?1)";
        planted.execute(sql, [planted.completed.as_bytes()]);
    };
    a_key_of_an_execution_that_is_gone_is_found: EntryOwned => |planted| {
        let sql = "INSERT INTO idempotency_key (namespace, key, id) VALUES ('default', 'k', ?1)";
        planted.execute(sql, [new_id().as_bytes()]);
    };

    an_ended_execution_with_an_open_waitpoint_is_found: Waits => |planted| {
        let waitpoint = Waitpoint {
            id: WaitpointId::new(1),
            key: WaitpointKey::new("gate").unwrap(),
            until: None,
            signals: 0,
            of: None,
        };
        planted.alter(planted.completed, |record| record.waits.waitpoints.push(waitpoint));
    };

    a_journal_that_shows_what_is_not_counted_is_found: JournalVisible => |planted| {
        planted.alter(planted.active, |record| record.journal = journal(&[(0, 2)]));
    };
    a_journal_whose_stretches_overlap_is_found: JournalVisible => |planted| {
        planted.alter(planted.active, |record| record.journal = journal(&[(0, 1), (0, 1)]));
    };
    a_journal_with_an_empty_stretch_is_found: JournalVisible => |planted| {
        planted.alter(planted.active, |record| record.journal = journal(&[(1, 1)]));
    };
    a_journal_that_was_hidden_without_a_replay_is_found: JournalVisible => |planted| {
        planted.alter(planted.active, |record| record.journal = stored(&[(0, 1)], 1));
    };

    a_class_with_queued_work_that_is_not_registered_is_found: ClassRegistered => |planted| {
        planted.execute("DELETE FROM class", ());
    };
    a_registered_class_without_queued_work_is_found: ClassRegistered => |planted| {
        planted.execute("INSERT INTO class (namespace, lane, class) VALUES ('n', 'l', 'c')", ());
    };

    a_lost_input_is_found: PayloadThere => |planted| {
        planted.delete("blob", planted.queued);
    };
    a_lost_result_is_found: PayloadThere => |planted| {
        let sql = "DELETE FROM blob WHERE id = ?1 AND part = 0";
        planted.execute(sql, [planted.completed.as_bytes()]);
    };
    the_lost_result_of_an_earlier_run_is_found: PayloadThere => |planted| {
        let sql = "DELETE FROM blob WHERE id = ?1 AND part = 0";
        planted.execute(sql, [planted.replayed.as_bytes()]);
    };
    a_payload_of_another_length_is_found: PayloadThere => |planted| {
        let sql = "UPDATE blob SET bytes = x'00' WHERE id = ?1 AND part = -1";
        planted.execute(sql, [planted.completed.as_bytes()]);
    };

    a_payload_of_an_execution_that_is_gone_is_found: PayloadOwned => |planted| {
        let sql = "INSERT INTO blob (id, part, bytes) VALUES (?1, -1, x'00')";
        planted.execute(sql, [new_id().as_bytes()]);
    };
    a_result_of_work_that_has_not_ended_is_found: PayloadOwned => |planted| {
        let sql = "INSERT INTO blob (id, part, bytes) VALUES (?1, 0, x'00')";
        planted.execute(sql, [planted.active.as_bytes()]);
    };

    a_lost_attempt_is_found: ElementsInOrder => |planted| {
        planted.execute("DELETE FROM element WHERE owner = ?1", [planted.failed.as_bytes()]);
    };
    an_earlier_attempt_that_was_never_made_is_found: ElementsInOrder => |planted| {
        let mut attempt = planted.past_attempt(planted.failed);
        attempt.number = 9;
        planted.insert_attempt(planted.failed, &attempt);
    };
    an_attempt_of_an_execution_that_is_gone_is_found: ElementsInOrder => |planted| {
        let attempt = planted.past_attempt(planted.failed);
        planted.insert_attempt(new_id(), &attempt);
    };

    an_earlier_attempt_that_has_not_ended_is_found: AttemptsEnded => |planted| {
        let mut attempt = planted.past_attempt(planted.failed);
        attempt.end = None;
        planted.insert_attempt(planted.failed, &attempt);
    };
    a_finished_execution_whose_attempt_goes_on_is_found: AttemptsEnded => |planted| {
        planted.alter(planted.completed, |record| record.attempt.as_mut().unwrap().end = None);
    };
    a_held_execution_whose_attempt_has_ended_is_found: AttemptsEnded => |planted| {
        let end = AttemptEnd { at: Time::from_ms(1), reason: EndReason::LeaseLost };
        planted.alter(planted.active, |record| record.attempt.as_mut().unwrap().end = Some(end));
    };

    an_attempt_of_another_lease_is_found: LeaseMatches => |planted| {
        planted.alter(planted.active, |record| {
            let lease = LeaseId { request: RequestId::new(1), index: 0 };
            record.attempt.as_mut().unwrap().lease = lease;
        });
    };
    held_work_without_an_attempt_is_found: LeaseMatches => |planted| {
        planted.alter(planted.active, |record| record.attempt = None);
    };
    a_lease_that_is_not_the_newest_is_found: LeaseMatches => |planted| {
        planted.alter(planted.active, |record| record.epoch += 1);
    };

    a_timer_of_a_worker_that_is_not_its_own_is_found: ResourceThere, ResourceOwned => |planted| {
        planted.execute("UPDATE resource SET due = due + 1 WHERE kind = 'worker'", ());
    };
    a_worker_without_its_timer_is_found: ResourceThere => |planted| {
        planted.execute("UPDATE resource SET due = NULL WHERE kind = 'worker'", ());
    };

    a_place_of_a_quota_that_nobody_holds_is_found: Counted => |planted| {
        planted.alter_resource(ResourceKind::Quota, |body| {
            let Body::Quota(quota) = body else { panic!("{body:?}") };
            quota.active += 1;
        });
    };
    a_reservation_that_nobody_holds_is_found: Counted => |planted| {
        planted.alter_resource(ResourceKind::Budget, |body| {
            let Body::Budget(budget) = body else { panic!("{body:?}") };
            budget.reserve(&estimate());
        });
    };
    a_quota_and_a_budget_whose_ticket_is_lost_are_found: Counted, Counted => |planted| {
        planted.execute("DELETE FROM resource WHERE kind = 'ticket'", ());
    };

    something_that_is_no_continuation_is_found: Readable => |planted| {
        planted.execute("INSERT INTO continuation (what, due) VALUES (x'00', 1)", ());
    };
    a_counter_of_an_execution_that_is_gone_is_found: TallyOwned => |planted| {
        let sql = "INSERT INTO tally (owner, counter, value) VALUES (?1, 0, 3)";
        planted.execute(sql, [new_id().as_bytes()]);
    };
    a_counter_of_zero_is_found: TallyOwned => |planted| {
        let sql = "INSERT INTO tally (owner, counter, value) VALUES (?1, 0, 0)";
        planted.execute(sql, [planted.queued.as_bytes()]);
    };

    a_task_whose_children_are_lost_is_found: FlowCounted => |planted| {
        planted.alter(planted.active, |record| record.flow = Some(parent()));
    };
    a_flow_that_counts_something_else_is_found: FlowCounted => |planted| {
        planted.alter(planted.active, |record| {
            record.flow = Some(Box::new(Flow { members: 0, size: 0, ..*parent() }));
        });
        let sql = "INSERT INTO tally (owner, counter, value) VALUES (?1, 0, 3)";
        planted.execute(sql, [planted.active.as_bytes()]);
    };

    a_run_that_follows_none_is_found: RunsInOrder => |planted| {
        planted.alter(planted.queued, |record| record.run.number = 1);
    };
    a_forgotten_run_is_found: RunsInOrder => |planted| {
        planted.alter(planted.replayed, |record| record.run.number = 2);
    };
}
