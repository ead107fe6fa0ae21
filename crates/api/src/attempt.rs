//! Attempts.

use ff_core::record::{Attempt, EndReason, Progress};
use ff_core::{WorkerId, WorkerInstanceId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::execution::FailureView;
use crate::timestamp::Timestamp;

/// The attempts of one execution, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptsView {
    /// The attempts.
    pub attempts: Vec<AttemptView>,
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    /// 0 for the first; runs go on counting.
    pub attempt: u32,
    /// The run it belongs to.
    pub run: u32,
    /// `open` while it runs or is paused, else how it ended: `completed`, `failed`, `timed_out`,
    /// `lease_lost`, `cancelled` or `expired`.
    pub status: String,
    /// What its holder reported, when it `failed`.
    pub failure: Option<FailureView>,
    /// When it was first claimed.
    pub started: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The newest worker that ran it.
    #[schema(value_type = String)]
    pub worker: WorkerId,
    /// The process of that worker.
    #[schema(value_type = String)]
    pub worker_instance: WorkerInstanceId,
    /// The newest lease that ran it.
    pub lease: String,
    /// The holder's last progress report.
    pub progress: Option<ProgressView>,
}

impl From<&Attempt> for AttemptView {
    fn from(attempt: &Attempt) -> Self {
        let reason = attempt.end.as_ref().map(|end| &end.reason);
        AttemptView {
            attempt: attempt.number,
            run: attempt.run,
            status: reason.map_or("open", word).to_owned(),
            failure: match reason {
                Some(EndReason::Failed(failure)) => Some(failure.into()),
                _ => None,
            },
            started: attempt.started.into(),
            ended: attempt.end.as_ref().map(|end| end.at.into()),
            worker: attempt.worker.id.clone(),
            worker_instance: attempt.worker.instance.clone(),
            lease: attempt.lease.to_string(),
            progress: attempt.progress.as_ref().map(ProgressView::from),
        }
    }
}

fn word(reason: &EndReason) -> &'static str {
    match reason {
        EndReason::Completed => "completed",
        EndReason::Failed(_) => "failed",
        EndReason::TimedOut => "timed_out",
        EndReason::LeaseLost => "lease_lost",
        EndReason::Cancelled => "cancelled",
        EndReason::Expired => "expired",
    }
}

/// How far an attempt is, in its holder's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProgressView {
    /// 0 to 100.
    pub percent: Option<u8>,
    /// For people.
    pub message: Option<String>,
}

impl From<&Progress> for ProgressView {
    fn from(progress: &Progress) -> Self {
        ProgressView {
            percent: progress.percent,
            message: progress.message.as_deref().map(str::to_owned),
        }
    }
}

impl From<ProgressView> for Progress {
    fn from(view: ProgressView) -> Progress {
        Progress { percent: view.percent, message: view.message.map(Into::into) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::Time;
    use ff_core::record::AttemptEnd;

    #[test]
    fn an_open_attempt_has_no_end() {
        let view = AttemptView::from(&crate::sample::attempt(4));
        assert_eq!((view.attempt, view.status.as_str()), (4, "open"));
        assert_eq!((view.ended, view.failure), (None, None));
        assert_eq!(view.lease.matches('.').count(), 1);
    }

    #[test]
    fn a_failed_attempt_tells_what_went_wrong() {
        let failure = crate::sample::failure("boom");
        let end = AttemptEnd { at: Time::from_ms(9), reason: EndReason::Failed(failure) };
        let attempt = Attempt { end: Some(end), ..crate::sample::attempt(0) };
        let view = AttemptView::from(&attempt);
        assert_eq!(view.status, "failed");
        assert_eq!(view.failure.unwrap().message, "boom");
        assert_eq!(view.ended, Some(Timestamp(Time::from_ms(9))));
    }
}
