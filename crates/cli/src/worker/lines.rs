//! Sends what a program prints to the stream of its execution, line by line.
//!
//! A frame is a line with its end, so that all frames together are exactly what was printed. A line that
//! is not finished is sent after a moment, and one that is too long in pieces. What finds no room is left
//! out, and a frame says how much that was: a program is never held up by those who watch it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ff_core::FrameType;
use ff_core::bounds::FRAME_BYTES;
use ff_sdk::Reporter;
use tokio::time::{Instant, sleep_until};

/// How long the beginning of a line waits for its end.
const UNFINISHED: Duration = Duration::from_millis(200);

/// One pipe of a program.
pub(super) struct Lines {
    kind: FrameType,
    reporter: Reporter,
    /// The beginning of a line.
    begun: BytesMut,
    /// When it is sent as it is.
    due: Option<Instant>,
    /// How many bytes found no room since the last frame.
    left_out: usize,
}

impl Lines {
    pub(super) fn new(kind: FrameType, reporter: Reporter) -> Lines {
        Lines { kind, reporter, begun: BytesMut::new(), due: None, left_out: 0 }
    }

    /// Sends the lines that these bytes finish.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.begun.extend_from_slice(bytes);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line = self.begun.split_to(end + 1).freeze();
            self.send(line);
        }
        while self.begun.len() >= FRAME_BYTES {
            let piece = self.begun.split_to(FRAME_BYTES).freeze();
            self.send(piece);
        }
        self.due = (!self.begun.is_empty()).then(|| Instant::now() + UNFINISHED);
    }

    /// Sends what was begun: nothing more comes, or not soon.
    pub(super) fn end(&mut self) {
        self.due = None;
        if !self.begun.is_empty() {
            let rest = self.begun.split().freeze();
            self.send(rest);
        }
    }

    /// Waits until the beginning of a line is to be sent as it is.
    pub(super) async fn is_due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    fn send(&mut self, bytes: Bytes) {
        if self.left_out > 0 {
            let told = format!("... {} bytes of {} were left out ...\n", self.left_out, self.kind);
            if !self.reporter.try_emit(dropped(), told.into()) {
                self.left_out += bytes.len();
                return;
            }
            self.left_out = 0;
        }
        let length = bytes.len();
        if !self.reporter.try_emit(self.kind.clone(), bytes) {
            self.left_out += length;
        }
    }
}

/// The type of a frame that says what was left out.
fn dropped() -> FrameType {
    FrameType::new("dropped").unwrap_or_else(|_| FrameType::output())
}
