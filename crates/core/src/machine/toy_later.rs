//! A command for tests of stores that adds follow-up work and counts, and that work.
//!
//! It exists only with the feature `toy`, as [`Toy`](super::Toy) does.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use bytes::Bytes;

use super::continue_::{Slice, Work};
use super::{Context, Decide, Facts, Moves, ReadSet, Reply, Step, Target, WriteSet};
use crate::collection::Collection;
use crate::continuation::{
    Armed, Continuation, ContinuationChange, ContinuationKind, LATCH, TallyChange,
};
use crate::refusal::Refusal;
use crate::state::State;
use crate::table::Verb;

/// Adds continuations to an execution and counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToyLater {
    /// Which execution. Unless it changes, there need not be one.
    pub target: Target,
    /// Whether it changes, too: unfinished, it gets an element in [`Collection::Steps`].
    pub changes: bool,
    /// Continuations: of which kind, and how many slices each has.
    pub add: Vec<(ContinuationKind, u32)>,
    /// What is counted.
    pub count: BTreeMap<u8, i64>,
    /// How many slices the continuation has that the latch adds.
    pub at_zero: Option<u32>,
}

impl Decide for ToyLater {
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
        let mut write = match self.changes {
            true => {
                let record = context.unfinished(&self.target, "a toy")?;
                let bytes = Bytes::from_static(b"later");
                context.with_element(record, Collection::Steps, None, bytes)
            }
            false => WriteSet::default(),
        };
        let owner = self.target.execution;
        let later = |kind, place: usize, member| {
            let salt = context.salt.wrapping_add(place as u32);
            Armed::at(context.now, Continuation { kind, owner, salt, member, from: 0 })
        };
        for (place, (kind, slices)) in self.add.iter().enumerate() {
            write.continuations.push(ContinuationChange::Add(later(*kind, place, *slices)));
        }
        if !self.count.is_empty() {
            let latch = |slices| later(ContinuationKind::TOY, self.add.len(), slices);
            let at_zero = self.at_zero.map(latch);
            write.tallies.push(TallyChange { owner, add: self.count.clone(), at_zero });
        }
        match write == WriteSet::default() {
            true => Ok(Step::answer(Reply::Done)),
            false => Ok(Step::write(write, Reply::Done)),
        }
    }
}

/// Its continuations: each slice adds an element to [`Collection::Signals`], of its number and of what
/// the latch shows, until there are as many as the member says or the owner has ended.
pub(super) struct Elements;

impl Work for Elements {
    fn moves(&self) -> Moves {
        Moves::By(Verb::SetTags)
    }

    fn reads(&self, continuation: &Continuation) -> ReadSet {
        ReadSet { tallies: vec![continuation.owner], ..ReadSet::record(continuation.owner) }
    }

    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice {
        let Continuation { owner, member, from, .. } = *continuation;
        let unfinished = |record: &&_| !is_finished(record);
        let Some(record) = context.loaded.record(owner).filter(unfinished) else {
            return ControlFlow::Continue((WriteSet::default(), None));
        };
        let latch = context.loaded.tallies.get(&owner).map_or(0, |tally| tally.of(LATCH));
        let bytes = [from.to_be_bytes(), latch.to_be_bytes()].concat().into();
        let write = context.with_element(record, Collection::Signals, None, bytes);
        let next = from + 1;
        ControlFlow::Continue((write, (next < u64::from(member)).then_some(next)))
    }
}

fn is_finished(record: &crate::record::Execution) -> bool {
    matches!(record.state, State::Finished { .. })
}
