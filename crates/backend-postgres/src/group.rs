//! Group commit: many commands, one transaction.
//!
//! No command is answered before the commit. Commands run on a [view](crate::view) of what was loaded; what
//! one of them misses is loaded before it is run again. If others were in the way of the transaction it is
//! run again, and then each command alone.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use ff_core::machine::{self, Command, MAX_ROUNDS, Reply};
use ff_store::{AfterCommit, StoreError, serial};
use tokio::time::{sleep, timeout};

use crate::clock::StoreClock;
use crate::connection::{Line, Session};
use crate::error::Fault;
use crate::load;
use crate::stats::Counters;
use crate::view::{Probe, View};
use crate::wants::Wants;

/// The answer to one command.
pub(crate) type Answer = Result<Reply, StoreError>;

/// How often commands are run together before each is run alone.
const TRIES_TOGETHER: usize = 3;
/// How often one command is run before others are said to be in its way.
const TRIES_ALONE: usize = 8;
/// The longest pause before a further try, in milliseconds.
const PAUSE_MS: u64 = 10;
/// How long a transaction may take before its outcome counts as unknown.
const LONGEST: Duration = Duration::from_secs(20);

/// Fails if what was decided has become too old.
const FRESH: &str = "SELECT ff_fresh($1)";

/// What runs groups.
pub(crate) struct Group {
    pub(crate) line: Line,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) counters: Arc<Counters>,
}

/// The results of calls.
#[derive(Default)]
pub(crate) struct Done {
    /// For each call, one answer per command.
    pub(crate) answers: Vec<Vec<Answer>>,
    /// The effects.
    pub(crate) after: AfterCommit,
}

/// Why a transaction did not come to its end.
pub(crate) enum Failure {
    /// Others were in its way; nothing has changed.
    Again,
    /// The connection was lost before the commit; nothing has changed.
    Lost(StoreError),
    /// Nothing has changed.
    Failed(StoreError),
    /// Whether anything has changed is not known.
    Unknown(StoreError),
}

/// A call on its way to its answers.
struct Turn<'a> {
    commands: &'a [Command],
    answers: Vec<Answer>,
}

impl Group {
    /// Runs calls, the commands of each in order, in one transaction if that works.
    pub(crate) async fn run(&mut self, calls: &[&[Command]]) -> Done {
        let commands: usize = calls.iter().map(|call| call.len()).sum();
        let tries = if commands > 1 { TRIES_TOGETHER } else { TRIES_ALONE };
        let done = match self.tried(calls, tries).await {
            Ok(done) => done,
            Err(Failure::Again | Failure::Failed(_)) if commands > 1 => {
                self.one_by_one(calls).await
            }
            Err(failure) => {
                let error = failure.into_error();
                let failed = |call: &&[Command]| vec![Err(error.clone()); call.len()];
                Done { answers: calls.iter().map(failed).collect(), ..Done::default() }
            }
        };
        self.counters.answered(commands);
        done
    }

    async fn one_by_one(&mut self, calls: &[&[Command]]) -> Done {
        let mut all = Done::default();
        for call in calls {
            let mut answers = Vec::with_capacity(call.len());
            for command in *call {
                match self.tried(&[std::slice::from_ref(command)], TRIES_ALONE).await {
                    Ok(done) => {
                        answers.extend(done.answers.into_iter().flatten());
                        all.after.join(done.after);
                    }
                    Err(failure) => answers.push(Err(failure.into_error())),
                }
            }
            all.answers.push(answers);
        }
        all
    }

    /// Runs calls together, again while others are in the way, and once more if the connection was lost.
    async fn tried(&mut self, calls: &[&[Command]], tries: usize) -> Result<Done, Failure> {
        let mut was_lost = false;
        for number in 0..tries {
            let ended = match timeout(LONGEST, self.together(calls)).await {
                Ok(ended) => ended,
                Err(_) => {
                    let why = format!("the server did not answer within {LONGEST:?}");
                    Err(Failure::Unknown(StoreError::Unavailable(why)))
                }
            };
            match ended {
                Ok(done) => return Ok(done),
                Err(Failure::Again) => {
                    self.counters.again();
                    self.undo().await;
                    sleep(Duration::from_millis(
                        fastrand::u64(0..=PAUSE_MS) * number.min(2) as u64,
                    ))
                    .await;
                }
                Err(Failure::Lost(_)) if !was_lost => {
                    was_lost = true;
                    self.line.drop_session();
                }
                Err(Failure::Failed(error)) => {
                    self.undo().await;
                    return Err(Failure::Failed(error));
                }
                Err(failure) => {
                    self.line.drop_session();
                    return Err(failure);
                }
            }
        }
        Err(Failure::Again)
    }

    /// Leaves no transaction open.
    async fn undo(&mut self) {
        let undone = match self.line.session().await {
            Ok(session) => session.batch("ROLLBACK").await.is_ok(),
            Err(_) => false,
        };
        if !undone {
            self.line.drop_session();
        }
    }

