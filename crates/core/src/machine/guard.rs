//! The guards that commands share: is it there, is it yours, did you ask that before.

use super::{Context, LeaseRef, Step, Target, revoke};
use crate::act::{Act, Changed, Deed};
use crate::collection::Element;
use crate::digest::Digest;
use crate::event::EventKind;
use crate::id::Fence;
use crate::record::{Execution, Exit, Exited};
use crate::refusal::{Refusal, Stale};
use crate::state::{CancelRequest, Lease, Outcome, State};
use crate::timer;

impl<'a> Context<'a> {
    /// The record of `target`, which must be in the caller's namespace.
    pub(super) fn found(&self, target: &Target) -> Result<&'a Execution, Refusal> {
        let record = self.loaded.record(target.execution).ok_or(Refusal::NotFound)?;
        if record.spec.namespace != target.namespace {
            return Err(Refusal::NotFound);
        }
        Ok(record)
    }

    /// The record of `target`, which must not be finished for `command` to have a meaning.
    pub(super) fn unfinished(
        &self,
        target: &Target,
        command: &'static str,
    ) -> Result<&'a Execution, Refusal> {
        let record = self.found(target)?;
        match record.state {
            State::Finished { .. } => Err(Refusal::WrongState {
                command,
                state: record.public_state(),
                needs: "unfinished",
            }),
            _ => Ok(record),
        }
    }

    /// The record of `hold`, whose lease must be the present one and in time.
    pub(super) fn held(&self, hold: &LeaseRef) -> Result<HeldExecution<'a>, Refusal> {
        let record = self.found(&hold.target)?;
        let stale = |why| Err(Refusal::StaleLease { why });
        match &record.state {
            State::Active { lease, cancel } if record.fence() == Some(hold.fence) => {
                if timer::due(record, self.now).is_some() {
                    return stale(Stale::Expired);
                }
                Ok(HeldExecution { record, lease, cancel: cancel.as_ref() })
            }
            State::Finished { outcome: Outcome::Cancelled { .. }, .. }
                if was_last(record, &hold.fence) =>
            {
                Err(Refusal::Cancelled)
            }
            State::Finished { .. } => stale(Stale::Finished),
            _ => stale(Stale::Replaced),
        }
    }

    /// Keeps in `after` who does this to it, if that is known.
    pub(super) fn sign(&self, after: &mut Execution, what: Deed) {
        if let Some(by) = self.by {
            Act { what, by: by.clone(), at: self.now }.push(&mut after.acts);
        }
    }

    /// What is kept of a change of a limit; an unknown caller leaves what was known.
    pub(super) fn changed(&self, earlier: Option<&Changed>) -> Option<Changed> {
        let now = self.by.map(|by| Changed { at: self.now, by: by.clone() });
        now.or_else(|| earlier.cloned())
    }

    /// Ends a hold: answers a repeated call as the first time, else lets `leave` decide.
    pub(super) fn exit(
        &self,
        hold: &LeaseRef,
        digest: Digest,
        leave: impl FnOnce(&HeldExecution<'a>) -> Leave,
    ) -> Result<Step, Refusal> {
        self.try_exit(hold, digest, |held| Ok(leave(held)))
    }

    /// Ends a hold unless `leave` refuses: answers a repeated call as the first time.
    pub(super) fn try_exit(
        &self,
        hold: &LeaseRef,
        digest: Digest,
        leave: impl FnOnce(&HeldExecution<'a>) -> Result<Leave, Refusal>,
    ) -> Result<Step, Refusal> {
        let record = self.found(&hold.target)?;
        if let Some(answer) = self.repeated(record, hold, digest)? {
            return Ok(Step::answer(answer));
        }
        let held = self.held(hold)?;
        Ok(self.leave(record, held.lease, digest, leave(&held)?))
    }

    /// What the same call by the same lease was answered before, if it was made.
    pub(super) fn repeated(
        &self,
        record: &Execution,
        hold: &LeaseRef,
        digest: Digest,
    ) -> Result<Option<Exited>, Refusal> {
        let exit = record.last_exit.as_ref().filter(|exit| exit.lease == hold.fence.lease);
        // A retried claim can take an execution again under the name of a lease that has ended, so
        // the present lease is never mistaken for the one that ended.
        if let Some(exit) = exit.filter(|_| record.fence() != Some(hold.fence)) {
            if exit.digest == digest {
                return Ok(Some(exit.answer));
            }
            if exit.digest != revoke::digest() {
                return Err(Refusal::ExitConflict);
            }
        }
        Ok(None)
    }

    /// Writes the end of `lease` and remembers how it was answered.
    pub(super) fn leave(
        &self,
        record: &Execution,
        lease: &Lease,
        digest: Digest,
        leave: Leave,
    ) -> Step {
        let Leave { mut after, what, answer, result, entry } = leave;
        after.last_exit = Some(Exit { lease: lease.id, digest, answer });
        let mut write = self.update(record, after, what);
        if let Some((part, bytes)) = result {
            write = write.with_blob(part, bytes);
        }
        Step::write(write.with_entry(entry), answer)
    }
}

/// An execution in the caller's hold.
pub(super) struct HeldExecution<'a> {
    pub(super) record: &'a Execution,
    pub(super) lease: &'a Lease,
    pub(super) cancel: Option<&'a CancelRequest>,
}

/// How a hold ends.
pub(super) struct Leave {
    pub(super) after: Execution,
    pub(super) what: EventKind,
    pub(super) answer: Exited,
    pub(super) result: Option<(crate::payload::BlobPart, bytes::Bytes)>,
    /// The entry of the journal that this writes.
    pub(super) entry: Option<Element>,
}

/// Whether `fence` is of the last lease that ran the newest attempt.
fn was_last(record: &Execution, fence: &Fence) -> bool {
    record.epoch == fence.epoch
        && record
            .attempt
            .as_ref()
            .is_some_and(|a| a.lease == fence.lease && a.number == fence.attempt)
}
