//! Recount: correct what a budget or a quota counts.
//!
//! An admission and its settlement write a ticket and the limits that it holds. On a store that cannot
//! roll back, a fault between two of these writes leaves a limit that counts more than its tickets
//! hold: a ticket is written last and removed first.

use super::super::{Context, Decide, Facts, ReadSet, Reply, Step};
use crate::limits::Amounts;
use crate::record::Version;
use crate::refusal::Refusal;
use crate::resource::{Body, ResourceKey};

/// Sets what a limit counts to what its tickets hold. Every change of one of them changes the limit,
/// so the count is right as long as the limit has the version that was read before its tickets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recount {
    /// Which budget or quota.
    pub key: ResourceKey,
    /// Its version before its tickets were read; another one is left alone.
    pub seen: Version,
    /// What its tickets hold.
    pub held: Held,
}

/// What the tickets of a limit hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// Slots of a quota.
    Slots(u32),
    /// Reservations in a budget.
    Reserved(Amounts),
}

impl Decide for Recount {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key).filter(|found| found.version == self.seen);
        let after = before.and_then(|before| match (&before.body, &self.held) {
            (Body::Quota(quota), Held::Slots(slots)) => {
                let mut quota = quota.clone();
                quota.active = *slots;
                Some(Body::Quota(quota))
            }
            (Body::Budget(budget), Held::Reserved(amounts)) => {
                let mut budget = budget.clone();
                budget.reserved = amounts.clone();
                Some(Body::Budget(budget))
            }
            _ => None,
        });
        let Some(after) = after.filter(|after| before.is_some_and(|b| b.body != *after)) else {
            return Ok(Step::answer(Reply::Applied(false)));
        };
        Ok(Step::write(context.put(&self.key, before, after), Reply::Applied(true)))
    }
}
