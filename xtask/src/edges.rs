//! `cargo xtask edges`: the harnesses for failures of a server and its store, for longer than
//! in the tests.

use std::path::Path;

use crate::{Result, command};

/// One harness: tests that read how long and with which seed from the environment.
struct Edge {
    name: &'static str,
    package: &'static str,
    /// The test binary, and the prefix or part of the names of the harness's tests.
    test: &'static str,
    filter: &'static str,
}

/// Every harness.
const EDGES: &[Edge] = &[
    Edge::of_server("disconnect", "edge_disconnect"),
    Edge::of_server("damage", "edge_damage"),
    Edge::of_server("limits", "edge_limits"),
    Edge::of_server("overload", "edge_overload"),
    Edge::of_server("restart", "edge_restart"),
    Edge { name: "clock", package: "ff-backend-sqlite", test: "exam", filter: "edge_clock" },
    Edge::of_valkey("many", "edge_many"),
    Edge::of_valkey("primary", "edge_one_primary"),
];

/// The arguments of the task.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arguments<'a> {
    name: Option<&'a str>,
    minutes: Option<&'a str>,
    seed: Option<&'a str>,
}

impl Edge {
    /// A harness of `ff-edges`, which the tests of the program run.
    const fn of_server(name: &'static str, filter: &'static str) -> Edge {
        Edge { name, package: "ff-cli", test: "edges", filter }
    }

    /// A harness of the Valkey store.
    const fn of_valkey(name: &'static str, filter: &'static str) -> Edge {
        Edge { name, package: "ff-backend-valkey", test: "valkey", filter }
    }

    fn run(&self, root: &Path, arguments: &Arguments<'_>) -> Result {
        eprintln!("== {}", self.name);
        let args = ["test", "--quiet", "--locked", "--package", self.package, "--test", self.test];
        let mut cargo = command::cargo(root, &args);
        // One at a time, so that each has the machine to itself.
        cargo.args(["--", "--nocapture", "--test-threads", "1", self.filter]);
        let settings = [("FF_EDGES_MINUTES", arguments.minutes), ("FF_EDGES_SEED", arguments.seed)];
        for (variable, value) in settings {
            if let Some(value) = value {
                cargo.env(variable, value);
            }
        }
        command::run(&mut cargo)
    }
}

/// Runs the harness that is named, or all of them.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result {
    let arguments = Arguments::read(words)?;
    for edge in EDGES.iter().filter(|edge| arguments.name.is_none_or(|name| name == edge.name)) {
        edge.run(root, &arguments)?;
    }
    Ok(())
}

impl<'a> Arguments<'a> {
    fn read(words: &[&'a str]) -> Result<Arguments<'a>> {
        let mut arguments = Arguments::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let place = match *word {
                "--minutes" => &mut arguments.minutes,
                "--seed" => &mut arguments.seed,
                name if EDGES.iter().any(|edge| edge.name == name) => {
                    arguments.name = Some(name);
                    continue;
                }
                other => {
                    let names: Vec<_> = EDGES.iter().map(|edge| edge.name).collect();
                    let names = names.join(", ");
                    return Err(format!("no such harness: {other}; there are {names}"));
                }
            };
            let number = words.next().filter(|text| text.parse::<u64>().is_ok());
            *place = Some(number.ok_or_else(|| format!("{word} needs a number"))?);
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_numbers_are_read_in_any_order() {
        let arguments = Arguments::read(&["--seed", "7", "limits", "--minutes", "2"]).unwrap();
        assert_eq!(
            arguments,
            Arguments { name: Some("limits"), minutes: Some("2"), seed: Some("7") }
        );
        assert_eq!(Arguments::read(&[]).unwrap(), Arguments::default());
    }

    #[test]
    fn invalid_arguments_are_refused() {
        for words in [&["nowhere"][..], &["--minutes"], &["--seed", "x"]] {
            assert!(Arguments::read(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn every_harness_has_a_unique_name() {
        let mut names: Vec<_> = EDGES.iter().map(|edge| edge.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EDGES.len());
    }
}
