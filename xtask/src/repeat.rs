//! `cargo xtask kill` and `cargo xtask race`: tests that every change runs a few times, many times.

use std::path::Path;

use crate::{Result, command};

/// A test that can be repeated.
pub(crate) struct Repeated {
    package: &'static str,
    /// The file of tests, and the words that select some of it.
    test: &'static str,
    filter: &'static str,
    /// The environment variable that sets how often.
    variable: &'static str,
    /// How often by default.
    rounds: u64,
}

/// Kills servers, workers and stores under load.
pub(crate) const KILL: Repeated = Repeated {
    package: "ff-cli",
    test: "edges",
    filter: "kill::",
    variable: "FF_ROUNDS",
    rounds: 20,
};

/// Races the last claim of a partition with a submit.
pub(crate) const RACE: Repeated = Repeated {
    package: "ff-backend-valkey",
    test: "valkey",
    filter: "wake::no_wake_is_lost",
    variable: "FF_RACES",
    rounds: 100_000,
};

impl Repeated {
    /// Runs it `rounds` times over and shows what it counted.
    pub(crate) fn run(&self, root: &Path, rounds: Option<&str>) -> Result {
        let rounds = match rounds.map(str::parse::<u64>) {
            None => self.rounds,
            Some(Ok(rounds)) if rounds > 0 => rounds,
            Some(_) => return Err("--rounds needs a number from 1 on".to_owned()),
        };
        let args = ["test", "--quiet", "--locked", "--package", self.package, "--test", self.test];
        let mut cargo = command::cargo(root, &args);
        // One at a time, so that each has the machine to itself.
        cargo.args(["--", "--nocapture", "--test-threads", "1", self.filter]);
        command::run(cargo.env(self.variable, rounds.to_string()))
    }
}
