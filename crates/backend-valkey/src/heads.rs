//! What this process believes the heads of queues to be, partition by partition.
//!
//! Belief is a hint: it says where to claim first. It comes from this process's calls, from
//! announcements and from scans of the lanes that claims wait on. Only a queue that was found empty
//! is forgotten, and only if nothing better was learned since the call was sent.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ff_core::placement::PRIORITY_STEP;
use ff_core::{Capabilities, Lane, Namespace};

/// How many classes one claim reads, unless it requests more executions than that.
const CLASSES_PER_CLAIM: usize = 8;

/// How many classes one claim reads, however many executions it requests.
const MOST_CLASSES: usize = 64;

/// How many heads are remembered; beyond that all are forgotten but those that are being claimed, and
/// found again by a scan when a claim needs them.
const MOST_HEADS: usize = 50_000;

/// A queue of every partition.
pub(crate) type Queue = (Namespace, Lane);

/// The heads of all queues.
#[derive(Debug, Default)]
pub(crate) struct Heads(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Queue, HashMap<Place, Head>>,
    /// Counts what was learned, to order it.
    learned: u64,
    /// How many heads there are at most.
    count: usize,
}

/// A class of a queue in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    partition: u16,
    class: String,
}

#[derive(Debug)]
struct Head {
    score: i64,
    requires: Capabilities,
    /// When it last improved.
    improved_at: u64,
    /// How many executions are believed to be there; there may be more.
    count: u64,
    /// How many executions are being claimed there.
    claimed: u64,
}

impl Head {
    /// Whether there is more than is being claimed.
    fn has_more(&self) -> bool {
        self.claimed == 0 || self.claimed < self.count
    }
}

/// Where to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) partition: u16,
    /// The classes to read, best first.
    pub(crate) classes: Vec<String>,
    /// The highest score to take after the first: what another partition has of higher priority
    /// comes before the rest.
    pub(crate) bound: Option<i64>,
    wanted: u64,
    /// What had been learned when it was picked.
    since: u64,
}

/// The highest score to take where another partition has this head.
fn bound(other: i64) -> i64 {
    other + PRIORITY_STEP / 2
}

/// Where to scan for more than one partition has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BestOf {
    pub(crate) partitions: BTreeSet<u16>,
    pub(crate) classes: BTreeSet<String>,
    /// The highest score to request: what is elsewhere of higher priority comes before the rest.
    pub(crate) bound: Option<i64>,
}

/// One head, as a function or an announcement reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct News {
    pub(crate) queue: Queue,
    pub(crate) partition: u16,
    pub(crate) class: String,
    pub(crate) requires: Capabilities,
    pub(crate) score: i64,
    /// How many executions are known to be there, if they were counted.
    pub(crate) count: Option<u64>,
}

impl Heads {
    /// A head has improved. Answers whether others had to be forgotten for it.
    pub(crate) fn improved(&self, news: News) -> bool {
        let mut state = self.state();
        state.learned += 1;
        state.put(news);
        state.shrink()
    }

    /// An execution joined a queue behind its head.
    pub(crate) fn joined(&self, queue: &Queue, partition: u16, class: &str) {
        let mut state = self.state();
        let place = Place { partition, class: class.to_owned() };
        if let Some(head) = state.queues.get_mut(queue).and_then(|heads| heads.get_mut(&place)) {
            head.count += 1;
        }
    }

    /// The best place for a worker with these capabilities that wants `max`. A place with more than
    /// is being claimed comes first; a worker that is woken when there is more goes to no other.
    /// Only partitions that are `open` are considered. The claim is in flight until it is
    /// [settled](Self::settle).
    pub(crate) fn pick(
        &self,
        queue: &Queue,
        offers: &Capabilities,
        max: usize,
        is_called: bool,
        open: impl Fn(u16) -> bool,
    ) -> Option<Pick> {
        let mut state = self.state();
        let since = state.learned;
        let heads = state.queues.get_mut(queue)?;
        let covered = |head: &Head| offers.covers(&head.requires);
        let fit = heads.iter().filter(|(_, head)| covered(head));
        let fit = fit.filter(|(_, head)| head.has_more() || !is_called);
        let fit = fit.filter(|(place, _)| open(place.partition));
        let place =
            |(place, head): &(&Place, &Head)| (!head.has_more(), head.score, place.partition);
        let partition = fit.min_by_key(place)?.0.partition;
        let others = heads.iter().filter(|(place, _)| place.partition != partition);
        let bound = others.filter(|(_, head)| covered(head)).map(|(_, head)| head.score).min();
        let mut here: Vec<_> = heads
            .iter_mut()
            .filter(|(place, head)| place.partition == partition && covered(head))
            .collect();
        here.sort_by_key(|(_, head)| head.score);
        here.truncate(max.clamp(CLASSES_PER_CLAIM, MOST_CLASSES));
        let mut classes = Vec::with_capacity(here.len());
        for (place, head) in here {
            head.claimed += max as u64;
            classes.push(place.class.clone());
        }
        let bound = bound.map(self::bound);
        Some(Pick { partition, classes, bound, wanted: max as u64, since })
    }

