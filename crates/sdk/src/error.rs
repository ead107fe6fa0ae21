//! Why a call of the SDK failed. How a handler fails is a [`TaskError`](crate::TaskError).

use std::time::Duration;

use ff_core::{Code, Millis, PublicState, Refusal};
use ff_store::StoreError;

/// Why a call of the SDK failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SdkError {
    /// The backend refused or failed.
    #[error(transparent)]
    Engine(#[from] StoreError),
    /// Every permit is taken: nothing was claimed.
    #[error("the worker is at capacity; finish a task first")]
    WorkerAtCapacity,
    /// The configuration cannot work.
    #[error("the worker cannot start: {field} {why}")]
    Config {
        /// The field of the configuration at fault.
        field: &'static str,
        /// What is wrong with it and what would be right.
        why: String,
    },
    /// The thread of the heartbeats cannot be started.
    #[error("the worker cannot start the thread of its heartbeats: {0}")]
    Thread(std::io::Error),
    /// A payload does not decode into the type the caller asked for.
    #[error("the payload does not decode: {0}")]
    Decode(#[from] serde_json::Error),
    /// The execution ended otherwise than with a result.
    #[error("the execution ended {state}: {reason}")]
    Ended {
        /// How.
        state: PublicState,
        /// Why.
        reason: String,
    },
    /// The execution has not ended within the time that its caller waits. It runs on.
    #[error("the execution has not ended within {}; it runs on, so ask again", Millis::from(*waited))]
    Timeout {
        /// How long the caller waited.
        waited: Duration,
    },
}

impl From<Refusal> for SdkError {
    fn from(refusal: Refusal) -> SdkError {
        SdkError::Engine(refusal.into())
    }
}

impl SdkError {
    /// A configuration that cannot work: which field, and what is wrong with it.
    pub fn config(field: &'static str, why: impl Into<String>) -> SdkError {
        SdkError::Config { field, why: why.into() }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            SdkError::Engine(error) => error.is_retryable(),
            SdkError::WorkerAtCapacity | SdkError::Timeout { .. } => true,
            _ => false,
        }
    }

    /// The stable code of the error, for programs: that of the underlying refusal or failure, or
    /// one of `worker_at_capacity`, `invalid_argument`, `thread_failed`, `bad_payload`, `timeout`,
    /// and the state in which an execution without a result has ended, such as `failed` or
    /// `cancelled`.
    pub fn code(&self) -> &'static str {
        match self {
            SdkError::Engine(error) => error.code(),
            SdkError::WorkerAtCapacity => "worker_at_capacity",
            SdkError::Config { .. } => Code::InvalidArgument.as_str(),
            SdkError::Thread(_) => "thread_failed",
            SdkError::Decode(_) => "bad_payload",
            SdkError::Ended { state, .. } => state.as_str(),
            SdkError::Timeout { .. } => "timeout",
        }
    }

    /// The argument at fault, when one is.
    pub fn field(&self) -> Option<&str> {
        match self {
            SdkError::Engine(error) => error.field(),
            SdkError::Config { field, .. } => Some(field),
            _ => None,
        }
    }

    /// The code of the refusal, if it is one.
    pub fn refused(&self) -> Option<Code> {
        match self {
            SdkError::Engine(error) => error.refused(),
            _ => None,
        }
    }

    /// Whether it means that the caller does not hold the execution any more.
    pub fn ends_hold(&self) -> bool {
        let ended = [Code::StaleLease, Code::Cancelled, Code::ExitConflict, Code::NotFound];
        self.refused().is_some_and(|code| ended.contains(&code))
    }
}

/// Cuts a message at a character boundary within its bound, so that a failure is not refused for
/// the length of its message.
pub(crate) fn shorten(mut message: String) -> String {
    let mut end = ff_core::bounds::MESSAGE_BYTES.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    message
}
