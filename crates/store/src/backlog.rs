//! How much waits and for what, and how much runs: counted now and then, for people and their charts.

use std::collections::BTreeMap;

use ff_core::limits::Blocker;
use ff_core::placement::{PRIORITY_STEP, Score};
use ff_core::{Capabilities, Lane, Namespace, Time};

/// What waits and runs in a store. Its parts are counted one after the other, while work continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The store's time.
    pub now: Time,
    /// Queues that hold something.
    pub queues: BTreeMap<(Namespace, Lane), Queued>,
    /// How many of those in a queue require capabilities, and which.
    pub requiring: BTreeMap<(Namespace, Lane, Capabilities), u64>,
    /// How many of those no live worker can run.
    pub unroutable: BTreeMap<(Namespace, Lane), u64>,
    /// How many of each lane a worker holds.
    pub active: BTreeMap<(Namespace, Lane), u64>,
    /// How many wait for each budget and quota.
    pub blocked: BTreeMap<(Namespace, Blocker), u64>,
    /// How many of each lane wait for a budget or a quota, the limit of the lane among them.
    pub blocked_by_lane: BTreeMap<(Namespace, Lane), u64>,
    /// How many workers are registered.
    pub workers: u64,
}

/// What one lane of one namespace holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// How many executions.
    pub count: u64,
    /// When the one was queued that has waited longest of those that come next, class by class. One of
    /// lower priority may have waited longer.
    pub oldest: Time,
}

impl Backlog {
    /// Counts `count` executions of one class in one partition, of which the next has this score.
    pub fn add_queue(
        &mut self,
        (namespace, lane): (Namespace, Lane),
        requires: Capabilities,
        count: u64,
        head: Score,
    ) {
        // The priority that brings the score nearest to now: a step is longer than anything waits.
        let late = self.now.as_ms() as i64 - head.get();
        let priority = (late + PRIORITY_STEP / 2).div_euclid(PRIORITY_STEP);
        let since = head.get() + priority * PRIORITY_STEP;
        let oldest = Time::from_ms(u64::try_from(since).unwrap_or(0));
        if !requires.is_empty() {
            let key = (namespace.clone(), lane.clone(), requires);
            *self.requiring.entry(key).or_default() += count;
        }
        let queued = self.queues.entry((namespace, lane)).or_insert(Queued { count: 0, oldest });
        queued.count += count;
        queued.oldest = queued.oldest.min(oldest);
    }

    /// Counts `count` executions of one admission class that wait for one limit. An execution waits for
    /// one limit at a time, however many it names, so it is counted once. The lane is missing when
    /// no record of the class can be read.
    pub fn add_blocked(
        &mut self,
        (namespace, on): (Namespace, Blocker),
        lane: Option<Lane>,
        count: u64,
    ) {
        if let Some(lane) = lane {
            *self.blocked_by_lane.entry((namespace.clone(), lane)).or_default() += count;
        }
        *self.blocked.entry((namespace, on)).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moment_is_read_from_the_score_whatever_the_priority() {
        let now = Time::from_ms(1_800_000_000_000);
        for priority in [-9_000, -1, 0, 1, 2, 500, 9_000] {
            for age in [0, 1, 60_000, 86_400_000 * 365] {
                let queued = Time::from_ms(now.as_ms() - age);
                let mut backlog = Backlog { now, ..Backlog::default() };
                let queue = (Namespace::default(), Lane::default());
                backlog.add_queue(queue, Capabilities::NONE, 3, Score::of(priority, queued));
                let only = backlog.queues.values().next().unwrap();
                assert_eq!(*only, Queued { count: 3, oldest: queued });
            }
        }
    }

    #[test]
    fn classes_and_partitions_of_a_lane_are_counted_together() {
        let now = Time::from_ms(1_800_000_000_000);
        let mut backlog = Backlog { now, ..Backlog::default() };
        for (count, age) in [(2, 5), (3, 9), (1, 7)] {
            let head = Score::of(0, Time::from_ms(now.as_ms() - age));
            let queue = (Namespace::default(), Lane::default());
            backlog.add_queue(queue, Capabilities::NONE, count, head);
        }
        let only = backlog.queues.values().next().unwrap();
        assert_eq!(*only, Queued { count: 6, oldest: Time::from_ms(now.as_ms() - 9) });
    }
}
