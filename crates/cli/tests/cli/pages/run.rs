//! Runs the blocks of a page, and records what ran, what did not and why, and what is wrong.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::command::{self, Command};
use super::fixture::Fixture;
use super::page::{Block, Page};
use super::shell::{Ran, Shell};
use super::{doctest, expect};

/// The result of a page.
#[derive(Default)]
pub(super) struct Report {
    pub(super) page: String,
    /// The kind of every block that was run, compared or compiled.
    pub(super) done: Vec<String>,
    /// What was not run: its kind, its line and the reason.
    pub(super) left_out: Vec<(String, usize, String)>,
    /// What is wrong, at which line.
    pub(super) faults: Vec<(usize, String)>,
}

/// Runs every block of `page`; a command may take as long as `timeout`.
pub(super) fn run(root: &Path, page: &Page, timeout: Duration) -> Report {
    let mut run = Run {
        root,
        timeout,
        place: (!page.commands().is_empty()).then(|| Place::new(root, page)),
        printed: None,
        report: Report { page: page.name.clone(), ..Report::default() },
    };
    for block in &page.blocks {
        run.block(page, block);
    }
    if let Some(place) = run.place {
        place.shell.finish();
    }
    run.report
}

/// A shell and its environment; the shell ends first.
struct Place {
    shell: Shell,
    fixture: Fixture,
}

impl Place {
    fn new(root: &Path, page: &Page) -> Place {
        let fixture = Fixture::for_page(root, page);
        Place { shell: fixture.shell(), fixture }
    }

    /// Runs a command; its output has the addresses of the page.
    fn run(&mut self, text: &str, timeout: Duration) -> Option<Ran> {
        let ran = self.shell.run(&self.fixture.localized(text), timeout)?;
        Some(Ran { output: self.fixture.as_named(&ran.output), ..ran })
    }
}

struct Run<'a> {
    root: &'a Path,
    timeout: Duration,
    place: Option<Place>,
    /// What the block before this one printed, if it prints.
    printed: Option<String>,
    report: Report,
}

impl Run<'_> {
    fn block(&mut self, page: &Page, block: &Block) {
        let printed = self.printed.take().filter(|_| block.follows);
        if let Some(reason) = block.reason() {
            if reason.is_empty() {
                self.fault(block.line, "the block is not run, and no reason is given".to_owned());
            }
            self.report.left_out.push((block.kind.clone(), block.line, reason));
            return;
        }
        match block.kind.as_str() {
            "sh" => self.printed = Some(self.commands(block)),
            "text" => match printed {
                Some(printed) => {
                    self.compare(block, &printed, expect::shows(&printed, &block.text))
                }
                None => self.fault(block.line, "no `sh` block right before prints this".to_owned()),
            },
            "json" => match (serde_json::from_str::<Value>(&block.text), printed) {
                (Err(error), _) => self.fault(block.line, format!("this is not JSON: {error}")),
                (Ok(value), Some(printed)) => {
                    self.compare(block, &printed, expect::shows_json(&printed, &value));
                }
                // The body of a request, which the text around it describes.
                (Ok(_), None) => {}
            },
            "python" | "ts" => self.save(page, block),
            "rust" => {
                let covered = doctest::covers(self.root, page, block);
                covered.unwrap_or_else(|why| self.fault(block.line, why));
            }
            other => self.fault(block.line, format!("nothing runs blocks of the kind `{other}`")),
        }
        self.report.done.push(block.kind.clone());
    }

    /// Saves a program, which a command of the page must run.
    fn save(&mut self, page: &Page, block: &Block) {
        let Some(file) = block.file() else {
            return self.fault(block.line, "the fence names no file: `file:NAME`".to_owned());
        };
        // What is compiled is run by the name of the output.
        let runs = file.strip_suffix(".ts").map_or(file.to_owned(), |name| format!("{name}.js"));
        match &self.place {
            Some(place) if page.commands().contains(&runs) => place.fixture.save(file, &block.text),
            _ => self.fault(block.line, format!("no command of the page runs {file}")),
        }
    }

    /// Runs the commands of a block, and gives all that they print.
    fn commands(&mut self, block: &Block) -> String {
        let mut printed = String::new();
        for command in command::split(&block.text) {
            let line = block.line + 1 + command.offset;
            let Some(place) = &mut self.place else { break };
            let Some(ran) = place.run(&command.text, self.timeout) else {
                self.fault(
                    line,
                    format!("`{}` does not end, or ends the shell", command.text.trim()),
                );
                self.place = None;
                break;
            };
            if let Err(why) = check(&command, &ran) {
                let (text, output) = (command.text.trim(), &ran.output);
                self.fault(line, format!("`{text}` {why}; it printed\n{output}"));
            }
            printed.push_str(&ran.output);
            // Where a prompt would start on a new line.
            if !ran.output.is_empty() && !ran.output.ends_with('\n') {
                printed.push('\n');
            }
        }
        printed
    }

    fn compare(&mut self, block: &Block, printed: &str, is_same: bool) {
        if !is_same {
            let message = format!("the commands before it do not print this, but\n{printed}");
            self.fault(block.line, message);
        }
    }

    fn fault(&mut self, line: usize, what: String) {
        self.report.faults.push((line, what));
    }
}

/// Whether a command did what the page says.
fn check(command: &Command, ran: &Ran) -> Result<(), String> {
    if (ran.code != 0) != command.fails() {
        let announced = if command.fails() { "and should fail" } else { "which nothing announces" };
        return Err(format!("exits with {}, {announced}", ran.code));
    }
    match &command.prints {
        Some(prints) if !expect::contains(&ran.output, prints) => {
            Err(format!("should print `{prints}`"))
        }
        _ => Ok(()),
    }
}
