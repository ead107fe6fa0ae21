//! One run of the program in a separate process group, with its pipes.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bytes::{Buf, Bytes};
use ff_core::FrameType;
use ff_core::bounds::{MESSAGE_BYTES, PAYLOAD_BYTES};
use ff_sdk::ClaimedTask;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

use super::lines::Lines;
use super::log::Log;
use super::tail::Tail;
use super::watchdog::Watched;
use super::{Context, environment};

/// How much is read at a time.
const CHUNK: usize = 16 * 1024;
/// How long the pipes of a program that has ended may stay open: a process it started holds them.
const LINGER: Duration = Duration::from_secs(1);

/// How a program ended; the text says why that cannot be known.
pub(super) type Exit = Result<ExitStatus, String>;

/// An event of a program that requires a reaction.
#[derive(Debug)]
pub(super) enum Event {
    /// It has ended and its output is complete.
    Ended(Exit),
    /// It printed more than a result holds, and is still running.
    TooMuch,
}

/// A running program. Dropping it ends it and all that it started.
pub(super) struct Program {
    child: Child,
    group: Option<Pid>,
    stdin: Option<ChildStdin>,
    input: Bytes,
    stdout: Option<ChildStdout>,
    stdout_chunk: Vec<u8>,
    output: Vec<u8>,
    out: Lines,
    err: Lines,
    stderr: Option<ChildStderr>,
    stderr_chunk: Vec<u8>,
    tail: Tail,
    exit: Option<Exit>,
    /// When the pipes of an ended program are cut off.
    lingers: Option<Instant>,
    leftovers_killed: bool,
    log: Log,
    _watched: Option<Watched>,
}

impl Program {
    /// Starts the program of the worker, as `sh -c` runs it, on the input of `task`.
    pub(super) fn start(context: &Context, task: &ClaimedTask) -> io::Result<Program> {
        let assignment = task.assignment();
        let mut command = Command::new("sh");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with(environment::OWN) {
                command.env_remove(name);
            }
        }
        let mut child = command
            .arg("-c")
            .arg(&context.options.exec)
            .envs(environment::of(assignment, &context.relay.url()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let input = assignment.input.bytes.clone();
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Program {
            group,
            _watched: group.map(|group| context.watchdog.watch(group)),
            stdin: child.stdin.take().filter(|_| !input.is_empty()),
            input,
            stdout: child.stdout.take(),
            stdout_chunk: Vec::new(),
            output: Vec::new(),
            out: Lines::new(FrameType::stdout(), task.reporter()),
            err: Lines::new(FrameType::stderr(), task.reporter()),
            stderr: child.stderr.take(),
            stderr_chunk: Vec::new(),
            tail: Tail::new(MESSAGE_BYTES),
            exit: None,
            lingers: None,
            leftovers_killed: false,
            log: context.log.clone(),
            child,
        })
    }

    /// Feeds the program and reads its output until an event. May be dropped and called again.
    pub(super) async fn run(&mut self) -> Event {
        loop {
            if self.exit.is_none() && self.has_too_much() {
                return Event::TooMuch;
            }
            if let Some(exit) = self.gone() {
                return Event::Ended(exit);
            }
            self.step().await;
        }
    }

    /// Asks the program to end, waits for `grace`, then kills it and all it started.
    pub(super) async fn stop(&mut self, grace: Duration) -> Exit {
        self.signal(Signal::TERM);
        let in_time = tokio::time::timeout(grace, self.ended()).await;
        self.signal(Signal::KILL);
        match in_time {
            Ok(exit) => exit,
            Err(_) => self.ended().await,
        }
    }

    /// Whether it printed more than a result holds.
    pub(super) fn has_too_much(&self) -> bool {
        self.output.len() > PAYLOAD_BYTES
    }

    /// Its stdout, and the end of its stderr.
    pub(super) fn into_output(mut self) -> (Vec<u8>, Tail) {
        let tail = std::mem::replace(&mut self.tail, Tail::new(0));
        (std::mem::take(&mut self.output), tail)
    }

    fn gone(&self) -> Option<Exit> {
        let silent = self.stdout.is_none() && self.stderr.is_none();
        self.exit.clone().filter(|_| silent)
    }

    async fn ended(&mut self) -> Exit {
        loop {
            if let Some(exit) = self.gone() {
                return exit;
            }
            self.step().await;
        }
    }

    /// Waits for one event. Every wait in here loses nothing when it is dropped.
    async fn step(&mut self) {
        let lingers = self.lingers;
        tokio::select! {
            fed = feed(&mut self.stdin, &self.input) => match fed {
                Ok(fed) if fed > 0 => {
                    self.input.advance(fed);
                    self.stdin.take_if(|_| self.input.is_empty());
                }
                // A program need not read its input.
                _ => self.stdin = None,
            },
            more = read(&mut self.stdout, &mut self.stdout_chunk) => match more {
                true => {
                    self.out.push(&self.stdout_chunk);
                    let room = (PAYLOAD_BYTES + 1).saturating_sub(self.output.len());
                    let kept = room.min(self.stdout_chunk.len());
                    self.output.extend_from_slice(&self.stdout_chunk[..kept]);
                    self.stdout_chunk.clear();
                }
                false => {
                    self.stdout = None;
                    self.out.end();
                }
            },
            () = self.out.is_due() => self.out.end(),
            () = self.err.is_due() => self.err.end(),
            more = read(&mut self.stderr, &mut self.stderr_chunk) => match more {
                true => {
                    self.log.passed_on(&self.stderr_chunk);
                    self.tail.push(&self.stderr_chunk);
                    self.err.push(&self.stderr_chunk);
                    self.stderr_chunk.clear();
                }
                false => {
                    self.stderr = None;
                    self.err.end();
                }
            },
            exit = self.child.wait(), if self.exit.is_none() => {
                self.exit = Some(exit.map_err(|error| error.to_string()));
                self.stdin = None;
                self.lingers = Some(Instant::now() + LINGER);
            },
            () = until(lingers) => self.cut_off(),
        }
    }

    /// Ends what holds the pipes of an ended program; if that does not help, stops reading.
    fn cut_off(&mut self) {
        if self.leftovers_killed {
            self.stdout = None;
            self.stderr = None;
            return;
        }
        self.leftovers_killed = true;
        self.signal(Signal::KILL);
        self.lingers = Some(Instant::now() + LINGER);
    }

    /// Signals the program and all it started. It is fine if none of them is left.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

async fn feed(stdin: &mut Option<ChildStdin>, input: &[u8]) -> io::Result<usize> {
    match stdin {
        Some(stdin) => stdin.write(input).await,
        None => std::future::pending().await,
    }
}

/// Appends what arrives to `into`, and answers whether more may come.
async fn read<R: AsyncRead + Unpin>(pipe: &mut Option<R>, into: &mut Vec<u8>) -> bool {
    match pipe {
        Some(pipe) => {
            into.reserve(CHUNK);
            pipe.read_buf(into).await.is_ok_and(|read| read > 0)
        }
        None => std::future::pending().await,
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
