//! Waitpoints: a holder opens and closes the places at which signals arrive.

use super::{Context, Decide, Facts, LeaseRef, ReadSet, Reply, Step, WaitpointOpened};
use crate::bounds::WAITPOINTS;
use crate::id::{LeaseId, WaitpointId};
use crate::name::WaitpointKey;
use crate::refusal::{Full, Refusal};
use crate::suspension::{Waitpoint, Waits};
use crate::table::Verb;
use crate::time::{Time, When};

/// A waitpoint that is to be open. One of this key that is open already stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWaitpoint {
    /// Its id, if it is opened now: random.
    pub id: WaitpointId,
    /// The holder's name for it.
    pub key: WaitpointKey,
    /// When it closes by itself.
    pub until: Option<When>,
}

impl NewWaitpoint {
    pub(super) fn check(&self) -> Result<(), Refusal> {
        self.until.map_or(Ok(()), |until| until.check("waitpoint.until"))
    }

    /// Puts it among `waits`, unless one of its key is open; answers that.
    pub(super) fn open<'a>(
        &self,
        waits: &'a mut Waits,
        now: Time,
    ) -> Result<&'a mut Waitpoint, Refusal> {
        waits.close(|waitpoint| waitpoint.is_open(now) || waitpoint.of.is_some());
        let all = &mut waits.waitpoints;
        let place = match all.iter().position(|waitpoint| waitpoint.key == self.key) {
            Some(place) => place,
            None if all.len() >= WAITPOINTS => {
                return Err(Refusal::LimitReached { what: Full::Waitpoints { most: WAITPOINTS } });
            }
            None => {
                all.push(Waitpoint {
                    id: self.id,
                    key: self.key.clone(),
                    until: self.until.map(|until| until.resolve(now).unwrap_or(now)),
                    signals: 0,
                    of: None,
                });
                all.len() - 1
            }
        };
        Ok(&mut all[place])
    }
}

/// Opens a waitpoint, so that its token can be handed out before anything waits for it. Repeated under
/// the same key, also by a later lease, it answers the one that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWaitpoint {
    /// What is held.
    pub hold: LeaseRef,
    /// Which waitpoint.
    pub waitpoint: NewWaitpoint,
}

impl Decide for OpenWaitpoint {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.hold.target.execution, Verb::OpenWaitpoint)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        self.waitpoint.check()
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.held(&self.hold)?.record;
        let answer = |waitpoint: &Waitpoint| WaitpointOpened { waitpoint: waitpoint.clone() };
        if let Some(open) = record.waits.open(&self.waitpoint.key, context.now) {
            return Ok(Step::answer(answer(open)));
        }
        let mut after = record.clone();
        let opened = answer(self.waitpoint.open(&mut after.waits, context.now)?);
        Ok(Step::write(context.update(record, after, None), opened))
    }
}

/// Closes a waitpoint for ever. One that is not open is closed already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseWaitpoint {
    /// What is held.
    pub hold: LeaseRef,
    /// Which waitpoint.
    pub key: WaitpointKey,
}

impl Decide for CloseWaitpoint {
    fn facts(&self) -> Facts<'_> {
        Facts::execution(self.hold.target.execution, Verb::CloseWaitpoint)
    }

    fn lease_mut(&mut self) -> Option<&mut LeaseId> {
        Some(&mut self.hold.fence.lease)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::record(self.hold.target.execution)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let record = context.held(&self.hold)?.record;
        let mut after = record.clone();
        after.waits.close(|waitpoint| waitpoint.key != self.key);
        match after.waits == record.waits {
            true => Ok(Step::answer(Reply::Done)),
            false => Ok(Step::write(context.update(record, after, None), Reply::Done)),
        }
    }
}
