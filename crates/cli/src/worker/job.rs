//! One execution in this worker's hands, from its claim to its acknowledged end.

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
    /// Nothing: the execution was cancelled.
    Cancelled,
    /// Nothing: another may hold the execution.
    Lost(String),
}

/// Runs the program and tells the store how it ended.
pub(super) async fn run(context: Arc<Context>, assignment: Assignment) -> Ending {
    let started = Instant::now();
    let mut keeper = Keeper::start(&context, &assignment);
    let program = Program::start(&context.options.exec, &assignment, context.log.clone());
    let conclusion = match program {
        Ok(program) => supervise(&context, program, &mut keeper).await,
        Err(error) => Conclusion::Tell(Act::Fail(verdict::not_started(&error))),
    };
    let id = assignment.execution;
    match conclusion {
        Conclusion::Tell(act) => {
            deliver::run(&context, &assignment, act, &keeper, started.elapsed()).await
        }
        Conclusion::Cancelled => {
            context.log.event("cancelled", id, "");
            Ending::Cancelled
        }
        Conclusion::Lost(why) => {
            context.log.event("lost", id, why);
            Ending::Lost
        }
    }
}

/// Lets the program run until it ends or must stop. It is gone when this returns.
async fn supervise(context: &Context, mut program: Program, keeper: &mut Keeper) -> Conclusion {
    let grace = context.options.grace;
    tokio::select! {
        event = program.run() => match event {
            Event::Ended(exit) => Conclusion::Tell(told(exit, program)),
            Event::TooMuch => {
                let _ = program.stop(grace).await;
                Conclusion::Tell(Act::Fail(verdict::too_much_output()))
            }
        },
        order = keeper.order() => match order {
            Order::Stop { by } => {
                let left = by.saturating_duration_since(Instant::now());
                let exit = program.stop(grace.min(left)).await;
                Conclusion::Tell(told_to_stop(exit, program, Act::Cancel))
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
            Conclusion::Tell(told_to_stop(exit, program, Act::HandBack))
        }
    }
}

/// What is told of a program that ended by itself.
fn told(exit: Exit, program: Program) -> Act {
    if program.has_too_much() {
        return Act::Fail(verdict::too_much_output());
    }
    let (output, said) = program.into_output();
    match exit {
        Err(why) => Act::Fail(verdict::unknown(&why)),
        Ok(status) => match verdict::of(status, output, &said) {
            Verdict::Completed(result) => Act::Complete(result),
            Verdict::Failed(failure) => Act::Fail(failure),
        },
    }
}

/// What is told of a program that was told to stop: one that exits with 0 all the same has done its
/// work, of any other it is `otherwise`.
fn told_to_stop(exit: Exit, program: Program, otherwise: Act) -> Act {
    let done = exit.as_ref().is_ok_and(|status| status.success()) && !program.has_too_much();
    if done { told(exit, program) } else { otherwise }
}
