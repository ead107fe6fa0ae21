//! One line on stderr for every event, and the stderr of the programs as it arrives.
//!
//! A separate thread writes, so that a slow reader never delays a renewal. What does
//! not fit into its queue is dropped: the record keeps what matters.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ff_api::WorkerReportView;
use ff_core::ExecutionId;
use ff_core::machine::Assignment;
use ff_sdk::WorkerEvent;

use super::Options;
use super::job::Ending;
use crate::duration;
use crate::output::{style, text};

/// How many lines or pieces of stderr wait to be written.
const QUEUE: usize = 1_024;
/// How long the last flush waits for a reader.
const TIMEOUT: Duration = Duration::from_secs(1);
const MESSAGE_WIDTH: usize = 160;

/// The log of a worker.
#[derive(Clone)]
pub(super) struct Log {
    queue: Arc<Mutex<Option<SyncSender<Vec<u8>>>>>,
    written: Arc<tokio::sync::Notify>,
    style: style::Style,
}

impl Log {
    /// Starts the writer.
    pub(super) fn to_stderr() -> Log {
        let (queue, pieces) = sync_channel::<Vec<u8>>(QUEUE);
        let written = Arc::new(tokio::sync::Notify::new());
        let done = written.clone();
        std::thread::spawn(move || {
            for piece in pieces {
                // A closed stderr is no reason to stop working.
                let _ = io::stderr().lock().write_all(&piece);
            }
            done.notify_one();
        });
        let queue = Arc::new(Mutex::new(Some(queue)));
        Log { queue, written, style: style::Style::of_stderr() }
    }

    /// Passes on what a program wrote.
    pub(super) fn passed_on(&self, bytes: &[u8]) {
        self.write(bytes.to_vec());
    }

    /// Writes what is left.
    pub(super) async fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let _ = tokio::time::timeout(TIMEOUT, self.written.notified()).await;
    }

    pub(super) fn started(&self, options: &Options) {
        let Options { lanes, worker, concurrency, .. } = options;
        let at_a_time = match concurrency {
            1 => String::new(),
            many => format!(", {many} at a time"),
        };
        let names: Vec<_> = lanes.iter().map(|lane| lane.as_str()).collect();
        let lanes = if names.len() == 1 { "lane" } else { "lanes" };
        let (names, name) = (names.join(", "), &worker.id);
        self.line("ready", format_args!("{lanes} {names},"), format!("worker {name}{at_a_time}"));
    }

    pub(super) fn stopped(&self, report: &WorkerReportView) {
        let counts = [
            (report.completed, "completed"),
            (report.retrying, "to retry"),
            (report.failed, "failed"),
            (report.cancelled, "cancelled"),
            (report.lost, "lost"),
            (report.handed_back, "handed back"),
        ];
        let details = counts.iter().filter(|(count, _)| *count > 0);
        let details: Vec<_> = details.map(|(count, what)| format!("{count} {what}")).collect();
        let details =
            if details.is_empty() { "nothing done".to_owned() } else { details.join(", ") };
        self.write(format!("{:<11} {details}\n", "stopped").into_bytes());
    }

    /// An event of the worker's loop.
    pub(super) fn event(&self, event: WorkerEvent<'_>) {
        match event {
            WorkerEvent::Claimed(Assignment { execution, kind, fence, run, .. }) => {
                let run = if *run > 0 { format!(" of run {run}") } else { String::new() };
                let details = format_args!("kind {kind}, attempt {}{run}", fence.attempt);
                self.line("claimed", execution, details);
            }
            WorkerEvent::ClaimFailed { lane, error, pause } => {
                let soon = duration::rough(ff_sdk::millis(pause));
                let details = format_args!("cannot claim: {error}; trying again in {soon}");
                self.line("trouble", format_args!("lane {lane}:"), details);
            }
            WorkerEvent::NotRegistered { error } => {
                self.line("trouble", "cannot register:", format_args!("{error}; trying again"));
            }
            _ => {}
        }
    }

    /// An execution has ended for this worker.
    pub(super) fn ended(&self, ending: Ending, id: ExecutionId, details: impl Display) {
        let word = match ending {
            Ending::Completed => "completed",
            Ending::Retrying => "retrying",
            Ending::Failed => "failed",
            Ending::Cancelled => "cancelled",
            Ending::Lost => "lost",
            Ending::HandedBack => "handed back",
        };
        self.line(word, id, details);
    }

    /// The worker is stopping.
    pub(super) fn stopping(&self, details: impl Display) {
        self.write(format!("{:<11} {details}\n", "stopping").into_bytes());
    }

    fn line(&self, word: &str, subject: impl Display, details: impl Display) {
        let details = text::one_line(&details.to_string(), MESSAGE_WIDTH);
        let word = self.style.state(&format!("{word:<11}"));
        self.write(format!("{}\n", format!("{word} {subject} {details}").trim_end()).into_bytes());
    }

    fn write(&self, piece: Vec<u8>) {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queue.as_ref() {
            let _ = queue.try_send(piece);
        }
    }
}
