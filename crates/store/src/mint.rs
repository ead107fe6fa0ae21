//! Randomness and ids: what a caller brings along so that the machine needs neither.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use ff_core::bounds::PARTITIONS;
use ff_core::machine::{Action, Command};
use ff_core::{Actor, ExecutionId, Partition, RequestId, Time, WaitpointId};

use crate::clock::{Clock, SystemClock};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// Sets the partitions of this process apart from those of others.
static SALT: LazyLock<u64> = LazyLock::new(|| fastrand::u64(..));

/// A new execution id in `partition`. Ids of one process keep their order within a millisecond.
pub fn execution_id(partition: Partition) -> ExecutionId {
    at(SystemClock.now(), partition)
}

/// A new execution id in a partition that changes with every millisecond.
///
/// Ids of one process keep their order within a millisecond, and work that is submitted together
/// shares a partition, so that one call carries it.
pub fn scattered_id() -> ExecutionId {
    let now = SystemClock.now();
    at(now, scattered(now, *SALT))
}

fn at(now: Time, partition: Partition) -> ExecutionId {
    let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
    ExecutionId::mint(now, partition, counter, fastrand::u64(..))
}

/// Fibonacci hashing: neighbouring milliseconds land far apart.
fn scattered(now: Time, salt: u64) -> Partition {
    let hash = (now.as_ms() ^ salt).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let number = (hash >> 48) as u16 % PARTITIONS;
    Partition::new(number).unwrap_or(Partition::ONLY)
}

/// A new name for a claim or grant call: 128 bits from the operating system.
pub fn request_id() -> RequestId {
    RequestId::new(uuid::Uuid::new_v4().as_u128())
}

/// A new id for a waitpoint: 128 bits from the operating system.
pub fn waitpoint_id() -> WaitpointId {
    WaitpointId::new(uuid::Uuid::new_v4().as_u128())
}

/// `action` with fresh randomness, of which nobody is known to give it.
pub fn command(action: impl Into<Action>) -> Command {
    Command { entropy: fastrand::u64(..), by: None, action: action.into() }
}

/// `action` with fresh randomness, given by somebody.
pub fn command_by(by: Actor, action: impl Into<Action>) -> Command {
    Command { by: Some(by), ..command(action) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_second_uses_many_partitions_and_every_process_others() {
        let second =
            |salt| (0..1_000).map(move |ms| scattered(Time::from_ms(1_700_000_000_000 + ms), salt));
        let numbers: BTreeSet<_> = second(1).map(|partition| partition.number() % 64).collect();
        assert_eq!(numbers.len(), 64);
        let same = second(1).zip(second(fastrand::u64(2..))).filter(|(a, b)| a == b).count();
        assert!(same < 100, "{same} of 1,000 milliseconds agree");
    }

    #[test]
    fn ids_of_one_process_grow() {
        let ids: Vec<_> = (0..10_000).map(|_| execution_id(Partition::ONLY)).collect();
        assert!(ids.is_sorted());
    }
}
