//! Faults of the servers.

use std::time::{Duration, Instant};

use fastrand::Rng;
use ff_testkit::wait;

use crate::serving::Serving;

/// The pause between two faults, in milliseconds.
const CALM_MS: std::ops::Range<u64> = 200..1_200;
/// How long a server is down, in milliseconds.
const AWAY_MS: std::ops::Range<u64> = 0..400;

/// The servers, one of which fails at a time.
pub(super) struct Chaos {
    servers: Vec<Serving>,
    rng: Rng,
    kills: u64,
    stops: u64,
}

impl Chaos {
    pub(super) fn new(servers: Vec<Serving>, rng: Rng) -> Chaos {
        Chaos { servers, rng, kills: 0, stops: 0 }
    }

    /// Kills and stops one server after another until `end`; then all run.
    pub(super) fn rage(&mut self, end: Instant) {
        while Instant::now() < end {
            self.pass(CALM_MS);
            let which = self.rng.usize(0..self.servers.len());
            if self.rng.bool() {
                self.servers[which].kill();
                self.kills += 1;
            } else {
                assert!(self.servers[which].stop(), "a stopped server exits cleanly");
                self.stops += 1;
            }
            self.pass(AWAY_MS);
            self.servers[which].restart();
        }
    }

    fn pass(&mut self, ms: std::ops::Range<u64>) {
        let span = Duration::from_millis(self.rng.u64(ms));
        wait::until(span, || None::<()>);
    }

    /// Stops all servers.
    pub(super) fn stop(&mut self) {
        for server in &mut self.servers {
            assert!(server.stop(), "a stopped server exits cleanly");
        }
    }

    pub(super) fn faults(&self) -> u64 {
        self.kills + self.stops
    }

    pub(super) fn summary(&self) -> String {
        format!("{} kills, {} stops", self.kills, self.stops)
    }
}
