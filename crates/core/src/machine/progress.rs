//! Progress: a holder reports how far it is.

use super::hold::check_message;
use super::{Context, Decide, Facts, LeaseRef, ReadSet, Reply, Step};
use crate::id::LeaseId;
use crate::record::Progress;
use crate::refusal::Refusal;
use crate::table::Verb;

/// Replaces the attempt's progress. It does not renew the lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportProgress {
    /// What is held.
    pub hold: LeaseRef,
    /// How far it is.
    pub progress: Progress,
}

impl Decide for ReportProgress {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.hold.target.execution, Verb::Progress)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.progress.percent.is_some_and(|percent| percent > 100) {
            return Err(Refusal::invalid("progress.percent", "is over 100; give 0 to 100"));
        }
        check_message("progress.message", self.progress.message.as_deref().unwrap_or(""))
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let held = context.held(&self.hold)?;
        let mut after = held.record.clone();
        if let Some(attempt) = &mut after.attempt {
            attempt.progress = Some(self.progress.clone());
        }
        Ok(Step::write(context.update(held.record, after, None), Reply::Done))
    }
}
