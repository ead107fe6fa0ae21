//! Delete: an operator removes a finished execution before its retention is over.

use super::{Context, Decide, Facts, ReadSet, Reply, Step, Target};
use crate::refusal::Refusal;
use crate::state::State;
use crate::table::Verb;

/// Removes the execution with its payloads and attempts. Its idempotency key is free again. A repeated
/// call finds nothing. Who deleted it is in the event of the removal alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// Which execution.
    pub target: Target,
}

impl Decide for Delete {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.target.execution, Verb::Delete)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.found(&self.target)?;
        if record.member.is_some() {
            return Err(Refusal::invalid("id", "is of a member of a flow; delete the flow"));
        }
        match record.state {
            State::Finished { .. } if record.flow.is_some() => {
                let is_retiring = record.outcome().is_some() && record.retired_at().is_none();
                let write = (!is_retiring).then(|| context.retire_flow(record));
                Ok(write.map_or_else(
                    || Step::answer(Reply::Done),
                    |write| Step::write(write, Reply::Done),
                ))
            }
            State::Finished { .. } => {
                let by = context.by.cloned().map(Into::into);
                Ok(Step::write(context.remove(record).done_by(by), Reply::Done))
            }
            _ => Err(Refusal::WrongState {
                command: "delete",
                state: record.public_state(),
                needs: "finished",
            }),
        }
    }
}
