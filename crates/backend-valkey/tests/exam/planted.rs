//! The exam is itself tested on Valkey: each bug that is planted into the library is caught by a
//! fact.

use std::panic::catch_unwind;

use ff_conformance::{Making, sit};

use crate::fixture::{self, Bug};

/// Sits a fact, which must not hold.
fn caught(fact: &str, make: fn() -> Making) {
    // A library that cannot be loaded would be caught by everything.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async { drop(make().await) });
    let Err(why) = catch_unwind(|| sit(fact, make)) else { panic!("the bug is not caught") };
    let why = why.downcast::<String>().map_or_else(|_| String::new(), |why| *why);
    assert!(!why.starts_with("there is no fact"), "{why}");
}

/// One test for each bug in a command that functions send the server. The Lua sees the command, its
/// key and its arguments, and may answer in place of the server.
macro_rules! wrong_commands {
    ($($test:ident: $fact:literal, $lua:literal;)+) => {
        mod wrong_commands {
            use super::*;

            $(#[test]
            fn $test() {
                fn subject() -> Making {
                    const PRELUDE: &str = concat!(
                        "wrap_call = function(call) return function(command, key, ...)\n",
                        "local arg = {...}\n",
                        $lua,
                        "\nreturn call(command, key, ...)\nend end\n"
                    );
                    let bug = Bug { prelude: PRELUDE, alter: &[] };
                    Box::pin(fixture::with_bug(stringify!($test), bug))
                }
                caught($fact, subject);
            })+
        }
    };
}

wrong_commands! {
    a_blocked_execution_is_in_no_lane:
        "backlog::what_is_blocked_is_counted_once_in_its_lane_whatever_it_waits_for",
        "if command == 'ZRANGE' and string.match(key, ':blocked:') then return {} end";
    a_claim_stays_known_after_its_exit: "exit::every_exit_cleans_up",
        "if command == 'ZREM' and string.match(key, 'requests$') then return 1 end";
    a_class_stays_registered: "capability::a_class_is_registered_while_it_has_something_queued",
        "if command == 'HDEL' and string.match(key, 'classes$') then return 1 end";
    a_class_is_not_registered: "capability::a_class_is_registered_while_it_has_something_queued",
        "if command == 'HSET' and string.match(key, 'classes$') then return 1 end";
    a_timer_is_late: "tick::timers_are_named_when_they_are_due_and_not_before",
        "if command == 'ZADD' and string.match(key, 'timer$') then
           return call(command, key, arg[1] + 1, arg[2])
         end";
    a_timer_stays: "cancel::unfinished_work_is_cancelled_in_every_state",
        "if command == 'ZADD' and string.match(key, 'timer$') then
           return call(command, key, 'NX', ...)
         end";
    an_earlier_attempt_is_lost: "attempts::attempts_are_numbered_from_zero_without_gaps",
        "if command == 'HSET' and string.match(key, ':c0$') then return 1 end";
    an_element_is_lost:
        "elements::elements_are_numbered_from_zero_in_the_order_of_their_writes",
        "if command == 'HSET' and string.match(key, ':c2$') then return 1 end";
    a_name_keeps_its_first_element: "elements::a_name_finds_the_newest_element_that_has_it",
        "if command == 'HGET' and string.match(..., '^=charge') then return '0' end";
    a_key_is_lost: "idempotency::the_same_key_and_body_finds_the_first_whatever_the_id",
        "if command == 'HSET' and string.match(key, ':keys:') then return 1 end";
    an_old_result_is_lost: "replay::old_results_stay_readable",
        "if command == 'SET' and string.match(key, ':out:') then return true end";
    a_payload_ends_at_its_first_nul: "payload::inputs_come_out_as_they_went_in",
        "if command == 'SET' and string.match(key, ':in$') then
           return call(command, key, string.match(arg[1], '^%Z*'))
         end";
    a_failure_stays_listed: "replay::a_replayed_failure_is_no_longer_listed_as_failed",
        "if command == 'ZREM' and string.match(key, ':failed$') then return 1 end";
    an_execution_is_not_listed: "listing::the_newest_come_first",
        "if command == 'ZADD' and string.match(key, ':list:') then return 1 end";
    a_frame_is_lost: "streams::frames_are_numbered_over_all_attempts",
        "if command == 'XADD' and arg[1] == '2-0' then return arg[1] end";
    a_stream_is_not_trimmed: "streams::the_oldest_frames_past_the_bound_are_trimmed",
        "if command == 'XTRIM' then return 0 end";
    a_read_of_frames_begins_after_its_number: "streams::a_stream_is_closed_when_the_record_says_so",
        "if command == 'XRANGE' and arg[1] ~= '-' and arg[2] == '+' then
           return call(command, key, '(' .. arg[1], arg[2], arg[3], arg[4])
         end";
    a_count_is_lost: "continuations::counters_are_read_as_they_were_counted",
        "if command == 'HSET' and string.match(key, ':tally$') then return 1 end";
    a_continuation_stays: "continuations::what_a_write_adds_runs_at_once_to_its_end",
        "if command == 'ZREM' and string.match(key, 'continuations$') then return 1 end";
    a_queue_is_not_found: "wakeup::without_announcements_polling_finds_the_best_work",
        "if command == 'SADD' and string.match(key, 'queues$') then return 1 end";
    a_namespace_is_not_registered: "audit::a_store_with_work_in_every_state_passes",
        "if command == 'SADD' and string.match(key, 'namespaces$') then return 1 end";
}

