//! Who was seen to claim: a claim is a sign of life, also of a worker that does not register.
//!
//! What is known here is what went through this process, and it is kept in memory alone: a claim
//! costs the store nothing more. Another server knows of its own claims only.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_core::explain::Claimer;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Namespace, RequestId, WorkerInstanceId};
use tokio::time::Instant;

use crate::lock::lock;

/// How long a worker counts as there after it claimed or renewed a lease.
const TTL: Duration = Duration::from_secs(60);

/// How many workers, and how many of their claims, are kept. A worker that comes when they are as many
/// and all are alive is not noted; of claims, the latest are kept.
pub(crate) const MOST: usize = 10_000;

/// How often silent workers are removed while the map is full.
const SWEEP: Duration = Duration::from_secs(1);

type Key = (Namespace, Lane, WorkerInstanceId);

/// Who was seen to claim.
#[derive(Debug, Default)]
pub(crate) struct Claimers(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    workers: HashMap<Key, Arc<Sign>>,
    swept: Option<Instant>,
    /// The claims that took something, so that a renewal is a sign of life too.
    claims: HashMap<RequestId, Arc<Sign>>,
    /// The same, the earliest first.
    in_turn: VecDeque<RequestId>,
}

/// A sign of life of one worker.
#[derive(Debug)]
pub(crate) struct Sign {
    worker: Worker,
    capabilities: Capabilities,
    until: Mutex<Instant>,
}

impl Sign {
    fn until(&self) -> Instant {
        *lock(&self.until)
    }

    fn extend(&self, until: Instant) {
        let mut known = lock(&self.until);
        *known = until.max(*known);
    }
}

impl Claimers {
    /// Notes that `worker` asks for work of `lane`, and may wait for it as long as `wait`.
    pub(crate) fn asks(
        &self,
        (namespace, lane): (&Namespace, &Lane),
        worker: &Worker,
        capabilities: &Capabilities,
        wait: Duration,
    ) -> Option<Arc<Sign>> {
        let (mut seen, now) = (lock(&self.0), Instant::now());
        let until = now + wait + TTL;
        let key = (namespace.clone(), lane.clone(), worker.instance.clone());
        if let Some(known) = seen.workers.get(&key)
            && known.capabilities == *capabilities
            && known.worker == *worker
        {
            known.extend(until);
            return Some(known.clone());
        }
        if seen.workers.len() >= MOST && !seen.workers.contains_key(&key) && !seen.sweep(now) {
            return None;
        }
        let (worker, capabilities) = (worker.clone(), capabilities.clone());
        let sign = Arc::new(Sign { worker, capabilities, until: Mutex::new(until) });
        seen.workers.insert(key, sign.clone());
        Some(sign)
    }

    /// Notes that who asked was given something under `request`.
    pub(crate) fn took(&self, asked: Arc<Sign>, request: RequestId) {
        let mut seen = lock(&self.0);
        if seen.claims.insert(request, asked).is_none() {
            seen.in_turn.push_back(request);
        }
        if seen.in_turn.len() > MOST
            && let Some(earliest) = seen.in_turn.pop_front()
        {
            seen.claims.remove(&earliest);
        }
    }

    /// Notes that a lease which the claim `request` took was renewed.
    pub(crate) fn renews(&self, request: RequestId) {
        if let Some(sign) = lock(&self.0).claims.get(&request) {
            sign.extend(Instant::now() + TTL);
        }
    }

    /// Those that were seen in a namespace.
    pub(crate) fn of(&self, namespace: &Namespace) -> Vec<Claimer> {
        let (seen, now) = (lock(&self.0), Instant::now());
        let signs = seen.workers.iter();
        let alive = signs.filter(|((its, ..), sign)| its == namespace && sign.until() > now);
        let mut claimers: Vec<_> = alive
            .map(|((_, lane, _), sign)| Claimer {
                worker: sign.worker.clone(),
                lane: lane.clone(),
                capabilities: sign.capabilities.clone(),
            })
            .collect();
        claimers.sort_by(|a, b| a.worker.instance.cmp(&b.worker.instance));
        claimers
    }
}

impl Seen {
    /// Removes silent workers, if it is time to. Returns whether there is room.
    fn sweep(&mut self, now: Instant) -> bool {
        if self.swept.is_none_or(|last| now >= last + SWEEP) {
            self.swept = Some(now);
            self.workers.retain(|_, sign| sign.until() > now);
        }
        self.workers.len() < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str) -> Worker {
        Worker { id: "w".parse().unwrap(), instance: name.parse().unwrap() }
    }

    fn ask(claimers: &Claimers, name: &str, wait: u64) -> Option<Arc<Sign>> {
        let place = (&Namespace::default(), &Lane::default());
        let wait = Duration::from_secs(wait);
        claimers.asks(place, &worker(name), &Capabilities::NONE, wait)
    }

    fn seen(claimers: &Claimers) -> Vec<String> {
        let seen = claimers.of(&Namespace::default());
        seen.iter().map(|claimer| claimer.worker.instance.to_string()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_is_there_while_it_waits_and_a_minute_longer() {
        let claimers = Claimers::default();
        ask(&claimers, "a", 0);
        ask(&claimers, "b", 20);
        tokio::time::advance(Duration::from_secs(59)).await;
        assert_eq!(seen(&claimers), ["a", "b"]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(seen(&claimers), ["b"]);
        tokio::time::advance(Duration::from_secs(20)).await;
        assert!(seen(&claimers).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_keeps_the_worker_that_claimed() {
        let claimers = Claimers::default();
        let request = RequestId::new(7);
        claimers.took(ask(&claimers, "a", 0).unwrap(), request);
        for _ in 0..5 {
            tokio::time::advance(Duration::from_secs(50)).await;
            claimers.renews(request);
            claimers.renews(RequestId::new(8));
        }
        assert_eq!(seen(&claimers), ["a"]);
        assert!(claimers.of(&Namespace::new("b").unwrap()).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_are_kept_than_may_be_and_the_dead_make_room() {
        let claimers = Claimers::default();
        for n in 0..MOST + 10 {
            ask(&claimers, &format!("w{n}"), 0);
        }
        assert_eq!(seen(&claimers).len(), MOST);
        assert!(ask(&claimers, "one-more", 0).is_none());
        let known = ask(&claimers, "w0", 0).unwrap();
        for number in 0..MOST + 10 {
            claimers.took(known.clone(), RequestId::new(number as u128));
        }
        assert_eq!(lock(&claimers.0).claims.len(), MOST);
        tokio::time::advance(TTL).await;
        ask(&claimers, "late", 0);
        assert_eq!(seen(&claimers), ["late"]);
    }
}
