//! The facts about lanes, which come after all others.

/// Calls a macro with `[args]`, the facts it is given, and those about lanes.
#[doc(hidden)]
#[macro_export]
macro_rules! facts_of_lanes {
    ([$($with:tt)+] [$($args:tt)*] $($facts:tt)*) => {
        $($with)+! { [$($args)*] $($facts)*
            lane {
                a_lane_of_which_nothing_was_said_is_open
                a_paused_lane_gives_no_work
                a_paused_lane_grants_no_work
                a_grant_of_a_paused_lane_cannot_be_used
                a_grant_that_expires_in_a_paused_lane_waits_there
                what_was_taken_before_a_pause_is_found_again
                a_paused_lane_without_work_withholds_nothing
                what_is_held_goes_on_in_a_paused_lane
                a_resumed_lane_gives_its_work_in_the_old_order
                an_order_is_about_one_lane_of_one_namespace
                time_goes_on_in_a_paused_lane
                work_that_returns_to_a_paused_lane_waits_there
                work_in_a_paused_lane_is_steered
                a_pause_holds_from_its_acknowledgement
                a_draining_lane_takes_no_new_work
                a_draining_lane_refuses_only_its_own_part_of_a_batch
                a_draining_lane_is_worked_off
                a_draining_lane_still_retries
                a_draining_lane_knows_what_it_was_given
                a_drain_holds_from_its_acknowledgement
                a_resumed_lane_takes_and_gives_work
                pausing_and_draining_are_said_apart
                the_same_said_again_changes_nothing
                what_is_said_of_an_open_lane_for_nothing_is_not_kept
                reason_and_moment_are_kept
                a_reason_over_the_limit_is_refused
                lanes_are_listed_in_order_and_in_pages
                an_order_whose_caller_dies_is_spread_by_time
                an_earlier_order_never_replaces_a_later_one
            }
            lane_limit {
                no_more_of_a_lane_run_at_once_than_may
                what_runs_when_a_limit_is_set_is_not_counted
                who_waits_for_a_lane_says_so
                a_place_in_a_lane_is_free_however_work_stops
                a_raised_limit_of_a_lane_lets_go_who_waits
                a_lowered_limit_of_a_lane_takes_nothing_away
                a_lane_without_its_limit_lets_all_go
                a_limit_that_returns_counts_what_it_admitted
                a_limit_of_a_lane_holds_for_grants
                a_reservation_that_nobody_used_frees_its_place
                a_limit_is_of_one_lane_of_one_namespace
                a_lane_and_a_quota_admit_all_or_none
                the_waiters_of_a_quota_keep_to_the_limit_of_their_lane
                a_limit_of_a_lane_keeps_the_order_of_its_work
                a_limit_goes_with_a_pause
                a_limit_holds_from_its_acknowledgement
                a_limit_whose_caller_dies_is_spread_by_time
                bad_limits_of_a_lane_are_refused
                the_quota_of_a_lane_is_nobody_elses
            }
            lane_defaults {
                what_a_submit_leaves_open_is_what_its_lane_says
                what_nobody_says_is_built_in
                what_a_submit_says_comes_before_its_lane
                defaults_hold_for_every_submit
                new_defaults_leave_earlier_work_alone
                a_lane_without_its_defaults_has_what_is_built_in
                the_same_submit_is_the_same_whatever_its_lane_says
                a_key_is_kept_though_its_lane_says_less
                a_deadline_of_a_lane_ends_its_work
                attempts_of_a_lane_are_counted
                a_lane_with_defaults_gives_its_work
                defaults_are_of_one_lane_of_one_namespace
                defaults_whose_caller_dies_are_spread_by_time
                bad_defaults_are_refused_by_name
            }
        }
    };
}
