//! Where and with what it was measured.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use ff_testkit::valkey::binary;

use crate::Result;

/// The machine, the server and the commit, in a sentence each. It is read before the first run, to
/// show the other load on the machine.
pub(crate) fn described() -> Result<String> {
    let cores = available_parallelism().map_err(|error| error.to_string())?;
    let processor = line("/proc/cpuinfo", "model name").unwrap_or("unknown processor".into());
    let memory = line("/proc/meminfo", "MemTotal").and_then(|memory| {
        let kib: u64 = memory.strip_suffix(" kB")?.parse().ok()?;
        Some(format!(", {} GiB of memory", kib.div_ceil(1 << 20)))
    });
    let memory = memory.unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let server = output_of(Command::new(binary::valkey()).arg("--version"))?;
    let version = server.split("v=").nth(1).and_then(|rest| rest.split(' ').next());
    let commit = output_of(Command::new("git").args(["rev-parse", "--short", "HEAD"]))?;
    let changed = output_of(Command::new("git").args(["status", "--porcelain", "-uno"]))?;
    let changed = if changed.is_empty() { "" } else { " with changes" };
    Ok(format!(
        "{cores} cores ({processor}){memory}, shared by client, engine and store; load average \
         {load} before the first run. Valkey {} on loopback. Commit {commit}{changed}, release \
         build.",
        version.unwrap_or("of an unknown version"),
    ))
}

/// The value of the first line of `file` that begins with `name`.
fn line(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// What a command prints.
fn output_of(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
