//! Which partitions are scanned when nothing is known: some at a time, all of them in turn.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ff_core::{Partition, WorkerInstanceId};

/// How many workers have a separate turn. Beyond that the one that scanned longest ago begins
/// again at its first position.
const REMEMBERED: usize = 1_024;

/// Which worker may scan, and which partitions: at most one scan in a window. Each worker counts its
/// scans separately, so that it sees every partition whichever workers scan in between.
#[derive(Debug)]
pub(crate) struct Rotation {
    window: Duration,
    scans: Mutex<Scans>,
}

#[derive(Debug, Default)]
struct Scans {
    /// When the last one was.
    last: Option<Instant>,
    /// By worker: the number of its next scan, and when its last one was.
    of: HashMap<WorkerInstanceId, (u64, Instant)>,
}

impl Rotation {
    pub(crate) fn new(window: Duration) -> Rotation {
        Rotation { window, scans: Mutex::default() }
    }

    /// The number of the scan that `instance` may make at `now`; `None` if this window has had one.
    pub(crate) fn next(&self, instance: &WorkerInstanceId, now: Instant) -> Option<u64> {
        let mut scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        if scans.last.is_some_and(|last| now.duration_since(last) < self.window) {
            return None;
        }
        scans.last = Some(now);
        if scans.of.len() >= REMEMBERED && !scans.of.contains_key(instance) {
            let oldest = scans.of.iter().min_by_key(|(_, (_, last))| *last);
            if let Some(oldest) = oldest.map(|(instance, _)| instance.clone()) {
                scans.of.remove(&oldest);
            }
        }
        let (turn, last) = scans.of.entry(instance.clone()).or_insert((0, now));
        (*turn, *last) = (*turn + 1, now);
        Some(*turn - 1)
    }
}

/// The partitions of one turn: at most `most` of `total`, all different. Workers begin at different
/// positions, and enough turns cover all partitions.
pub(crate) fn partitions(
    instance: &WorkerInstanceId,
    turn: u64,
    most: u16,
    total: u16,
) -> impl Iterator<Item = Partition> {
    let total = u64::from(total.max(1));
    let most = u64::from(most).min(total);
    let start = fnv1a(instance.as_str().as_bytes()) % total;
    let turns = total.div_ceil(most.max(1));
    let steps: Range<u64> = 0..most;
    steps.filter_map(move |step| {
        let place = (start + (turn % turns) * most + step) % total;
        Partition::new(place as u16).ok()
    })
}

/// The 64-bit FNV-1a hash.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn instance(number: u32) -> WorkerInstanceId {
        WorkerInstanceId::new(format!("w-{number}")).unwrap()
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn enough_turns_see_every_partition() {
        for total in [1, 2, 7, 31, 32, 33, 64, 255, 256, 1_000] {
            for most in [1, 3, 32, 300] {
                for worker in 0..5 {
                    let turns = u64::from(total).div_ceil(u64::from(most.min(total)));
                    for first in [0, 1, turns, 3 * turns + 2] {
                        let mut seen = BTreeSet::new();
                        for turn in first..first + turns {
                            let one: Vec<_> =
                                partitions(&instance(worker), turn, most, total).collect();
                            let distinct: BTreeSet<_> = one.iter().collect();
                            assert_eq!(distinct.len(), usize::from(most.min(total)));
                            seen.extend(one.iter().map(|partition| partition.number()));
                        }
                        assert_eq!(seen.len(), usize::from(total), "{total} {most}");
                    }
                }
            }
        }
    }

    #[test]
    fn workers_begin_at_different_places() {
        let first = |worker| partitions(&instance(worker), 0, 32, 256).next();
        let places: BTreeSet<_> = (0..100).filter_map(first).map(|place| place.number()).collect();
        assert!(places.len() > 50, "{} places for 100 workers", places.len());
    }

    #[test]
    fn a_scan_is_made_at_most_once_per_window() {
        let window = Duration::from_millis(250);
        let (rotation, began, ada) = (Rotation::new(window), Instant::now(), instance(1));
        assert_eq!(rotation.next(&ada, began), Some(0));
        assert_eq!(rotation.next(&ada, began + window / 2), None);
        assert_eq!(rotation.next(&instance(2), began + window / 2), None, "for all workers");
        assert_eq!(rotation.next(&ada, began + window), Some(1));
        assert_eq!(rotation.next(&ada, began + window * 9), Some(2), "no turn is left out");
    }

    #[test]
    fn workers_that_take_turns_each_see_every_partition() {
        let (window, total, most) = (Duration::from_millis(250), 256, 32);
        for workers in 1..=5 {
            let rotation = Rotation::new(window);
            let mut seen = vec![BTreeSet::new(); workers as usize];
            for scan in 0..8 * workers {
                let instance = instance(scan % workers);
                let turn = rotation.next(&instance, Instant::now() + window * scan).unwrap();
                seen[(scan % workers) as usize].extend(partitions(&instance, turn, most, total));
            }
            for seen in seen {
                assert_eq!(seen.len(), usize::from(total), "of {workers} workers");
            }
        }
    }

    #[test]
    fn the_workers_remembered_are_bounded() {
        let (rotation, began) = (Rotation::new(Duration::ZERO), Instant::now());
        let step = Duration::from_millis(1);
        for number in 0..2 * REMEMBERED as u32 {
            rotation.next(&instance(number), began + step * number);
        }
        assert_eq!(rotation.scans.lock().unwrap().of.len(), REMEMBERED);
    }
}
