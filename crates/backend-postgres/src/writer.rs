//! The tasks that write, and the queues to them.
//!
//! Calls that queue while a transaction is under way become the next one and share its commit. Calls go to
//! a writer by what they concern, so claims of one queue share a transaction instead of waiting for each
//! other's locks.

use std::sync::Arc;

use ff_core::machine::{Command, Subject};
use ff_store::{AfterCommit, ContinuationQueue, SettlementQueue, StoreError, Wakeups};
use tokio::sync::{mpsc, oneshot};
use xxhash_rust::xxh3::xxh3_64;

use crate::group::{Answer, Group};
use crate::notes::Notes;
use crate::stats::{Counters, Stats};

/// How many calls may wait for a writer; further ones wait to be queued.
const QUEUED_CALLS: usize = 4_096;
/// How many commands share a transaction, except when one call has more.
const GROUP_COMMANDS: usize = 512;
/// How many bytes of payload share a transaction, except when one call has more.
const GROUP_BYTES: usize = 4 << 20;

/// Commands of one caller.
struct Call {
    batch: Vec<Command>,
    answer: oneshot::Sender<Vec<Answer>>,
}

/// What follows a commit, in this process and in others.
#[derive(Clone)]
pub(crate) struct Effects {
    pub(crate) wakeups: Arc<Wakeups>,
    pub(crate) settlements: Arc<SettlementQueue>,
    pub(crate) continuations: Arc<ContinuationQueue>,
    pub(crate) notes: Arc<Notes>,
}

impl Effects {
    /// Announces what was committed.
    pub(crate) fn publish(&self, after: AfterCommit) {
        self.notes.add(after.announcements());
        after.publish(&self.wakeups, &self.settlements, &self.continuations);
    }
}

/// The queues to the writers. Dropping it lets them finish what is queued and end.
pub(crate) struct Writers {
    queues: Vec<mpsc::Sender<Call>>,
    counters: Arc<Counters>,
}

impl Writers {
    /// Starts a task for each group.
    pub(crate) fn start(groups: Vec<Group>, effects: &Effects, counters: Arc<Counters>) -> Writers {
        let start = |group| {
            let (sender, queue) = mpsc::channel(QUEUED_CALLS);
            tokio::spawn(work(group, queue, effects.clone()));
            sender
        };
        Writers { queues: groups.into_iter().map(start).collect(), counters }
    }

    /// Runs commands in order; each gets a separate answer.
    pub(crate) async fn execute(&self, batch: Vec<Command>) -> Vec<Answer> {
        let commands = batch.len();
        let gone = || StoreError::Unavailable("the writer did not answer".into());
        let Some(writer) = self.writer_of(&batch) else { return Vec::new() };
        let (answer, answered) = oneshot::channel();
        // One that cannot be queued is dropped, with the channel of its answer.
        let _ = writer.send(Call { batch, answer }).await;
        answered.await.unwrap_or_else(|_| vec![Err(gone()); commands])
    }

    /// The counters so far.
    pub(crate) fn stats(&self) -> Stats {
        self.counters.read()
    }

    /// The writer of what the first command concerns.
    fn writer_of(&self, batch: &[Command]) -> Option<&mpsc::Sender<Call>> {
        let hash = match batch.first()?.action.facts().subject {
            Subject::Execution(id) => xxh3_64(id.as_bytes()),
            Subject::Queue(namespace, lane) => {
                xxh3_64(format!("{}:{}", namespace.as_str(), lane.as_str()).as_bytes())
            }
            Subject::Resource(key) => xxh3_64(key.namespace.as_str().as_bytes()),
            Subject::Home(namespace) => xxh3_64(namespace.as_str().as_bytes()),
        };
        self.queues.get((hash % self.queues.len().max(1) as u64) as usize)
    }
}

/// Works until all senders are dropped and everything is done.
async fn work(mut group: Group, mut queue: mpsc::Receiver<Call>, effects: Effects) {
    while let Some(first) = queue.recv().await {
        let calls = gather(first, &mut queue);
        let batches: Vec<_> = calls.iter().map(|call| &call.batch[..]).collect();
        let done = group.run(&batches).await;
        // An answered caller settles stopped executions, and finds them queued.
        effects.publish(done.after);
        for (call, answers) in calls.into_iter().zip(done.answers) {
            // A dropped caller needs no answer.
            let _ = call.answer.send(answers);
        }
    }
}

/// The calls that share a transaction with `first`: those that wait already.
fn gather(first: Call, queue: &mut mpsc::Receiver<Call>) -> Vec<Call> {
    let (mut commands, mut bytes) = first.size();
    let mut calls = vec![first];
    while commands < GROUP_COMMANDS && bytes < GROUP_BYTES {
        let Ok(call) = queue.try_recv() else { break };
        let size = call.size();
        (commands, bytes) = (commands + size.0, bytes + size.1);
        calls.push(call);
    }
    calls
}

impl Call {
    /// How many commands it has and how many bytes of payload.
    fn size(&self) -> (usize, usize) {
        let bytes = self.batch.iter().map(|command| command.action.facts().payload_bytes);
        (self.batch.len(), bytes.sum())
    }
}
