//! The counter of a queue: where much must be admitted, one call looks what is there and asks for all
//! that wait behind it.
//!
//! As at the [desk](crate::desk) there is no task behind it: whoever waits and finds it free leads.
//! The turn of a leader lasts until everybody has taken what it was given, so that the next one does
//! not meet that again. Where nothing must be admitted, nobody waits here.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ff_core::machine::{Admission, Candidate, Claim};
use ff_core::{Capabilities, Lane, Namespace};
use tokio::sync::OwnedMutexGuard;
use tokio::sync::oneshot::{self, Sender};

use crate::desk::lock;

/// What is looked at together: a queue, as those with these capabilities see it.
type Queue = (Namespace, Lane, Capabilities);

/// What a call was given to take.
pub(crate) type Given = Vec<(Admission, Candidate)>;

/// Held by everybody who has something to take. When all have let go of it, the next may look.
pub(crate) type Turn = Arc<OwnedMutexGuard<()>>;

/// The counters of all queues, in one process.
#[derive(Debug, Default)]
pub(crate) struct Counters(Mutex<HashMap<Queue, Arc<Counter>>>);

#[derive(Debug, Default)]
pub(crate) struct Counter {
    /// The last look found something that must be admitted.
    asks: AtomicBool,
    waiting: Mutex<Vec<Waiter>>,
    turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct Waiter {
    most: usize,
    answer: Sender<(Given, Option<Turn>)>,
}

/// How a call goes on.
#[derive(Debug)]
pub(crate) enum Came {
    /// It looks, for itself.
    Alone,
    /// It looks, for all.
    Leads(Turn),
    /// It takes this.
    Given(Given, Option<Turn>),
}

/// A call's place at a counter, which is forgotten with the last one.
pub(crate) struct Place<'a> {
    counters: &'a Counters,
    queue: Queue,
    counter: Arc<Counter>,
}

impl Counters {
    /// A place where `claim` looks.
    pub(crate) fn place(&self, claim: &Claim) -> Place<'_> {
        let queue = (claim.namespace.clone(), claim.lane.clone(), claim.capabilities.clone());
        let counter = lock(&self.0).entry(queue.clone()).or_default().clone();
        Place { counters: self, queue, counter }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut counters = lock(&self.counters.0);
        // Beside the map, whoever leaves has it too.
        if Arc::strong_count(&self.counter) <= 2 {
            counters.remove(&self.queue);
        }
    }
}