    /// A place in `partition`, where it is known already what to claim.
    pub(crate) fn at(&self, queue: &Queue, offers: &Capabilities, partition: u16) -> Pick {
        let (classes, since) = (self.classes(queue, offers, partition), self.learned());
        Pick { partition, classes, bound: None, wanted: 0, since }
    }

    /// The classes in `partition` that a worker with these capabilities could take from; the one
    /// without requirements is always among them.
    pub(crate) fn classes(
        &self,
        queue: &Queue,
        offers: &Capabilities,
        partition: u16,
    ) -> Vec<String> {
        let state = self.state();
        let heads = state.queues.get(queue).into_iter().flatten();
        let mut here: Vec<_> = heads
            .filter(|(place, head)| {
                place.partition == partition
                    && !head.requires.is_empty()
                    && offers.covers(&head.requires)
            })
            .collect();
        here.sort_unstable_by_key(|(_, head)| head.score);
        let here = here.into_iter().take(MOST_CLASSES).map(|(place, _)| place.class.clone());
        [String::new()].into_iter().chain(here).collect()
    }

    /// The partitions with the best heads for a worker with these capabilities, until they are
    /// believed to hold `most`.
    pub(crate) fn best_of(&self, queue: &Queue, offers: &Capabilities, most: usize) -> BestOf {
        let state = self.state();
        let heads = state.queues.get(queue).into_iter().flatten();
        let mut heads: Vec<_> = heads.filter(|(_, head)| offers.covers(&head.requires)).collect();
        heads.sort_unstable_by_key(|(place, head)| (head.score, place.partition));
        let mut count = 0;
        let enough = |(_, head): &&(&Place, &Head)| {
            let before = count;
            count += head.count.max(1);
            before < most as u64
        };
        let chosen = heads.iter().take_while(enough).count();
        let (chosen, others) = heads.split_at(chosen);
        BestOf {
            partitions: chosen.iter().map(|(place, _)| place.partition).collect(),
            classes: chosen.iter().map(|(place, _)| place.class.clone()).collect(),
            bound: others.first().map(|(_, head)| bound(head.score)),
        }
    }

    /// The partition that has the best head for a worker with these capabilities, among those that
    /// are `open`.
    pub(crate) fn best(
        &self,
        queue: &Queue,
        offers: &Capabilities,
        open: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let state = self.state();
        let heads = state.queues.get(queue)?.iter();
        let covered =
            heads.filter(|(place, head)| offers.covers(&head.requires) && open(place.partition));
        let best = covered.min_by_key(|(place, head)| (head.score, place.partition));
        best.map(|(place, _)| place.partition)
    }

    /// A claim has returned: how many it took and the new heads, in the order of
    /// the pick's classes. Answers a class that is not empty.
    pub(crate) fn settle(
        &self,
        queue: &Queue,
        pick: &Pick,
        taken: usize,
        now: Option<&[Option<i64>]>,
    ) -> Option<Capabilities> {
        let mut state = self.state();
        let heads = state.queues.get_mut(queue)?;
        let mut left = None;
        for (index, class) in pick.classes.iter().enumerate() {
            let place = Place { partition: pick.partition, class: class.clone() };
            let Some(head) = heads.get_mut(&place) else { continue };
            head.claimed = head.claimed.saturating_sub(pick.wanted);
            head.count = head.count.saturating_sub(taken as u64).max(1);
            let Some(now) = now else { continue };
            let fresh = head.improved_at > pick.since;
            match now.get(index).copied().flatten() {
                Some(score) if fresh => head.score = head.score.min(score),
                Some(score) => head.score = score,
                None if fresh => {}
                None => {
                    heads.remove(&place);
                    continue;
                }
            }
            left = left.or_else(|| heads.get(&place).map(|head| head.requires.clone()));
        }
        if heads.is_empty() {
            state.queues.remove(queue);
        }
        left
    }

    /// What has been learned so far, to give to [`Heads::scanned`].
    pub(crate) fn learned(&self) -> u64 {
        self.state().learned
    }

