//! `cargo xtask test`: everything that must hold before a change is accepted, cheapest first.
//!
//! Before that it fetches the server that tests run on, so that a clean clone needs no setting up.
//! Stops at the first step that fails, and ends with the counts of the tests and the time of each
//! step.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use crate::{Result, command, report, tidy};

struct Step {
    name: &'static str,
    work: Work,
}

enum Work {
    /// Cargo with these arguments.
    Cargo(&'static [&'static str]),
    /// A task of this tool: its arguments after `cargo xtask`, and what they run.
    Task(&'static str, fn(&Path) -> Result),
    /// The exam of the Valkey backend on the server of this name, where it is installed.
    ExamOn(&'static str),
}

/// The variable that names the server binary for tests, which `ff-testkit` reads.
const SERVER_VARIABLE: &str = "FF_TEST_SERVER";

const EXAM: &[&str] = &[
    "test",
    "--locked",
    "--package",
    "ff-backend-valkey",
    "--test",
    "exam",
    "--",
    "valkey::",
    "valkey_cluster::",
];

const STEPS: &[Step] = &[
    // The servers that tests run on: without one nearly every later step fails.
    Step {
        name: "tools",
        work: Work::Cargo(&[
            "run",
            "--quiet",
            "--locked",
            "--package",
            "ff-testkit",
            "--bin",
            "ff-valkey",
            "fetch",
        ]),
    },
    Step {
        name: "postgres",
        work: Work::Cargo(&[
            "run",
            "--quiet",
            "--locked",
            "--package",
            "ff-testkit",
            "--bin",
            "ff-postgres",
            "fetch",
        ]),
    },
    // The browser that pages are tested in.
    Step {
        name: "browser",
        work: Work::Cargo(&[
            "run",
            "--quiet",
            "--locked",
            "--package",
            "ff-testkit",
            "--bin",
            "ff-chromium",
        ]),
    },
    Step { name: "format", work: Work::Cargo(&["fmt", "--all", "--check"]) },
    Step {
        name: "lints",
        work: Work::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ]),
    },
    Step { name: "tidy", work: Work::Task("tidy", tidy::run) },
    // Separate from the tests, so that each reports its time.
    Step { name: "build", work: Work::Cargo(&["test", "--workspace", "--locked", "--no-run"]) },
    Step { name: "tests", work: Work::Cargo(&["test", "--workspace", "--locked"]) },
    Step { name: "exam on valkey", work: Work::ExamOn("valkey-server") },
    Step { name: "exam on redis", work: Work::ExamOn("redis-server") },
];

/// Runs every step in order, then prints the counts and the times.
pub(crate) fn run(root: &Path) -> Result {
    let reports = report::prepare(root)?;
    let started = Instant::now();
    let mut times = Vec::new();
    for step in STEPS {
        eprintln!("== {}: {}", step.name, step.work.shown());
        let step_started = Instant::now();
        step.work.run(root, &reports).map_err(|why| {
            format!("step `{}` failed and the steps after it did not run: {why}", step.name)
        })?;
        times.push((step.name.to_owned(), seconds(step_started.elapsed())));
    }
    times.push(("total".to_owned(), seconds(started.elapsed())));

    let counts = report::read(&reports)?;
    println!("\n{}\n{}", report::counts_table(&counts), report::table(&times));
    Ok(())
}

impl Work {
    fn shown(&self) -> String {
        match self {
            Self::Cargo(args) => format!("cargo {}", args.join(" ")),
            Self::Task(words, _) => format!("cargo xtask {words}"),
            Self::ExamOn(server) => {
                let args = EXAM.join(" ");
                command::on_path(server).map_or_else(
                    || format!("left out, as no {server} is on the PATH"),
                    |path| format!("{SERVER_VARIABLE}={} cargo {args}", path.display()),
                )
            }
        }
    }

    /// Cargo is told where tests write their counts; a task of this tool has none.
    fn run(&self, root: &Path, reports: &Path) -> Result {
        match self {
            Self::Cargo(args) => {
                command::run(command::cargo(root, args).env(report::DIR_VARIABLE, reports))
            }
            Self::Task(_, task) => task(root),
            Self::ExamOn(server) => command::on_path(server).map_or(Ok(()), |path| {
                command::run(command::cargo(root, EXAM).env(SERVER_VARIABLE, path))
            }),
        }
    }
}

fn seconds(elapsed: Duration) -> String {
    format!("{:.1} s", elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_come_first_then_the_cheapest_check_and_other_servers_last() {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(
            names,
            [
                "tools",
                "postgres",
                "browser",
                "format",
                "lints",
                "tidy",
                "build",
                "tests",
                "exam on valkey",
                "exam on redis"
            ]
        );
    }

    #[test]
    fn every_cargo_step_that_resolves_dependencies_is_locked() {
        let of_steps = STEPS.iter().filter_map(|step| match step.work {
            Work::Cargo(args) => Some(args),
            Work::Task(..) | Work::ExamOn(_) => None,
        });
        for args in of_steps.chain([EXAM]) {
            assert!(args[0] == "fmt" || args.contains(&"--locked"), "{args:?}");
        }
    }
}
