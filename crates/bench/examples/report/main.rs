//! Runs every benchmark on new stores and writes the page of results.
//!
//! `cargo xtask bench` builds `ff` and starts this. With `--quick` each benchmark runs once and
//! short, and the page goes to stdout.

#![allow(clippy::print_stdout, reason = "a quick page is the result")]

mod cases;
mod figures;
mod machine;
mod page;
mod run;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cases::{CASES, Case};
use figures::Row;

/// A failure is a sentence for the person who ran it.
type Result<T = ()> = std::result::Result<T, String>;

const USAGE: &str = "usage: report FF PAGE [--quick]; FF is the binary, PAGE the file to write";

/// How many runs a figure is from.
const RUNS: usize = 3;

fn main() -> ExitCode {
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("report: {why}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> Result {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (ff, page, quick) = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [ff, page] => (PathBuf::from(ff), PathBuf::from(page), false),
        [ff, page, "--quick"] => (PathBuf::from(ff), PathBuf::from(page), true),
        _ => return Err(USAGE.to_owned()),
    };
    let machine = machine::described()?;
    let mut rows = Vec::new();
    for case in CASES {
        rows.extend(measure(&ff, case, quick)?);
    }
    let measured = page::measured(&machine, &rows, if quick { 1 } else { RUNS });
    if quick {
        println!("{measured}");
        return Ok(());
    }
    page::write(&page, &measured)
}

/// The rows of one benchmark.
fn measure(ff: &Path, case: &'static Case, quick: bool) -> Result<Vec<Row>> {
    let mut reports = Vec::new();
    let runs = if quick { 1 } else { RUNS };
    for number in 1..=runs {
        let words = if quick { case.quick } else { case.words };
        eprintln!("{number} of {runs}: ff bench {words} ({})", case.store.name());
        reports.push(run::once(ff, case.store, words)?);
    }
    case.figures.iter().map(|figure| Row::new(case, figure, &reports)).collect()
}
