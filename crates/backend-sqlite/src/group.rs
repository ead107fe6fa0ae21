//! Group commit: many commands, one transaction.
//!
//! Nobody is answered before the commit. A command that breaks the transaction costs only itself:
//! everything is undone and each command runs again in a transaction of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::machine::{Command, Reply};
use ff_store::wakeups::Announcement;
use ff_store::{StoreError, Wakeups, serial};
use rusqlite::Connection;

use crate::clock::StoreClock;
use crate::error::Fault;
use crate::stats::Counters;
use crate::transaction::Open;

/// The answer to one command.
pub(crate) type Answer = Result<Reply, StoreError>;

/// What commands are run with.
pub(crate) struct Group {
    pub(crate) connection: Connection,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) wakeups: Arc<Wakeups>,
    pub(crate) counters: Arc<Counters>,
}

/// What became of commands.
#[derive(Default)]
pub(crate) struct Done {
    /// One per command.
    pub(crate) answers: Vec<Answer>,
    /// What waiters should hear.
    pub(crate) announcements: Vec<Announcement>,
    /// How long the last commit took.
    pub(crate) commit_time: Duration,
}

/// Why commands could not be run together. None of them has changed anything.
enum Failure {
    /// The transaction could not be begun or committed.
    Transaction(StoreError),
    /// A command broke it.
    Command(StoreError),
}

impl Group {
    /// Runs commands in order, in one transaction if that works.
    pub(crate) fn run(&self, commands: &[&Command]) -> Done {
        let done = match self.together(commands) {
            Ok(done) => done,
            Err(Failure::Command(_)) if commands.len() > 1 => self.one_by_one(commands),
            Err(Failure::Command(error) | Failure::Transaction(error)) => {
                Done { answers: vec![Err(error); commands.len()], ..Done::default() }
            }
        };
        self.counters.answered(done.answers.len());
        done
    }

    fn together(&self, commands: &[&Command]) -> Result<Done, Failure> {
        let failed = |fault: Fault| Failure::Transaction(fault.into());
        self.counters.begun();
        let mut open = Open::begin(&self.connection, &self.clock).map_err(failed)?;
        let mut done = Done::default();
        for command in commands {
            let run = AssertUnwindSafe(|| serial::run(&mut open, command, &mut done.announcements));
            match catch_unwind(run) {
                Ok(Err(error)) if open.is_broken() => return Err(Failure::Command(error)),
                Ok(answer) => done.answers.push(answer),
                Err(_) => return Err(Failure::Command(panicked())),
            }
        }
        let finishing = Instant::now();
        if open.finish().map_err(failed)? {
            self.counters.committed();
        }
        done.commit_time = finishing.elapsed();
        Ok(done)
    }

    fn one_by_one(&self, commands: &[&Command]) -> Done {
        let mut all = Done::default();
        for command in commands {
            match self.together(&[command]) {
                Ok(done) => {
                    all.answers.extend(done.answers);
                    all.announcements.extend(done.announcements);
                    all.commit_time = done.commit_time;
                }
                Err(Failure::Transaction(busy @ StoreError::Busy(_))) => {
                    // The next one would wait as long for the same.
                    all.answers.resize(commands.len(), Err(busy));
                    break;
                }
                Err(Failure::Command(error) | Failure::Transaction(error)) => {
                    all.answers.push(Err(error));
                }
            }
        }
        all
    }
}

fn panicked() -> StoreError {
    StoreError::Unavailable("a command panicked, which is a bug of ours".into())
}
