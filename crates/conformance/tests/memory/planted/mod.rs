//! The exam and the histories are themselves tested: each planted bug must be caught.

mod admission;
mod bug;
mod events;
mod store;
mod suspend;

use std::sync::Arc;

use bug::Bug;
use ff_backend_memory::MemoryStore;
use ff_conformance::{Making, Options, Subject, histories, sit};
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{Assignment, ClaimRequest, Complete, RecordStep, Submit, Target};
use ff_core::quota::QuotaLimits;
use ff_core::state::Worker;
use ff_core::{
    Capabilities, ExecutionId, Lane, Millis, Namespace, Partition, Payload, PublicState,
    ResourceName,
};
use ff_store::audit::{Rule, audit};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, LimitsBackend, MaintenanceBackend, StoreError, WorkerBackend, mint};
use ff_testkit::{Forwarding, ManualClock};
use store::Planted;

async fn planted(bug: Bug) -> Subject {
    let clock = ManualClock::default();
    let partitions = match bug {
        Bug::TimersAreReadAtHome | Bug::FeedsAreNotSpread => 4,
        _ => 1,
    };
    let store = MemoryStore::serial(Arc::new(clock.clone())).with_partitions(partitions);
    Subject::new(Planted::new(store, bug), clock)
}

/// A store with a bug, and a quota on it that one execution at a time may use.
async fn one_at_a_time(bug: Bug) -> (Engine<Forwarding<Planted>>, ExecutionLimits) {
    let store = MemoryStore::serial(Arc::new(ManualClock::default()));
    let backend = Engine::new(Planted::new(store, bug));
    let quota: ResourceName = "api".parse().unwrap();
    let limits = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(1),
        max_active: Some(1),
        jitter: Millis::ZERO,
    };
    backend.put_quota(&Namespace::default(), &quota, limits).await.unwrap();
    (backend, ExecutionLimits { quotas: [quota].into(), ..ExecutionLimits::default() })
}

async fn submit(
    backend: &Engine<Forwarding<Planted>>,
    limits: &ExecutionLimits,
    kind: &str,
) -> ExecutionId {
    let id = mint::execution_id(Partition::ONLY);
    let kind = kind.parse().unwrap();
    let submit = Submit { kind, limits: limits.clone(), ..Submit::new(id) };
    backend.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    id
}

async fn claim(backend: &Engine<Forwarding<Planted>>) -> Result<Option<Assignment>, StoreError> {
    let claim = ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    };
    Ok(backend.claim(claim, Millis::ZERO).await?.assignments.pop())
}

/// Nothing is dispatched without its admission, and nothing is lost.
#[tokio::test]
async fn a_claim_whose_admission_fails_dispatches_nothing() {
    let (backend, limits) = one_at_a_time(Bug::AdmissionsFail).await;
    let id = submit(&backend, &limits, "task").await;
    assert!(claim(&backend).await.is_err());
    let namespace = Namespace::default();
    let quota = limits.quotas.first().unwrap();
    assert_eq!(backend.quota(&namespace, quota).await.unwrap().active, 0);
    let target = Target { namespace, execution: id };
    let state = backend.describe(&target).await.unwrap().public_state();
    assert_eq!(state, PublicState::Waiting);
}

/// Two executions wait behind one that cannot be read; both get the slot in turn.
async fn damage_affects_only_itself(bug: Bug) {
    let (backend, limits) = one_at_a_time(bug).await;
    submit(&backend, &limits, "task").await;
    let mut held = claim(&backend).await.unwrap().unwrap();
    submit(&backend, &limits, "damaged").await;
    let behind = [submit(&backend, &limits, "task").await, submit(&backend, &limits, "task").await];
    assert!(claim(&backend).await.unwrap().is_none(), "the others wait");
    for id in behind {
        let complete = Complete { hold: held.hold(), result: Payload::bytes("done") };
        backend.complete(vec![complete]).await.unwrap().remove(0).unwrap();
        backend.drain().await;
        let next = claim(&backend).await.unwrap();
        assert!(next.is_some(), "the slot reaches work that can be read");
        held = next.unwrap();
        assert_eq!(held.execution, id);
    }
}

