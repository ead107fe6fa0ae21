//! Randomness and ids: what a caller brings along so that the machine needs neither.

use std::sync::atomic::{AtomicU32, Ordering};

use ff_core::limits::PARTITIONS;
use ff_core::machine::{Action, Command};
use ff_core::{ExecutionId, Partition, RequestId};

use crate::clock::{Clock, SystemClock};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A new execution id in `partition`. Ids of one process keep their order within a millisecond.
pub fn execution_id(partition: Partition) -> ExecutionId {
    let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
    ExecutionId::mint(SystemClock.now(), partition, counter, fastrand::u64(..))
}

/// A new name for a claim or grant call: 128 bits from the operating system.
pub fn request_id() -> RequestId {
    RequestId::new(uuid::Uuid::new_v4().as_u128())
}

/// `action` with fresh randomness.
pub fn command(action: impl Into<Action>) -> Command {
    Command { entropy: fastrand::u64(..), action: action.into() }
}

/// A partition for work that nothing else places.
pub fn any_partition() -> Partition {
    let number = fastrand::u16(..PARTITIONS);
    Partition::new(number).unwrap_or(Partition::ONLY)
}
