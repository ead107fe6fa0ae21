//! The exit codes, by which scripts decide what to do next.

use std::process::ExitCode;

use ff_store::{ErrorKind, Failure};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Done = 0,
    /// It was refused, or it was done and the answer is no.
    No = 1,
    /// The command line is invalid.
    Usage = 2,
    /// No answer: the store or the server.
    Unavailable = 3,
    /// The store or the server is overloaded.
    Busy = 4,
    /// The store is full.
    Full = 5,
    /// The server requires its token.
    Unauthenticated = 6,
    /// The store, or the server by the role of the token, denies permission.
    Denied = 7,
    /// The store cannot be read.
    Corrupt = 8,
    /// The store or the server is incompatible with this release.
    Incompatible = 9,
    /// An unknown error.
    Failed = 10,
    /// There is no store.
    NoStore = 11,
}

impl Exit {
    /// Every exit, for the reference page.
    pub(crate) const ALL: [(Exit, &str); 12] = [
        (Exit::Done, "Success."),
        (
            Exit::No,
            "The command was refused, or could not be carried out by `ff` itself; or it was carried \
             out and the answer is no: an execution that was waited for did not complete, a store \
             is not sound.",
        ),
        (Exit::Usage, "The command line is invalid."),
        (
            Exit::Unavailable,
            "The store or the server cannot be reached or gave no answer. Try again; every command \
             can be repeated as it was.",
        ),
        (Exit::Busy, "The store or the server is overloaded. Nothing was changed; try again."),
        (Exit::Full, "The store is full. Nothing was changed."),
        (Exit::Unauthenticated, "The server requires its token."),
        (
            Exit::Denied,
            "The store rejects its user, or that user lacks a permission; or the role of the token may \
             not do this.",
        ),
        (Exit::Corrupt, "The store contains a record that cannot be read."),
        (
            Exit::Incompatible,
            "The store or the server is incompatible with this release, or cannot be trusted.",
        ),
        (Exit::Failed, "The store or the server failed with an unknown error."),
        (Exit::NoStore, "There is no store at this place, and the command does not create one."),
    ];

    /// How the program ends after an error.
    pub(crate) fn of(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Refused(_) => Exit::No,
            ErrorKind::Failed(failure) => Exit::after(failure),
        }
    }

    /// How the program ends after a failure.
    pub(crate) fn after(failure: Failure) -> Exit {
        match failure {
            Failure::Unavailable | Failure::Unreachable | Failure::Unanswered => Exit::Unavailable,
            Failure::Busy | Failure::Contention | Failure::Overloaded | Failure::RateLimited => {
                Exit::Busy
            }
            Failure::Full => Exit::Full,
            Failure::Unauthenticated => Exit::Unauthenticated,
            Failure::Denied | Failure::Forbidden => Exit::Denied,
            Failure::Corrupt => Exit::Corrupt,
            Failure::Incompatible | Failure::Protocol | Failure::Untrusted => Exit::Incompatible,
            Failure::Failed | Failure::Internal => Exit::Failed,
        }
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}
