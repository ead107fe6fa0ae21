//! What happened to an execution, one value per transition.
//!
//! Folding the events of an execution gives its public state. Renewals, progress and tag or
//! priority changes are not events.

use crate::id::ExecutionId;
use crate::name::Namespace;
use crate::suspension::SuspendReason;
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
    pub what: EventKind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
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
    /// Its holder suspended it.
    Suspended {
        /// What kind of answer it waits for.
        reason: SuspendReason,
    },
    /// A signal came that did not end its suspension.
    Signalled,
    /// Its suspension has ended, and it continues.
    Resumed {
        /// Its time was over.
        timed_out: bool,
    },
    /// It waits until others have ended.
    Awaiting,
    /// What it waited for has come.
    Released {
        /// It may start then.
        from: Option<Time>,
        /// It continues an attempt.
        resumes: bool,
    },
    /// It never runs, because of how others have ended.
    Skipped,
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
pub fn fold(before: Option<PublicState>, what: EventKind) -> Option<PublicState> {
    use PublicState as P;
    match what {
        EventKind::Submitted { from: Some(_) }
        | EventKind::Retrying { from: Some(_) }
        | EventKind::Delayed { until: Some(_) } => Some(P::Delayed),
        EventKind::Blocked => Some(P::RateLimited),
        EventKind::Unblocked { resumes: false }
        | EventKind::Submitted { from: None }
        | EventKind::Retrying { from: None }
        | EventKind::Woken { resumes: false }
        | EventKind::Reclaimed
        | EventKind::Replayed => Some(P::Waiting),
        EventKind::Released { from: Some(_), .. } => Some(P::Delayed),
        EventKind::Released { from: None, resumes: false } => Some(P::Waiting),
        EventKind::Released { from: None, resumes: true } => Some(P::Resumable),
        EventKind::Awaiting => Some(P::WaitingChildren),
        EventKind::Skipped => Some(P::Skipped),
        EventKind::Suspended { .. } => Some(P::Suspended),
        EventKind::Delayed { until: None }
        | EventKind::Resumed { .. }
        | EventKind::Unblocked { resumes: true }
        | EventKind::Woken { resumes: true }
        | EventKind::HandedBack
        | EventKind::Revoked => Some(P::Resumable),
        EventKind::Claimed { .. } | EventKind::Cancelling => Some(P::Active),
        EventKind::Completed => Some(P::Completed),
        EventKind::Failed => Some(P::Failed),
        EventKind::Cancelled => Some(P::Cancelled),
        EventKind::Expired => Some(P::Expired),
        EventKind::Granted | EventKind::GrantExpired | EventKind::Signalled => before,
        EventKind::Retired => None,
    }
}
