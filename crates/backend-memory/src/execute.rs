//! How commands are run: alone on the tables, or with others between a load and its commit.

use ff_core::continuation::Armed;
use ff_core::machine::{self, Action, Command, Loaded, ReadSet, Reply, WriteSet};
use ff_core::{Millis, Partition, Time};
use ff_store::serial::{self, Transaction};
use ff_store::steady::Mark;
use ff_store::{AfterCommit, Store, StoreError, optimistic};

use crate::partitions::Asking;
use crate::store::MemoryStore;
use crate::tables::Tables;

impl MemoryStore {
    /// Runs a claim or a grant in one partition and in no other: where another store, which chose among
    /// several, has run it.
    pub fn execute_in(&self, at: Partition, command: &Command) -> Result<Reply, StoreError> {
        self.alone(|writer| writer.run_in(at, command))
    }

    pub(crate) fn execute_serially(&self, batch: &[Command]) -> Vec<Result<Reply, StoreError>> {
        self.alone(|writer| batch.iter().map(|command| writer.run(command)).collect())
    }

    /// Runs commands that others may come between. In a store of one partition they go together.
    pub(crate) async fn execute_optimistically(
        &self,
        batch: Vec<Command>,
    ) -> Vec<Result<Reply, StoreError>> {
        if self.partitions() == 1 {
            return self.run_in(Partition::ONLY, batch).await;
        }
        let mut answers = Vec::with_capacity(batch.len());
        for command in batch {
            answers.push(self.ask(&command).await);
        }
        answers
    }

    /// Runs one command, in every partition that it asks.
    async fn ask(&self, command: &Command) -> Result<Reply, StoreError> {
        check(command, self.partitions())?;
        let mut asking = Asking::new(command);
        let places = self.tables().places(&command.action);
        for at in places {
            let mut answers = self.run_in(at, vec![asking.command.clone()]).await;
            if !asking.goes_on(answers.pop().ok_or_else(not_asked)??) {
                break;
            }
        }
        asking.into_reply().ok_or_else(not_asked)
    }

    async fn run_in(&self, at: Partition, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        let part = self.part(at);
        let (wakeups, settlements) = (self.wakeups(), self.settlements());
        optimistic::run(&part, batch, wakeups, settlements, self.continuations()).await
    }

    /// Lets one caller change the tables, and publishes what follows.
    fn alone<T>(&self, change: impl FnOnce(&mut Writer<'_>) -> T) -> T {
        let mut tables = self.tables();
        let (time, after) = (self.time(), AfterCommit::default());
        let mut writer = Writer { tables: &mut tables, time, after };
        let changed = change(&mut writer);
        let after = writer.after;
        drop(tables);
        after.publish(self.wakeups(), self.settlements(), self.continuations());
        changed
    }
}

/// Refuses what no state could accept, and what the store cannot route.
fn check(command: &Command, partitions: u16) -> Result<(), StoreError> {
    machine::check(command)?;
    match &command.action {
        Action::Submit(submit) => Ok(submit.check_partition(partitions)?),
        _ => Ok(()),
    }
}

fn not_asked() -> StoreError {
    StoreError::Corrupt("a command asked no partition".into())
}

/// The only caller that changes the tables.
struct Writer<'a> {
    tables: &'a mut Tables,
    time: Mark,
    /// What follows once it is done.
    after: AfterCommit,
}

impl Writer<'_> {
    /// Runs one command, in every partition that it asks.
    fn run(&mut self, command: &Command) -> Result<Reply, StoreError> {
        check(command, self.tables.partitions)?;
        let mut asking = Asking::new(command);
        for at in self.tables.places(&command.action) {
            let reply = self.run_in(at, &asking.command)?;
            if !asking.goes_on(reply) {
                break;
            }
        }
        asking.into_reply().ok_or_else(not_asked)
    }

    fn run_in(&mut self, at: Partition, command: &Command) -> Result<Reply, StoreError> {
        let mut turn = Turn { tables: self.tables, at, time: self.time };
        serial::run(&mut turn, command, &mut self.after)
    }
}

/// A command in one partition.
struct Turn<'a> {
    tables: &'a mut Tables,
    at: Partition,
    time: Mark,
}

impl Transaction for Turn<'_> {
    fn now(&self) -> Time {
        self.time.now
    }

    fn unconfirmed(&self) -> Millis {
        self.time.unconfirmed()
    }

    fn load(&mut self, reads: &ReadSet, loaded: &mut Loaded) -> Result<(), StoreError> {
        self.tables.load(self.at, reads, loaded);
        Ok(())
    }

    fn commit(&mut self, write: WriteSet) -> Result<Vec<Armed>, StoreError> {
        assert!(self.tables.still_holds(&write), "nothing is written during another caller's turn");
        Ok(self.tables.write(write))
    }
}
