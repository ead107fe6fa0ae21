//! Tells the store how the work ended, until it acknowledges it or the lease is over.

use std::time::Duration;

use ff_core::machine::{Assignment, CancelHeld, Complete, Fail, LeaseRef};
use ff_core::record::Exited;
use ff_core::state::Failure;
use ff_core::{Code, Millis, Payload};
use ff_store::{Clock, StoreError, SystemClock};
use tokio::time::Instant;

use super::job::Ending;
use super::keeper::Keeper;
use super::retry::Backoff;
use super::{Context, verdict};
use crate::duration;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a worker that must stop at once goes on trying.
const FAREWELL: Duration = Duration::from_secs(2);

/// How a lease is ended.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// With a result.
    Complete(Payload),
    /// With a failure.
    Fail(Failure),
    /// As it was asked to.
    Cancel,
    /// Unfinished.
    HandBack,
}

/// Ends the lease of `assignment`. Every call can be repeated and is answered the same again. What is
/// refused for what it says fails the execution for good.
pub(super) async fn run(
    context: &Context,
    assignment: &Assignment,
    act: Act,
    keeper: &Keeper,
    took: Duration,
) -> Ending {
    let mut act = act;
    let mut answer = insist(context, assignment, &act, keeper).await;
    if let Some(failure) = answer.as_ref().err().and_then(verdict::refused) {
        act = Act::Fail(failure);
        answer = insist(context, assignment, &act, keeper).await;
    }
    let (ending, told) = match answer {
        Ok(exited) => acknowledged(exited, &act, took),
        Err(error) if error.refused() == Some(Code::Cancelled) => {
            (Ending::Cancelled, String::new())
        }
        Err(error) => (Ending::Lost, error.to_string()),
    };
    context.log.event(word(ending), assignment.execution, told);
    ending
}

/// Makes the call until it is answered, refused, or the lease is over.
async fn insist(
    context: &Context,
    assignment: &Assignment,
    act: &Act,
    keeper: &Keeper,
) -> Result<Exited, StoreError> {
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    let since = Instant::now();
    loop {
        let answer = send(context, assignment.hold(), act.clone()).await;
        let hurried = context.shutdown.now.is_cancelled() && since.elapsed() > FAREWELL;
        match answer {
            Err(error) if error.is_retryable() && keeper.may_hold() && !hurried => {
                tokio::time::sleep(backoff.pause()).await;
            }
            answer => return answer,
        }
    }
}

async fn send(context: &Context, hold: LeaseRef, act: Act) -> Result<Exited, StoreError> {
    let backend = &context.backend;
    let first = |answers: Vec<Result<Exited, StoreError>>| {
        let none = || Err(StoreError::Corrupt("an end was not answered".to_owned()));
        answers.into_iter().next().unwrap_or_else(none)
    };
    match act {
        Act::Complete(result) => {
            backend.complete(vec![Complete { hold, result }]).await.and_then(first)
        }
        Act::Fail(failure) => backend.fail(Fail { hold, failure }).await,
        Act::Cancel => backend.cancel_held(CancelHeld { hold, reason: None }).await,
        Act::HandBack => backend.hand_back(vec![hold]).await.and_then(first),
    }
}

fn acknowledged(exited: Exited, act: &Act, took: Duration) -> (Ending, String) {
    let message = match act {
        Act::Fail(failure) => format!(": {}", failure.message),
        _ => String::new(),
    };
    let took = duration::rough(Millis::new(took.as_millis() as u64));
    match exited {
        Exited::Completed => (Ending::Completed, format!("in {took}")),
        Exited::Retrying { from } => {
            let soon = duration::rough(from.since(SystemClock.now()));
            (Ending::Retrying, format!("in {soon}{message}"))
        }
        Exited::Failed => (Ending::Failed, format!("after {took}{message}")),
        Exited::Cancelled => (Ending::Cancelled, format!("after {took}")),
        Exited::HandedBack | Exited::Delayed { .. } | Exited::Revoked => {
            (Ending::HandedBack, format!("after {took}"))
        }
    }
}

fn word(ending: Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::Retrying => "retrying",
        Ending::Failed => "failed",
        Ending::Cancelled => "cancelled",
        Ending::Lost => "lost",
        Ending::HandedBack => "handed back",
    }
}
