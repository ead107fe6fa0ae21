//! The ways in which a call gets no decision, by their stable codes.
//!
//! A failure is reported by the store itself, by a server in front of it, or by the client that finds no
//! server. The code is the same wherever it is read: in an error, in an HTTP answer, in the table of
//! exit codes.

use std::fmt;
use std::str::FromStr;

macro_rules! failures {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $retry:ident, $help:literal;)+) => {
        /// Why a call got no decision.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Failure { $($(#[$doc])* $name),+ }

        impl Failure {
            /// Every failure, in the order of the reference page.
            pub const ALL: &[Failure] = &[$(Failure::$name),+];

            /// The code as it is written everywhere: snake case, never changed.
            pub const fn code(self) -> &'static str {
                match self { $(Failure::$name => $code),+ }
            }

            /// Whether the same call may succeed later without intervention.
            pub const fn is_retryable(self) -> bool {
                match self { $(Failure::$name => failures!(@ $retry)),+ }
            }

            /// What it means and what a caller does about it, for the reference page.
            pub const fn help(self) -> &'static str {
                match self { $(Failure::$name => $help),+ }
            }
        }
    };
    (@ later) => { true };
    (@ never) => { false };
}

failures!(
    /// Another process holds the store.
    Busy = "store_busy", later,
        "Another process holds the store for longer than the busy timeout. Nothing was changed; \
         try again.";
    /// The store has no room.
    Full = "store_full", later,
        "The store has reached its memory limit or its disk is full, and accepts no more work; on Valkey, running work can still finish. Nothing was changed; an operator should free or add space.";
    /// Others kept changing the same execution.
    Contention = "store_contention", later,
        "The same execution kept changing while the command was decided. Nothing was changed; try again.";
    /// The store cannot be reached, or failed.
    Unavailable = "store_unavailable", later,
        "The store cannot be reached, or failed while it worked. Whether the command took effect \
         is unknown; repeat the call as it was sent.";
    /// The store does not let this user in, or not do this.
    Denied = "store_denied", never,
        "The store rejects the user or password it was opened with, or that user lacks a permission; the message, or the server's log, names it. Retrying does not help until an operator grants it.";
    /// The store contains a record that cannot be read.
    Corrupt = "store_corrupt", never,
        "The store contains a record that cannot be read. Nothing was changed; run `ff check`.";
    /// The store is not ours, or not of this release.
    Incompatible = "store_incompatible", never,
        "The store was written by a newer release, is not a FlowFabric store, is set up so that it \
         would lose work, or its signing keys are not those of this server. The message says which.";
    /// The store answered with an error that has no name here.
    Failed = "store_failed", never,
        "The store returned an error that this release does not know. Whether the command took effect is unknown, and a blind retry is unlikely to help; the message, or the server's log, quotes the store. Once the cause is fixed, repeat the call as it was sent.";
    /// Too many claims wait at the server.
    Overloaded = "overloaded", later,
        "Too many claims are waiting; try again after a pause.";
    /// The server takes no more requests just now, of this caller or of anybody.
    RateLimited = "rate_limited", later,
        "The token, or all callers of the server together, make more requests a second than the server takes. Nothing was changed; try again after the pause that `Retry-After` names.";
    /// The server has a fault.
    Internal = "internal", never,
        "A fault of the server; its log has the request's id.";
    /// No server was found at its address.
    Unreachable = "server_unreachable", later,
        "No server answers at the address: it is not started, or the address is wrong. Nothing was \
         sent.";
    /// The server did not answer what was sent.
    Unanswered = "server_no_answer", later,
        "The connection broke, or the server took too long. Whether the command took effect is \
         unknown; repeat the call as it was sent.";
    /// The server does not know the caller.
    Unauthenticated = "unauthenticated", never,
        "The request has no token, or a wrong one.";
    /// The server knows the caller, whose role may not do it.
    Forbidden = "forbidden", never,
        "The token that was shown is accepted, but its role may not do this; the message names the \
         roles that may. Nothing was changed.";
    /// The server's certificate is not trusted.
    Untrusted = "server_not_trusted", never,
        "The server's certificate is not one that the caller trusts: it is of another authority, for \
         another name, or no longer valid. Nothing was sent.";
    /// The answer is not that of a server of this release.
    Protocol = "protocol_error", never,
        "The answer is not one that this release understands: the address belongs to something \
         else, or the server is of another release.";
);

impl Failure {
    /// Whether the call may have taken effect.
    pub const fn outcome_is_unknown(self) -> bool {
        matches!(
            self,
            Failure::Unavailable
                | Failure::Failed
                | Failure::Internal
                | Failure::Unanswered
                | Failure::Protocol
        )
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl FromStr for Failure {
    type Err = UnknownFailure;

    fn from_str(text: &str) -> Result<Failure, UnknownFailure> {
        Failure::ALL.iter().copied().find(|known| known.code() == text).ok_or(UnknownFailure)
    }
}

/// The text is no failure of this release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a failure of this release")]
pub struct UnknownFailure;

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::Code;

    #[test]
    fn a_code_names_one_failure_and_no_refusal() {
        for failure in Failure::ALL {
            assert_eq!(failure.code().parse(), Ok(*failure));
            assert!(failure.code().parse::<Code>().is_err(), "{failure}");
        }
        assert_eq!("nonsense".parse::<Failure>(), Err(UnknownFailure));
    }
}
