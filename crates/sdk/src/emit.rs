//! Sends what a task streams: gathered for a moment, in order, and once.
//!
//! A task of its own sends, so that a handler that streams is not slowed by each call. Frames go under
//! their numbers, so a call whose answer was lost is repeated and adds nothing twice. The end of a task
//! waits for its frames.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ff_core::bounds::{FRAME_BYTES, FRAMES};
use ff_core::machine::{AppendFrames, PatchSummary};
use ff_core::stream::Frame;
use ff_core::{Code, FrameType};
use ff_store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::context::{Reports, TaskContext};
use crate::error::SdkError;
use crate::task::Reporter;

/// How long frames are gathered for one call.
const GATHER: Duration = Duration::from_millis(20);

/// How many bytes of them are.
const GATHER_BYTES: usize = 64 << 10;

/// How many bytes wait to be sent; more wait for room.
const ROOM: usize = 1 << 20;

/// How much room a frame takes besides its bytes.
const OVERHEAD: usize = 64;

/// How long the end of a task waits for frames that are on their way.
const LAST_FRAMES: Duration = Duration::from_secs(5);

/// What sends the frames of a task, from the first one until the task has ended.
#[derive(Debug, Default)]
pub(crate) enum Slot {
    #[default]
    Unused,
    Running(Arc<Emitter>),
    Ended,
}

/// Sends the frames of one task. It stops when its task has ended.
#[derive(Debug)]
pub(crate) struct Emitter {
    queue: mpsc::UnboundedSender<Message>,
    room: Arc<Semaphore>,
    /// Why nothing more is sent.
    failed: Arc<Mutex<Option<StoreError>>>,
}

#[derive(Debug)]
enum Message {
    Frame(Frame, OwnedSemaphorePermit),
    /// Answered when all frames before it are acknowledged, or never will be.
    Flush(oneshot::Sender<()>),
}

impl Emitter {
    pub(crate) fn start(reporter: Reporter) -> Emitter {
        let (queue, messages) = mpsc::unbounded_channel();
        let failed = Arc::<Mutex<Option<StoreError>>>::default();
        // The first hold of an execution begins its stream; a later one asks where that ends.
        let next = (reporter.hold().fence.epoch == 1).then_some(0);
        let sending = Sending { reporter, next, failed: failed.clone() };
        tokio::spawn(sending.run(messages));
        Emitter { queue, room: Arc::new(Semaphore::new(ROOM)), failed }
    }

    /// Hands a frame over, once there is room for it.
    async fn send(&self, frame: Frame) -> Result<(), SdkError> {
        let room = self.room.clone().acquire_many_owned(size(&frame)).await;
        self.hand_over(frame, room.ok())
    }

    /// Hands a frame over if there is room for it; answers whether there is.
    fn try_send(&self, frame: Frame) -> bool {
        let room = self.room.clone().try_acquire_many_owned(size(&frame));
        room.is_ok_and(|room| self.hand_over(frame, Some(room)).is_ok())
    }

    fn hand_over(&self, frame: Frame, room: Option<OwnedSemaphorePermit>) -> Result<(), SdkError> {
        let failed = || self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(error) = failed() {
            return Err(error.into());
        }
        let sent = room.and_then(|room| self.queue.send(Message::Frame(frame, room)).ok());
        sent.ok_or_else(|| failed().unwrap_or_else(ended).into())
    }

    /// Waits until what was handed over is acknowledged, or never will be.
    fn flush(&self) -> impl Future<Output = Result<(), SdkError>> + Send + use<> {
        let (done, flushed) = oneshot::channel();
        let sent = self.queue.send(Message::Flush(done));
        let failed = self.failed.clone();
        async move {
            if sent.is_ok() {
                let _ = flushed.await;
            }
            let failed = failed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            failed.map_or(Ok(()), |error| Err(error.into()))
        }
    }
}

