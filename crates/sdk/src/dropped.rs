//! Tasks that are dropped unfinished. Work that is dropped again and again, by a loop that panics on
//! it for example, must not run forever: it is delayed longer each time, and then fails.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ff_core::{ExecutionId, Millis};

/// How often one execution may be dropped before a drop counts as a failed attempt.
const MOST: u32 = 5;

/// How long it is delayed when it is dropped the second time; four times as long each time after.
const PAUSE: Millis = Millis::new(100);

/// How many executions are remembered. Beyond that the oldest is forgotten.
const REMEMBERED: usize = 1_024;

/// What becomes of a dropped task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// It goes back to its place in the queue.
    HandBack,
    /// The same attempt continues after this long.
    Delay(Millis),
    /// The attempt fails: it was dropped this many times.
    Fail(u32),
}

/// How often this worker has dropped each execution since it last ended in any other way.
#[derive(Debug, Default)]
pub(crate) struct Drops(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// By execution: how often, and when it was first dropped.
    of: HashMap<ExecutionId, (u32, u64)>,
    first_drops: u64,
}

impl Drops {
    /// Counts one more drop, and decides what becomes of the task.
    pub(crate) fn count(&self, execution: ExecutionId) -> Dropped {
        let mut counts = self.counts();
        if counts.of.len() >= REMEMBERED && !counts.of.contains_key(&execution) {
            let oldest = counts.of.iter().min_by_key(|(_, (_, since))| *since);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                counts.of.remove(&oldest);
            }
        }
        counts.first_drops += 1;
        let since = counts.first_drops;
        let (times, _) = counts.of.entry(execution).or_insert((0, since));
        *times += 1;
        match *times {
            1 => Dropped::HandBack,
            times @ 2..=MOST => Dropped::Delay(Millis::new(PAUSE.get() << (2 * (times - 2)))),
            times => {
                counts.of.remove(&execution);
                Dropped::Fail(times)
            }
        }
    }

    /// The execution ended otherwise than by a drop.
    pub(crate) fn forget(&self, execution: ExecutionId) {
        self.counts().of.remove(&execution);
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ff_core::{Partition, Time};

    fn id(number: u64) -> ExecutionId {
        ExecutionId::mint(Time::from_ms(1), Partition::ONLY, 0, number)
    }

    #[test]
    fn each_drop_of_the_same_execution_costs_more() {
        let drops = Drops::default();
        let outcomes: Vec<_> = (0..6).map(|_| drops.count(id(1))).collect();
        let delay = |ms| Dropped::Delay(Millis::new(ms));
        let expected = [
            Dropped::HandBack,
            delay(100),
            delay(400),
            delay(1_600),
            delay(6_400),
            Dropped::Fail(6),
        ];
        assert_eq!(outcomes, expected);
        assert_eq!(drops.count(id(1)), Dropped::HandBack, "the failure has a fresh start");
        drops.count(id(1));
        drops.forget(id(1));
        assert_eq!(drops.count(id(1)), Dropped::HandBack);
    }

    #[test]
    fn the_executions_remembered_are_bounded() {
        let drops = Drops::default();
        for number in 0..2 * REMEMBERED as u64 {
            drops.count(id(number));
        }
        assert_eq!(drops.counts().of.len(), REMEMBERED);
        assert_eq!(drops.count(id(0)), Dropped::HandBack, "the oldest is forgotten");
        let newest = id(2 * REMEMBERED as u64 - 1);
        assert_eq!(drops.count(newest), Dropped::Delay(PAUSE), "the newest is not");
    }
}
