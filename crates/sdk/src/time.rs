//! Lengths of time, from the standard library's to the engine's.

use std::time::Duration;

use ff_core::Millis;

/// Whole milliseconds, rounded up: no duration becomes shorter, or zero.
pub fn millis(span: Duration) -> Millis {
    Millis::new(span.as_nanos().div_ceil(1_000_000).try_into().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_millisecond_is_rounded_up() {
        for (nanos, ms) in [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(millis(Duration::from_nanos(nanos)), Millis::new(ms));
        }
        assert_eq!(millis(Duration::MAX), Millis::new(u64::MAX));
    }
}
