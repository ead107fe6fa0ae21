//! The shell that a page is pasted into: one bash for all blocks of a page, so that variables, jobs and
//! the folder last from one block to the next.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, kill_process_group};

use crate::fixture::{Lines, Process};

/// Ends all that the page left running and waits for it.
const SHUT_DOWN: &str = "trap : TERM INT; kill -TERM 0; kill -INT 0
while [ -n \"$(jobs -pr)\" ]; do wait; done; exit 0\n";

/// A running shell. Dropping it kills it and what it started.
pub(super) struct Shell {
    process: Process,
    codes: Lines,
    folder: PathBuf,
    ran: usize,
}

/// What a command did.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: i32,
    /// stdout and stderr, as a terminal shows them.
    pub(super) output: String,
}

impl Shell {
    /// Starts a shell in `folder`, with no setting of `ff` but these variables.
    pub(super) fn start(folder: &Path, variables: &[(&str, String)]) -> Shell {
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc"]).current_dir(folder).process_group(0);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FF_") || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = Process::start(&mut command);
        Shell { codes: process.stdout(), process, folder: folder.to_owned(), ran: 0 }
    }

    /// Runs a command to its end; nothing when it has not ended within `timeout`, or ended the
    /// shell. Its input is empty, and its output goes to a file, so that a job it leaves in the
    /// background holds no pipe.
    pub(super) fn run(&mut self, command: &str, timeout: Duration) -> Option<Ran> {
        self.ran += 1;
        let script = self.folder.join(format!(".command-{}", self.ran));
        let output = script.with_extension("output");
        std::fs::write(&script, command).unwrap();
        let (script, shown) = (script.display(), output.display());
        self.send(&format!("source '{script}' </dev/null >'{shown}' 2>&1; echo $?\n"))?;
        let code = self.codes.next_within(timeout)?.parse().unwrap();
        let output = String::from_utf8_lossy(&std::fs::read(output).unwrap()).into_owned();
        Some(Ran { code, output })
    }

    /// Ends what the page left running, and waits for it.
    pub(super) fn finish(mut self) {
        if self.send(SHUT_DOWN).is_some() {
            self.process.ended();
        }
    }

    /// Sends text to the shell, unless it has ended.
    fn send(&mut self, line: &str) -> Option<()> {
        self.process.stdin().write_all(line.as_bytes()).ok()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // The group may be empty by now.
        let _ = kill_process_group(self.process.pid(), Signal::KILL);
    }
}