    async fn together(&mut self, calls: &[&[Command]]) -> Result<Done, Failure> {
        self.counters.begun();
        let session = self.line.session().await.map_err(before_commit)?;
        let begun = load::begin(session, &self.clock, first_wants(calls)).await;
        let mut view = begun.map_err(before_commit)?;
        let decided = decide(session, &mut view, calls).await.map_err(before_commit)?;
        let Decided { answers, mut after, has_flushed } = decided;
        let has_written = has_flushed || !view.pending.is_empty();
        after.adds(finish(session, view, has_written).await?);
        if has_written {
            self.counters.committed();
        }
        Ok(Done { answers, after })
    }
}

/// What the commands of `calls` read at first.
pub(crate) fn first_wants(calls: &[&[Command]]) -> Wants {
    let mut view = View::default();
    for command in calls.iter().copied().flatten() {
        if machine::check(command).is_ok() {
            view.want(&machine::reads(command));
        }
    }
    view.missing
}

/// What commands have decided; what the view has pending is still to be written.
pub(crate) struct Decided {
    /// For each call, one answer per command.
    pub(crate) answers: Vec<Vec<Answer>>,
    /// What follows once it is committed.
    pub(crate) after: AfterCommit,
    has_flushed: bool,
}

/// Runs the commands of all calls in the open transaction, those of one call in order.
pub(crate) async fn decide(
    session: &Session<'_>,
    view: &mut View,
    calls: &[&[Command]],
) -> Result<Decided, Fault> {
    let most = MAX_ROUNDS * (1 + calls.iter().copied().flatten().count());
    let mut turns: Vec<_> =
        calls.iter().map(|commands| Turn { commands, answers: Vec::new() }).collect();
    let (mut after, mut has_flushed) = (AfterCommit::default(), false);
    for _ in 0..most {
        let mut left = 0;
        for turn in &mut turns {
            left += usize::from(!turn.goes_on(view, &mut after));
        }
        if left == 0 {
            break;
        }
        let missing = std::mem::take(&mut view.missing);
        if !view.pending.is_empty() {
            has_flushed = true;
            after.adds(std::mem::take(&mut view.pending).flush(session, &[]).await?);
        }
        load::load(session, view, missing).await?;
    }
    Ok(Decided { answers: turns.into_iter().map(Turn::into_answers).collect(), after, has_flushed })
}

/// Writes what is left and commits, in one round trip. What is too old is not committed.
pub(crate) async fn finish(
    session: &Session<'_>,
    view: View,
    has_written: bool,
) -> Result<Vec<ff_core::continuation::Armed>, Failure> {
    let until = view.fresh_until().as_ms() as i64;
    let commit = ("COMMIT", Vec::new());
    let last = match has_written {
        true => vec![(FRESH, vec![&until as _]), commit],
        false => vec![commit],
    };
    view.pending.flush(session, &last).await.map_err(|fault| match fault {
        fault if fault.is_conflict() => Failure::Again,
        // The server has said that it did not commit.
        fault if !fault.is_lost() => Failure::Failed(fault.into()),
        fault => Failure::Unknown(StoreError::Unavailable(format!(
            "a commit was not answered: {}",
            StoreError::from(fault)
        ))),
    })
}

fn before_commit(fault: Fault) -> Failure {
    match fault {
        fault if fault.is_conflict() => Failure::Again,
        fault if fault.is_lost() => Failure::Lost(fault.into()),
        fault => Failure::Failed(fault.into()),
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        before_commit(fault)
    }
}

impl Failure {
    pub(crate) fn into_error(self) -> StoreError {
        match self {
            Failure::Again => StoreError::Contention,
            Failure::Lost(error) | Failure::Failed(error) | Failure::Unknown(error) => error,
        }
    }
}

impl Turn<'_> {
    /// Runs the commands that are left, as far as what they see is loaded. Answers whether all have run. Of
    /// those that cannot run yet, what they miss is noted.
    fn goes_on(&mut self, view: &mut View, after: &mut AfterCommit) -> bool {
        while let Some(command) = self.commands.get(self.answers.len()) {
            view.has_missed = false;
            let run = AssertUnwindSafe(|| serial::run(view, command, after));
            let answer = catch_unwind(run).unwrap_or_else(|_| Err(panicked()));
            if view.has_missed {
                break;
            }
            self.answers.push(answer);
        }
        let left = self.commands.get(self.answers.len() + 1..).unwrap_or_default();
        for command in left {
            let probe = || serial::run(&mut Probe(view), command, &mut AfterCommit::default());
            // What it answers is decided when it is its turn.
            let _ = catch_unwind(AssertUnwindSafe(probe));
        }
        self.answers.len() == self.commands.len()
    }

    fn into_answers(mut self) -> Vec<Answer> {
        let too_many = || StoreError::Corrupt("a command did not come to a decision".into());
        self.answers.resize_with(self.commands.len(), || Err(too_many()));
        self.answers
    }
}

fn panicked() -> StoreError {
    StoreError::Unavailable("a command panicked, which is a bug of ours".into())
}
