//! The one timer of a record: the earliest thing that time alone will do to it.
//!
//! When it fires, the record and the store's time decide what is due, so a stale timer is harmless.

use crate::record::Description;
use crate::state::State;
use crate::time::Time;
use crate::words;

words!(
    /// What time alone does to an execution. At equal times the first one listed happens.
    DueAction {
        /// Its deadline has passed: it ends `expired`.
        Deadline = "deadline",
        /// The grace of a cancel is over: it ends `cancelled`.
        CancelGrace = "cancel_grace",
        /// The attempt ran too long: the retry policy decides.
        AttemptTimeout = "attempt_timeout",
        /// The lease ran out: it is reclaimed.
        LeaseExpired = "lease_expired",
        /// A delay is over: it joins its queue.
        DelayOver = "delay_over",
        /// A suspension was not ended in time: what it asked for happens.
        SuspensionOver = "suspension_over",
        /// A grant was not used: it returns to its place.
        GrantExpired = "grant_expired",
        /// Its retention is over: it is removed.
        Retention = "retention",
    }
);

/// The earliest thing that time will do to `record`.
pub fn next(record: &Description) -> Option<(Time, DueAction)> {
    let own = match &record.state {
        State::Queued { .. } | State::Blocked { .. } | State::Awaiting { .. } => None,
        State::Delayed { until, .. } => Some((*until, DueAction::DelayOver)),
        State::Suspended { suspension } => {
            suspension.until.map(|until| (until, DueAction::SuspensionOver))
        }
        State::Granted { grant, .. } => Some((grant.until, DueAction::GrantExpired)),
        State::Active { lease, cancel } => {
            let grace = cancel.as_ref().map(|request| (request.by, DueAction::CancelGrace));
            let timeout = lease.timeout_at.map(|at| (at, DueAction::AttemptTimeout));
            let hold = Some((lease.until, DueAction::LeaseExpired));
            [grace, timeout, hold].into_iter().flatten().min()
        }
        State::Finished { .. } => return record.retired_at().map(|at| (at, DueAction::Retention)),
    };
    let deadline = record.run.deadline.map(|at| (at, DueAction::Deadline));
    [deadline, own].into_iter().flatten().min()
}

/// What time has already done to `record`, if anything.
pub fn due(record: &Description, now: Time) -> Option<DueAction> {
    next(record).filter(|(at, _)| *at <= now).map(|(_, due)| due)
}
