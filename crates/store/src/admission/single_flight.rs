//! Single flight: where queued work must be admitted, one claim scans the queue and requests
//! admission for all claims that wait behind it.
//!
//! There is no task behind it: the first waiting claim to get the lock leads. The lock is held until
//! every claim has taken what it was given, so that the next leader does not find that again. Where
//! nothing must be admitted, no claim waits here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ff_core::machine::{Admitted, ClaimRequest};
use ff_core::{Capabilities, Lane, Namespace};
use tokio::sync::OwnedMutexGuard;
use tokio::sync::oneshot::{self, Sender};

use crate::lock::lock;

/// What is scanned together: a queue, as workers with these capabilities see it.
type Queue = (Namespace, Lane, Capabilities);

/// Held by every claim that has something to take. When all have dropped it, the next may lead.
pub(crate) type LeaderGuard = Arc<OwnedMutexGuard<()>>;

/// The claims of one process that scan queues with limited work.
#[derive(Debug, Default)]
pub(crate) struct ClaimCoalescer(Mutex<HashMap<Queue, Arc<Flight>>>);

#[derive(Debug, Default)]
struct Flight {
    /// The last scan found something that must be admitted.
    is_limited: AtomicBool,
    followers: Mutex<Vec<Follower>>,
    leader: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct Follower {
    most: usize,
    answer: Sender<(Vec<Admitted>, Option<LeaderGuard>)>,
}

/// How a claim continues.
#[derive(Debug)]
pub(crate) enum Role {
    /// It scans, for itself.
    Solo,
    /// It scans, for all.
    Leader(LeaderGuard),
    /// It takes this.
    Follower(Vec<Admitted>, Option<LeaderGuard>),
}

/// A claim among those of its queue, which is forgotten with the last one.
pub(crate) struct Waiter<'a> {
    coalescer: &'a ClaimCoalescer,
    queue: Queue,
    flight: Arc<Flight>,
}

impl ClaimCoalescer {
    /// The place of `claim`.
    pub(crate) fn waiter(&self, claim: &ClaimRequest) -> Waiter<'_> {
        let queue = (claim.namespace.clone(), claim.lane.clone(), claim.capabilities.clone());
        let flight = lock(&self.0).entry(queue.clone()).or_default().clone();
        Waiter { coalescer: self, queue, flight }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut flights = lock(&self.coalescer.0);
        // The map has it too, besides the claim that leaves.
        if Arc::strong_count(&self.flight) <= 2 {
            flights.remove(&self.queue);
        }
    }
}

