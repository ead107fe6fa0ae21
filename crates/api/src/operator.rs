//! The answers to operators.

use ff_core::ExecutionId;
use ff_core::id::LeaseId;
use ff_core::machine::Cancelled;
use ff_core::record::Exited;
use ff_core::view::ExitOutcome;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::schema;
use crate::timestamp::Timestamp;

ff_core::words!(
    /// What a cancel did.
    CancelStatus {
        /// The execution is cancelled.
        Cancelled = "cancelled",
        /// Its holder has a grace period to stop.
        Cancelling = "cancelling",
    }
);

/// The answer to a cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelledView {
    /// The execution.
    #[schema(value_type = crate::http::schema::Id)]
    pub id: ExecutionId,
    /// `cancelled`, or `cancelling` during the grace period of its holder.
    #[schema(value_type = schema::CancelStatus)]
    pub status: CancelStatus,
    /// When it is cancelled at the latest, while it is `cancelling`.
    pub by: Option<Timestamp>,
}

impl CancelledView {
    /// The answer for execution `id`.
    pub fn new(id: ExecutionId, cancelled: Cancelled) -> Self {
        let (status, by) = match cancelled {
            Cancelled::Finished => (CancelStatus::Cancelled, None),
            Cancelled::Cancelling { by } => (CancelStatus::Cancelling, Some(by.into())),
        };
        CancelledView { id, status, by }
    }
}

/// The answer to a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReplayedView {
    /// The execution.
    #[schema(value_type = crate::http::schema::Id)]
    pub id: ExecutionId,
    /// The number of the run that has started.
    pub run: u32,
}

/// The answer to a revoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevokedView {
    /// The execution.
    #[schema(value_type = crate::http::schema::Id)]
    pub id: ExecutionId,
    /// The lease that has ended.
    pub lease: String,
    /// `revoked`, or `cancelled` when its holder was already asked to stop.
    #[schema(value_type = schema::ExitOutcome)]
    pub status: ExitOutcome,
}

impl RevokedView {
    /// The answer for `lease` of execution `id`.
    pub fn new(id: ExecutionId, lease: LeaseId, exited: Exited) -> Self {
        RevokedView { id, lease: lease.to_string(), status: exited.outcome() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::Time;
    use ff_core::id::RequestId;

    #[test]
    fn a_cancel_with_grace_says_until_when() {
        let by = Time::from_ms(5);
        let view = CancelledView::new(crate::sample::id(), Cancelled::Cancelling { by });
        assert_eq!((view.status, view.by), (CancelStatus::Cancelling, Some(Timestamp(by))));
        let view = CancelledView::new(crate::sample::id(), Cancelled::Finished);
        assert_eq!((view.status, view.by), (CancelStatus::Cancelled, None));
    }

    #[test]
    fn a_revoke_says_what_became_of_the_execution() {
        let lease = LeaseId { request: RequestId::new(1), index: 0 };
        for exited in [Exited::Revoked, Exited::Cancelled] {
            let view = RevokedView::new(crate::sample::id(), lease, exited);
            assert_eq!(view.status, exited.outcome());
        }
    }
}
