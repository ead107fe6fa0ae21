//! Why an execution stands where it stands, in a sentence for people.
//!
//! The sentence follows the word "it": "waits for a worker", "is held by worker w". What a holder
//! or an operator said is given in their words.

use ff_core::record::{Description, EndReason};
use ff_core::state::{DelayReason, Intent, Outcome, State};

/// Why `record` ended as it did, or what it waits for; `None` when it completed.
pub(crate) fn of(record: &Description) -> Option<String> {
    Some(match &record.state {
        State::Queued { why } => format!("{}{}", waits_for_worker(record), intent(record, *why)),
        State::Delayed { why, .. } => match why {
            DelayReason::Start => "waits for its start time".to_owned(),
            DelayReason::Backoff => format!("waits to try again{}", after_last_end(record)),
            DelayReason::Hold => "waits for the end of the delay its holder asked for".to_owned(),
        },
        State::Blocked { on, detail, .. } => match on.name.lane() {
            Some(lane) => format!("waits for room in lane {lane}: {detail}"),
            None => format!("waits for {} {}: {detail}", on.kind.as_str(), on.name),
        },
        State::Granted { grant, .. } => format!("is reserved for worker {}", grant.to.id),
        State::Active { lease, cancel: None } => format!("is held by worker {}", lease.worker.id),
        State::Active { lease, cancel: Some(request) } => {
            let said = request.reason.as_deref().map(|reason| format!(": {reason}"));
            let said = said.unwrap_or_default();
            format!("worker {} is asked to stop{said}", lease.worker.id)
        }
        State::Finished { outcome, .. } => return of_outcome(outcome),
    })
}

/// Why a run ended as it did; `None` when it completed.
pub(crate) fn of_outcome(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Success { .. } => None,
        Outcome::Failed { failure } if failure.message.is_empty() => {
            Some(format!("failed with category {} and no message", failure.category))
        }
        Outcome::Failed { failure } => Some(failure.message.to_string()),
        Outcome::Cancelled { reason } => Some(match reason {
            Some(reason) => reason.to_string(),
            None => "cancelled without a reason".to_owned(),
        }),
        Outcome::Expired => Some("its deadline passed before it ended".to_owned()),
    }
}

fn waits_for_worker(record: &Description) -> String {
    let requires = &record.spec.requires;
    match requires.is_empty() {
        true => "waits for a worker".to_owned(),
        false => format!("waits for a worker that offers {requires}"),
    }
}

fn intent(record: &Description, why: Intent) -> String {
    match why {
        Intent::Fresh => String::new(),
        Intent::Retry => format!(", to try again{}", after_last_end(record)),
        Intent::Reclaim => ", to try again after a lost lease".to_owned(),
        Intent::Replay => format!(", to start run {}", record.run.number),
        Intent::Resume => ", to continue after its delay".to_owned(),
        Intent::HandBack => ", to continue what its holder handed back".to_owned(),
        Intent::Revoke => ", to continue after an operator revoked its lease".to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use ff_core::record::{Attempt, AttemptEnd};
    use ff_core::state::CancelRequest;
    use ff_core::{Capabilities, Payload, Time};

    fn reason(state: State) -> Option<String> {
        of(&Description { state, ..sample::held(0) })
    }

    #[test]
    fn waiting_work_says_for_what() {
        let mut record = sample::queued();
        assert_eq!(of(&record).unwrap(), "waits for a worker");
        record.spec.requires = Capabilities::new(["gpu"]).unwrap();
        assert_eq!(of(&record).unwrap(), "waits for a worker that offers gpu");
        record.state = State::Queued { why: Intent::Reclaim };
        let said = of(&record).unwrap();
        assert_eq!(said, "waits for a worker that offers gpu, to try again after a lost lease");
    }

    #[test]
    fn a_retry_repeats_what_went_wrong() {
        let end = |reason| Some(AttemptEnd { at: sample::NOW, reason });
        let mut record = sample::queued();
        record.state = State::Delayed { until: Time::MAX, why: DelayReason::Backoff };
        let failed = end(EndReason::Failed(sample::failure("boom")));
        record.attempt = Some(Attempt { end: failed, ..sample::attempt(0) });
        assert_eq!(of(&record).unwrap(), "waits to try again after a failure: boom");
        record.attempt = Some(Attempt { end: end(EndReason::TimedOut), ..sample::attempt(0) });
        assert!(of(&record).unwrap().ends_with("ran past its timeout"));
    }

    #[test]
    fn a_holder_that_is_asked_to_stop_is_named_with_the_reason() {
        let State::Active { lease, .. } = sample::held(0).state else { panic!("not held") };
        let cancel = |reason: Option<&str>| {
            Some(CancelRequest { by: Time::MAX, reason: reason.map(Into::into) })
        };
        let said = reason(State::Active { lease: lease.clone(), cancel: cancel(Some("enough")) });
        assert_eq!(said.unwrap(), "worker w is asked to stop: enough");
        let said = reason(State::Active { lease, cancel: cancel(None) });
        assert_eq!(said.unwrap(), "worker w is asked to stop");
    }

    #[test]
    fn an_end_is_given_in_the_words_of_who_ended_it() {
        let ended = |outcome| of(&sample::ended(outcome));
        assert_eq!(ended(Outcome::Success { result: Payload::default().shape() }), None);
        let failed = |message| Outcome::Failed { failure: sample::failure(message) };
        assert_eq!(ended(failed("boom")).unwrap(), "boom");
        assert_eq!(ended(failed("")).unwrap(), "failed with category error and no message");
        let cancelled =
            |reason: Option<&str>| Outcome::Cancelled { reason: reason.map(Into::into) };
        assert_eq!(ended(cancelled(Some("no"))).unwrap(), "no");
        assert_eq!(ended(cancelled(None)).unwrap(), "cancelled without a reason");
    }
}
