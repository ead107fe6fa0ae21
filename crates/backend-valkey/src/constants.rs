//! What the functions on the server must know: numbers of the stored format and limits of the
//! machine, written into the library.

use ff_core::Time;
use ff_core::limits::{BATCH_BYTES, CLASSES_PER_LANE, RUNS};
use ff_core::machine::ADMISSION_LOOKAHEAD;
use ff_core::placement::{PRIORITY_STEP, SCORE_MAX};
use ff_core::record::RETIRE_STEP;
use ff_core::state::Why;
use ff_store::optimistic::MAX_AGE_MS;

use crate::codec::{self, Placing};

/// The head of the library: the table its modules live in, and its constants.
pub(crate) fn lua() -> String {
    let last_start = codec::whys().iter().rposition(|why| why.starts_attempt()).unwrap_or(0);
    let constants = [
        ("FORMAT", codec::FORMAT as i64),
        ("QUEUED", Placing::QUEUED as i64),
        ("DELAYED", Placing::DELAYED as i64),
        ("BLOCKED", Placing::BLOCKED as i64),
        ("CONTROL_AT", codec::CONTROL_AT as i64 + 1),
        ("ACTIVE", Placing::ACTIVE as i64),
        ("FINISHED", Placing::FINISHED as i64),
        ("SUCCESS", Placing::SUCCESS as i64),
        ("COMPLETED", codec::COMPLETED as i64),
        ("FRESH", place(codec::whys(), &Why::Fresh)),
        ("LAST_START", last_start as i64),
        // Lua counts bytes from 1.
        ("FENCE_FROM", codec::FENCE_AT as i64 + 1),
        ("FENCE_TO", (codec::FENCE_AT + codec::FENCE) as i64),
        ("SCORE_AT", codec::SCORE_AT as i64 + 1),
        ("INPUT_AT", codec::INPUT_AT as i64 + 1),
        ("HERE", 1),
        ("OWN_KEY", 2),
        ("NO_SCORE", codec::NO_SCORE),
        ("INLINE", codec::INLINE as i64),
        ("TIME_MAX", Time::MAX.as_ms() as i64),
        ("RETIRE_STEP", RETIRE_STEP.get() as i64),
        ("PRIORITY_STEP", PRIORITY_STEP),
        ("SCORE_MAX", SCORE_MAX),
        ("BATCH_BYTES", BATCH_BYTES as i64),
        ("CLASSES", CLASSES_PER_LANE as i64),
        ("RUNS", RUNS as i64),
        ("ADMISSION_LOOKAHEAD", ADMISSION_LOOKAHEAD as i64),
        // The name of an admission class: 16 hexadecimal digits.
        ("CLASS_NAME", 16),
        ("MAX_AGE", MAX_AGE_MS as i64),
    ];
    let fields: Vec<_> =
        constants.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("local ff = {{}}\nlocal C = {{{}}}\n", fields.join(", "))
}

fn place<T: PartialEq>(all: &[T], one: &T) -> i64 {
    all.iter().position(|other| other == one).unwrap_or_default() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_starts_an_attempt_has_the_lowest_numbers() {
        let starts: Vec<_> = codec::whys().iter().map(|why| why.starts_attempt()).collect();
        assert!(starts.is_sorted_by(|a, b| a >= b), "{starts:?}");
    }
}
