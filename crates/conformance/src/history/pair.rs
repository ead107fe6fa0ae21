//! The model and a subject on the same history.

use std::collections::HashSet;
use std::sync::Arc;

use ff_backend_memory::MemoryStore;
use ff_core::machine::{Command, Reply};
use ff_core::resource::LaneState;
use ff_core::{ExecutionId, Lane, Namespace, Partition, RequestId, ResourceKey, Time};
use ff_store::{Clock, Store, audit};
use ff_testkit::ManualClock;

use super::clock::{Set, Watch};
use super::compare::{Answer, Leases};
use super::op::Op;
use super::read::Read;
use super::tally::Tally;
use super::{Agreement, spread};
use crate::snapshot::{Snapshot, snapshot};
use crate::subject::Subject;

/// The model and a subject that have seen the same history.
pub(crate) struct Pair {
    model: MemoryStore,
    clock: ManualClock,
    subject: Subject,
    agreement: Agreement,
    /// What the model holds.
    held: Snapshot,
    leases: Leases,
    /// The requests that ever leased or reserved something.
    leased: HashSet<RequestId>,
    /// What is known about time since the clock was first set.
    watch: Option<Watch>,
}

/// The state of the model.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) held: &'a Snapshot,
    pub(crate) now: Time,
    pub(crate) leased: &'a HashSet<RequestId>,
    pub(crate) partitions: u16,
}

impl<'a> View<'a> {
    /// Where an execution is.
    pub(crate) fn partition(self, id: ExecutionId) -> Partition {
        id.partition().among(self.partitions)
    }

    /// The settings of a lane, as a partition has them.
    pub(crate) fn lane(
        self,
        at: Partition,
        namespace: &Namespace,
        lane: &Lane,
    ) -> Option<&'a LaneState> {
        self.held.resources.get(&ResourceKey::lane_in(at, namespace, lane))?.as_lane()
    }
}

impl Pair {
    /// A fresh model and a fresh subject, at the same time.
    pub(crate) async fn new(subject: Subject, agreement: Agreement) -> Pair {
        let clock = ManualClock::at(subject.clock.now().await.as_ms());
        let partitions = subject.store.partitions();
        let model = MemoryStore::serial(Arc::new(clock.clone())).with_partitions(partitions);
        let (held, leases, leased) = Default::default();
        Pair { model, clock, subject, agreement, held, leases, leased, watch: None }
    }

    /// How many partitions both have.
    pub(crate) fn partitions(&self) -> u16 {
        self.model.partitions()
    }

    /// The store's time.
    fn now(&self) -> Time {
        self.watch.as_ref().map_or_else(|| Clock::now(&self.clock), Watch::now)
    }

    /// The state of the model.
    pub(crate) fn view(&self) -> View<'_> {
        let (held, leased) = (&self.held, &self.leased);
        View { held, now: self.now(), leased, partitions: self.partitions() }
    }

    /// Does one step on both. An error says what differs.
    pub(crate) async fn step(&mut self, op: &Op, tally: &mut Tally) -> Result<Vec<Answer>, String> {
        match op {
            Op::Advance(span) => {
                self.clock.advance(*span);
                self.subject.clock.advance(*span).await;
                if self.watch.is_some() {
                    let now = self.agreed_time().await?;
                    self.watch.as_mut().map_or(Ok(()), |watch| watch.passed(*span, now))?;
                }
                Ok(Vec::new())
            }
            Op::SetClock(set) => self.set_clock(*set, tally).await.map(|()| Vec::new()),
            Op::Read(read) => {
                self.read(read).await?;
                if matches!(read, Read::Trim { .. }) {
                    self.held = snapshot(&self.model).await.map_err(|error| error.to_string())?;
                }
                Ok(Vec::new())
            }
            Op::Run(batch) => self.run(batch, tally).await,
        }
    }

    async fn set_clock(&mut self, set: Set, tally: &mut Tally) -> Result<(), String> {
        if self.watch.is_none() {
            self.watch = Some(Watch::new(self.agreed_time().await?));
        }
        let clock = Clock::now(&self.clock);
        match set.ahead {
            true => {
                self.clock.set(clock + set.span);
                self.subject.clock.step_ahead(set.span).await;
            }
            false => {
                self.clock.set(clock - set.span);
                self.subject.clock.step_back(set.span).await;
            }
        }
        tally.set(set);
        let now = self.agreed_time().await?;
        self.watch.as_mut().map_or(Ok(()), |watch| watch.was_set(set, now))
    }

    /// The time that both stores report, which must be the same.
    async fn agreed_time(&self) -> Result<Time, String> {
        let read = Read::DueAction { after: None, limit: 1 };
        self.read(&read).await?;
        let timers = self.model.due(&ff_store::PartitionSet::All, None, 1).await;
        timers.map(|timers| timers.now).map_err(|error| error.to_string())
    }

    async fn read(&self, read: &Read) -> Result<(), String> {
        let model = read.at(&self.model).await;
        let subject = read.at(&*self.subject.store).await;
        self.agreement.of_reads(&model, &subject).map_or(Ok(()), Err)
    }

    /// Runs a batch as one on the subject and command by command on the model, which reports each
    /// command's moves.
    async fn run(&mut self, batch: &[Command], tally: &mut Tally) -> Result<Vec<Answer>, String> {
        let translated = batch.iter().map(|command| self.leases.translate(command)).collect();
        let theirs = self.subject.store.execute(translated).await;
        if theirs.len() != batch.len() {
            return Err(format!("{} answers to {} commands", theirs.len(), batch.len()));
        }
        let mut ours = Vec::new();
        for (command, their) in batch.iter().zip(&theirs) {
            let our = match spread::chosen(command, their, self.partitions()) {
                Some(at) => self.model.execute_in(at, command),
                None => self.model.execute(vec![command.clone()]).await.remove(0),
            };
            let after = snapshot(&self.model).await.map_err(|error| error.to_string())?;
            tally.command(command, &our, &self.held, &after, self.now())?;
            if let Some(watch) = &self.watch {
                watch.moved(command, &self.held, &after)?;
            }
            self.held = after;
            if let Some(difference) = self.agreement.of_answers(&our, their) {
                return Err(difference);
            }
            self.leases.note(&our, their);
            self.leased.extend(requests(&our));
            ours.push(our);
        }
        let subject = snapshot(&*self.subject.store).await.map_err(|error| error.to_string())?;
        self.agreement.of_states(&self.held, &subject).map_or(Ok(ours), Err)
    }

    /// Whether `op` can be compared on the two.
    pub(crate) fn comparable(&self, op: &Op) -> bool {
        self.agreement.can_compare(op, self.view()) && spread::can_compare(op, self.view())
    }

    /// Whether the subject keeps every invariant.
    pub(crate) async fn audit(&self) -> Result<(), String> {
        let rows = self.subject.store.rows().await.map_err(|error| error.to_string())?;
        let report = audit::audit(rows).await.map_err(|error| error.to_string())?;
        match report.violations.is_empty() {
            true => Ok(()),
            false => Err(format!("the subject breaks {:#?}", report.violations)),
        }
    }
}

/// The requests that `answer` leased or reserved something for.
fn requests(answer: &Answer) -> Vec<RequestId> {
    match answer {
        Ok(Reply::Claimed(claimed)) => {
            claimed.assignments.iter().map(|a| a.fence.lease.request).collect()
        }
        Ok(Reply::Granted(granted)) => granted.offer.iter().map(|offer| offer.request).collect(),
        _ => Vec::new(),
    }
}
