//! Change the priority of work that is not finished.

use super::{Context, Decide, Facts, ReadSet, Reply, Step, Target};
use crate::act::Deed;
use crate::bounds::{PRIORITY, PRIORITY_MIN};
use crate::refusal::Refusal;
use crate::table::Verb;

/// Sets the priority. Its place among equals is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetPriority {
    /// Which execution.
    pub target: Target,
    /// Higher goes first.
    pub priority: i16,
}

impl Decide for SetPriority {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.target.execution, Verb::SetPriority)
    }

    fn check(&self) -> Result<(), Refusal> {
        check(self.priority)
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.unfinished(&self.target, "a change of priority")?;
        if record.priority == self.priority {
            return Ok(Step::answer(Reply::Done));
        }
        let mut after = record.clone();
        after.priority = self.priority;
        context.sign(&mut after, Deed::Priority);
        Ok(Step::write(context.update(record, after, None), Reply::Done))
    }
}

/// Refuses a priority past its bound.
pub(super) fn check(priority: i16) -> Result<(), Refusal> {
    match (PRIORITY_MIN..=PRIORITY).contains(&priority) {
        true => Ok(()),
        false => {
            let why = format!("is {priority}; give {PRIORITY_MIN} to {PRIORITY}");
            Err(Refusal::invalid("priority", why))
        }
    }
}
