//! What random commands are about: executions, holds and targets, mostly such that the command applies.

use ff_core::machine::{LeaseRef, Target};
use ff_core::state::State;
use ff_core::{Execution, ExecutionId, Fence, LeaseId, Namespace, timer};

use super::generate::Generator;
use super::make::{self, chance, one};
use super::pair::View;

impl Generator {
    /// Some record that matches.
    pub(crate) fn some<'a>(
        &mut self,
        view: View<'a>,
        fits: impl Fn(&Execution) -> bool,
    ) -> Option<&'a Execution> {
        let all: Vec<_> = view.held.records.values().filter(|record| fits(record)).collect();
        (!all.is_empty()).then(|| all[self.rng.usize(..all.len())])
    }

    /// A hold: mostly a good one, now and then late, old or forged.
    pub(crate) fn hold(&mut self, view: View<'_>) -> Option<LeaseRef> {
        let drawn = self.rng.u8(..100);
        if drawn < 6 && !self.past.holds.is_empty() {
            return Some(one(&mut self.rng, &self.past.holds));
        }
        let in_time = |record: &Execution| drawn < 12 || timer::due(record, view.now).is_none();
        let cancelling =
            |record: &Execution| matches!(record.state, State::Active { cancel: Some(_), .. });
        let held = |record: &Execution| record.lease().is_some() && in_time(record);
        let cancelling = (drawn >= 50).then(|| self.some(view, |r| cancelling(r) && in_time(r)));
        let record = cancelling.flatten().or_else(|| self.some(view, held))?;
        let fence = record.fence()?;
        let fence = if (12..17).contains(&drawn) { self.forged(fence) } else { fence };
        Some(LeaseRef { target: self.target_of(record), fence })
    }

    fn forged(&mut self, fence: Fence) -> Fence {
        let LeaseId { request, index } = fence.lease;
        match self.rng.u8(..4) {
            0 => Fence { epoch: fence.epoch + 1, ..fence },
            1 => Fence { attempt: fence.attempt + 1, ..fence },
            2 => Fence { lease: LeaseId { request, index: index + 1_000 }, ..fence },
            _ => {
                let request = make::request(&mut self.rng);
                Fence { lease: LeaseId { request, index }, ..fence }
            }
        }
    }

    /// The target of a change of priority or tags: states that last long are left to chance.
    pub(crate) fn steered(&mut self, view: View<'_>) -> Target {
        let unfinished = |record: &Execution| record.outcome().is_none();
        let record = match self.rng.u8(..10) {
            0..3 => self.some(view, is_brief),
            3..9 => self.some(view, unfinished),
            _ => None,
        };
        let target = record.map(|record| self.target_of(record));
        target.unwrap_or_else(|| self.target(view))
    }

    pub(crate) fn target(&mut self, view: View<'_>) -> Target {
        let execution = self.any_id(view);
        match view.held.record(execution) {
            Some(record) => self.target_of(record),
            None => Target { namespace: make::namespace(&mut self.rng), execution },
        }
    }

    /// `record`, now and then as a client of another namespace would name it.
    pub(crate) fn target_of(&mut self, record: &Execution) -> Target {
        let namespace = match chance(&mut self.rng, 3) {
            true => Namespace::new("rival").unwrap(),
            false => record.spec.namespace.clone(),
        };
        Target { namespace, execution: record.id }
    }

    /// An execution that has a due timer, mostly.
    pub(crate) fn due_id(&mut self, view: View<'_>) -> ExecutionId {
        let due = |record: &Execution| timer::due(record, view.now).is_some();
        let record = if chance(&mut self.rng, 95) { self.some(view, due) } else { None };
        record.map_or_else(|| self.any_id(view), |record| record.id)
    }
}

/// Whether `record` is in a state that does not last.
pub(crate) fn is_brief(record: &Execution) -> bool {
    matches!(record.state, State::Granted { .. } | State::Active { cancel: Some(_), .. })
}