impl Waiter<'_> {
    /// Waits to be given up to `most`, or to lead.
    pub(crate) async fn join(&self, most: usize) -> Role {
        let flight = &self.flight;
        if !flight.is_limited.load(Ordering::Relaxed) {
            return Role::Solo;
        }
        let (answer, mut receive) = oneshot::channel();
        lock(&flight.followers).push(Follower { most, answer });
        let guard = tokio::select! {
            biased;
            given = &mut receive => {
                return given.map_or(Role::Solo, |(given, guard)| Role::Follower(given, guard));
            }
            guard = flight.leader.clone().lock_owned() => guard,
        };
        // It may have been given something while the lock was passed on.
        match receive.try_recv() {
            Ok((given, guard)) => Role::Follower(given, guard),
            Err(_) => Role::Leader(Arc::new(guard)),
        }
    }

    /// A scan has found something that must be admitted.
    pub(crate) fn expect_limited(&self) {
        self.flight.is_limited.store(true, Ordering::Relaxed);
    }

    /// A scan has found nothing that must be admitted: every claim scans for itself.
    pub(crate) fn dismiss(&self) {
        self.flight.is_limited.store(false, Ordering::Relaxed);
        for follower in lock(&self.flight.followers).drain(..) {
            drop(follower.answer.send((Vec::new(), None)));
        }
    }

    /// How many the waiting claims can take.
    pub(crate) fn wanted(&self) -> usize {
        let mut followers = lock(&self.flight.followers);
        followers.retain(|follower| !follower.answer.is_closed());
        followers.iter().map(|follower| follower.most).sum()
    }

    /// Gives waiting claims as much as they can take, the first ones first. Answers what is left.
    pub(crate) fn hand_out(&self, mut given: Vec<Admitted>, guard: &LeaderGuard) -> Vec<Admitted> {
        let mut followers = lock(&self.flight.followers);
        while !given.is_empty() && !followers.is_empty() {
            let Follower { most, answer } = followers.remove(0);
            let rest = given.split_off(most.min(given.len()));
            let share = std::mem::replace(&mut given, rest);
            if let Err((mut share, _)) = answer.send((share, Some(guard.clone()))) {
                share.append(&mut given);
                given = share;
            }
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use ff_core::limits::{Amounts, ExecutionLimits};
    use ff_core::machine::{AdmissionRequest, NeedsAdmission};
    use ff_core::record::Version;
    use ff_core::state::Worker;
    use ff_core::{
        AdmissionId, ExecutionId, Partition, RequestId, Time, WorkerId, WorkerInstanceId,
    };

    use super::*;

    fn claim() -> Result<ClaimRequest, ff_core::Refusal> {
        Ok(ClaimRequest {
            namespace: Namespace::default(),
            lane: Lane::default(),
            worker: Worker { id: WorkerId::new("ada")?, instance: WorkerInstanceId::new("ada-1")? },
            capabilities: Capabilities::NONE,
            request: RequestId::new(1),
            max: 1,
            retry: false,
        })
    }

    fn given(count: u16) -> Vec<Admitted> {
        let one = |index: u16| {
            let execution =
                ExecutionId::mint(Time::from_ms(1), Partition::ONLY, index.into(), index.into());
            let needs = NeedsAdmission {
                execution,
                version: Version::first(0),
                limits: ExecutionLimits::default(),
                used: Amounts::new(),
            };
            let id = AdmissionId { batch: RequestId::new(9), index };
            let request = AdmissionRequest { id, needs };
            Admitted { request, usable_until: Time::MAX, counts_start: false }
        };
        (0..count).map(one).collect()
    }

    fn poll<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn names(role: Option<Role>) -> Vec<u16> {
        match role {
            Some(Role::Follower(given, _)) => {
                given.iter().map(|one| one.request.id.index).collect()
            }
            other => vec![if other.is_some() { u16::MAX } else { u16::MAX - 1 }],
        }
    }

    #[tokio::test]
    async fn followers_are_given_what_the_leader_brings() -> Result<(), ff_core::Refusal> {
        let coalescer = ClaimCoalescer::default();
        let (leader, others) = (coalescer.waiter(&claim()?), coalescer.waiter(&claim()?));
        assert!(matches!(leader.join(1).await, Role::Solo), "nothing is known to ask for");
        leader.expect_limited();
        let Role::Leader(guard) = leader.join(1).await else { panic!("it was free") };
        let mut first = pin!(others.join(2));
        let mut gone = Box::pin(others.join(1));
        let mut last = pin!(others.join(2));
        assert!(poll(first.as_mut()).is_none());
        assert!(poll(gone.as_mut()).is_none());
        assert!(poll(last.as_mut()).is_none());
        assert_eq!(leader.wanted(), 5);
        drop(gone);
        assert_eq!(leader.wanted(), 4);
        assert!(leader.hand_out(given(3), &guard).is_empty());
        drop(guard);
        let mut next = pin!(others.join(1));
        assert!(poll(next.as_mut()).is_none(), "those that were given something take it first");
        assert_eq!(names(poll(first.as_mut())), [0, 1]);
        assert_eq!(names(poll(last.as_mut())), [2]);
        assert!(matches!(poll(next.as_mut()), Some(Role::Leader(_))));
        Ok(())
    }

    #[tokio::test]
    async fn where_nothing_is_limited_every_claim_looks_for_itself() -> Result<(), ff_core::Refusal>
    {
        let coalescer = ClaimCoalescer::default();
        let place = coalescer.waiter(&claim()?);
        place.expect_limited();
        let Role::Leader(guard) = place.join(1).await else { panic!("it was free") };
        let mut other = Box::pin(place.join(1));
        assert!(poll(other.as_mut()).is_none());
        place.dismiss();
        assert_eq!(names(poll(other.as_mut())), Vec::<u16>::new());
        drop(other);
        assert!(matches!(place.join(1).await, Role::Solo));
        assert_eq!(place.hand_out(given(2), &guard).len(), 2, "nobody waits for it");
        drop(place);
        assert!(lock(&coalescer.0).is_empty(), "nobody is there");
        Ok(())
    }
}
