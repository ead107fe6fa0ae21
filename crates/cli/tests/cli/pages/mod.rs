//! Every fenced block of the README, the guides and the examples does what its page says, as a reader
//! would see it. CONTRIBUTING.md says how pages are written for this.
//!
//! A page is pasted into one bash, block by block, while an `ff dev` with a new store runs; its
//! folder looks like the root of the repository. Only addresses differ: pages run concurrently, so
//! each port that a page names on this machine is replaced by a free one in commands, and restored
//! in what they print. `FF_URL` and `FF_LISTEN` say where the default address is. A page that names
//! Valkey's port has a real Valkey there.

mod command;
mod doctest;
mod expect;
mod fixture;
mod page;
mod planted;
mod run;
mod shell;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use page::Page;
use run::Report;

/// How long one command of a page may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How many pages run at a time.
const AT_ONCE: usize = 6;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages: the README, how to contribute, the guides, and the README of every example.
fn names(root: &Path) -> Vec<String> {
    let inside = |folder: &str| {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
    };
    let guides = inside("docs").into_iter().filter(|name| name.ends_with(".md"));
    let examples = inside("examples").into_iter().map(|folder| format!("{folder}/README.md"));
    let examples = examples.filter(|name| root.join(name).exists());
    let fixed = ["README.md", "CONTRIBUTING.md"].map(str::to_owned);
    let mut names: Vec<_> = fixed.into_iter().chain(guides).chain(examples).collect();
    names.sort();
    names
}

#[test]
#[allow(clippy::print_stdout, reason = "`--nocapture` shows what was run and what was not")]
fn every_block_of_every_page_does_what_the_page_says() {
    let root = root();
    let pages: Vec<_> = names(&root).iter().map(|name| Page::read(&root, name)).collect();
    let mut reports = run_concurrently(&root, &pages);
    reports.sort_by(|a, b| a.page.cmp(&b.page));
    print!("{}", table(&reports));
    let done = reports.iter().map(|report| report.done.len()).sum::<usize>();
    ff_testkit::report::count("blocks of the documentation that were run", done as u64);
    let left_out = reports.iter().map(|report| report.left_out.len()).sum::<usize>();
    ff_testkit::report::count("blocks of the documentation not run", left_out as u64);
    let faults = reports.iter().flat_map(|report| {
        report.faults.iter().map(|(line, what)| format!("{}:{line}: {what}\n", report.page))
    });
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "{} faults\n\n{}", faults.len(), faults.join("\n"));
}

/// Runs the pages, some at a time: most of their time is waiting.
fn run_concurrently(root: &Path, pages: &[Page]) -> Vec<Report> {
    let (next, reports) = (Mutex::new(pages.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(page) = next.lock().unwrap().next() else { return };
                    let report = run::run(root, page, TIMEOUT);
                    reports.lock().unwrap().push(report);
                }
            });
        }
    });
    reports.into_inner().unwrap()
}

/// How many blocks of each kind were run on each page, and which were not.
fn table(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        let mut kinds = BTreeMap::<_, usize>::new();
        for kind in &report.done {
            *kinds.entry(kind.as_str()).or_default() += 1;
        }
        let kinds: Vec<_> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        text.push_str(&format!("{:<32}{}\n", report.page, kinds.join(", ")));
        for (kind, line, reason) in &report.left_out {
            text.push_str(&format!("    line {line}, {kind}, not run: {reason}\n"));
        }
    }
    text
}
