//! Settlements that commits of this process have made necessary, until they are made.
//!
//! A call takes all that is queued. It is answered after what it has stopped is settled, by itself or by a task
//! that has no caller, which nobody knows of. Calls that end work at the same moment do not wait for each
//! other.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ff_core::ExecutionId;
use ff_core::machine::Settlement;
use tokio::sync::watch::{self, Receiver, Sender};

use crate::lock::lock;

/// Settlements that are still to be made.
#[derive(Debug, Default)]
pub struct SettlementQueue {
    state: Mutex<State>,
    /// So that a command that stops nothing pays for no lock.
    any: AtomicBool,
    /// How many batches tasks without a caller are making.
    making: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    queue: Vec<Settlement>,
    making: Vec<Making>,
}

/// A batch that a task without a caller is making: whose settlements, and a channel that closes when they
/// are made.
#[derive(Debug)]
struct Making {
    executions: Vec<ExecutionId>,
    made: Receiver<()>,
}

impl SettlementQueue {
    /// Queues settlements.
    pub fn push(&self, settlements: impl IntoIterator<Item = Settlement>) {
        let mut settlements = settlements.into_iter().peekable();
        if settlements.peek().is_some() {
            lock(&self.state).queue.extend(settlements);
            self.any.store(true, Ordering::SeqCst);
        }
    }

    /// Whether nothing is queued.
    pub fn is_empty(&self) -> bool {
        !self.any.load(Ordering::SeqCst)
    }

    /// Takes everything that is queued.
    pub fn take(&self) -> Vec<Settlement> {
        match self.any.swap(false, Ordering::SeqCst) {
            true => std::mem::take(&mut lock(&self.state).queue),
            false => Vec::new(),
        }
    }

    /// The same for a task that has no caller. Calls whose settlements are among them wait until the guard
    /// is dropped.
    pub(crate) fn take_unnoticed(&self) -> (Vec<Settlement>, Option<MakingGuard<'_>>) {
        if !self.any.swap(false, Ordering::SeqCst) {
            return (Vec::new(), None);
        }
        let (open, made) = watch::channel(());
        let mut state = lock(&self.state);
        let taken = std::mem::take(&mut state.queue);
        let executions = taken.iter().map(|settlement| settlement.execution).collect();
        state.making.push(Making { executions, made });
        self.making.store(state.making.len(), Ordering::SeqCst);
        drop(state);
        (taken, Some(MakingGuard { queue: self, open: Some(open) }))
    }

    /// Waits for those settlements of `executions` that tasks without a caller are making.
    pub(crate) async fn made(&self, executions: impl Iterator<Item = ExecutionId> + Clone) {
        if self.making.load(Ordering::SeqCst) == 0 {
            return;
        }
        let own = |making: &&Making| executions.clone().any(|id| making.executions.contains(&id));
        let making: Vec<_> =
            lock(&self.state).making.iter().filter(own).map(|making| making.made.clone()).collect();
        for mut made in making {
            // Nothing is ever sent: it ends when the sender is dropped.
            while made.changed().await.is_ok() {}
        }
    }
}

/// Held while a task without a caller makes settlements.
pub(crate) struct MakingGuard<'a> {
    queue: &'a SettlementQueue,
    open: Option<Sender<()>>,
}

impl Drop for MakingGuard<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        drop(self.open.take());
        state.making.retain(|making| making.made.has_changed().is_ok());
        self.queue.making.store(state.making.len(), Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use ff_core::limits::{Amounts, ExecutionLimits};
    use ff_core::machine::Phase;
    use ff_core::{AdmissionId, Namespace, Partition, RequestId, Time};

    use super::*;

    fn id(n: u32) -> ExecutionId {
        ExecutionId::mint(Time::from_ms(1), Partition::ONLY, n, 0)
    }

    fn settlement(n: u32) -> Settlement {
        Settlement {
            namespace: Namespace::default(),
            execution: id(n),
            admission: AdmissionId { batch: RequestId::new(n.into()), index: 0 },
            limits: ExecutionLimits::default(),
            used: Amounts::new(),
            revision: 0,
            phase: Phase::Unused,
        }
    }

    /// Whether a call that has queued these is answered now.
    fn is_answered(queue: &SettlementQueue, own: &[u32]) -> bool {
        let made = pin!(queue.made(own.iter().map(|n| id(*n))));
        made.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn a_call_waits_for_what_a_task_makes_of_its_own() {
        let queue = SettlementQueue::default();
        assert!(queue.take_unnoticed().1.is_none());
        queue.push([settlement(1), settlement(2)]);
        let (first, making) = queue.take_unnoticed();
        queue.push([settlement(3)]);
        let (second, other) = queue.take_unnoticed();
        assert_eq!((first.len(), second.len(), queue.is_empty()), (2, 1, true));
        assert!(!is_answered(&queue, &[9, 2]));
        assert!(!is_answered(&queue, &[3]));
        assert!(is_answered(&queue, &[9]) && is_answered(&queue, &[]), "nothing of theirs");
        drop(making);
        assert!(is_answered(&queue, &[1, 2]));
        assert!(!is_answered(&queue, &[3]));
        drop(other);
        assert!(is_answered(&queue, &[3]));
        assert!(lock(&queue.state).making.is_empty());
    }

    #[test]
    fn calls_do_not_wait_for_each_other() {
        let queue = SettlementQueue::default();
        queue.push([settlement(1)]);
        assert_eq!(queue.take().len(), 1);
        assert!(is_answered(&queue, &[1]));
    }
}
