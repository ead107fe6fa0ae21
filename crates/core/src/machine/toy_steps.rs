//! A command for tests of stores: it records many steps in one write, so that a long journal is made
//! quickly. It exists only with the feature `toy`.

use super::journal::check_room;
use super::{Context, Decide, Facts, ReadSet, Reply, Step, Target};
use crate::collection::Collection;
use crate::journal::Recorded;
use crate::name::StepName;
use crate::payload::Payload;
use crate::refusal::Refusal;
use crate::table::Verb;

/// Records steps, none of which is recorded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToySteps {
    /// Which execution, unfinished.
    pub target: Target,
    /// Their names and results.
    pub steps: Vec<(StepName, Payload)>,
}

impl Decide for ToySteps {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::execution(self.target.execution, Verb::SetTags) }
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.unfinished(&self.target, "a toy")?;
        let mut after = record.clone();
        let mut entries = Vec::new();
        for (name, result) in &self.steps {
            check_room(&after, result.bytes.len())?;
            let what = Recorded::Step(result.clone());
            let entry = after.record_entry(name.clone(), context.now, what);
            entries.push((Collection::Steps, entry));
        }
        let mut write = context.update(record, after, None);
        write.changes[0].elements.extend(entries);
        Ok(Step::write(write, Reply::Done))
    }
}
