//! What a caller gets instead of a reply.
//!
//! One type serves a store in this process and a server that is asked over HTTP, because the roles
//! are the same for both. Callers ask what happened ([`StoreError::refused`],
//! [`StoreError::failure`]) and whether to try again; no one reads the words.

use ff_core::{Code, Refusal};

use crate::failure::Failure;
use crate::ring::FileError;

/// Why a call gave no reply.
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
    #[error("the store is full: {0}; free or add space, then try again")]
    Full(String),
    /// Others kept changing the same execution; nothing was changed.
    #[error("other clients keep changing the same execution; try again")]
    Contention,
    /// The store cannot be reached, or failed. Whether the command took effect is unknown; every
    /// command can be repeated as it was sent.
    #[error("the store failed: {0}; repeat the call as it was sent")]
    Unavailable(String),
    /// The store does not let this user in, or not do this.
    #[error("the store denies access: {0}")]
    Denied(String),
    /// The store holds something that cannot be what was written.
    #[error("the store holds something unreadable: {0}; run `ff check`")]
    Corrupt(String),
    /// The store belongs to another release or another product.
    #[error("the store cannot be opened: {0}")]
    Incompatible(String),
    /// The store answered with an error that has no name here. Whether the command took effect is
    /// unknown.
    #[error("the store answered with an unknown error: {0}; find its cause before trying again")]
    Failed(String),
    /// A server reported a failure: its own, or its store's.
    #[error("{message}")]
    FailedRemotely {
        /// Which.
        failure: Failure,
        /// What the server said.
        message: String,
    },
    /// No server was found; nothing was sent.
    #[error("no server answers at {url}: {why}; start it, or check the address")]
    Unreachable {
        /// Where.
        url: String,
        /// What happened instead.
        why: String,
    },
    /// What was sent to a server was not answered. Whether the command took effect is unknown;
    /// every command can be repeated as it was sent.
    #[error("the server at {url} gave no answer: {why}; repeat the call as it was sent")]
    Unanswered {
        /// Which server.
        url: String,
        /// What happened instead.
        why: String,
    },
    /// The server does not know the caller; nothing was changed.
    #[error("the server at {url} requires its token; give the right one")]
    Unauthenticated {
        /// Which server.
        url: String,
    },
    /// The server cannot prove that it is the one that was asked for; nothing was sent.
    #[error(
        "the certificate of the server at {url} is not trusted: {why}; name the file of its authority \
         with --ca or FF_CA"
    )]
    Untrusted {
        /// Which server.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// What answers is not a server of this release.
    #[error(
        "the server's answer is not understood: {0}; check that the address is that of a FlowFabric \
         server of this release"
    )]
    Protocol(String),
}

impl From<FileError> for StoreError {
    fn from(error: FileError) -> StoreError {
        StoreError::Incompatible(error.to_string())
    }
}

impl StoreError {
    /// What happened, for callers that handle each case.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Failed(match self {
            StoreError::Refused(refusal) => return ErrorKind::Refused(refusal.code()),
            StoreError::RefusedRemotely { code, .. } => return ErrorKind::Refused(*code),
            StoreError::Busy(_) => Failure::Busy,
            StoreError::Full(_) => Failure::Full,
            StoreError::Contention => Failure::Contention,
            StoreError::Unavailable(_) => Failure::Unavailable,
            StoreError::Denied(_) => Failure::Denied,
            StoreError::Corrupt(_) => Failure::Corrupt,
            StoreError::Incompatible(_) => Failure::Incompatible,
            StoreError::Failed(_) => Failure::Failed,
            StoreError::FailedRemotely { failure, .. } => *failure,
            StoreError::Unreachable { .. } => Failure::Unreachable,
            StoreError::Unanswered { .. } => Failure::Unanswered,
            StoreError::Unauthenticated { .. } => Failure::Unauthenticated,
            StoreError::Untrusted { .. } => Failure::Untrusted,
            StoreError::Protocol(_) => Failure::Protocol,
        })
    }

    /// The stable code, of the refusal or of the failure.
    pub fn code(&self) -> &'static str {
        match self.kind() {
            ErrorKind::Refused(code) => code.as_str(),
            ErrorKind::Failed(failure) => failure.code(),
        }
    }

    /// The code of the refusal, when that is what it is: nothing was changed, and the same call
    /// will be refused again.
    pub fn refused(&self) -> Option<Code> {
        match self.kind() {
            ErrorKind::Refused(code) => Some(code),
            ErrorKind::Failed(_) => None,
        }
    }

    /// What failed, when the call was not refused.
    pub fn failure(&self) -> Option<Failure> {
        match self.kind() {
            ErrorKind::Refused(_) => None,
            ErrorKind::Failed(failure) => Some(failure),
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

    /// Whether the call may have taken effect.
    pub fn outcome_is_unknown(&self) -> bool {
        self.failure().is_some_and(Failure::outcome_is_unknown)
    }

    /// Whether the same call may succeed later without intervention.
    pub fn is_retryable(&self) -> bool {
        self.failure().is_some_and(Failure::is_retryable)
    }
}

/// What happened, for callers that handle each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The call was decided on and not done; nothing was changed.
    Refused(Code),
    /// The call got no decision.
    Failed(Failure),
}
