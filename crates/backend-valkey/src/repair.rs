//! Repair of what a fault in the middle of a function has left.
//!
//! A function that fails halfway is not rolled back. Every function writes in an order that makes a
//! fault leave one of the states that [`PartialWrite`] names, and nothing else. They are found from
//! the indexes alone, a page of a partition at a time, by a function that reads the record and
//! changes the entry in one call.

use ff_core::ExecutionId;
use ff_store::audit::{Found, Rule, Violation};
use ff_store::{Repaired, StoreError};

use crate::constants::REPAIR_ENTRIES;
use crate::link::Arg;
use crate::reply;
use crate::store::Shared;
use crate::walk::Walk;

/// What a fault in the middle of a function can leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartialWrite {
    /// An index entry, or an input, whose record was never written or is already gone. It
    /// is removed: no client learned that the execution exists, or all learned that it does not.
    Unwritten,
    /// A record without one of its entries, or whose class is not registered. What is missing is
    /// restored; an execution that was being removed when its retention was over is removed.
    Unplaced,
    /// An entry, a registered class, a payload, an element or a counter that does not belong to its
    /// record, while that exists; an entry of a resource that has another or is gone. It is removed.
    Leftover,
    /// A budget or quota that counts more than its tickets hold, or a flow that does not count what its
    /// members have come to. It is recounted.
    Uncounted,
}

impl PartialWrite {
    /// The state that a finding of an audit shows; `None` if a fault in a function never leaves it.
    /// `has_record` says whether an execution has a readable record.
    pub fn of(
        violation: &Violation,
        has_record: impl Fn(ExecutionId) -> bool,
    ) -> Option<PartialWrite> {
        let owned = || match violation.subject.execution().is_some_and(has_record) {
            true => PartialWrite::Leftover,
            false => PartialWrite::Unwritten,
        };
        match (violation.rule, violation.found) {
            (Rule::EntryThere | Rule::ResourceThere, _) => Some(PartialWrite::Unplaced),
            (Rule::ResourceOwned, _) => Some(PartialWrite::Leftover),
            (Rule::ClassRegistered, Found::Missing) => Some(PartialWrite::Unplaced),
            (Rule::ClassRegistered, _) => Some(PartialWrite::Leftover),
            (Rule::EntryOwned | Rule::PayloadOwned | Rule::TallyOwned, _) => Some(owned()),
            // An element too many, but never one too few.
            (Rule::ElementsInOrder, Found::Extra) => Some(owned()),
            (Rule::Counted | Rule::FlowCounted, _) => Some(PartialWrite::Uncounted),
            _ => None,
        }
    }
}

/// How many passes over a partition are made at most. What one pass repairs may lead to more.
const PASSES: usize = 4;

/// Repairs every partition.
pub(crate) async fn run(store: &Shared) -> Result<Repaired, StoreError> {
    let mut repaired = Repaired::default();
    for partition in 0..store.keys.partitions() {
        for _ in 0..PASSES {
            let before = repaired.fixed();
            pass(store, partition, &mut repaired).await?;
            if repaired.fixed() == before {
                break;
            }
        }
    }
    if repaired.fixed() > 0 {
        tracing::warn!(?repaired, "the traces of a fault were repaired");
    }
    Ok(repaired)
}

async fn pass(store: &Shared, partition: u16, sum: &mut Repaired) -> Result<(), StoreError> {
    let route = store.keys.route(partition);
    let mut walk = Walk::over(store, partition).await?;
    while !walk.is_over() {
        let limit = REPAIR_ENTRIES.to_string().into_bytes().into();
        let args: Vec<Arg<'_>> = [walk.place(), limit].into_iter().chain(walk.rest()).collect();
        let answer = store.link.call_confirmed("repair", &route, &args).await?;
        let mut values = reply::list(answer)?.into_iter();
        let mut next = || values.next().ok_or_else(reply::missing);
        walk.went(&next()?, next()?)?;
        let mut count = || reply::count(&next()?);
        sum.examined += count()?;
        sum.unwritten += count()?;
        sum.unplaced += count()?;
        sum.leftover += count()?;
    }
    Ok(())
}
