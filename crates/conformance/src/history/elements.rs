//! Random elements beside executions.

use bytes::Bytes;
use ff_core::collection::{Collection, ElementName, ElementRange};
use ff_core::machine::{Action, TOY_ATTENTION, Target, Toy, ToyPart};
use ff_core::payload::BlobPart;

use super::generate::Generator;
use super::make::{chance, one};
use super::pair::View;

/// Those that a toy writes: by name, without one, without a change of its owner, and such that its owner
/// needs attention.
const COLLECTIONS: [Collection; 4] =
    [Collection::Steps, Collection::Signals, Collection::Frames, TOY_ATTENTION];

impl Generator {
    /// Writes an element of what it reads.
    pub(super) fn toy(&mut self, view: View<'_>) -> Option<Action> {
        let unfinished = self.some(view, |record| record.outcome().is_none())?;
        let namespace = unfinished.spec.namespace.clone();
        let target = Target { namespace, execution: unfinished.id };
        let into = one(&mut self.rng, &COLLECTIONS);
        let named = into == Collection::Steps || into == Collection::Signals && self.rng.bool();
        let name = named.then(|| self.element_name());
        let parts = (0..self.rng.usize(..4)).map(|_| self.part()).collect();
        Some(Toy { target, into, name, parts }.into())
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
    pub(super) fn elements(&mut self, view: View<'_>, limit: usize) -> ElementRange {
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
