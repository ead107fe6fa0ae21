//! What can be full: a bounded collection, and its bound.

use std::fmt;

/// A bounded collection that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The runs of an execution.
    Runs {
        /// The bound.
        most: u32,
    },
    /// The entries of a journal.
    Steps {
        /// The bound.
        most: u64,
    },
    /// The results in a journal.
    JournalBytes {
        /// The bound, in bytes.
        most: u64,
    },
    /// The open waitpoints of an execution.
    Waitpoints {
        /// The bound.
        most: usize,
    },
    /// The signals of a waitpoint.
    SignalsOfWaitpoint {
        /// The bound.
        most: u32,
    },
    /// The signals of an execution.
    Signals {
        /// The bound.
        most: u64,
    },
    /// The signals that wait for a suspension.
    EarlySignals {
        /// The bound.
        most: usize,
    },
    /// The secrets of a token.
    Secrets {
        /// The bound.
        most: usize,
    },
    /// The webhooks of a namespace.
    Webhooks {
        /// The bound.
        most: usize,
    },
    /// The secrets of a webhook that sign.
    WebhookSecrets {
        /// The bound.
        most: usize,
    },
    /// The distinct capability sets that the queued work of a lane requires.
    CapabilitySets {
        /// The bound.
        most: u64,
    },
    /// The viewers of streams in one process.
    Viewers {
        /// The bound.
        most: usize,
    },
    /// The signing keys of a store that verify.
    SigningKeys {
        /// The bound.
        most: u32,
    },
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Full::Runs { most } => write!(
                f,
                "the execution has already been run {most} times, and no more are kept; submit the \
                 work again"
            ),
            Full::Steps { most } => write!(
                f,
                "the journal of the execution already has {most} entries, and no more are kept; split \
                 the work over several executions"
            ),
            Full::JournalBytes { most } => write!(
                f,
                "the results of the execution's steps would have more than {most} bytes; keep large \
                 data elsewhere and return a reference to it"
            ),
            Full::Waitpoints { most } => {
                write!(f, "the execution already has {most} open waitpoints; close one first")
            }
            Full::SignalsOfWaitpoint { most } => {
                write!(f, "the waitpoint has already received {most} signals; it takes no more")
            }
            Full::Signals { most } => {
                write!(f, "the execution has already received {most} signals; it takes no more")
            }
            Full::EarlySignals { most } => write!(
                f,
                "already {most} signals wait for the execution to suspend; send it again once it has"
            ),
            Full::Secrets { most } => {
                write!(f, "the token already has {most} secrets that are accepted; revoke one")
            }
            Full::Webhooks { most } => {
                write!(f, "the namespace already has {most} webhooks; remove one first")
            }
            Full::WebhookSecrets { most } => write!(
                f,
                "{most} secrets of the webhook sign already; wait until the grace of one is over"
            ),
            Full::CapabilitySets { most } => write!(
                f,
                "the lane already queues {most} distinct capability sets; reuse one, or use another \
                 lane"
            ),
            Full::Viewers { most } => {
                write!(f, "{most} viewers already watch streams here; try again later")
            }
            Full::SigningKeys { most } => write!(
                f,
                "{most} signing keys verify already; retire one with `ff keys retire`, or wait until \
                 its grace is over"
            ),
        }
    }
}
