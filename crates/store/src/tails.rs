//! Follows the streams of executions inside one process: hints, shared reads, and a net for lost hints.
//!
//! A viewer registers **before** it reads, so a frame is either read or hinted at. All viewers of one
//! stream share one window of its newest frames, and whoever comes first reads what is missing for all:
//! a new frame costs one read of the store per process, however many watch. A viewer that begins
//! earlier catches up by reads of its own; one that falls behind the window is cut, and can resume. That
//! a stream is closed is read from the record, always before the frames that it closes.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ff_core::bounds::PAGE;
use ff_core::collection::{Collection, ElementRange};
use ff_core::machine::Target;
use ff_core::record::Version;
use ff_core::stream::StreamFrame;
use ff_core::{ExecutionId, Full, Millis, PublicState, Refusal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::ends::Waiting;
use crate::error::StoreError;
use crate::lock::lock;
use crate::store::Store;

/// How many viewers one process has.
pub const VIEWERS: usize = 4_096;

/// How many frames of one stream are kept for its viewers.
pub const WINDOW: usize = PAGE;

/// How many bytes these have, about.
pub const WINDOW_BYTES: usize = 256 << 10;

/// A part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FramePage {
    /// The frames, in order.
    pub frames: Vec<StreamFrame>,
    /// The first number that is kept, if an earlier one was asked for and is gone.
    pub trimmed: Option<u64>,
    /// Where to continue.
    pub next: u64,
    /// The state in which the execution has ended, once all its frames are read.
    pub end: Option<PublicState>,
    /// The viewer was too slow and gets no more; it can begin again at `next`.
    pub cut: bool,
}

/// Watches one stream.
#[async_trait]
pub trait Follow: Send {
    /// What comes next; waits up to `wait` for something, and answers an empty page if nothing came.
    async fn next(&mut self, wait: Millis) -> Result<FramePage, StoreError>;
}

/// Frames from number `from` on, at most `limit` and about a megabyte: what one read answers.
pub(crate) async fn page(
    store: &dyn Store,
    target: &Target,
    from: u64,
    limit: usize,
) -> Result<FramePage, StoreError> {
    if limit == 0 || limit > PAGE {
        return Err(Refusal::invalid("limit", format!("is {limit}; give 1 to {PAGE}")).into());
    }
    let found = store.record(target.execution).await?;
    let found = found.filter(|record| record.spec.namespace == target.namespace);
    let record = found.ok_or(Refusal::NotFound)?;
    let mut page = match record.counts.of(Collection::Frames) {
        0 => FramePage { next: from, ..FramePage::default() },
        _ => read(store, target.execution, from, limit).await?,
    };
    // The record was read first, so what has ended has no frames after those.
    if record.outcome().is_some()
        && (page.frames.is_empty()
            || read(store, target.execution, page.next, 1).await?.frames.is_empty())
    {
        page.end = Some(record.public_state());
    }
    Ok(page)
}

/// One read of frames.
async fn read(
    store: &dyn Store,
    owner: ExecutionId,
    from: u64,
    limit: usize,
) -> Result<FramePage, StoreError> {
    let range = ElementRange { owner, collection: Collection::Frames, from, limit };
    let unreadable = |error| StoreError::Corrupt(format!("execution {owner}: {error}"));
    let elements = store.elements(range).await?;
    let frames: Result<Vec<_>, _> = elements.iter().map(StreamFrame::of).collect();
    let frames = frames.map_err(unreadable)?;
    let trimmed = frames.first().map(|first| first.number).filter(|first| *first > from);
    let next = frames.last().map_or(from, |last| last.number + 1);
    Ok(FramePage { frames, trimmed, next, ..FramePage::default() })
}

/// The streams that somebody in this process watches.
#[derive(Debug, Default)]
pub struct Tails(Arc<Registry>);

#[derive(Debug, Default)]
struct Registry {
    streams: Mutex<HashMap<ExecutionId, Arc<Watched>>>,
    /// How many viewers there are: a hint for which nobody waits pays for no lock.
    viewers: AtomicUsize,
}

