//! Attempts.

use ff_core::record::{Attempt, EndReason, Progress};
use ff_core::view::AttemptStatus;
use ff_core::{WorkerId, WorkerInstanceId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::execution::FailureView;
use crate::http::schema;
use crate::timestamp::Timestamp;

/// One page of the attempts of an execution, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptsView {
    /// The attempts.
    pub attempts: Vec<AttemptView>,
    /// The cursor to continue with; null when there is nothing more.
    pub next: Option<String>,
}

impl AttemptsView {
    /// The page requested with `limit`.
    pub fn new(found: &[Attempt], limit: usize) -> Self {
        let full = found.last().filter(|_| found.len() >= limit);
        AttemptsView {
            attempts: found.iter().map(AttemptView::from).collect(),
            next: full.map(|last| (last.number + 1).to_string()),
        }
    }
}

/// One try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttemptView {
    /// 0 for the first; the count continues over runs.
    pub attempt: u32,
    /// The run it belongs to.
    pub run: u32,
    /// `open` while it runs or is paused, else how it ended.
    #[schema(value_type = schema::AttemptStatus)]
    pub status: AttemptStatus,
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
            status: attempt.status(),
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

/// How far an attempt is, as its holder reports.
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
        assert_eq!((view.attempt, view.status), (4, AttemptStatus::Open));
        assert_eq!((view.ended, view.failure), (None, None));
        assert_eq!(view.lease.matches('.').count(), 1);
    }

    #[test]
    fn a_failed_attempt_shows_what_went_wrong() {
        let failure = crate::sample::failure("boom");
        let end = AttemptEnd { at: Time::from_ms(9), reason: EndReason::Failed(failure) };
        let attempt = Attempt { end: Some(end), ..crate::sample::attempt(0) };
        let view = AttemptView::from(&attempt);
        assert_eq!(view.status, AttemptStatus::Failed);
        assert_eq!(view.failure.unwrap().message, "boom");
        assert_eq!(view.ended, Some(Timestamp(Time::from_ms(9))));
    }
}
