//! Child processes: how xtask starts cargo and git, and reports their failures.
//!
//! Every command runs in a directory the caller names, so a task behaves the same wherever
//! it is called from.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::Result;

/// A cargo command: the cargo that runs this task when `CARGO` names it, else the one on the path.
pub(crate) fn cargo(dir: &Path, args: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(args).current_dir(dir);
    command
}

/// A git command on the repository that holds the directory, even when a git hook runs this
/// task and pins another one.
pub(crate) fn git(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(args).current_dir(dir);
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command
}

/// The program of this name on the PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Runs the command with this terminal's input and output.
pub(crate) fn run(command: &mut Command) -> Result {
    let status =
        command.status().map_err(|error| format!("cannot start `{}`: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", shown(command))) }
}

/// Runs the command and returns what it writes to stdout; its stderr stays on this terminal.
pub(crate) fn capture(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start `{}`: {error}", shown(command)))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(format!("`{}` failed ({})", shown(command), output.status))
    }
}

/// The command as a person types it: the program's bare name, then its arguments.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_named_without_its_directory() {
        let mut command = Command::new("bin/of/some/git");
        command.args(["ls-files", "-z"]);
        assert_eq!(shown(&command), "git ls-files -z");
    }

    #[test]
    fn a_non_zero_exit_is_a_failure_that_quotes_the_command() {
        let silent = ["config", "--get", "xtask.no-such-key"];
        let failure = run(&mut git(Path::new("."), &silent)).unwrap_err();
        assert!(failure.starts_with("`git config --get xtask.no-such-key` failed"), "{failure}");
    }

    #[test]
    fn stdout_is_captured() {
        let stdout = capture(&mut git(Path::new("."), &["--version"])).unwrap();
        assert!(stdout.starts_with(b"git version"));
    }
}
