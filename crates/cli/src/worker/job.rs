//! One execution in this worker's hands, from its claim to its acknowledged end.

use std::io;
use std::sync::Arc;

use ff_core::machine::Assignment;
use tokio::time::Instant;

use super::Context;
use super::deliver::{self, Act};
use super::keeper::{Keeper, Order};
use super::program::{Event, Exit, Program};
use super::verdict::{self, Verdict};

/// How an execution ended for this worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It is completed.
    Completed,
    /// The attempt failed, and another follows.
    Retrying,
    /// It has failed.
    Failed,
    /// It is cancelled.
    Cancelled,
    /// The lease ended before the work did.
    Lost,
    /// It is back in its queue.
    HandedBack,
}

/// What is left to do once the program is gone.
enum Conclusion {
    /// Tell the store.
    Tell(Act),
    /// Hand the work back and stop the worker: the program cannot be run here, and why.
    NotRunnable(String),
    /// Nothing: the execution was cancelled.
    Cancelled,
    /// Nothing: another may hold the execution.
    Lost(String),
}

/// Runs the program and tells the store how it ended.
pub(super) async fn run(context: Arc<Context>, assignment: Assignment) -> Ending {
    let started = Instant::now();
    let mut keeper = Keeper::start(&context, &assignment);
    let pass = context.relay.admit(assignment.hold());
    let conclusion = match Program::start(&context, &assignment) {
        Ok(program) => supervise(&context, program, &mut keeper).await,
        Err(error) => not_started(&error),
    };
    drop(pass);
    let id = assignment.execution;
    let act = match conclusion {
        Conclusion::Tell(act) => act,
        Conclusion::NotRunnable(why) => {
            context.give_up(why);
            Act::HandBack
        }
        Conclusion::Cancelled => {
            context.log.event("cancelled", id, "");
            return Ending::Cancelled;
        }
        Conclusion::Lost(why) => {
            context.log.event("lost", id, why);
            return Ending::Lost;
        }
    };
    deliver::run(&context, &assignment, act, &keeper, started.elapsed()).await
}

/// The shell itself cannot be started.
fn not_started(error: &io::Error) -> Conclusion {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            Conclusion::NotRunnable(format!("sh cannot be started: {error}"))
        }
        _ => Conclusion::Tell(Act::Fail(verdict::not_started(error))),
    }
}

/// Lets the program run until it ends or must stop. It is gone when this returns.
async fn supervise(context: &Context, mut program: Program, keeper: &mut Keeper) -> Conclusion {
    let grace = context.options.grace;
    tokio::select! {
        event = program.run() => match event {
            Event::Ended(exit) => told(exit, program),
            Event::TooMuch => {
                let _ = program.stop(grace).await;
                Conclusion::Tell(Act::Fail(verdict::too_much_output()))
            }
        },
        order = keeper.order() => match order {
            Order::Stop { by } => {
                let left = by.saturating_duration_since(Instant::now());
                let exit = program.stop(grace.min(left)).await;
                told_to_stop(exit, program, Act::Cancel)
            }
            Order::Cancelled => {
                let _ = program.stop(grace).await;
                Conclusion::Cancelled
            }
            Order::Lost(why) => {
                let _ = program.stop(grace).await;
                Conclusion::Lost(why)
            }
        },
        () = context.shutdown.now.cancelled() => {
            let exit = program.stop(grace).await;
            told_to_stop(exit, program, Act::HandBack)
        }
    }
}

/// What is told of a program that ended by itself.
fn told(exit: Exit, program: Program) -> Conclusion {
    if program.has_too_much() {
        return Conclusion::Tell(Act::Fail(verdict::too_much_output()));
    }
    let (output, said) = program.into_output();
    Conclusion::Tell(match exit {
        Err(why) => Act::Fail(verdict::unknown(&why)),
        Ok(status) => match verdict::of(status, output, &said) {
            Verdict::Completed(result) => Act::Complete(result),
            Verdict::Failed(failure) => Act::Fail(failure),
            Verdict::NotRunnable(why) => return Conclusion::NotRunnable(why),
        },
    })
}

/// What is told of a program that was told to stop: one that exits with 0 all the same has done its
/// work, of any other it is `otherwise`.
fn told_to_stop(exit: Exit, program: Program, otherwise: Act) -> Conclusion {
    let done = exit.as_ref().is_ok_and(|status| status.success()) && !program.has_too_much();
    if done { told(exit, program) } else { Conclusion::Tell(otherwise) }
}
