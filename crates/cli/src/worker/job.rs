//! One execution that this worker holds, from its claim to its acknowledged end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ff_core::record::Exited;
use ff_core::state::Failure;
use ff_core::{Code, Payload};
use ff_sdk::{ClaimedTask, SdkError, StopReason};
use ff_store::{Clock, SystemClock};
use tokio::time::Instant;

use super::Context;
use super::program::{Event, Exit, Program};
use super::verdict::{self, Verdict};
use crate::duration;

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

/// What is left to do once the program has ended.
enum Conclusion {
    /// Complete the execution.
    Complete(Payload),
    /// Fail the attempt.
    Fail(Failure),
    /// Cancel the execution, as requested.
    Cancel,
    /// Hand the execution back.
    HandBack,
    /// Hand it back and stop the worker: the program cannot be run here, and why.
    NotRunnable(String),
    /// Nothing: the execution was cancelled.
    Cancelled,
    /// Nothing: another worker may hold the execution.
    Lost(String),
}

/// Runs the program and reports how it ended.
pub(super) async fn run(context: Arc<Context>, task: ClaimedTask) {
    let started = Instant::now();
    let id = task.assignment().execution;
    let pass = context.relay.admit(task.hold());
    let conclusion = match Program::start(&context, &task) {
        Ok(program) => supervise(&context, program, &task).await,
        Err(error) => not_started(&error),
    };
    drop(pass);
    let (ending, details) = conclude(&context, task, conclusion, started).await;
    context.log.ended(ending, id, details);
    context.count(ending);
}

/// The shell itself cannot be started.
fn not_started(error: &io::Error) -> Conclusion {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            Conclusion::NotRunnable(format!("sh cannot be started: {error}"))
        }
        _ => Conclusion::Fail(verdict::not_started(error)),
    }
}

/// Lets the program run until it ends or must stop. It has ended when this returns.
async fn supervise(context: &Context, mut program: Program, task: &ClaimedTask) -> Conclusion {
    let grace = context.options.grace;
    tokio::select! {
        event = program.run() => match event {
            Event::Ended(exit) => conclusion_of(exit, program),
            Event::TooMuch => {
                let _ = program.stop(grace).await;
                Conclusion::Fail(verdict::too_much_output())
            }
        },
        () = task.stopped() => {
            let left = task.stop_by().map(|by| by.saturating_duration_since(Instant::now()));
            let (reason, error) = (task.stop_reason(), task.stop_error());
            let exit = program.stop(left.map_or(grace, |left| left.min(grace))).await;
            match reason {
                Some(StopReason::CancelRequested) => {
                    after_a_stop(exit, program, Conclusion::Cancel)
                }
                Some(StopReason::Cancelled) => Conclusion::Cancelled,
                Some(StopReason::TimedOut) => {
                    Conclusion::Lost("the attempt ran past its timeout".to_owned())
                }
                Some(StopReason::LeaseLost) | None => {
                    let why = error.map(|error| error.to_string());
                    Conclusion::Lost(why.unwrap_or_else(|| "the lease has ended".to_owned()))
                }
            }
        }
        () = context.shutdown.drained() => {
            let exit = program.stop(grace).await;
            after_a_stop(exit, program, Conclusion::HandBack)
        }
    }
}

/// The conclusion from a program that ended without being stopped.
fn conclusion_of(exit: Exit, program: Program) -> Conclusion {
    if program.has_too_much() {
        return Conclusion::Fail(verdict::too_much_output());
    }
    let (output, stderr) = program.into_output();
    match exit {
        Err(why) => Conclusion::Fail(verdict::unknown(&why)),
        Ok(status) => match verdict::of(status, output, &stderr) {
            Verdict::Completed(result) => Conclusion::Complete(result),
            Verdict::Failed(failure) => Conclusion::Fail(failure),
            Verdict::NotRunnable(why) => Conclusion::NotRunnable(why),
        },
    }
}

/// The conclusion from a program that was asked to stop: one that exits with 0 regardless has done
/// its work; for any other it is `otherwise`.
fn after_a_stop(exit: Exit, program: Program, otherwise: Conclusion) -> Conclusion {
    let done = exit.as_ref().is_ok_and(|status| status.success()) && !program.has_too_much();
    if done { conclusion_of(exit, program) } else { otherwise }
}

/// Ends the task, and says what became of it.
async fn conclude(
    context: &Context,
    task: ClaimedTask,
    conclusion: Conclusion,
    started: Instant,
) -> (Ending, String) {
    let took = started.elapsed();
    match conclusion {
        Conclusion::Complete(result) => acknowledged(task.complete(result).await, took, ""),
        Conclusion::Fail(failure) => {
            let why = format!(": {}", failure.message);
            acknowledged(task.fail(failure).await, took, &why)
        }
        Conclusion::Cancel => acknowledged(task.cancel(None).await, took, ""),
        Conclusion::HandBack => acknowledged(task.hand_back().await, took, ""),
        Conclusion::NotRunnable(why) => {
            context.give_up(why);
            acknowledged(task.hand_back().await, took, "")
        }
        Conclusion::Cancelled => (Ending::Cancelled, String::new()),
        Conclusion::Lost(why) => (Ending::Lost, why),
    }
}

/// The answer of the store to the end of a task that took this long; `why` follows the description
/// of a failure.
fn acknowledged(answer: Result<Exited, SdkError>, took: Duration, why: &str) -> (Ending, String) {
    let took = duration::rough(ff_sdk::millis(took));
    match answer {
        Ok(Exited::Completed) => (Ending::Completed, format!("in {took}")),
        Ok(Exited::Retrying { from }) => {
            let soon = duration::rough(from.since(SystemClock.now()));
            (Ending::Retrying, format!("in {soon}{why}"))
        }
        Ok(Exited::Failed) => (Ending::Failed, format!("after {took}{why}")),
        Ok(Exited::Cancelled) => (Ending::Cancelled, format!("after {took}")),
        Ok(
            Exited::HandedBack
            | Exited::Delayed { .. }
            | Exited::Suspended { .. }
            | Exited::Revoked,
        ) => (Ending::HandedBack, format!("after {took}")),
        Err(error) if error.refused() == Some(Code::Cancelled) => {
            (Ending::Cancelled, String::new())
        }
        // A call whose content is refused has failed for good.
        Err(error) if error.refused().is_some() && !error.ends_hold() => {
            (Ending::Failed, format!("after {took}: {error}"))
        }
        Err(error) => (Ending::Lost, error.to_string()),
    }
}
