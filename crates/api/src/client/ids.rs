//! Ids made away from the store.

use ff_core::{ExecutionId, Partition};
use ff_store::mint;

/// A new id, in a partition that changes with every millisecond.
///
/// The server's partitions are not known here, and every store takes an id of any. Those of one
/// millisecond share a partition, so that the ids of one process keep their order.
pub(super) fn scattered() -> ExecutionId {
    scatter(mint::execution_id(Partition::ONLY))
}

fn scatter(id: ExecutionId) -> ExecutionId {
    let mut bytes = *id.as_bytes();
    let [a, b, c, d, e, f, ..] = bytes;
    let millisecond = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    // Fibonacci hashing: neighbouring milliseconds land far apart.
    let partition = millisecond.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 52;
    bytes[6] |= (partition >> 8) as u8;
    bytes[7] = partition as u8;
    ExecutionId::from_bytes(&bytes).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ff_core::Time;

    use super::*;

    #[test]
    fn ids_keep_their_order_and_use_many_partitions() {
        let id = |n: u32| {
            let at = Time::from_ms(1_700_000_000_000 + u64::from(n) / 10);
            scatter(ExecutionId::mint(at, Partition::ONLY, n, u64::from(n) * 77))
        };
        let ids: Vec<_> = (0..10_000).map(id).collect();
        assert!(ids.is_sorted());
        let partitions: BTreeSet<_> = ids.iter().map(|id| id.partition().number()).collect();
        assert!(partitions.len() > 900, "{} partitions in 1,000 ms", partitions.len());
    }
}
