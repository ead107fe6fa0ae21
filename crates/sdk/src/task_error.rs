//! How a handler ends when it has no result.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use ff_core::state::Failure;
use ff_core::{Category, Millis, When};

use crate::error::shorten;
use crate::time::millis;

/// How a handler ends when it has no result: it fails, is delayed, or cancels itself.
///
/// Every error converts into a retryable failure with its causes in the message, so `?` works in
/// handlers: on errors of the standard library, on those of other crates, on `anyhow::Error` and on
/// plain text. To keep that conversion possible, this type is not an [`Error`] itself.
///
/// ```
/// use ff_sdk::TaskError;
///
/// fn parse(text: &str) -> Result<u32, TaskError> {
///     if text.is_empty() {
///         return Err(TaskError::permanent("there is nothing to parse"));
///     }
///     Ok(text.parse()?)
/// }
///
/// assert!(!parse("").unwrap_err().is_retryable());
/// assert_eq!(parse("x").unwrap_err().message(), "invalid digit found in string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskError(pub(crate) Ending);

/// What to report to the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It failed; the retry policy and `retryable` decide what follows.
    Failed(Failure),
    /// Continue the same attempt later.
    Delay(Duration),
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

    /// No failure: the same attempt continues after this long. It costs no attempt, so a handler that
    /// always answers this never ends; give the task a deadline where that can happen.
    pub fn retry_after(span: Duration) -> TaskError {
        TaskError(Ending::Delay(span))
    }

    /// The task cancels itself: it ends `cancelled`, with this reason.
    pub fn cancel(reason: impl Into<String>) -> TaskError {
        TaskError(Ending::Cancel(reason.into()))
    }

    /// Names the kind of failure; a retry policy can choose by it. A name is 1 to 64 ASCII
    /// letters, digits, `_`, `-` and `.`; an invalid one is logged and leaves the category unchanged.
    pub fn category(mut self, category: &str) -> TaskError {
        if let Ending::Failed(failure) = &mut self.0 {
            match Category::new(category) {
                Ok(category) => failure.category = category,
                Err(error) => tracing::warn!(%error, category, "a failure keeps its category"),
            }
        }
        self
    }

    /// Whether the task may continue: a later attempt, or the same one.
    pub fn is_retryable(&self) -> bool {
        match &self.0 {
            Ending::Failed(failure) => failure.retryable,
            Ending::Delay(_) => true,
            Ending::Cancel(_) => false,
        }
    }

    /// What went wrong, or why the task was cancelled; empty when it is delayed.
    pub fn message(&self) -> &str {
        match &self.0 {
            Ending::Failed(failure) => &failure.message,
            Ending::Delay(_) => "",
            Ending::Cancel(reason) => reason,
        }
    }

    /// The kind of failure, if it is one: `error` unless the handler named another.
    pub fn failure_category(&self) -> Option<&str> {
        match &self.0 {
            Ending::Failed(failure) => Some(failure.category.as_str()),
            _ => None,
        }
    }

    /// How long the task is delayed, if it is.
    pub fn delay(&self) -> Option<Duration> {
        match self.0 {
            Ending::Delay(span) => Some(span),
            _ => None,
        }
    }

    pub(crate) fn of(category: Category, message: impl Into<String>) -> TaskError {
        TaskError::failed(category, true, message.into())
    }

    pub(crate) fn bad_input(why: &dyn fmt::Display) -> TaskError {
        // An input that does not decode now will not decode at the next try either.
        let message = format!("the input is not what the handler takes: {why}");
        TaskError::failed(Category::bad_input(), false, message)
    }

    fn failed(category: Category, retryable: bool, message: String) -> TaskError {
        let message = shorten(message).into();
        TaskError(Ending::Failed(Failure { category, retryable, message }))
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Ending::Failed(failure) => f.write_str(&failure.message),
            Ending::Delay(span) => write!(f, "continue after {}", Millis::from(*span)),
            Ending::Cancel(reason) => write!(f, "cancelled: {reason}"),
        }
    }
}

impl<E> From<E> for TaskError
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    fn from(error: E) -> TaskError {
        let error = error.into();
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

pub(crate) fn until(span: Duration) -> When {
    When::After(millis(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_converts_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot load")]
        struct Load(#[source] std::num::ParseIntError);

        let error = TaskError::from(Load("x".parse::<u32>().unwrap_err()));
        assert_eq!(error.message(), "cannot load: invalid digit found in string");
        assert!(error.is_retryable());
    }

    #[test]
    fn a_wrong_category_leaves_the_failure_as_it_is() {
        let error = TaskError::permanent("no").category("not a name");
        assert_eq!(error.failure_category(), Some("error"));
        let error = TaskError::permanent("no").category("refused");
        assert_eq!(error.failure_category(), Some("refused"));
        assert!(!error.is_retryable());
    }
}