fn size(frame: &Frame) -> u32 {
    (frame.bytes.len() + OVERHEAD).min(ROOM) as u32
}

fn ended() -> StoreError {
    StoreError::Unavailable("the task has ended".to_owned())
}

/// The task that sends.
struct Sending {
    reporter: Reporter,
    /// The number of the next frame, once it is known.
    next: Option<u64>,
    failed: Arc<Mutex<Option<StoreError>>>,
}

impl Sending {
    async fn run(mut self, mut messages: mpsc::UnboundedReceiver<Message>) {
        while let Some(first) = messages.recv().await {
            let (mut frames, mut held, mut flush, mut bytes) = (Vec::new(), Vec::new(), None, 0);
            let until = Instant::now() + GATHER;
            let mut message = Some(first);
            while let Some(one) = message.take() {
                match one {
                    Message::Frame(frame, room) => {
                        bytes += frame.bytes.len();
                        frames.push(frame);
                        held.push(room);
                    }
                    Message::Flush(done) => flush = Some(done),
                }
                if flush.is_none() && bytes < GATHER_BYTES && frames.len() < FRAMES {
                    message = timeout_at(until, messages.recv()).await.ok().flatten();
                }
            }
            if !frames.is_empty()
                && !self.has_failed()
                && let Err(error) = self.send(frames).await
            {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            drop(held);
            if let Some(done) = flush {
                let _ = done.send(());
            }
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    async fn send(&mut self, frames: Vec<Frame>) -> Result<(), StoreError> {
        for _ in 0..2 {
            let first = match self.next {
                Some(next) => next,
                None => self.append(None, Vec::new()).await?,
            };
            match self.append(Some(first), frames.clone()).await {
                Ok(next) => {
                    self.next = Some(next);
                    return Ok(());
                }
                // Others have sent for this task too, or not: it asks again where the stream ends.
                Err(error) if error.refused() == Some(Code::FrameGap) => self.next = None,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn append(&self, first: Option<u64>, frames: Vec<Frame>) -> Result<u64, StoreError> {
        let append = AppendFrames { hold: self.reporter.hold(), first, frames };
        let call = || self.reporter.backend().append_frames(append.clone());
        Ok(self.reporter.repeat(call).await?.next)
    }
}

impl Reporter {
    /// What sends the frames of the task; it is started for the first one. `None` once the task has
    /// ended.
    fn emitter(&self) -> Option<Arc<Emitter>> {
        let mut slot = self.slot();
        if matches!(*slot, Slot::Unused) {
            *slot = Slot::Running(Arc::new(Emitter::start(self.clone())));
        }
        match &*slot {
            Slot::Running(emitter) => Some(emitter.clone()),
            Slot::Unused | Slot::Ended => None,
        }
    }

    /// Sends a frame to the stream of the task. It is handed over when this returns; the end of the task
    /// waits until it is acknowledged.
    pub async fn emit(&self, kind: FrameType, bytes: Bytes) -> Result<(), SdkError> {
        let emitter = self.emitter().ok_or_else(ended)?;
        for frame in frames(&kind, bytes) {
            emitter.send(frame).await?;
        }
        Ok(())
    }

    /// Sends a frame if there is room for it now: output that is better lost than waited for. Answers
    /// whether it was handed over.
    pub fn try_emit(&self, kind: FrameType, bytes: Bytes) -> bool {
        let emitter = self.emitter();
        emitter.is_some_and(|emitter| frames(&kind, bytes).all(|frame| emitter.try_send(frame)))
    }

    /// Waits until every frame that was handed over is acknowledged.
    pub async fn flush(&self) -> Result<(), SdkError> {
        let flushed = match &*self.slot() {
            Slot::Running(emitter) => Some(emitter.flush()),
            Slot::Unused | Slot::Ended => None,
        };
        match flushed {
            Some(flushed) => flushed.await,
            None => Ok(()),
        }
    }

    /// Waits for the last frames of the task, for a bounded time.
    pub(crate) async fn flush_last(&self) {
        match timeout(LAST_FRAMES, self.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "frames of a task were not accepted"),
            Err(_) => tracing::warn!("frames of a task were not sent in time"),
        }
    }
}

/// Frames of at most the longest length that have these bytes.
fn frames(kind: &FrameType, mut bytes: Bytes) -> impl Iterator<Item = Frame> {
    let kind = kind.clone();
    let mut is_first = true;
    std::iter::from_fn(move || {
        let more = std::mem::take(&mut is_first) || !bytes.is_empty();
        more.then(|| {
            let piece = bytes.split_to(bytes.len().min(FRAME_BYTES));
            Frame { kind: kind.clone(), bytes: piece }
        })
    })
}

impl TaskContext {
    /// Sends a piece of output, which everybody who watches the task sees at once. The type says what it
    /// is, such as `message`.
    pub async fn emit(&self, kind: &str, bytes: impl Into<Bytes>) -> Result<(), SdkError> {
        let (kind, bytes) = (FrameType::new(kind)?, bytes.into());
        match &self.reports {
            Reports::Sent(reporter) => reporter.emit(kind, bytes).await,
            Reports::Recorded(recorder) => {
                recorder.emit(kind.as_str(), bytes);
                Ok(())
            }
        }
    }

    /// Waits until everything that was sent is kept: for the end of a step whose output no crash may lose.
    pub async fn flush(&self) -> Result<(), SdkError> {
        match &self.reports {
            Reports::Sent(reporter) => reporter.flush().await,
            Reports::Recorded(_) => Ok(()),
        }
    }

    /// A stream for what a model says: what is written within a moment becomes one frame of type
    /// `token`.
    pub fn stream(&self) -> TokenStream {
        TokenStream { task: self.clone(), gathered: BytesMut::new(), since: None }
    }

    /// Changes the summary of the task, a JSON document for people and dashboards, by a merge patch.
    pub async fn summarize(&self, patch: &serde_json::Value) -> Result<(), SdkError> {
        let patch = Bytes::from(patch.to_string());
        match &self.reports {
            Reports::Sent(reporter) => {
                let patch = PatchSummary { hold: reporter.hold(), number: None, patch };
                reporter.backend().patch_summary(patch).await?;
                Ok(())
            }
            Reports::Recorded(recorder) => {
                recorder.emit("summary", patch);
                Ok(())
            }
        }
    }
}

/// Gathers text into frames: up to 20 ms or 64 KiB become one. What is gathered when it is dropped is
/// sent if there is room for it; [`finish`](TokenStream::finish) waits for that.
pub struct TokenStream {
    task: TaskContext,
    gathered: BytesMut,
    since: Option<Instant>,
}

impl TokenStream {
    /// Adds text.
    pub async fn write(&mut self, text: &str) -> Result<(), SdkError> {
        self.gathered.extend_from_slice(text.as_bytes());
        let since = *self.since.get_or_insert_with(Instant::now);
        match since.elapsed() >= GATHER || self.gathered.len() >= GATHER_BYTES {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Sends what is gathered.
    pub async fn flush(&mut self) -> Result<(), SdkError> {
        self.since = None;
        match self.gathered.is_empty() {
            true => Ok(()),
            false => self.task.emit("token", self.gathered.split().freeze()).await,
        }
    }

    /// Sends what is gathered, and ends.
    pub async fn finish(mut self) -> Result<(), SdkError> {
        self.flush().await
    }
}

impl Drop for TokenStream {
    fn drop(&mut self) {
        if self.gathered.is_empty() {
            return;
        }
        let bytes = self.gathered.split().freeze();
        match &self.task.reports {
            Reports::Sent(reporter) => drop(reporter.try_emit(FrameType::token(), bytes)),
            Reports::Recorded(recorder) => recorder.emit("token", bytes),
        }
    }
}