impl Place<'_> {
    /// Waits to be given up to `most`, or to lead.
    pub(crate) async fn come(&self, most: usize) -> Came {
        let counter = &self.counter;
        if !counter.asks.load(Ordering::Relaxed) {
            return Came::Alone;
        }
        let (answer, mut receive) = oneshot::channel();
        lock(&counter.waiting).push(Waiter { most, answer });
        let turn = tokio::select! {
            biased;
            given = &mut receive => return given.map_or(Came::Alone, |(g, turn)| Came::Given(g, turn)),
            turn = counter.turn.clone().lock_owned() => turn,
        };
        // It may have been given something while the turn was passed on.
        match receive.try_recv() {
            Ok((given, turn)) => Came::Given(given, turn),
            Err(_) => Came::Leads(Arc::new(turn)),
        }
    }

    /// A look has found something that must be admitted.
    pub(crate) fn asks(&self) {
        self.counter.asks.store(true, Ordering::Relaxed);
    }

    /// A look has found nothing that must be admitted: everybody looks for itself.
    pub(crate) fn dismiss(&self) {
        self.counter.asks.store(false, Ordering::Relaxed);
        for waiter in lock(&self.counter.waiting).drain(..) {
            drop(waiter.answer.send((Given::new(), None)));
        }
    }

    /// How many those who wait can take.
    pub(crate) fn wanted(&self) -> usize {
        let mut waiting = lock(&self.counter.waiting);
        waiting.retain(|waiter| !waiter.answer.is_closed());
        waiting.iter().map(|waiter| waiter.most).sum()
    }

    /// Gives those who wait as much as they can take, the first ones first. Answers what is left.
    pub(crate) fn hand_out(&self, mut given: Given, turn: &Turn) -> Given {
        let mut waiting = lock(&self.counter.waiting);
        while !given.is_empty() && !waiting.is_empty() {
            let Waiter { most, answer } = waiting.remove(0);
            let rest = given.split_off(most.min(given.len()));
            let share = std::mem::replace(&mut given, rest);
            if let Err((mut share, _)) = answer.send((share, Some(turn.clone()))) {
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

    use ff_core::control::{Amounts, Control};
    use ff_core::state::Worker;
    use ff_core::{ExecutionId, LeaseId, Partition, RequestId, Time, WorkerId, WorkerInstanceId};

    use super::*;

    fn claim() -> Result<Claim, ff_core::Refusal> {
        Ok(Claim {
            namespace: Namespace::default(),
            lane: Lane::default(),
            worker: Worker { id: WorkerId::new("ada")?, instance: WorkerInstanceId::new("ada-1")? },
            capabilities: Capabilities::NONE,
            request: RequestId::new(1),
            max: 1,
            first: 0,
            retry: false,
            admitted: None,
        })
    }

    fn given(count: u16) -> Given {
        let one = |index: u16| {
            let execution =
                ExecutionId::mint(Time::from_ms(1), Partition::ONLY, index.into(), index.into());
            let name = LeaseId { request: RequestId::new(9), index };
            let (control, used) = (Control::default(), Amounts::new());
            let candidate = Candidate { execution, admission: name, control, used };
            (Admission { execution, name, until: Time::MAX }, candidate)
        };
        (0..count).map(one).collect()
    }

    fn poll<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    fn names(came: Option<Came>) -> Vec<u16> {
        match came {
            Some(Came::Given(given, _)) => given.iter().map(|(one, _)| one.name.index).collect(),
            other => vec![if other.is_some() { u16::MAX } else { u16::MAX - 1 }],
        }
    }

    #[tokio::test]
    async fn who_waits_is_given_what_the_leader_brings() -> Result<(), ff_core::Refusal> {
        let counters = Counters::default();
        let (leader, others) = (counters.place(&claim()?), counters.place(&claim()?));
        assert!(matches!(leader.come(1).await, Came::Alone), "nothing is known to ask for");
        leader.asks();
        let Came::Leads(turn) = leader.come(1).await else { panic!("it was free") };
        let mut first = pin!(others.come(2));
        let mut gone = Box::pin(others.come(1));
        let mut last = pin!(others.come(2));
        assert!(poll(first.as_mut()).is_none());
        assert!(poll(gone.as_mut()).is_none());
        assert!(poll(last.as_mut()).is_none());
        assert_eq!(leader.wanted(), 5);
        drop(gone);
        assert_eq!(leader.wanted(), 4);
        assert!(leader.hand_out(given(3), &turn).is_empty());
        drop(turn);
        let mut next = pin!(others.come(1));
        assert!(poll(next.as_mut()).is_none(), "those who were given something take it first");
        assert_eq!(names(poll(first.as_mut())), [0, 1]);
        assert_eq!(names(poll(last.as_mut())), [2]);
        assert!(matches!(poll(next.as_mut()), Some(Came::Leads(_))));
        Ok(())
    }

    #[tokio::test]
    async fn where_nothing_asks_everybody_looks_for_itself() -> Result<(), ff_core::Refusal> {
        let counters = Counters::default();
        let place = counters.place(&claim()?);
        place.asks();
        let Came::Leads(turn) = place.come(1).await else { panic!("it was free") };
        let mut other = Box::pin(place.come(1));
        assert!(poll(other.as_mut()).is_none());
        place.dismiss();
        assert_eq!(names(poll(other.as_mut())), Vec::<u16>::new());
        drop(other);
        assert!(matches!(place.come(1).await, Came::Alone));
        assert_eq!(place.hand_out(given(2), &turn).len(), 2, "nobody waits for it");
        drop(place);
        assert!(lock(&counters.0).is_empty(), "nobody is there");
        Ok(())
    }
}
