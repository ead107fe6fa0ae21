//! Who was seen to claim: a claim is a sign of life, also of a worker that does not register.
//!
//! What is known here is what went through this process, and it is kept in memory alone: a claim
//! costs the store nothing more. Another server knows of its own claims only.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ff_core::explain::Claimer;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Namespace, RequestId, WorkerInstanceId};
use tokio::time::Instant;

/// How long a worker counts as there after it claimed or renewed a lease.
const TTL: Duration = Duration::from_secs(60);

/// How many workers, and how many of their claims, are kept. What comes when they are as many and all
/// are alive is not noted.
pub(crate) const MOST: usize = 10_000;

type Key = (Namespace, Lane, WorkerInstanceId);

/// Who was seen to claim.
#[derive(Debug, Default)]
pub(crate) struct Claimers(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    workers: HashMap<Key, Sign>,
    /// The claims that took something, so that a renewal is a sign of life too.
    claims: HashMap<RequestId, Key>,
}

#[derive(Debug)]
struct Sign {
    worker: Worker,
    capabilities: Capabilities,
    until: Instant,
}

impl Claimers {
    /// Notes that `worker` asks for work of `lane`, and may wait for it as long as `wait`.
    pub(crate) fn asks(
        &self,
        (namespace, lane): (&Namespace, &Lane),
        worker: &Worker,
        capabilities: &Capabilities,
        wait: Duration,
    ) {
        let (mut seen, now) = (self.seen(), Instant::now());
        let key = (namespace.clone(), lane.clone(), worker.instance.clone());
        if seen.workers.len() >= MOST && !seen.workers.contains_key(&key) {
            seen.forget(now);
            if seen.workers.len() >= MOST {
                return;
            }
        }
        let (worker, capabilities) = (worker.clone(), capabilities.clone());
        seen.workers.insert(key, Sign { worker, capabilities, until: now + wait + TTL });
    }

    /// Notes that it was given something under `request`.
    pub(crate) fn took(
        &self,
        namespace: &Namespace,
        lane: &Lane,
        worker: &Worker,
        request: RequestId,
    ) {
        let (mut seen, now) = (self.seen(), Instant::now());
        if seen.claims.len() >= MOST {
            seen.forget(now);
        }
        if seen.claims.len() < MOST {
            let key = (namespace.clone(), lane.clone(), worker.instance.clone());
            seen.claims.insert(request, key);
        }
    }

    /// Notes that a lease which the claim `request` took was renewed.
    pub(crate) fn renews(&self, request: RequestId) {
        let mut seen = self.seen();
        let Seen { workers, claims } = &mut *seen;
        if let Some(sign) = claims.get(&request).and_then(|key| workers.get_mut(key)) {
            sign.until = sign.until.max(Instant::now() + TTL);
        }
    }

    /// Those that were seen in a namespace.
    pub(crate) fn of(&self, namespace: &Namespace) -> Vec<Claimer> {
        let (seen, now) = (self.seen(), Instant::now());
        let signs = seen.workers.iter();
        let alive = signs.filter(|((its, ..), sign)| its == namespace && sign.until > now);
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

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn forget(&mut self, now: Instant) {
        self.workers.retain(|_, sign| sign.until > now);
        self.claims.retain(|_, key| self.workers.contains_key(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(name: &str) -> Worker {
        Worker { id: "w".parse().unwrap(), instance: name.parse().unwrap() }
    }

    fn ask(claimers: &Claimers, name: &str, wait: u64) {
        let place = (&Namespace::default(), &Lane::default());
        let wait = Duration::from_secs(wait);
        claimers.asks(place, &worker(name), &Capabilities::NONE, wait);
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
        ask(&claimers, "a", 0);
        claimers.took(&Namespace::default(), &Lane::default(), &worker("a"), request);
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
        tokio::time::advance(TTL).await;
        ask(&claimers, "late", 0);
        assert_eq!(seen(&claimers), ["late"]);
    }
}
