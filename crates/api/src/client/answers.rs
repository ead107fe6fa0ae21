//! Decodes the answers of the server.

use ff_core::machine::{Claimed, Registered, Renewed};
use ff_core::record::Exited;
use ff_core::{Code, Refusal};
use ff_store::roles::Answer;
use ff_store::{Failure, StoreError};

use super::transport::broken;
use crate::ErrorView;
use crate::http::{BeatStatus, BeatView, ClaimedView, ExitAnswers, ExitView, RegisteredView};

/// What a claim took; no content means nothing.
pub(super) fn claimed(view: Option<ClaimedView>) -> Result<Claimed, StoreError> {
    let Some(view) = view else { return Ok(Claimed::default()) };
    understood(view.claimed())
}

/// Decodes an answer, which may be one that no server of this release sends.
pub(super) fn understood<T>(read: Result<T, Refusal>) -> Result<T, StoreError> {
    read.map_err(|refusal| broken(&refusal.to_string()))
}

/// The answers to a batch, of which there must be `expected`.
pub(super) fn one_each<T>(answers: Vec<T>, expected: usize) -> Result<Vec<T>, StoreError> {
    match answers.len() == expected {
        true => Ok(answers),
        false => Err(broken("there are not as many answers as requests")),
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
        (None, Some(error)) => Err(error_of(error)),
        (None, None) => Err(broken("an empty answer")),
    });
    answers.collect()
}

/// The error of the server. An unknown code keeps whether it is worth
/// trying again.
pub(super) fn error_of(error: ErrorView) -> StoreError {
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
        let message = "the server's message".to_owned();
        error_of(ErrorView { code: code.to_owned(), message, field: None, retryable })
    }

    #[test]
    fn a_failure_of_the_server_keeps_its_code_and_its_message() {
        for failure in Failure::ALL {
            let error = error(failure.code(), failure.is_retryable());
            assert_eq!((error.failure(), error.code()), (Some(*failure), failure.code()));
            assert_eq!(error.is_retryable(), failure.is_retryable());
            assert_eq!(error.to_string(), "the server's message");
        }
    }

    #[test]
    fn a_refusal_of_the_server_keeps_its_code() {
        for code in Code::ALL {
            let error = error(code.as_str(), false);
            assert_eq!((error.refused(), error.failure()), (Some(code), None));
        }
    }

    #[test]
    fn a_code_of_another_release_keeps_whether_to_try_again() {
        assert!(error("moon_phase", true).is_retryable());
        let error = error("moon_phase", false);
        assert_eq!(error.failure(), Some(Failure::Protocol));
        assert!(error.to_string().contains("the server's message (moon_phase)"), "{error}");
    }
}
