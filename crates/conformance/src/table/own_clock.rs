//! The facts about stores that have a clock of their own, which may be set while they run. A store on
//! a server has the server's.

/// Calls a macro with `[args] module { fact fact .. }` for those facts.
#[doc(hidden)]
#[macro_export]
macro_rules! own_clock_facts {
    ([$($with:tt)+] $($args:tt)*) => {
        $($with)+! { [$($args)*]
            own_clock {
                time_never_runs_back_and_never_stands_still
                a_delay_ends_after_the_clock_was_set
                the_lease_of_a_dead_holder_ends_after_the_clock_was_set
                a_lease_is_not_shortened_by_a_clock_that_is_set_back
                a_jump_that_is_taken_back_removes_nothing
                a_jump_that_is_confirmed_removes_what_is_over
                what_is_over_is_removed_in_the_end_although_the_clock_was_set
                the_store_tells_how_far_it_is_ahead_of_its_clock
            }
        }
    };
}