/// One test for each bug in a decision of a function: a replacement in its Lua.
macro_rules! wrong_decisions {
    ($($test:ident: $fact:literal, $old:literal => $new:literal;)+) => {
        mod wrong_decisions {
            use super::*;

            $(#[test]
            fn $test() {
                fn subject() -> Making {
                    let bug = Bug { prelude: "", alter: &[($old, $new)] };
                    Box::pin(fixture::with_bug(stringify!($test), bug))
                }
                caught($fact, subject);
            })+
        }
    };
}

wrong_decisions! {
    the_lease_is_not_compared: "lease::a_fence_that_differs_in_any_part_is_refused",
        "string.sub(bytes, C.FENCE_FROM, C.FENCE_TO) == fence" =>
        "string.sub(bytes, C.FENCE_FROM, C.FENCE_FROM + 9) == string.sub(fence, 1, 10)";
    the_namespace_is_not_compared: "namespace::an_execution_of_another_namespace_is_not_found",
        "ns ~= namespace or" => "";
    an_expired_lease_is_renewed: "lease::a_lease_ends_on_time_without_a_tick",
        "timer <= now" => "false";
    a_repeated_frame_is_added: "streams::a_repeated_append_adds_only_what_is_missing",
        "skip = first and last + 1 - first or 0" => "skip = 0";
    a_bound_in_bytes_is_ignored: "streams::the_oldest_bytes_past_the_bound_are_trimmed",
        "math.max(offset - keep_bytes, 0)" => "0";
    a_frame_has_no_attempt: "tail::a_viewer_reads_an_earlier_attempt_while_a_later_one_writes",
        "ff.frames.append(key, attempts - 1," => "ff.frames.append(key, 0,";
    a_passed_deadline_is_not_seen: "claim::work_whose_deadline_has_passed_is_not_dispatched",
        "(deadline ~= 0 and deadline <= now)" => "false";
    priorities_are_ignored: "claim::higher_priority_goes_first",
        "now - priority * C.PRIORITY_STEP" => "now";
    versions_are_not_compared: "tick::several_engines_act_once_on_each_timer",
        "string.sub(bytes, C.VERSION_FROM, C.VERSION_TO) == before and" => "";
    a_page_of_timers_skips_equal_times: "tick::pages_of_timers_neither_skip_nor_repeat",
        "ff.rank(key, after, after_member)" => "ff.rank(key, after, '~')";
    a_page_skips_equal_times: "listing::pages_of_one_millisecond_neither_skip_nor_repeat",
        "tonumber(created), after_id, true)" => "tonumber(created), '', true)";
    a_page_of_continuations_begins_again:
        "continuations::pages_of_continuations_neither_skip_nor_repeat",
        "continuation = {time = tonumber(args[5]), member = args[6]}" =>
        "continuation = {time = 0, member = ''}";
    a_removal_is_not_checked: "continuations::of_two_runners_one_finds_nothing",
        "call('ZSCORE', k.continuations, member) and {member} or nil" => "{member}";
    a_latch_is_never_released:
        "continuations::a_latch_is_released_once_however_many_count_it_down_together",
        "is_latched = is_latched or" => "is_latched = false and";
    a_latch_stays_at_zero:
        "continuations::a_latch_adds_its_continuation_only_when_it_is_brought_to_zero",
        "(call('HGET', key, all[i]) or 0) + all[i + 1]" =>
        "math.max(0, (call('HGET', key, all[i]) or 0) + all[i + 1])";
    an_absent_owner_is_counted_for:
        "continuations::what_belongs_to_a_removed_owner_ends_by_itself",
        "call('EXISTS', record) == 0" => "false";
    the_counters_of_a_removed_owner_stay:
        "continuations::what_belongs_to_a_removed_owner_ends_by_itself",
        "ff.key.input(record), ff.key.tally(record)" => "ff.key.input(record), record";
    retention_is_ignored: "exit::a_finished_execution_does_not_change",
        "ff.retired_at(until_at, retention) > now" => "false";
    a_claim_is_cut_too_late: "claim::a_claim_stops_at_a_mebibyte_of_input",
        "bytes > C.BATCH_BYTES" => "bytes > 2 * C.BATCH_BYTES";
    a_second_attempt_has_the_number_of_the_first:
        "attempts::attempts_are_numbered_from_zero_without_gaps",
        "ff.attempt.start(attempts, run" => "ff.attempt.start(0, run";
    the_defaults_of_a_lane_are_not_seen: "lane_defaults::defaults_hold_for_every_submit",
        "draining or defaults" => "draining";
    the_second_record_of_a_write_is_lost: "follow::another_execution_moves_in_the_same_write",
        "for i, change in ipairs(changes) do" => "for i, change in ipairs({changes[1]}) do";
    a_lane_takes_any_number_of_classes: "submit::a_lane_full_of_classes_takes_no_new_class",
        "CLASSES = 1024" => "CLASSES = 2048";
}
