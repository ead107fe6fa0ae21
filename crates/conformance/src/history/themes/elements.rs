//! Random elements beside executions, and executions that follow others.

use bytes::Bytes;
use ff_core::collection::{Collection, ElementName, ElementRange};
use ff_core::machine::{Action, Follower, TOY_ATTENTION, Target, Toy, ToyPart};
use ff_core::payload::BlobPart;
use ff_core::table::Verb;
use ff_core::{Execution, ExecutionId};

use super::Theme;
use crate::history::generate::Generator;
use crate::history::make::{self, chance, one};
use crate::history::pair::View;
use crate::history::pick::is_brief;

/// Elements are written and read, together with other executions that change in the same write.
pub(super) const THEME: Theme = Theme {
    name: "elements",
    histories: 450,
    least: 20,
    owns: |(_, verb, _)| matches!(verb, Verb::Follow),
    refusals: &[],
    kinds: &[(1, |g, v| g.toy(v))],
    beginnings: &[],
};

/// Those that a toy writes: by name, without one, without a change of its owner, and such that its owner
/// needs attention.
const COLLECTIONS: [Collection; 4] =
    [Collection::Steps, Collection::Signals, Collection::Next, TOY_ATTENTION];

impl Generator {
    /// Writes an element of what it reads.
    pub(crate) fn toy(&mut self, view: View<'_>) -> Option<Action> {
        // Often one whose state does not last can follow it.
        let brief: Vec<_> = view.held.records.values().filter(|record| is_brief(record)).collect();
        let leads = |record: &Execution| {
            record.outcome().is_none()
                && record.flow.is_none()
                && brief.iter().any(|brief| follows(brief, record.id, view))
        };
        let leader = chance(&mut self.rng, 50).then(|| self.some(view, leads)).flatten();
        let unfinished = leader.or_else(|| self.some(view, |record| record.outcome().is_none()))?;
        let namespace = unfinished.spec.namespace.clone();
        let target = Target { namespace, execution: unfinished.id };
        let into = one(&mut self.rng, &COLLECTIONS);
        let named = into == Collection::Steps || into == Collection::Signals && self.rng.bool();
        let name = named.then(|| self.element_name());
        let parts = (0..self.rng.usize(..4)).map(|_| self.part()).collect();
        let follower = chance(&mut self.rng, 50).then(|| self.follower(view, target.execution));
        let follower = follower.flatten();
        Some(Toy { target, into, name, parts, follower }.into())
    }

    /// An execution that changes with `leader`: mostly another, unfinished, that can.
    fn follower(&mut self, view: View<'_>, leader: ExecutionId) -> Option<Follower> {
        let can = |record: &Execution| follows(record, leader, view);
        let record = match self.rng.u8(..10) {
            0..4 => self.some(view, |record| can(record) && is_brief(record))?,
            4..9 => self.some(view, can)?,
            _ => self.some(view, |_| true)?,
        };
        let priority = make::priority(&mut self.rng);
        Some(Follower { target: self.target_of(record), priority })
    }

    fn part(&mut self) -> ToyPart {
        match self.rng.u8(..6) {
            0 | 1 => ToyPart::Bytes(self.element_bytes()),
            2 => ToyPart::Payload(one(
                &mut self.rng,
                &[BlobPart::Input, BlobPart::Result(0), BlobPart::Result(1)],
            )),
            3 | 4 => ToyPart::Named(one(&mut self.rng, &COLLECTIONS[..2]), self.element_name()),
            _ => {
                let from = one(&mut self.rng, &[0, 0, 1, 3]);
                ToyPart::Range(one(&mut self.rng, &COLLECTIONS), from, self.rng.usize(1..4))
            }
        }
    }

    fn element_name(&mut self) -> ElementName {
        let name = one(&mut self.rng, &["charge", "notify", "#1", "=", "\0", "7"]);
        ElementName::from_stored(Bytes::from_static(name.as_bytes()))
    }

    fn element_bytes(&mut self) -> Bytes {
        let rng = &mut self.rng;
        let length = one(rng, &[0, 1, 5, 300]);
        std::iter::repeat_with(|| rng.u8(..)).take(length).collect()
    }

    /// Elements to read.
    pub(crate) fn elements(&mut self, view: View<'_>, limit: usize) -> ElementRange {
        let tried = self.some(view, |record| record.collections().next().is_some());
        let (owner, collection) = match tried {
            Some(record) => {
                let has: Vec<_> = record.collections().map(|(collection, _)| collection).collect();
                (record.id, one(&mut self.rng, &has))
            }
            None => (self.any_id(view), Collection::Attempts),
        };
        let from = match chance(&mut self.rng, 50) {
            true => 0,
            false => self.rng.u64(1..4),
        };
        ElementRange { owner, collection, from, limit }
    }
}

/// Whether `record` can change in one write with `leader`.
pub(super) fn follows(record: &Execution, leader: ExecutionId, view: View<'_>) -> bool {
    let together = view.partition(record.id) == view.partition(leader);
    record.outcome().is_none() && record.id != leader && together
}