#[tokio::test]
async fn an_unreadable_waiter_does_not_end_the_pass() {
    damage_affects_only_itself(Bug::RecordsAreDamaged).await;
}

#[tokio::test]
#[should_panic(expected = "the slot reaches work that can be read")]
async fn an_unreadable_waiter_that_ends_the_pass_is_caught() {
    damage_affects_only_itself(Bug::DamageEndsThePass).await;
}

/// The record says that entries are visible, and nothing counts them.
#[tokio::test]
async fn a_journal_that_shows_what_is_not_there_is_found() {
    let (backend, _) = one_at_a_time(Bug::EntriesAreLost).await;
    submit(&backend, &ExecutionLimits::default(), "task").await;
    let held = claim(&backend).await.unwrap().unwrap();
    let name = "charge".parse().unwrap();
    let step = RecordStep { hold: held.hold(), name, result: Payload::bytes("paid") };
    backend.record_step(step).await.unwrap();
    let report = audit(backend.rows().await.unwrap()).await.unwrap();
    let rules: Vec<_> = report.violations.iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, [Rule::JournalVisible]);
}

/// One test for each bug that random histories catch, which must print the seed.
macro_rules! caught_by_histories {
    ($($test:ident: $bug:ident),+ $(,)?) => {
        mod caught_by_histories {
            use super::*;

            $(#[test]
            #[should_panic(expected = "FF_SEED=")]
            fn $test() {
                fn subject() -> Making {
                    Box::pin(planted(Bug::$bug))
                }
                histories("planted", subject, Options { count: Some(20_000), ..Options::default() });
            })+
        }
    };
}

caught_by_histories!(
    a_forgotten_retry: RetryIsForgotten,
    an_ignored_namespace: NamespaceIsIgnored,
    a_fence_that_is_only_an_epoch: EpochIsEnough,
    lost_ticks: TicksAreLost,
    a_claim_that_takes_more: ClaimsTakeMore,
    bytes_taken_for_text: BytesAreText,
    an_entry_left_behind: EntryIsLeft,
    a_listing_that_skips_equal_times: EqualTimesAreSkipped,
    a_hidden_timer: LastTimerIsHidden,
    a_skipped_attempt: AttemptIsSkipped,
    a_grant_of_a_paused_lane: PausedLanesGrant,
    a_drain_that_refuses_repeats: DrainsRefuseRepeats,
    defaults_that_reach_nothing: DefaultsAreIgnored,
    defaults_that_overrule: DefaultsOverrule,
    a_duplicate_process: DuplicatesAreAccepted,
    a_silence_that_needs_its_timer: SilenceNeedsItsTimer,
    a_silence_that_is_not_seen: SilenceIsNotSeen,
    a_registration_without_a_timer: RegistrationsHaveNoTimer,
    a_stranger_that_disconnects: AnyProcessDisconnects,
    a_list_of_every_namespace: ListsAreShared,
    a_page_that_skips_one: PagesSkipOne,
    a_wrong_place_in_the_queue: QueueIsIgnored,
    a_lost_settlement: SettlementsAreLost,
    usage_that_is_charged_twice: UsageIsChargedTwice,
    a_settlement_of_another_ticket: AnyIdSettles,
    a_used_up_budget_that_admits: BudgetsAreIgnored,
    an_estimate_that_is_not_reserved: EstimatesAreIgnored,
    a_quota_that_forgets: StartsAreForgotten,
    a_window_that_is_too_wide: WindowsAdmitOneMore,
    a_rate_without_a_timer: RatesHaveNoTimer,
    waiters_in_the_wrong_order: LastWaitersComeFirst,
    a_waiter_released_for_something_else: AnythingUnblocks,
    repeated_usage_that_counts: RepeatedUsageCounts,
    a_release_that_is_added: ReleasesAreAdded,
    a_quota_of_every_namespace: QuotasAreShared,
    an_admission_without_end: AdmissionsNeverExpire,
    a_shared_admission: AdmissionsAreShared,
    a_period_that_never_ends: PeriodsNeverEnd,
    a_ticket_without_a_timer: TicketsHaveNoTimer,
    a_start_that_is_not_returned: UnusedStartsStay,
    a_follower_left_behind: FollowersKeepTheirPlace,
    a_timer_that_is_read_at_home_alone: TimersAreReadAtHome,
    a_step_of_a_stale_holder: AnyHolderRecords,
    a_replay_that_hides_nothing: ReplaysKeepAll,
    a_sleep_that_is_forgotten: SleepsAreForgotten,
    a_step_that_is_recorded_twice: RepeatedStepsCount,
    a_suspension_without_end: TimeoutsAreLost,
    a_signal_that_came_early_and_is_lost: EarlySignalsAreLost,
    a_waitpoint_that_never_expires: WaitpointsStayOpen,
    a_signal_that_counts_twice: RepeatedSignalsCount,
    a_source_that_is_forged: SourcesAreForged,
    a_frame_of_a_stale_holder: AnyHolderStreams,
    a_frame_that_is_appended_twice: RepeatedFramesCount,
    a_stream_with_a_gap: GapsAreAccepted,
    a_frame_taken_for_text: FramesAreText,
    a_stream_without_a_bound: StreamsAreNotTrimmed,
    a_patch_that_is_applied_twice: RepeatedPatchesCount,
    events_without_who_acted: EventsLackActors,
    a_report_of_another_turn: AnyTurnReports,
    a_report_that_counts_twice: RepeatedReportsCount,
);