/// One stream, and what its viewers share.
#[derive(Debug)]
struct Watched {
    viewers: AtomicUsize,
    /// Grows whenever there may be new frames.
    asked: watch::Sender<u64>,
    /// The newest frames. Its holder reads for all.
    window: tokio::sync::Mutex<Window>,
}

/// The newest frames of a stream, as far as they were read.
#[derive(Debug, Default)]
struct Window {
    frames: VecDeque<StreamFrame>,
    bytes: usize,
    /// The number after the last of them; `None` until the end of the stream was seen.
    next: Option<u64>,
    /// How much had been asked for when the last read began.
    answers: u64,
    /// The record that had ended before a read found nothing more.
    closed_by: Option<Version>,
}

impl Window {
    /// The number of its first frame.
    fn first(&self) -> Option<u64> {
        self.next.map(|next| next - self.frames.len() as u64)
    }

    fn add(&mut self, frames: &[StreamFrame]) {
        for frame in frames {
            // What was trimmed before it was read leaves a gap, and a window has none.
            if self.next != Some(frame.number) {
                self.frames.clear();
                self.bytes = 0;
            }
            self.bytes += frame.bytes.len();
            self.frames.push_back(frame.clone());
            self.next = Some(frame.number + 1);
        }
        while self.frames.len() > WINDOW || self.frames.len() > 1 && self.bytes > WINDOW_BYTES {
            let gone = self.frames.pop_front();
            self.bytes -= gone.map_or(0, |frame| frame.bytes.len());
        }
    }

    /// The frames from a number on that is not before the window.
    fn from(&self, first: u64, from: u64) -> Vec<StreamFrame> {
        self.frames.iter().skip((from - first) as usize).cloned().collect()
    }
}

impl Tails {
    /// `id` may have new frames: those who watch it read them.
    pub fn hint(&self, id: ExecutionId) {
        if self.0.viewers.load(Ordering::SeqCst) > 0
            && let Some(watched) = lock(&self.0.streams).get(&id)
        {
            watched.asked.send_modify(|asked| *asked += 1);
        }
    }

    /// How many watch the stream of `id`.
    pub fn watching(&self, id: ExecutionId) -> usize {
        let streams = lock(&self.0.streams);
        streams.get(&id).map_or(0, |watched| watched.viewers.load(Ordering::SeqCst))
    }

    /// Watches the stream of `target` from number `from` on.
    pub(crate) fn follow(
        &self,
        store: Arc<dyn Store>,
        target: Target,
        from: u64,
    ) -> Result<Viewer, Refusal> {
        let mut streams = lock(&self.0.streams);
        if self.0.viewers.load(Ordering::SeqCst) >= VIEWERS {
            return Err(Refusal::LimitReached { what: Full::Viewers { most: VIEWERS } });
        }
        self.0.viewers.fetch_add(1, Ordering::SeqCst);
        let watched = streams.entry(target.execution).or_insert_with(|| {
            let (asked, window) = (watch::Sender::new(1), tokio::sync::Mutex::default());
            Arc::new(Watched { viewers: AtomicUsize::new(0), asked, window })
        });
        watched.viewers.fetch_add(1, Ordering::SeqCst);
        let watched = watched.clone();
        drop(streams);
        let ends = store.wakeups().ends().wait_for(target.execution);
        Ok(Viewer {
            registry: self.0.clone(),
            store,
            target,
            hints: watched.asked.subscribe(),
            watched,
            ends,
            at: from,
            is_live: false,
            reads_record: true,
            over: None,
        })
    }
}

/// Watches one stream. Dropping it ends that.
pub(crate) struct Viewer {
    registry: Arc<Registry>,
    store: Arc<dyn Store>,
    target: Target,
    watched: Arc<Watched>,
    hints: watch::Receiver<u64>,
    ends: Waiting,
    /// The number of the frame that comes next.
    at: u64,
    /// Whether it has caught up with the window.
    is_live: bool,
    /// Whether the record is read before the next frames.
    reads_record: bool,
    /// The state in which the record says the execution has ended, and its version.
    over: Option<(PublicState, Version)>,
}

