//! Random continuations and counters.

use ff_core::Execution;
use ff_core::continuation::{Continuation, ContinuationKind};
use ff_core::machine::{Action, Continue, Target, ToyLater};

use super::Theme;
use crate::history::generate::Generator;
use crate::history::make::{self, chance, one};
use crate::history::pair::View;

/// Follow-up work is added and run, and counters are brought to zero. It moves no execution.
pub(super) const THEME: Theme = Theme {
    name: "continuations",
    histories: 200,
    least: 0,
    owns: |_| false,
    refusals: &[],
    kinds: &[(4, |g, v| g.later(v)), (5, |g, v| g.continue_(v))],
    beginnings: &[],
};

impl Generator {
    /// Adds continuations and counts, for an execution that may have ended or be gone.
    pub(super) fn later(&mut self, view: View<'_>) -> Option<Action> {
        let changes = self.rng.bool();
        let (execution, namespace) = match changes || chance(&mut self.rng, 80) {
            true => {
                let may_be = |record: &Execution| !changes || record.outcome().is_none();
                // The counters of a flow are its own.
                let owner = self.some(view, |record| record.flow.is_none() && may_be(record))?;
                (owner.id, owner.spec.namespace.clone())
            }
            false => (self.any_id(view), make::namespace(&mut self.rng)),
        };
        if view.held.record(execution).is_some_and(|record| record.flow.is_some()) {
            return None;
        }
        let kinds = [ContinuationKind::TOY, ContinuationKind::TOY, ContinuationKind(200)];
        let rng = &mut self.rng;
        let add = (0..rng.usize(..3)).map(|_| (one(rng, &kinds), one(rng, &[0, 1, 3]))).collect();
        // The latch is around zero, so that it is often brought there.
        let count = (0..rng.usize(..3))
            .map(|_| {
                (one(rng, &[0, 0, 0, 1, 255]), one(rng, &[-1, -1, 1, 1, 0, 2, i64::MAX, i64::MIN]))
            })
            .collect();
        let at_zero = one(rng, &[None, Some(1), Some(2)]);
        let target = Target { namespace, execution };
        Some(ToyLater { target, changes, add, count, at_zero }.into())
    }

    /// Runs a continuation that is there, or one like it.
    pub(super) fn continue_(&mut self, view: View<'_>) -> Option<Action> {
        let (pending, _) = make::one_of(&mut self.rng, &view.held.continuations)?;
        let pending = *pending;
        let continuation = match self.rng.u8(..10) {
            0 => Continuation { from: pending.from + 1, ..pending },
            1 => Continuation { salt: !pending.salt, ..pending },
            _ => pending,
        };
        Some(Continue { continuation }.into())
    }
}