    /// The result of a scan since `since`: all heads of these queues in these partitions, and some of
    /// others.
    pub(crate) fn scanned(
        &self,
        since: u64,
        whole: &HashMap<Queue, HashSet<u16>>,
        found: Vec<News>,
    ) -> bool {
        let mut state = self.state();
        for (queue, partitions) in whole {
            let Some(heads) = state.queues.get_mut(queue) else { continue };
            heads.retain(|place, head| {
                !partitions.contains(&place.partition)
                    || head.improved_at > since
                    || head.claimed > 0
            });
            if heads.is_empty() {
                state.queues.remove(queue);
            }
        }
        for news in found {
            state.put(news);
        }
        state.shrink()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn put(&mut self, news: News) {
        let place = Place { partition: news.partition, class: news.class };
        let heads = self.queues.entry(news.queue).or_default();
        self.count += usize::from(!heads.contains_key(&place));
        let head = heads.entry(place).or_insert(Head {
            score: news.score,
            requires: news.requires,
            improved_at: self.learned,
            count: 0,
            claimed: 0,
        });
        head.score = head.score.min(news.score);
        head.improved_at = self.learned;
        head.count = news.count.unwrap_or(head.count + 1);
    }

    /// Forgets heads that are not being claimed if there are too many. Answers whether there were.
    fn shrink(&mut self) -> bool {
        if self.count <= MOST_HEADS {
            return false;
        }
        // What was removed meanwhile is still counted.
        self.count = self.queues.values().map(HashMap::len).sum();
        if self.count <= MOST_HEADS {
            return false;
        }
        for heads in self.queues.values_mut() {
            heads.retain(|_, head| head.claimed > 0);
        }
        self.queues.retain(|_, heads| !heads.is_empty());
        self.count = self.queues.values().map(HashMap::len).sum();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capabilities(text: &str) -> Capabilities {
        Capabilities::parse(text).unwrap_or(Capabilities::NONE)
    }

    fn news(partition: u16, class: &str, score: i64, count: u64) -> News {
        News {
            queue: (Namespace::default(), Lane::default()),
            partition,
            class: class.to_owned(),
            requires: capabilities(class),
            score,
            count: Some(count),
        }
    }

    #[test]
    fn the_remembered_heads_are_bounded() {
        let heads = Heads::default();
        let queue = |number: usize| {
            (Namespace::default(), Lane::new(format!("lane-{number}")).unwrap_or_default())
        };
        let of = |number: usize| News { queue: queue(number), ..news(0, "", 1, 1) };
        for number in 0..MOST_HEADS {
            assert!(!heads.improved(of(number)));
        }
        let held = heads.pick(&queue(7), &Capabilities::NONE, 1, false, |_| true);
        assert!(heads.improved(of(MOST_HEADS)), "the others are forgotten");
        assert_eq!(heads.state().queues.len(), 1, "but for the one that is being claimed");
        assert_eq!(
            heads.best(&queue(7), &Capabilities::NONE, |_| true),
            held.map(|pick| pick.partition)
        );
    }

    #[test]
    fn the_best_partitions_are_those_that_hold_enough() {
        let heads = Heads::default();
        for news in [
            news(1, "", 30, 5),
            news(2, "gpu", 20, 2),
            news(3, "", 10, 1),
            news(4, "tpu", 5, 9),
            news(5, "", 40, 9),
        ] {
            heads.improved(news);
        }
        let queue = (Namespace::default(), Lane::default());
        let best = |offers: &str, most: usize| {
            let best = heads.best_of(&queue, &capabilities(offers), most);
            (Vec::from_iter(best.partitions), Vec::from_iter(best.classes), best.bound)
        };
        let (plain, gpu) = (String::new(), "gpu".to_owned());
        let both = vec![plain.clone(), gpu];
        assert_eq!(best("gpu", 1), (vec![3], vec![plain.clone()], Some(bound(20))));
        assert_eq!(best("gpu", 3), (vec![2, 3], both.clone(), Some(bound(30))));
        assert_eq!(best("gpu", 4), (vec![1, 2, 3], both, Some(bound(40))));
        assert_eq!(best("", 4), (vec![1, 3], vec![plain.clone()], Some(bound(40))));
        assert_eq!(best("", 1_000), (vec![1, 3, 5], vec![plain], None));
        let other = (Namespace::default(), Lane::new("other").unwrap_or_default());
        assert!(heads.best_of(&other, &Capabilities::NONE, 1).partitions.is_empty());
    }
}
