//! Group commit: many commands, one transaction.
//!
//! No command is answered before the commit. A command that breaks the transaction affects only
//! itself: everything is rolled back and each command runs again in a separate transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ff_core::machine::{Command, Reply};
use ff_store::{AfterCommit, ContinuationQueue, SettlementQueue, StoreError, Wakeups, serial};
use rusqlite::Connection;

use crate::clock::StoreClock;
use crate::error::Fault;
use crate::stats::Counters;
use crate::transaction::Open;

/// The answer to one command.
pub(crate) type Answer = Result<Reply, StoreError>;

/// The connection and clock of a group.
pub(crate) struct Group {
    pub(crate) connection: Connection,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) wakeups: Arc<Wakeups>,
    pub(crate) settlements: Arc<SettlementQueue>,
    pub(crate) continuations: Arc<ContinuationQueue>,
    pub(crate) counters: Arc<Counters>,
}

/// The results of commands.
#[derive(Default)]
pub(crate) struct Done {
    /// One per command.
    pub(crate) answers: Vec<Answer>,
    /// The effects.
    pub(crate) after: AfterCommit,
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
            let run = AssertUnwindSafe(|| serial::run(&mut open, command, &mut done.after));
            match catch_unwind(run) {
                Ok(Err(error)) if open.is_broken() => return Err(Failure::Command(error)),
                Ok(answer) => done.answers.push(answer),
                Err(_) => return Err(Failure::Command(panicked())),
            }
        }
        let finishing = Instant::now();
        if open.finish().map_err(not_committed)? {
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
                    all.after.join(done.after);
                    all.commit_time = done.commit_time;
                }
                Err(Failure::Transaction(busy @ StoreError::Busy(_))) => {
                    // The next one would wait as long for the same lock.
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

/// Whether a failed commit is on disk is unknown, except when the disk was full.
fn not_committed(fault: Fault) -> Failure {
    Failure::Transaction(match StoreError::from(fault) {
        full @ StoreError::Full(_) => full,
        error => StoreError::Unavailable(format!("a commit failed: {error}")),
    })
}

fn panicked() -> StoreError {
    StoreError::Unavailable("a command panicked, which is a bug of ours".into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ff_core::machine::Submit;
    use ff_core::{Partition, Payload};
    use ff_store::{SystemClock, mint};

    use super::*;
    use crate::connection;
    use crate::options::Options;

    fn group() -> Group {
        let (connection, _) = connection::writer(&Options::memory()).unwrap();
        Group {
            connection,
            clock: Arc::new(StoreClock::new(Arc::new(SystemClock))),
            wakeups: Arc::default(),
            settlements: Arc::default(),
            continuations: Arc::default(),
            counters: Arc::default(),
        }
    }

    fn submit(bytes: usize) -> Command {
        let id = mint::execution_id(Partition::ONLY);
        let input = Payload::bytes(vec![7; bytes]);
        mint::command(Submit { input, ..Submit::new(id) })
    }

    /// A group on a database in which no new execution can be committed.
    fn uncommittable() -> Group {
        let group = group();
        group
            .connection
            .execute_batch(
                "PRAGMA foreign_keys = ON;
                 CREATE TABLE parent (x INTEGER PRIMARY KEY);
                 CREATE TABLE child (x INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
                 CREATE TRIGGER orphan AFTER INSERT ON execution BEGIN
                     INSERT INTO child VALUES (1);
                 END;",
            )
            .unwrap();
        group
    }

    fn count(group: &Group, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        group.connection.query_row(&sql, (), |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_failed_commit_acknowledges_no_command() {
        let group = uncommittable();
        let submits = [submit(0), submit(0), submit(0)];
        for commands in [&submits[..1], &submits[..]] {
            let commands: Vec<_> = commands.iter().collect();
            let done = group.run(&commands);
            assert_eq!(done.answers.len(), commands.len());
            for answer in done.answers {
                assert!(matches!(answer, Err(StoreError::Unavailable(_))), "{answer:?}");
            }
            assert!(group.connection.is_autocommit(), "nothing is left open");
        }
        assert_eq!((count(&group, "execution"), count(&group, "queue")), (0, 0));
        assert_eq!(group.counters.read().commits, 0);
        group.connection.execute_batch("DROP TRIGGER orphan").unwrap();
        for answer in group.run(&submits.iter().collect::<Vec<_>>()).answers {
            answer.unwrap();
        }
        assert_eq!(count(&group, "execution"), 3);
    }

    #[test]
    fn a_full_disk_is_reported_as_full_and_fails_only_what_does_not_fit() {
        let group = group();
        let limit = |pages: i64| {
            let set =
                group.connection.pragma_update_and_check(None, "max_page_count", pages, |row| {
                    row.get::<_, i64>(0)
                });
            set.unwrap();
        };
        let pages: i64 =
            group.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        limit(pages + 20);
        let (small, large) = (submit(0), submit(500_000));
        let done = group.run(&[&small, &large]);
        done.answers[0].as_ref().unwrap();
        let full = done.answers[1].as_ref().unwrap_err();
        assert!(matches!(full, StoreError::Full(_)), "{full:?}");
        assert_eq!((full.code(), full.is_retryable()), ("store_full", true));
        assert_eq!((count(&group, "execution"), count(&group, "queue")), (1, 1));
        limit(pages + 1_000);
        group.run(&[&large]).answers.remove(0).unwrap();
        assert_eq!((count(&group, "execution"), count(&group, "queue")), (2, 2));
    }
}
