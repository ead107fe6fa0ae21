//! What a store answers instead of a reply.

use ff_core::{Code, Refusal};

/// Why a call to a store gave no reply.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The machine refused the command; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A server refused the command; nothing was changed.
    #[error("{message}")]
    RefusedRemotely {
        /// The stable code.
        code: Code,
        /// What the server said.
        message: String,
        /// The argument at fault, when one is.
        field: Option<String>,
    },
    /// Another process holds the store for longer than the busy timeout; nothing was changed.
    #[error("the store is busy: {0}; try again")]
    Busy(String),
    /// The store has no room for more; nothing was changed. What ends or frees work still runs.
    #[error("the store is full: {0}; free or add memory, then try again")]
    Full(String),
    /// Others kept changing the same execution; nothing was changed.
    #[error("others keep changing the same execution; try again")]
    Contention,
    /// The store cannot be reached, or failed. Whether the command took effect is unknown; every
    /// command can be repeated as it was sent.
    #[error("the store failed: {0}; repeat the call as it was sent")]
    Unavailable(String),
    /// The store holds something that cannot be what was written.
    #[error("the store holds something unreadable: {0}; run `ff check`")]
    Corrupt(String),
    /// The store belongs to another release or another product.
    #[error("the store cannot be opened: {0}")]
    Incompatible(String),
}

impl StoreError {
    /// The stable code: the refusal's, or `store_` and what failed.
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::Refused(refusal) => refusal.code().as_str(),
            StoreError::RefusedRemotely { code, .. } => code.as_str(),
            StoreError::Busy(_) => "store_busy",
            StoreError::Full(_) => "store_full",
            StoreError::Contention => "store_contention",
            StoreError::Unavailable(_) => "store_unavailable",
            StoreError::Corrupt(_) => "store_corrupt",
            StoreError::Incompatible(_) => "store_incompatible",
        }
    }

    /// The codes of a store's own failures, and what each means, for the reference page.
    pub const CODES: &[(&str, &str)] = &[
        (
            "store_busy",
            "Another process holds the store for longer than the busy timeout. Nothing was changed; \
             try again.",
        ),
        (
            "store_full",
            "The store has reached its memory limit and takes no more work; what ends or frees work \
             still runs. Nothing was changed; an operator should free or add memory.",
        ),
        (
            "store_contention",
            "Others kept changing the same execution while the command was decided. Nothing was \
             changed; try again.",
        ),
        (
            "store_unavailable",
            "The store cannot be reached, or failed while it worked. Whether the command took \
             effect is unknown; repeat the call as it was sent.",
        ),
        (
            "store_corrupt",
            "The store holds something that cannot be what was written. Nothing was changed; run \
             `ff check`.",
        ),
        (
            "store_incompatible",
            "The store was written by a newer release, or is not a FlowFabric store. Open it with \
             the release that wrote it.",
        ),
    ];

    /// The code of the refusal, when that is what it is: nothing was changed, and the same call
    /// will be refused again.
    pub fn refused(&self) -> Option<Code> {
        match self {
            StoreError::Refused(refusal) => Some(refusal.code()),
            StoreError::RefusedRemotely { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The argument at fault, when one is.
    pub fn field(&self) -> Option<&str> {
        match self {
            StoreError::Refused(refusal) => refusal.field(),
            StoreError::RefusedRemotely { field, .. } => field.as_deref(),
            _ => None,
        }
    }

    /// The machine's refusal, when it was made in this process.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            StoreError::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The failure that a server told of by its code; an unknown code keeps whether it is worth
    /// trying again.
    pub fn from_code(code: &str, message: String, retryable: bool) -> StoreError {
        // What the server says is a whole sentence; ours say the same around a cause.
        let cause = || "so says the server".to_owned();
        match code {
            "store_busy" => StoreError::Busy(cause()),
            "store_full" => StoreError::Full(cause()),
            "store_contention" => StoreError::Contention,
            "store_unavailable" => StoreError::Unavailable(cause()),
            "store_corrupt" => StoreError::Corrupt(cause()),
            "store_incompatible" => StoreError::Incompatible(cause()),
            _ if retryable => StoreError::Unavailable(message),
            _ => StoreError::Incompatible(format!("{message} ({code})")),
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            StoreError::Busy(_)
                | StoreError::Full(_)
                | StoreError::Contention
                | StoreError::Unavailable(_)
        )
    }
}
