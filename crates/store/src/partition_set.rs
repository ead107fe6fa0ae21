//! How the engine processes of one store divide its partitions among themselves.
//!
//! Each partition goes to the live process that hashes highest with it, so that a process that
//! comes or goes moves only its own share. Two that act on one partition for a while do no harm:
//! the record decides what is due.

use std::fmt;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_64;

/// How often a process says that it is alive.
pub const ENGINE_BEAT: Duration = Duration::from_secs(2);

/// How long a process that says nothing is taken to be alive.
pub const ENGINE_TTL: Duration = Duration::from_secs(6);

/// The random name of an engine process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EngineId(u128);

impl EngineId {
    /// A name of 128 random bits.
    pub const fn new(random: u128) -> EngineId {
        EngineId(random)
    }

    /// The name of a process that starts now.
    pub fn random() -> EngineId {
        EngineId(fastrand::u128(..))
    }

    /// The sixteen bytes of the name.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Debug for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Some partitions of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionSet {
    /// Every partition.
    All,
    /// These, in order.
    Some(Vec<u16>),
}

impl PartitionSet {
    /// What `engine` has of this many partitions while `alive` are. One that is not among them has
    /// what it would have if it were.
    pub fn of(engine: EngineId, alive: &[EngineId], partitions: u16) -> PartitionSet {
        let others: Vec<_> = alive.iter().filter(|other| **other != engine).collect();
        if others.is_empty() {
            return PartitionSet::All;
        }
        let mine = |partition: &u16| {
            let weight = weight(engine, *partition);
            others.iter().all(|other| self::weight(**other, *partition) < weight)
        };
        PartitionSet::Some((0..partitions).filter(mine).collect())
    }

    /// Whether it has no partition at all.
    pub fn is_empty(&self) -> bool {
        matches!(self, PartitionSet::Some(partitions) if partitions.is_empty())
    }

    /// Whether `partition` belongs to it.
    pub fn has(&self, partition: u16) -> bool {
        match self {
            PartitionSet::All => true,
            PartitionSet::Some(partitions) => partitions.binary_search(&partition).is_ok(),
        }
    }
}

fn weight(engine: EngineId, partition: u16) -> (u64, EngineId) {
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&engine.to_bytes());
    bytes[16..].copy_from_slice(&partition.to_be_bytes());
    (xxh3_64(&bytes), engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engines(count: u128) -> Vec<EngineId> {
        (1..=count)
            .map(|n| EngineId::new(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)))
            .collect()
    }

    #[test]
    fn every_partition_has_exactly_one_owner() {
        for count in 1..9 {
            let alive = engines(count);
            let shares: Vec<_> =
                alive.iter().map(|one| PartitionSet::of(*one, &alive, 64)).collect();
            for partition in 0..64 {
                let owners = shares.iter().filter(|share| share.has(partition)).count();
                assert_eq!(owners, 1, "partition {partition} of {count} engines");
            }
        }
    }

    #[test]
    fn who_goes_leaves_the_shares_of_the_others_as_they_are() {
        let alive = engines(4);
        let fewer = &alive[..3];
        for one in fewer {
            let (before, after) =
                (PartitionSet::of(*one, &alive, 64), PartitionSet::of(*one, fewer, 64));
            assert!((0..64).all(|partition| after.has(partition) || !before.has(partition)));
        }
    }

    #[test]
    fn who_is_not_heard_of_yet_takes_part_all_the_same() {
        let alive = engines(3);
        assert_eq!(
            PartitionSet::of(alive[2], &alive[..2], 64),
            PartitionSet::of(alive[2], &alive, 64)
        );
        assert_eq!(PartitionSet::of(alive[0], &[], 64), PartitionSet::All);
    }
}
