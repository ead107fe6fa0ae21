//! The workspace's own tools, run as `cargo xtask TASK`.
//!
//! Standard library only, so the tools build in seconds and before anything else does.
//! What a person reads as a result goes to stdout; progress and failures go to stderr.

#![allow(clippy::print_stdout)]

mod bench;
mod clean_clone;
mod codegen;
mod command;
mod edges;
mod repeat;
mod report;
mod test;
mod tidy;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// A failure is a sentence for the person who ran the task.
type Result<T = ()> = std::result::Result<T, String>;

const USAGE: &str = "\
usage: cargo xtask TASK

  test              tools, format, lints, tidy and every test, stopping at the first failure
  tidy              check the rules no compiler checks
  codegen           write the generated docs
  codegen --check   fail when a generated doc is stale
  bench             measure everything and write docs/reports/bench.md (about 20 minutes)
  bench --quick     one short run of each benchmark, printed
  kill              kill servers, workers and stores under load, 20 rounds of each
  race              race the last claim of a partition with a submit, 100,000 times
    --rounds N        this many instead
  edges [NAME]      cut, kill, overload and damage running servers; one harness, or all
    --minutes N       for this long each, instead of seconds
    --seed S          the choices of an earlier run
  clean-clone       run `test` in a fresh clone of HEAD";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match dispatch(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[&str]) -> Result {
    let root = root()?;
    match words {
        ["test"] => test::run(&root),
        ["tidy"] => tidy::run(&root),
        ["codegen"] => codegen::write(&root),
        ["codegen", "--check"] => codegen::check(&root),
        ["bench"] => bench::run(&root, &[]),
        ["bench", "--quick"] => bench::run(&root, &["--quick"]),
        ["kill"] => repeat::KILL.run(&root, None),
        ["kill", "--rounds", rounds] => repeat::KILL.run(&root, Some(rounds)),
        ["race"] => repeat::RACE.run(&root, None),
        ["race", "--rounds", rounds] => repeat::RACE.run(&root, Some(rounds)),
        ["edges", words @ ..] => edges::run(&root, words),
        ["clean-clone"] => clean_clone::run(&root),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => Err(format!("no task named\n{USAGE}")),
        other => Err(format!("no such task: {}\n{USAGE}", other.join(" "))),
    }
}

/// The workspace root. Cargo names the manifest's directory at run time; the path known at
/// compile time is only the fallback, because a moved checkout is not rebuilt.
fn root() -> Result<PathBuf> {
    let manifest_dir =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest_dir)
        .parent()
        .map(Path::to_path_buf)
        .ok_or_else(|| "the xtask directory has no parent".to_owned())
}
