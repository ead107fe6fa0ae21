//! Why an execution is in its state, in words: with its lane, workers and limits and the time for the
//! sentence, from the record alone for the short reason that lists and pages show.
//!
//! Words follow "The execution", or "it". The text of a worker or an operator is quoted as it is.

use crate::explain::{Reason, own_reason};
use crate::record::{Description, EndReason};
use crate::state::{DelayReason, Intent, Outcome, State};
use crate::suspension::{OnTimeout, SuspendReason};
use crate::time::{Millis, Time};

/// Why `record` ended as it did, or what it waits for; `None` when it completed.
pub fn short_reason(record: &Description) -> Option<String> {
    let reason = match &record.state {
        State::Finished { outcome, .. } => return outcome.reason(),
        State::Queued { why } => return Some(queued(record, *why)),
        State::Blocked { on, detail, .. } => {
            Reason::Blocked { on: on.clone(), detail: detail.clone(), until: None }
        }
        State::Delayed { .. }
        | State::Suspended { .. }
        | State::Awaiting { .. }
        | State::Granted { .. }
        | State::Active { .. } => own_reason(record)?,
    };
    Some(words(&reason, record, None))
}

impl Outcome {
    /// Why a run ended so; `None` when it completed.
    pub fn reason(&self) -> Option<String> {
        match self {
            Outcome::Success { .. } => None,
            Outcome::Failed { failure } if failure.message.is_empty() => {
                Some(format!("failed with category {} and no message", failure.category))
            }
            Outcome::Failed { failure } => Some(failure.message.to_string()),
            Outcome::Cancelled { reason: Some(reason) } => Some(reason.to_string()),
            Outcome::Cancelled { reason: None } => Some("cancelled without a reason".to_owned()),
            Outcome::Expired => Some("its deadline passed before it ended".to_owned()),
            Outcome::Skipped { because } => {
                Some(format!("skipped because node {because} did not succeed"))
            }
        }
    }
}

