//! How long a harness runs, and with which seed.

use std::env;
use std::time::{Duration, Instant};

use fastrand::Rng;

/// What `cargo xtask edges` passes to a harness in its environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    seed: u64,
    length: Duration,
}

impl Settings {
    /// The length is `usual` unless `FF_EDGES_MINUTES` says otherwise; the seed is random unless
    /// `FF_EDGES_SEED` does. Both are printed, so that a failure can be run again.
    pub(crate) fn read(harness: &str, usual: Duration) -> Settings {
        let number = |name: &str| {
            let text = env::var(name).ok()?;
            Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
        };
        let minutes = number("FF_EDGES_MINUTES");
        let length = minutes.map_or(usual, |minutes| Duration::from_secs(60 * minutes));
        let seed = number("FF_EDGES_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
        eprintln!("{harness}: FF_EDGES_SEED={seed} for {length:?}");
        Settings { seed, length }
    }

    /// The choices of one of the tasks of a run.
    pub(crate) fn rng(&self, task: u64) -> Rng {
        Rng::with_seed(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(task))
    }

    /// How long the run lasts.
    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// When a run that begins now ends.
    pub(crate) fn end(&self) -> Instant {
        Instant::now() + self.length
    }
}