#[async_trait]
impl Follow for Viewer {
    async fn next(&mut self, wait: Millis) -> Result<FramePage, StoreError> {
        let give_up = Instant::now() + Duration::from_millis(wait.get());
        let mut polls = false;
        loop {
            if self.reads_record {
                self.read_record().await?;
                self.reads_record = false;
                polls = true;
            }
            let page = self.read_frames(polls).await?;
            if !page.frames.is_empty() || page.cut {
                return Ok(page);
            }
            polls = false;
            if let Some((state, _)) = self.over.take() {
                // It may be replayed: whoever asks again looks again.
                self.reads_record = true;
                return Ok(FramePage { end: Some(state), ..page });
            }
            tokio::select! {
                biased;
                // The other end of the channel lives as long as this one.
                _ = self.hints.changed() => {}
                _ = self.ends.woken() => self.reads_record = true,
                () = sleep_until(give_up) => return Ok(page),
            }
        }
    }
}

impl Viewer {
    async fn read_record(&mut self) -> Result<(), StoreError> {
        let found = self.ends.read(&*self.store).await?;
        let mine = found.filter(|record| record.spec.namespace == self.target.namespace);
        let record = mine.ok_or(Refusal::NotFound)?;
        self.over = record.outcome().map(|_| (record.public_state(), record.version));
        Ok(())
    }

    /// The frames that come next, if there are any. With `polls`, the store is read without a hint.
    async fn read_frames(&mut self, polls: bool) -> Result<FramePage, StoreError> {
        let watched = self.watched.clone();
        let mut window = watched.window.lock().await;
        let asked = *self.hints.borrow_and_update();
        let closed_by = self.over.as_ref().map(|(_, version)| *version);
        if window.next == Some(self.at) {
            let is_closed = closed_by.is_some() && window.closed_by == closed_by;
            if !is_closed && (polls || closed_by.is_some() || window.answers < asked) {
                self.read_for_all(&mut window, asked, closed_by).await?;
            }
        }
        let (Some(first), Some(next)) = (window.first(), window.next) else {
            drop(window);
            return self.catch_up().await;
        };
        if self.at < first && self.is_live {
            return Ok(FramePage { next: self.at, cut: true, ..FramePage::default() });
        }
        if self.at < first || self.at > next {
            drop(window);
            return self.catch_up().await;
        }
        let frames = window.from(first, self.at);
        self.is_live = true;
        self.at = next;
        Ok(FramePage { frames, next, ..FramePage::default() })
    }

    /// Reads what comes after the window, and wakes others if they have not been hinted at it.
    async fn read_for_all(
        &self,
        window: &mut Window,
        asked: u64,
        closed_by: Option<Version>,
    ) -> Result<(), StoreError> {
        let hinted = *self.watched.asked.borrow();
        let was_hinted = window.answers < asked;
        let page = read(&*self.store, self.target.execution, self.at, WINDOW).await?;
        window.answers = hinted;
        window.add(&page.frames);
        if page.frames.is_empty() {
            window.closed_by = closed_by;
        } else if !was_hinted {
            window.answers += 1;
            self.watched.asked.send_modify(|asked| *asked += 1);
        }
        Ok(())
    }

    /// Reads for this viewer alone what the window does not have. One that finds nothing more, where the
    /// stream ends, begins the window.
    async fn catch_up(&mut self) -> Result<FramePage, StoreError> {
        let (store, id) = (&*self.store, self.target.execution);
        let page = read(store, id, self.at, WINDOW).await?;
        if page.frames.is_empty() {
            let before = self.at.checked_sub(1);
            let is_end = match before {
                Some(before) => read(store, id, before, 1).await?.next == self.at,
                None => true,
            };
            if is_end {
                let mut window = self.watched.window.lock().await;
                window.next.get_or_insert(self.at);
                // What has come since that read is found by a hint, or by the next poll.
                self.is_live = window.next == Some(self.at);
            }
        }
        self.at = page.next;
        Ok(page)
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let mut streams = lock(&self.registry.streams);
        self.registry.viewers.fetch_sub(1, Ordering::SeqCst);
        if self.watched.viewers.fetch_sub(1, Ordering::SeqCst) == 1 {
            streams.remove(&self.target.execution);
        }
    }
}