/// The words for `reason`, with the distance of times from `now`, if that is given.
pub(crate) fn words(reason: &Reason, record: &Description, now: Option<Time>) -> String {
    let within = |at: Time| match now.map(|now| at.since(now)) {
        None => String::new(),
        Some(Millis::ZERO) => " now".to_owned(),
        Some(span) => format!(" in {}", span.rounded()),
    };
    match reason {
        Reason::LanePaused { lane, reason, .. } => {
            let why = reason.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            format!("waits because lane {lane} is paused{why}")
        }
        Reason::NoWorkerOnLane { lane } => {
            format!("waits because no live worker serves lane {lane}")
        }
        Reason::NoCapableWorker { requires, nearest: Some((worker, lacks)) } => format!(
            "waits because no live worker offers {requires}: the nearest, {}, lacks {lacks}",
            worker.instance
        ),
        Reason::NoCapableWorker { requires, nearest: None } => {
            format!("waits because no live worker offers {requires}")
        }
        Reason::InQueue { ahead, workers } => {
            let turn = match ahead {
                0 => "is next in its queue".to_owned(),
                1 => "has 1 execution before it in its queue".to_owned(),
                _ => format!("has {ahead} executions before it in its queue"),
            };
            match workers {
                0 => turn,
                1 => format!("{turn}, which 1 live worker can serve"),
                _ => format!("{turn}, which {workers} live workers can serve"),
            }
        }
        Reason::NotBefore { until, why } => match why {
            DelayReason::Start => format!("waits to start{}", within(*until)),
            DelayReason::Backoff => {
                format!("waits to try again{}{}", within(*until), after_last_end(record))
            }
            DelayReason::Hold => match &record.state {
                State::Delayed { step: Some(step), .. } => {
                    let then = now.map(|_| format!(" and continues{}", within(*until)));
                    format!("sleeps in step {step}{}", then.unwrap_or_default())
                }
                _ => format!("waits to continue{}, as its worker asked", within(*until)),
            },
        },
        Reason::Blocked { on, detail, until } => {
            let what = match on.name.lane() {
                Some(lane) => format!("room in lane {lane}"),
                None => format!("{} {}", on.kind, on.name),
            };
            let clears = until.map(|until| format!(", and that may clear{}", within(until)));
            format!("waits for {what}: {detail}{}", clears.unwrap_or_default())
        }
        Reason::LaneLimit { lane, active, max_active: Some(most) } if active >= most => {
            format!("waits because lane {lane} runs {active} of {most} at once")
        }
        Reason::LaneLimit { lane, .. } => {
            format!("waits because lane {lane} was full; there is room again")
        }
        Reason::Suspended { reason, message, until, on_timeout } => {
            let what = match reason {
                SuspendReason::Signal => "a signal",
                SuspendReason::Approval => "an approval",
                SuspendReason::Callback => "a callback",
                SuspendReason::ToolResult => "the result of a tool",
            };
            let then = match on_timeout {
                OnTimeout::Resume => "continues",
                OnTimeout::Fail => "fails",
                OnTimeout::Cancel => "is cancelled",
                OnTimeout::Expire => "expires",
            };
            let asked = message.as_ref().map(|asked| format!(": {asked}")).unwrap_or_default();
            let ends = until
                .filter(|_| now.is_some())
                .map(|until| format!(", and {then}{} without one", within(until)));
            format!("waits for {what}{}{asked}", ends.unwrap_or_default())
        }
        Reason::Awaiting { upstreams: _, needs: _ } if record.is_flow() => {
            "runs until its members have ended".to_owned()
        }
        Reason::Awaiting { .. } if record.awaits_children() => {
            "waits until its children have ended".to_owned()
        }
        Reason::Awaiting { upstreams, needs } if upstreams.is_empty() => match needs {
            0 | 1 => "waits for what it depends on".to_owned(),
            more => format!("waits for {more} of what it depends on"),
        },
        Reason::Awaiting { upstreams, needs } => {
            let named =
                upstreams.iter().map(|(name, state)| format!("node {name}, which is {state}"));
            let named: Vec<_> = named.collect();
            match *needs as usize == named.len() {
                true => format!("waits for {}", named.join(", and for ")),
                false => format!("waits for {needs} of its upstream nodes: {}", named.join(", ")),
            }
        }
        Reason::Reserved { worker, until } => {
            let returns =
                |_| format!(" and returns to its queue{} unless that claims it", within(*until));
            let returns = now.map(returns).unwrap_or_default();
            format!("is reserved for worker {}{returns}", worker.instance)
        }
        Reason::Held { worker, cancel_by: Some(by), .. } => {
            let said = cancel_reason(record).map(|said| format!(": {said}")).unwrap_or_default();
            let by = within(*by);
            format!("is held by worker {}, which is asked to stop{by}{said}", worker.instance)
        }
        Reason::Held { worker, until, .. } => {
            let ends = |_| format!(", whose lease ends{} unless renewed", within(*until));
            format!("is held by worker {}{}", worker.instance, now.map(ends).unwrap_or_default())
        }
        Reason::Finished { .. } => format!("is {} and waits for nothing", record.public_state()),
    }
}

fn cancel_reason(record: &Description) -> Option<&str> {
    match &record.state {
        State::Active { cancel: Some(request), .. } => request.reason.as_deref(),
        _ => None,
    }
}

/// What a queued record says without its surroundings.
fn queued(record: &Description, why: Intent) -> String {
    let requires = &record.spec.requires;
    let offers = match requires.is_empty() {
        true => String::new(),
        false => format!(" that offers {requires}"),
    };
    let then = match why {
        Intent::Fresh => String::new(),
        Intent::Retry => format!(", to try again{}", after_last_end(record)),
        Intent::Reclaim => ", to try again after a lost lease".to_owned(),
        Intent::Replay => format!(", to start run {}", record.run.number),
        Intent::Resume => ", to continue its attempt".to_owned(),
        Intent::HandBack => ", to continue what its holder handed back".to_owned(),
        Intent::Revoke => ", to continue after an operator revoked its lease".to_owned(),
    };
    format!("waits for a worker{offers}{then}")
}

fn after_last_end(record: &Description) -> String {
    let end = record.attempt.as_ref().and_then(|attempt| attempt.end.as_ref());
    match end.map(|end| &end.reason) {
        Some(EndReason::Failed(failure)) if !failure.message.is_empty() => {
            format!(" after a failure: {}", failure.message)
        }
        Some(EndReason::TimedOut) => " after an attempt that ran past its timeout".to_owned(),
        _ => " after a failure".to_owned(),
    }
}
