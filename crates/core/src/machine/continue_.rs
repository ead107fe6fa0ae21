//! Continue: one slice of follow-up work.

use std::ops::ControlFlow;

use super::{Context, Decide, Facts, Moves, ReadSet, Step, Subject, WriteSet};
use crate::continuation::{Armed, Continuation, ContinuationChange, ContinuationKind};
use crate::refusal::Refusal;

/// Does one bounded slice of a continuation, which is then removed or replaced by its successor. It
/// belongs to no tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continue {
    /// Which one.
    pub continuation: Continuation,
}

/// What a run of a continuation did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continued {
    /// There is no such continuation: it has been run.
    Nothing,
    /// This release does not know its kind. It is left to one that does.
    Unknown,
    /// A slice, and this is left.
    More(Continuation),
    /// All that was left.
    Done,
}

/// A slice of one kind's work: what it writes and where the next slice begins, if there is one; or what
/// must be read first.
pub type Slice = ControlFlow<ReadSet, (WriteSet, Option<u64>)>;

/// One kind of follow-up work.
pub(super) trait Work: Sync {
    /// How it moves its owner.
    fn moves(&self) -> Moves;
    /// What must be seen first.
    fn reads(&self, continuation: &Continuation) -> ReadSet;
    /// Decides on what was loaded. The work may have been done, or have lost its cause.
    fn slice(&self, context: &Context<'_>, continuation: &Continuation) -> Slice;
}

/// The kinds that this release knows.
const KINDS: &[(ContinuationKind, &dyn Work)] = &[
    (ContinuationKind::ENDED, &super::cascade::EndedWork),
    (ContinuationKind::SETTLE, &super::flow_ends::Settle),
    (ContinuationKind::CANCEL, &super::flow_ends::CancelMembers),
    (ContinuationKind::UNNEEDED, &super::flow_ends::Unneeded),
    (ContinuationKind::STRAY, &super::flow_ends::Stray),
    (ContinuationKind::CATCH_UP, &super::flow_ends::CatchUp),
    (ContinuationKind::RETIRE, &super::flow_ends::Retire),
    (ContinuationKind::REOPENED, &super::replay_flow::Reopened),
    (ContinuationKind::CHILDREN, &super::wait_children::Children),
    #[cfg(feature = "toy")]
    (ContinuationKind::TOY, &super::toy_later::Elements),
];

fn work(kind: ContinuationKind) -> Option<&'static dyn Work> {
    KINDS.iter().find(|(known, _)| *known == kind).map(|(_, work)| *work)
}

impl Decide for Continue {
    fn facts(&self) -> Facts<'_> {
        let Continuation { kind, owner, .. } = self.continuation;
        // What follows from accepted work runs when memory is full, as exits do.
        Facts {
            subject: Subject::Execution(owner),
            moves: work(kind).map_or(Moves::Nothing, |work| work.moves()),
            may_stop: None,
            adds: false,
            payload_bytes: 0,
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        let own = work(self.continuation.kind).map(|work| work.reads(&self.continuation));
        ReadSet { continuations: vec![self.continuation], ..own.unwrap_or_default() }
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let old = &self.continuation;
        let Some(work) = work(old.kind) else { return Ok(Step::answer(Continued::Unknown)) };
        if context.loaded.continuations.get(old).copied().flatten().is_none() {
            return Ok(Step::answer(Continued::Nothing));
        }
        let (mut write, next) = match work.slice(context, old) {
            ControlFlow::Break(more) => return Ok(Step::NeedMore(more)),
            ControlFlow::Continue(done) => done,
        };
        let next = next.map(|from| Continuation { salt: context.salt, from, ..*old });
        debug_assert!(next != Some(*old), "a slice gets on");
        let added = next.map(|next| ContinuationChange::Add(Armed::at(context.now, next)));
        write.continuations.extend(added);
        write.continuations.push(ContinuationChange::Remove(*old));
        Ok(Step::write(write, next.map_or(Continued::Done, Continued::More)))
    }
}
