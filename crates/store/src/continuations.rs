//! Runs the continuations that commits of this process have added, at once and to their end.
//!
//! Tasks of the process do it, so a caller neither waits for them nor takes them along when it goes
//! away. What a process does not run (it dies, too many are queued, a run fails) the engine runs when
//! it is due. Two runners of one continuation do no harm: one of them finds nothing.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ff_core::continuation::{Continuation, ContinuationKind};
use ff_core::machine::{Continue, Continued, Reply};

use crate::admission::settle;
use crate::lock::lock;
use crate::process::Process;
use crate::{mint, outage};

/// How many continuations wait in one process at most; those beyond are left to the engine.
pub(crate) const QUEUED: usize = 10_000;

/// How many run in one call.
pub(crate) const TOGETHER: usize = 64;

/// How many such calls a process makes at once.
pub(crate) const RUNNERS: usize = 4;

/// Continuations that commits of this process have added and that are still to be run, first come first.
#[derive(Debug, Default)]
pub struct ContinuationQueue {
    queue: Mutex<VecDeque<Continuation>>,
    /// So that a command that adds none pays for no lock.
    any: AtomicBool,
}

impl ContinuationQueue {
    /// Queues continuations, as far as there is room.
    pub fn push(&self, continuations: impl IntoIterator<Item = Continuation>) {
        let mut continuations = continuations.into_iter().peekable();
        if continuations.peek().is_some() {
            let mut queue = lock(&self.queue);
            let room = QUEUED.saturating_sub(queue.len());
            queue.extend(continuations.take(room));
            self.any.store(!queue.is_empty(), Ordering::SeqCst);
        }
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        !self.any.load(Ordering::SeqCst)
    }

    /// Takes the first of them, at most `most`.
    pub fn take(&self, most: usize) -> Vec<Continuation> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut queue = lock(&self.queue);
        let count = most.min(queue.len());
        let taken = queue.drain(..count).collect();
        self.any.store(!queue.is_empty(), Ordering::SeqCst);
        taken
    }
}

/// The tasks of a process that run continuations.
#[derive(Debug, Default)]
pub(crate) struct Runners {
    running: AtomicUsize,
    /// The kinds that this release does not know and that were reported.
    reported: Mutex<BTreeSet<ContinuationKind>>,
}

impl Runners {
    /// Whether one more may run, which then counts.
    fn begin(&self) -> bool {
        let more = |running| (running < RUNNERS).then_some(running + 1);
        self.running.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).is_ok()
    }

    /// Reports, once, that a kind is left to a release that knows it.
    pub(crate) fn report_unknown(&self, kind: ContinuationKind) {
        if lock(&self.reported).insert(kind) {
            let kind = kind.0;
            tracing::error!(
                kind,
                "this release does not know a kind of continuation and leaves it to one that does"
            );
        }
    }
}

/// A task that counts as running.
struct Running(Arc<Process>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.runners.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs what is queued in a task of the process, unless enough do.
pub(crate) fn run_soon(process: &Arc<Process>) {
    if process.store.continuations().is_empty() || !process.runners.begin() {
        return;
    }
    let running = Running(process.clone());
    process.own(async move { run_queued(running).await });
}

/// Runs until nothing is queued: what is left of a continuation is queued by the commit of its slice.
async fn run_queued(mut running: Running) {
    loop {
        let process = running.0.clone();
        let queue = process.store.continuations();
        loop {
            let some = queue.take(TOGETHER);
            if some.is_empty() {
                break;
            }
            // The rest does not wait for these.
            run_soon(&process);
            run(&process, some).await;
        }
        drop(running);
        // What was queued meanwhile may have found all runners running.
        if queue.is_empty() || !process.runners.begin() {
            return;
        }
        running = Running(process.clone());
    }
}

/// Runs one slice of each.
async fn run(process: &Arc<Process>, some: Vec<Continuation>) {
    let commands = some.iter().map(|continuation| {
        let continuation = *continuation;
        mint::command(Continue { continuation })
    });
    let answers = process.store.execute(commands.collect()).await;
    for (answer, continuation) in answers.into_iter().zip(&some) {
        match answer {
            Ok(Reply::Continued(Continued::Unknown)) => {
                process.runners.report_unknown(continuation.kind);
            }
            Ok(_) => {}
            Err(error) => outage::failed(&error, "a continuation is left to the engine"),
        }
    }
    settle::settle_unnoticed(process).await;
}

#[cfg(test)]
mod tests {
    use ff_core::{ExecutionId, Partition, Time};

    use super::*;

    fn continuation(from: u64) -> Continuation {
        let owner = ExecutionId::mint(Time::EPOCH, Partition::ONLY, 0, 0);
        Continuation { kind: ContinuationKind(1), owner, salt: 0, member: 0, from }
    }

    #[test]
    fn a_full_queue_keeps_what_it_has_and_takes_no_more() {
        let queue = ContinuationQueue::default();
        assert!(queue.is_empty());
        queue.push((0..QUEUED as u64 + 5).map(continuation));
        assert_eq!(queue.take(2), [continuation(0), continuation(1)]);
        queue.push((20_000..20_005).map(continuation));
        let rest = queue.take(usize::MAX);
        assert_eq!(rest.len(), QUEUED);
        assert_eq!(rest[QUEUED - 1], continuation(20_001));
        assert!(queue.is_empty());
    }

    #[test]
    fn a_queue_is_empty_when_the_last_was_taken() {
        let queue = ContinuationQueue::default();
        queue.push([continuation(0), continuation(1)]);
        assert_eq!(queue.take(1).len(), 1);
        assert!(!queue.is_empty());
        assert_eq!(queue.take(1).len(), 1);
        assert!(queue.is_empty());
        assert!(queue.take(1).is_empty());
    }
}
