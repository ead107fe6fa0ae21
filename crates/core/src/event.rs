//! What happened to an execution, one value per transition.
//!
//! Folding the events of an execution gives its public state. Renewals, progress and tag or
//! priority changes are not events.

use crate::id::ExecutionId;
use crate::name::Namespace;
use crate::time::Time;
use crate::view::PublicState;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The tenant.
    pub namespace: Namespace,
    /// To which execution.
    pub execution: ExecutionId,
    /// When, by the store's clock.
    pub at: Time,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// It was accepted, and may start then.
    Submitted {
        /// Not before.
        from: Option<Time>,
    },
    /// Its delay is over.
    Woken {
        /// It continues an attempt.
        resumes: bool,
    },
    /// It was reserved for a worker.
    Granted,
    /// A reservation was not used.
    GrantExpired,
    /// A worker holds it.
    Claimed {
        /// The attempt it runs.
        attempt: u32,
    },
    /// Its holder completed it.
    Completed,
    /// An attempt failed or timed out, and another follows.
    Retrying {
        /// Not before.
        from: Option<Time>,
    },
    /// It failed.
    Failed,
    /// Its holder put it off.
    Delayed {
        /// Not before.
        until: Option<Time>,
    },
    /// Its holder is asked to stop.
    Cancelling,
    /// It was cancelled.
    Cancelled,
    /// Its holder handed it back.
    HandedBack,
    /// An operator revoked its lease.
    Revoked,
    /// Its lease ran out, and another attempt follows.
    Reclaimed,
    /// A budget or a quota has no room for it.
    Blocked,
    /// It is back in its queue, or may be claimed under an admission.
    Unblocked {
        /// It continues an attempt.
        resumes: bool,
    },
    /// Its deadline passed.
    Expired,
    /// A new run started.
    Replayed,
    /// It was removed.
    Retired,
}

/// The public state after `what`, seen from the state before it; `None` means it is gone.
pub fn fold(before: Option<PublicState>, what: What) -> Option<PublicState> {
    use PublicState as P;
    match what {
        What::Submitted { from: Some(_) }
        | What::Retrying { from: Some(_) }
        | What::Delayed { until: Some(_) } => Some(P::Delayed),
        What::Blocked => Some(P::RateLimited),
        What::Unblocked { resumes: false }
        | What::Submitted { from: None }
        | What::Retrying { from: None }
        | What::Woken { resumes: false }
        | What::Reclaimed
        | What::Replayed => Some(P::Waiting),
        What::Delayed { until: None }
        | What::Unblocked { resumes: true }
        | What::Woken { resumes: true }
        | What::HandedBack
        | What::Revoked => Some(P::Resumable),
        What::Claimed { .. } | What::Cancelling => Some(P::Active),
        What::Completed => Some(P::Completed),
        What::Failed => Some(P::Failed),
        What::Cancelled => Some(P::Cancelled),
        What::Expired => Some(P::Expired),
        What::Granted | What::GrantExpired => before,
        What::Retired => None,
    }
}
