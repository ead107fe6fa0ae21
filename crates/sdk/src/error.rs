//! What can go wrong, for those who use the SDK and for those whose handlers run in it.

use ff_core::state::Failure;
use ff_core::{Category, Code, Millis, Refusal, When};
use ff_store::StoreError;

/// Why a call of the SDK failed.
#[derive(Debug, thiserror::Error)]
pub enum SdkError {
    /// The backend refused or failed.
    #[error(transparent)]
    Backend(#[from] StoreError),
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
    /// The worker's own thread cannot be started.
    #[error("the worker cannot start the thread of its heartbeats: {0}")]
    Thread(std::io::Error),
    /// A payload is not what the caller asked for.
    #[error("the payload does not decode: {0}")]
    Decode(#[from] serde_json::Error),
    /// The execution ended otherwise than with a result.
    #[error("the execution ended {state}: {reason}")]
    Ended {
        /// How.
        state: ff_core::PublicState,
        /// Why.
        reason: String,
    },
}

impl From<Refusal> for SdkError {
    fn from(refusal: Refusal) -> SdkError {
        SdkError::Backend(refusal.into())
    }
}

impl SdkError {
    pub(crate) fn config(field: &'static str, why: impl Into<String>) -> SdkError {
        SdkError::Config { field, why: why.into() }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            SdkError::Backend(error) => error.is_retryable(),
            SdkError::WorkerAtCapacity => true,
            _ => false,
        }
    }

    /// The code of the refusal, when that is what it is.
    pub fn refused(&self) -> Option<Code> {
        match self {
            SdkError::Backend(error) => error.refused(),
            _ => None,
        }
    }
}

/// How a handler ends when it has no result.
///
/// Any error converts into a retryable failure, so `?` works in handlers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskError {
    /// It failed; the retry policy and `retryable` decide what follows.
    Failed(Failure),
    /// Continue the same attempt later.
    Delay(When),
    /// The task cancels itself.
    Cancel(String),
}

impl TaskError {
    /// A failure that another try may overcome.
    pub fn retryable(message: impl Into<String>) -> TaskError {
        TaskError::failed(Category::error(), true, message.into())
    }

    /// A failure that no further try will overcome.
    pub fn permanent(message: impl Into<String>) -> TaskError {
        TaskError::failed(Category::error(), false, message.into())
    }

    /// A retryable failure of a category that a retry policy may know.
    pub fn of(category: Category, message: impl Into<String>) -> TaskError {
        TaskError::failed(category, true, message.into())
    }

    /// Continue the same attempt after this long.
    pub fn delay(span: Millis) -> TaskError {
        TaskError::Delay(When::After(span))
    }

    fn failed(category: Category, retryable: bool, message: String) -> TaskError {
        TaskError::Failed(Failure { category, retryable, message: shorten(message).into() })
    }
}

impl<E: std::error::Error> From<E> for TaskError {
    fn from(error: E) -> TaskError {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(deeper) = cause {
            message.push_str(": ");
            message.push_str(&deeper.to_string());
            cause = deeper.source();
        }
        TaskError::retryable(message)
    }
}

/// Cuts a message at a character boundary within its bound: a failure must not be refused because
/// it has too much to say.
pub(crate) fn shorten(mut message: String) -> String {
    let mut end = ff_core::limits::MESSAGE_BYTES.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    message
}
