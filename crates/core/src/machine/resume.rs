//! Resume: the ways a suspension ends so that its execution continues.

use super::{Context, Decide, Facts, ReadSet, Reply, Step, Target};
use crate::act::Deed;
use crate::collection::Element;
use crate::event::EventKind;
use crate::journal::Recorded;
use crate::record::Execution;
use crate::refusal::Refusal;
use crate::state::{Intent, State};
use crate::table::Verb;

/// An operator ends a suspension without its condition. What is not suspended stays as it is, and the
/// answer says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// Which execution.
    pub target: Target,
}

impl Decide for Resume {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.target.execution, Verb::Resume)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.unfinished(&self.target, "resume")?;
        if !matches!(record.state, State::Suspended { .. }) {
            return Ok(Step::answer(Reply::Applied(false)));
        }
        let (mut after, entry) = context.resumed(record, false);
        context.sign(&mut after, Deed::Resume);
        let what = EventKind::Resumed { timed_out: false };
        let write = context.update(record, after, what);
        Ok(Step::write(write.with_entry(entry), Reply::Applied(true)))
    }
}

impl Context<'_> {
    /// `before`, whose suspension has ended, in its old place to continue its attempt; and what the
    /// journal keeps of the wait.
    pub(super) fn resumed(
        &self,
        before: &Execution,
        timed_out: bool,
    ) -> (Execution, Option<Element>) {
        let mut after = before.clone();
        let mut entry = None;
        after.state = State::Queued { why: Intent::Resume };
        if let State::Suspended { suspension } = &before.state {
            after.waits.end(suspension.number, timed_out);
            let what = || Recorded::Wait { signals: suspension.signals(), timed_out };
            let step = suspension.step.clone();
            entry = step.map(|step| after.record_entry(step, self.now, what()));
        }
        (after, entry)
    }
}
