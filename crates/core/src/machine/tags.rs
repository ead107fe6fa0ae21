//! Change the tags of work that is not finished.

use super::{Context, Decide, Facts, ReadSet, Reply, Step, Target};
use crate::act::Deed;
use crate::bounds::TAGS;
use crate::name::TagKey;
use crate::record::Tags;
use crate::refusal::Refusal;
use crate::table::Verb;

/// Sets some tags and removes others; the rest stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTags {
    /// Which execution.
    pub target: Target,
    /// Tags to set.
    pub set: Tags,
    /// Tags to remove.
    pub remove: Vec<TagKey>,
}

impl Decide for SetTags {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.target.execution, Verb::SetTags)
    }

    fn check(&self) -> Result<(), Refusal> {
        Refusal::cap("tags", self.set.len(), TAGS, "tags")?;
        Refusal::cap("remove", self.remove.len(), TAGS, "tags")
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.unfinished(&self.target, "a change of tags")?;
        let mut after = record.clone();
        after.tags.retain(|key, _| !self.remove.contains(key));
        after.tags.extend(self.set.clone());
        Refusal::cap("tags", after.tags.len(), TAGS, "tags")?;
        if after.tags == record.tags {
            return Ok(Step::answer(Reply::Done));
        }
        context.sign(&mut after, Deed::Tag);
        Ok(Step::write(context.update(record, after, None), Reply::Done))
    }
}
