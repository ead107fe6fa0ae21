//! What the exit of a program means for its execution.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use bytes::Bytes;
use ff_core::bounds::{MESSAGE_BYTES, PAYLOAD_BYTES};
use ff_core::state::Failure;
use ff_core::{Category, Payload};

use super::tail::Tail;
use crate::input::check_json;

/// The exit code that requests another try: `EX_TEMPFAIL` of sysexits.
const TRY_AGAIN: i32 = 75;
/// The exit codes of a shell for what it may not execute, and for what it does not find.
const NOT_RUNNABLE: [i32; 2] = [126, 127];

/// What the exit of a program means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It has the result.
    Completed(Payload),
    /// It could not do it.
    Failed(Failure),
    /// It cannot be run on this machine, and why.
    NotRunnable(String),
}

/// What `status` means for a program that printed `stdout` and `stderr`.
pub(super) fn of(status: ExitStatus, stdout: Vec<u8>, stderr: &Tail) -> Verdict {
    match (status.code(), status.signal()) {
        (Some(0), _) => Verdict::Completed(result(stdout)),
        (Some(code), _) if NOT_RUNNABLE.contains(&code) => {
            Verdict::NotRunnable(explained(&format!("exit {code}"), stderr))
        }
        (Some(code), _) => {
            let message = explained(&format!("exit {code}"), stderr);
            Verdict::Failed(failure(Category::error(), code == TRY_AGAIN, message))
        }
        (None, signal) => {
            let what = format!("killed by signal {}", signal.unwrap_or_default());
            Verdict::Failed(failure(category("signal"), true, explained(&what, stderr)))
        }
    }
}

/// The program printed more than a result holds.
pub(super) fn too_much_output() -> Failure {
    let message = format!(
        "the program wrote more than {PAYLOAD_BYTES} bytes to stdout; keep large results elsewhere \
         and print a reference"
    );
    failure(category("output_too_large"), false, message)
}

/// The program could not be started.
pub(super) fn not_started(error: &std::io::Error) -> Failure {
    failure(category("spawn"), true, format!("the program cannot be started: {error}"))
}

/// How the program ended is unknown.
pub(super) fn unknown(why: &str) -> Failure {
    failure(category("spawn"), true, format!("the end of the program is unknown: {why}"))
}

fn result(stdout: Vec<u8>) -> Payload {
    let json = check_json(&stdout).is_ok();
    let bytes = Bytes::from(stdout);
    if json { Payload::json(bytes) } else { Payload::bytes(bytes) }
}

fn explained(what: &str, stderr: &Tail) -> String {
    let tail = stderr.text(MESSAGE_BYTES.saturating_sub(what.len() + 2));
    if tail.is_empty() { what.to_owned() } else { format!("{what}: {tail}") }
}

fn failure(category: Category, retryable: bool, message: String) -> Failure {
    Failure { category, retryable, message: message.into() }
}

fn category(name: &'static str) -> Category {
    Category::new(name).unwrap_or_else(|_| Category::error())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wait status: the exit code is in its second byte, a signal in its first.
    fn of(wait_status: i32, stdout: &[u8], stderr: &[u8]) -> Verdict {
        let mut tail = Tail::new(MESSAGE_BYTES);
        tail.push(stderr);
        super::of(ExitStatus::from_raw(wait_status), stdout.to_vec(), &tail)
    }

    fn failed(verdict: Verdict) -> (String, bool, String) {
        let Verdict::Failed(failure) = verdict else { panic!("completed") };
        (failure.category.to_string(), failure.retryable, failure.message.to_string())
    }

    #[test]
    fn exit_0_completes_with_what_was_printed() {
        assert_eq!(of(0, b"{\"a\": 1}\n", b"x"), Verdict::Completed(Payload::json("{\"a\": 1}\n")));
        assert_eq!(of(0, b"", b""), Verdict::Completed(Payload::default()));
        let bytes = Payload::bytes(&b"\xff\0"[..]);
        assert_eq!(of(0, b"\xff\0", b""), Verdict::Completed(bytes));
    }

    #[test]
    fn exit_75_requests_another_try_and_other_codes_do_not() {
        let tried = failed(of(75 << 8, b"", b"busy\n"));
        assert_eq!(tried, ("error".into(), true, "exit 75: busy".into()));
        assert_eq!(failed(of(3 << 8, b"", b"")), ("error".into(), false, "exit 3".into()));
    }

    #[test]
    fn exit_126_and_127_say_that_the_program_cannot_be_run() {
        let missing = of(127 << 8, b"", b"sh: 1: nope: not found\n");
        assert_eq!(missing, Verdict::NotRunnable("exit 127: sh: 1: nope: not found".into()));
        assert_eq!(of(126 << 8, b"", b""), Verdict::NotRunnable("exit 126".into()));
    }

    #[test]
    fn death_by_a_signal_is_retryable() {
        let killed = failed(of(9, b"", b""));
        assert_eq!(killed, ("signal".into(), true, "killed by signal 9".into()));
    }

    #[test]
    fn a_message_fits_its_bound() {
        let (_, _, message) = failed(of(1 << 8, b"", &b"\xff".repeat(MESSAGE_BYTES)));
        assert!(message.len() <= MESSAGE_BYTES && message.len() > MESSAGE_BYTES - 3);
        assert!(message.starts_with("exit 1: "));
    }
}
