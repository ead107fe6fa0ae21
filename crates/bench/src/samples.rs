//! Times that were measured, and their percentiles.

use std::time::Duration;

/// Measured times.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn add(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    pub(crate) fn extend(&mut self, other: Samples) {
        self.0.extend(other.0);
    }

    /// The time that `percent` of 100 samples do not exceed, in milliseconds.
    pub(crate) fn percentile_ms(&mut self, percent: usize) -> Option<f64> {
        self.0.sort_unstable();
        let rank = (self.0.len() * percent).div_ceil(100).checked_sub(1)?;
        self.0.get(rank).map(|sample| round(sample.as_secs_f64() * 1_000.0))
    }
}

/// Three decimals are more than a benchmark can measure.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_samples() {
        let mut samples = Samples::default();
        assert_eq!(samples.percentile_ms(50), None);
        for ms in (1..=100).rev() {
            samples.add(Duration::from_millis(ms));
        }
        assert_eq!(samples.percentile_ms(50), Some(50.0));
        assert_eq!(samples.percentile_ms(99), Some(99.0));
        assert_eq!(samples.percentile_ms(100), Some(100.0));
    }
}