/// One test for each bug that a fact catches.
macro_rules! caught_by_facts {
    ($($test:ident: $bug:ident, $fact:literal),+ $(,)?) => {
        mod caught_by_facts {
            use super::*;

            $(#[test]
            #[should_panic]
            fn $test() {
                fn subject() -> Making {
                    Box::pin(planted(Bug::$bug))
                }
                sit($fact, subject);
            })+
        }
    };
}

caught_by_facts!(
    a_forgotten_retry: RetryIsForgotten,
        "claim::a_retried_claim_finds_the_same_leases_and_takes_no_more",
    an_ignored_namespace: NamespaceIsIgnored,
        "namespace::an_execution_of_another_namespace_is_not_found",
    a_fence_that_is_only_an_epoch: EpochIsEnough,
        "lease::a_fence_that_differs_in_any_part_is_refused",
    lost_ticks: TicksAreLost, "lease::work_that_kills_its_workers_ends_failed",
    a_claim_that_takes_more: ClaimsTakeMore, "claim::a_claim_takes_at_most_its_max",
    bytes_taken_for_text: BytesAreText, "payload::inputs_come_out_as_they_went_in",
    an_entry_left_behind: EntryIsLeft, "capability::an_incapable_worker_changes_nothing",
    a_listing_that_skips_equal_times: EqualTimesAreSkipped,
        "listing::pages_of_one_millisecond_neither_skip_nor_repeat",
    a_hidden_timer: LastTimerIsHidden, "tick::the_earliest_timer_comes_first",
    a_skipped_attempt: AttemptIsSkipped, "attempts::attempts_are_read_in_pages",
    lost_announcements: NothingIsAnnounced, "wakeup::a_claim_racing_a_submit_does_not_miss_it",
    ends_that_nobody_hears_of: NothingIsAnnounced, "wait::every_end_is_heard_of",
    a_grant_of_a_paused_lane: PausedLanesGrant, "lane::a_paused_lane_grants_no_work",
    a_drain_that_refuses_repeats: DrainsRefuseRepeats,
        "lane::a_draining_lane_recognises_repeated_submits",
    defaults_that_reach_nothing: DefaultsAreIgnored,
        "lane_defaults::defaults_hold_for_every_submit",
    defaults_that_overrule: DefaultsOverrule,
        "lane_defaults::a_submit_overrides_its_lane",
    a_duplicate_process: DuplicatesAreAccepted,
        "worker::another_process_cannot_take_the_place_of_a_live_one",
    a_silence_that_needs_its_timer: SilenceNeedsItsTimer,
        "worker::a_silent_worker_is_replaced_at_once",
    a_silence_that_is_not_seen: SilenceIsNotSeen, "explain::a_silent_worker_does_not_count",
    a_registration_without_a_timer: RegistrationsHaveNoTimer,
        "worker::a_silent_worker_is_removed_by_time_alone",
    a_stranger_that_disconnects: AnyProcessDisconnects,
        "worker::a_worker_cannot_end_another_registration",
    a_list_of_every_namespace: ListsAreShared,
        "worker::a_worker_shows_in_its_own_namespace_alone",
    a_page_that_skips_one: PagesSkipOne, "worker::workers_are_listed_in_order_and_in_pages",
    a_wrong_place_in_the_queue: QueueIsIgnored,
        "explain::queued_work_knows_how_many_come_before_it",
    a_lost_settlement: SettlementsAreLost, "quota::a_slot_is_freed_however_work_stops",
    usage_that_is_charged_twice: UsageIsChargedTwice,
        "budget::usage_is_charged_to_every_budget_of_the_execution",
    a_settlement_of_another_ticket: AnyIdSettles,
        "admission::a_settlement_takes_nothing_from_a_later_admission",
    a_used_up_budget_that_admits: BudgetsAreIgnored, "budget::a_full_budget_admits_nothing_new",
    an_estimate_that_is_not_reserved: EstimatesAreIgnored,
        "budget::an_estimate_is_reserved_and_settled",
    a_quota_that_forgets: StartsAreForgotten, "quota::a_later_claim_sees_earlier_starts",
    a_window_that_is_too_wide: WindowsAdmitOneMore, "quota::no_window_admits_too_many",
    a_rate_without_a_timer: RatesHaveNoTimer, "quota::a_waiter_starts_when_the_rate_allows",
    waiters_in_the_wrong_order: LastWaitersComeFirst, "quota::a_slot_is_freed_however_work_stops",
    a_waiter_released_for_something_else: AnythingUnblocks,
        "quota::an_execution_that_waits_for_another_limit_stays_blocked",
    repeated_usage_that_counts: RepeatedUsageCounts,
        "budget::the_same_report_again_changes_nothing",
    a_release_that_is_added: ReleasesAreAdded, "budget::what_was_reported_can_be_taken_back",
    a_quota_of_every_namespace: QuotasAreShared,
        "quota::quotas_of_one_namespace_are_not_those_of_another",
    an_admission_without_end: AdmissionsNeverExpire,
        "admission::an_admission_is_not_used_past_its_ttl",
    a_shared_admission: AdmissionsAreShared,
        "admission::an_admission_is_known_only_to_its_caller",
    a_period_that_never_ends: PeriodsNeverEnd, "budget::a_budget_resets_at_the_end_of_its_period",
    a_settlement_dropped_on_disconnect: SettlementsAreLeft,
        "release::a_dropped_call_loses_nothing",
    a_continuation_dropped_on_disconnect: ContinuationsAreLeft,
        "continuations::a_caller_that_goes_away_leaves_nothing_to_run",
    a_cursor_that_does_not_rotate: CursorsDoNotRotate,
        "release::every_limit_that_work_waits_for_is_listed_in_pages",
    a_release_that_ignores_capability: ReleasesIgnoreCapability,
        "release::a_free_slot_passes_work_that_no_worker_can_run",
    a_ticket_without_a_timer: TicketsHaveNoTimer,
        "admission::an_admission_is_not_used_past_its_ttl",
    a_follower_left_behind: FollowersKeepTheirPlace,
        "follow::another_execution_moves_in_the_same_write",
    a_timer_that_is_read_at_home_alone: TimersAreReadAtHome,
        "worker::the_timer_of_a_registration_is_acted_on_where_that_is",
    a_step_of_a_stale_holder: AnyHolderRecords, "steps::a_stale_holder_records_nothing",
    a_replay_that_hides_nothing: ReplaysKeepAll, "steps::a_replay_can_drop_the_journal",
    a_sleep_that_is_forgotten: SleepsAreForgotten,
        "sleep::the_tick_that_ends_a_sleep_writes_its_entry",
    a_step_that_is_recorded_twice: RepeatedStepsCount,
        "steps::a_step_whose_reply_was_lost_is_recorded_once",
    a_suspension_without_end: TimeoutsAreLost, "suspend::a_timeout_continues_it",
    a_signal_that_came_early_and_is_lost: EarlySignalsAreLost, "suspend::early_signals_count",
    a_waitpoint_that_never_expires: WaitpointsStayOpen, "waitpoint::one_that_expired_is_replaced",
    a_signal_that_counts_twice: RepeatedSignalsCount,
        "signal::a_lost_reply_of_the_signal_that_resumed_counts_once",
    a_source_that_is_forged: SourcesAreForged,
        "token::two_approvers_have_two_tokens_and_each_counts_once",
    a_token_that_fits_a_later_waitpoint: OldTokensFit,
        "token::a_token_of_an_earlier_suspension_does_not_fit_a_later_one",
    a_key_that_verifies_for_ever: KeysNeverRetire,
        "signing::every_replaced_key_verifies_until_its_own_grace_is_over",
    an_expired_token_that_is_accepted: EndedTokensAreAccepted,
        "named_tokens::a_token_expires_by_the_clock_of_the_store",
    a_revoked_token_that_is_accepted: RevokedTokensAreAccepted,
        "named_tokens::a_revoked_token_stays_revoked",
    a_token_of_every_namespace: ScopesAreIgnored,
        "named_tokens::a_token_is_accepted_for_what_it_was_made",
    a_frame_of_a_stale_holder: AnyHolderStreams, "streams::a_stale_holder_appends_nothing",
    a_frame_that_is_appended_twice: RepeatedFramesCount,
        "streams::a_repeated_append_adds_only_what_is_missing",
    a_stream_with_a_gap: GapsAreAccepted, "streams::frames_that_leave_a_gap_are_refused",
    a_frame_taken_for_text: FramesAreText,
        "streams::the_bytes_of_a_frame_come_out_as_they_went_in",
    a_stream_without_a_bound: StreamsAreNotTrimmed,
        "streams::the_oldest_frames_past_the_bound_are_trimmed",
    a_patch_that_is_applied_twice: RepeatedPatchesCount,
        "summary::a_repeated_patch_changes_nothing",
    a_late_event_that_is_skipped: LateEventsAreSkipped,
        "events::a_subscriber_misses_nothing_whatever_its_pages",
    events_of_another_namespace: EventsAreShared, "events::another_namespace_tells_nothing",
    an_expired_cursor_that_continues: ExpiryIsSilent,
        "feed::what_is_removed_between_two_pages_is_not_skipped_silently",
    a_cursor_that_expires_too_early: SeenIsExpired,
        "feed::old_events_are_removed_and_a_cursor_before_them_has_expired",
    a_full_page_that_ends_the_log: FullPagesEndTheLog,
        "events::a_subscriber_misses_nothing_whatever_its_pages",
    events_without_tags: EventsLackTags, "events::an_event_says_all_that_it_is_selected_by",
    events_whose_ids_change: EventIdsChange, "events::an_event_that_is_read_again_has_its_id",
    a_subscriber_that_begins_too_early: HeadsAreOld,
        "events::a_subscriber_begins_with_what_happens_from_now_on",
    events_that_are_kept: EventsAreKept, "feed::no_more_events_are_kept_than_the_feed_says",
    a_trim_that_takes_all: TrimsTakeAll,
        "feed::old_events_are_removed_and_a_cursor_before_them_has_expired",
    a_feed_that_is_not_spread: FeedsAreNotSpread,
        "events::commits_at_the_same_time_are_all_told",
    a_feed_whose_gap_is_forgotten: EpochsAreForgotten,
        "feed::a_cursor_ends_when_the_feed_was_off",
    a_feed_that_never_goes_off: FeedsHaveNoTimer, "feed::a_feed_that_nobody_reads_goes_off",
    events_without_who_acted: EventsLackActors, "actors::an_event_says_whose_act_it_was",
    events_without_who_signalled: EventsLackActors, "actors::an_event_says_whose_signal_it_was",
    a_report_of_another_turn: AnyTurnReports,
        "webhooks::one_turn_of_a_webhook_delivers_at_a_time",
    a_report_that_counts_twice: RepeatedReportsCount,
        "webhooks::a_webhook_moves_with_what_was_delivered_and_counts_it_once",
);
