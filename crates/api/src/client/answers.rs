//! What the server's answers mean.

use ff_core::machine::{Claimed, Registered, Renewed};
use ff_core::record::Exited;
use ff_core::{Code, Refusal};
use ff_store::roles::Answer;
use ff_store::{Failure, StoreError};

use super::transport::broken;
use crate::ErrorView;
use crate::http::{BeatStatus, BeatView, ClaimedView, ExitAnswers, ExitView, RegisteredView};

/// What the server says a claim took; no content means nothing.
pub(super) fn claimed(view: Option<ClaimedView>) -> Result<Claimed, StoreError> {
    let Some(view) = view else { return Ok(Claimed::default()) };
    understood(view.claimed())
}

/// What an answer says, which may be something that no server of this release says.
pub(super) fn understood<T>(read: Result<T, Refusal>) -> Result<T, StoreError> {
    read.map_err(|refusal| broken(&refusal.to_string()))
}

/// The answers to a batch, which must be as many as were `asked` for.
pub(super) fn one_each<T>(answers: Vec<T>, asked: usize) -> Result<Vec<T>, StoreError> {
    match answers.len() == asked {
        true => Ok(answers),
        false => Err(broken("there are not as many answers as questions")),
    }
}

/// What became of a lease.
pub(super) fn renewed(view: BeatView) -> Answer<Renewed> {
    let refused = |code: Code| {
        let message = code.help().to_owned();
        Err(StoreError::RefusedRemotely { code, message, field: None })
    };
    match (view.status, view.until) {
        (BeatStatus::Renewed | BeatStatus::Cancelling, Some(until)) => {
            Ok(Renewed { until: until.0, cancel_by: view.cancel_by.map(|at| at.0) })
        }
        (BeatStatus::Cancelled, _) => refused(Code::Cancelled),
        (BeatStatus::Lost, _) => {
            refused(view.code.and_then(|code| code.parse().ok()).unwrap_or(Code::StaleLease))
        }
        (BeatStatus::Unknown, _) => {
            let message = "the server's store did not answer; renew again".to_owned();
            Err(StoreError::FailedRemotely { failure: Failure::Unavailable, message })
        }
        (_, None) => Err(broken("a renewal without an end")),
    }
}

/// Until when a worker counts as alive.
pub(super) fn registered(view: Option<RegisteredView>) -> Result<Registered, StoreError> {
    let view = view.ok_or_else(|| broken("no content"))?;
    Ok(Registered { until: view.until.0 })
}

/// How a lease ended.
pub(super) fn exited(view: &ExitView) -> Result<Exited, StoreError> {
    view.exited().ok_or_else(|| broken("an exit without its moment"))
}

/// How several leases ended.
pub(super) fn exits(view: ExitAnswers) -> Vec<Answer<Exited>> {
    let answers = view.answers.into_iter().map(|answer| match (answer.exit, answer.error) {
        (Some(view), _) => exited(&view),
        (None, Some(error)) => Err(told(error)),
        (None, None) => Err(broken("an empty answer")),
    });
    answers.collect()
}

/// The server's answer to a command. A code that is none of this release keeps whether it is worth
/// trying again.
pub(super) fn told(error: ErrorView) -> StoreError {
    let ErrorView { code, message, field, retryable } = error;
    match (code.parse::<Code>(), code.parse::<Failure>()) {
        (Ok(code), _) => StoreError::RefusedRemotely { code, message, field },
        (_, Ok(failure)) => StoreError::FailedRemotely { failure, message },
        _ if retryable => StoreError::FailedRemotely { failure: Failure::Unavailable, message },
        _ => broken(&format!("{message} ({code})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: &str, retryable: bool) -> StoreError {
        let message = "in the server's words".to_owned();
        told(ErrorView { code: code.to_owned(), message, field: None, retryable })
    }

    #[test]
    fn a_failure_of_the_server_keeps_its_code_and_its_words() {
        for failure in Failure::ALL {
            let told = error(failure.code(), failure.is_retryable());
            assert_eq!((told.failure(), told.code()), (Some(*failure), failure.code()));
            assert_eq!(told.is_retryable(), failure.is_retryable());
            assert_eq!(told.to_string(), "in the server's words");
        }
    }

    #[test]
    fn a_refusal_of_the_server_keeps_its_code() {
        for code in Code::ALL {
            let told = error(code.as_str(), false);
            assert_eq!((told.refused(), told.failure()), (Some(code), None));
        }
    }

    #[test]
    fn a_code_of_another_release_keeps_whether_to_try_again() {
        assert!(error("moon_phase", true).is_retryable());
        let told = error("moon_phase", false);
        assert_eq!(told.failure(), Some(Failure::Protocol));
        assert!(told.to_string().contains("in the server's words (moon_phase)"), "{told}");
    }
}
