//! A shell that is the server's parent: it starts, stops and kills it on command.
//!
//! It reads commands from a pipe that only this process holds open. When the pipe closes, because
//! it is dropped or because this process ended in whatever way, the shell ends the server and
//! removes its folder.

#![allow(clippy::expect_used, reason = "a test whose server cannot be driven fails")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// Every command is answered with one line: the server's pid, 0 when none runs.
const SCRIPT: &str = r#"
folder=$1
last=$2
shift 2
pid=
end() {
    [ -z "$pid" ] || { kill "-$1" "$pid"; wait "$pid"; }
    pid=
}
while read -r word; do
    case $word in
        start) "$@" </dev/null >>"$folder/log" 2>&1 & pid=$! ;;
        kill) end KILL ;;
        *) [ -z "$pid" ] || kill "-$word" "$pid" ;;
    esac
    echo "${pid:-0}"
done
end "$last"
rm -rf "$folder"
"#;

#[derive(Debug)]
pub(crate) struct Supervisor {
    shell: Child,
    /// Taken, and so closed, when the supervisor ends.
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Supervisor {
    /// A shell for one server that lives in `folder` and is at last ended by the signal `last`. Nothing
    /// runs yet.
    pub(crate) fn new(folder: &Path, command_line: &[String], last: &str) -> Supervisor {
        let mut shell = Command::new("sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(folder)
            .arg(last)
            .args(command_line)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A separate group, so that an interrupt of the tests lets it clean up.
            .process_group(0)
            .spawn()
            .expect("a shell starts");
        let words = shell.stdin.take();
        let answers = BufReader::new(shell.stdout.take().expect("the shell's stdout is a pipe"));
        Supervisor { shell, words, answers }
    }

    /// Starts the server and returns its pid.
    pub(crate) fn start(&mut self) -> u32 {
        self.send("start")
    }

    /// Kills the server, and returns when it is gone.
    pub(crate) fn kill(&mut self) {
        self.send("kill");
    }

    /// Sends the server a signal, such as `STOP`.
    pub(crate) fn signal(&mut self, name: &str) {
        self.send(name);
    }

    fn send(&mut self, word: &str) -> u32 {
        let words = self.words.as_mut().expect("the pipe is open until the drop");
        words.write_all(format!("{word}\n").as_bytes()).expect("the shell reads");
        let mut answer = String::new();
        self.answers.read_line(&mut answer).expect("the shell answers");
        answer.trim().parse().expect("the shell answers with a pid")
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        drop(self.words.take());
        let _ = self.shell.wait();
    }
}

/// Whether the process is gone, or dead and not yet waited for by its parent.
pub(crate) fn has_ended(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => Path::new("/proc/self").exists(),
    }
}
