//! The desk of a namespace: what this process asks of its budgets and quotas at one time goes to the
//! store as one command.
//!
//! While a turn is under way at the store, whoever comes queues up; the next turn carries all of
//! them. There is no task behind the desk: who waits and finds it free does the turn for all. One
//! that goes away in the middle leaves the others queued as before, and the next of them does the
//! turn. So a turn may be done twice, which all it asks for allows.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use ff_core::Namespace;
use ff_core::limits::{BATCH, CLAIM};
use ff_core::machine::{
    Attend, Attended, Candidate, Claim, House, Party, Settled, Settling, Verdict,
};
use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::counter::{Counters, Place};
use crate::error::StoreError;
use crate::roles::{bare, only};
use crate::store::Store;

/// The desks of all namespaces and the counters of all queues, in one process.
#[derive(Debug, Default)]
pub struct Desks {
    desks: Mutex<HashMap<Namespace, Arc<Desk>>>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Desk {
    queue: Mutex<Vec<Call>>,
    /// Held by who does the turn.
    turn: tokio::sync::Mutex<()>,
}

/// What somebody asks for.
#[derive(Debug)]
enum Call {
    Admit(Party, Sender<Result<Vec<Verdict>, StoreError>>),
    Settle(Vec<Settling>, Sender<Result<Settled, StoreError>>),
}

impl Call {
    fn party(&self) -> Option<&Party> {
        match self {
            Call::Admit(party, _) => Some(party),
            Call::Settle(..) => None,
        }
    }

    /// Whether nobody waits for an admission any more. A settlement is made in any case.
    fn is_idle(&self) -> bool {
        matches!(self, Call::Admit(_, answer) if answer.is_closed())
    }
}

impl Desks {
    /// Where a claim looks.
    pub(crate) fn place(&self, claim: &Claim) -> Place<'_> {
        self.counters.place(claim)
    }

    /// Asks for up to `party.most` of its candidates.
    pub(crate) async fn admit<S: Store + ?Sized>(
        &self,
        store: &S,
        namespace: &Namespace,
        party: Party,
    ) -> Result<Vec<Verdict>, StoreError> {
        let (answer, receive) = oneshot::channel();
        self.serve(&Counter(store), namespace, Call::Admit(party, answer), receive).await
    }

    /// Settles. What follows is told to one of those who settle at the same time.
    pub(crate) async fn settle<S: Store + ?Sized>(
        &self,
        store: &S,
        namespace: &Namespace,
        settlings: Vec<Settling>,
    ) -> Result<Settled, StoreError> {
        let (answer, receive) = oneshot::channel();
        self.serve(&Counter(store), namespace, Call::Settle(settlings, answer), receive).await
    }

    async fn serve<T>(
        &self,
        behind: &impl Behind,
        namespace: &Namespace,
        call: Call,
        mut receive: Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let desk = lock(&self.desks).entry(namespace.clone()).or_default().clone();
        lock(&desk.queue).push(call);
        let _leaving = Leaving { desks: self, namespace };
        let house = House { namespace: namespace.clone(), partitions: behind.partitions() };
        let gone = |_| StoreError::Unavailable("the desk was closed".into());
        loop {
            let turn = tokio::select! {
                biased;
                answer = &mut receive => return answer.map_err(gone)?,
                turn = desk.turn.lock() => turn,
            };
            // It may have been answered while the desk was taken.
            match receive.try_recv() {
                Ok(answer) => return answer,
                Err(_) => desk.take_turn(behind, &house).await,
            }
            drop(turn);
        }
    }
}

/// What is behind a desk.
#[async_trait]
trait Behind: Sync {
    fn partitions(&self) -> u16;

    async fn attend(&self, attend: Attend) -> Result<Attended, StoreError>;
}

/// A store, behind a desk.
struct Counter<'a, S: ?Sized>(&'a S);

#[async_trait]
impl<S: Store + ?Sized> Behind for Counter<'_, S> {
    fn partitions(&self) -> u16 {
        self.0.partitions()
    }

    async fn attend(&self, attend: Attend) -> Result<Attended, StoreError> {
        bare(self.0, attend).await.and_then(only!(Attended))
    }
}

/// Forgets a desk that nobody is at.
struct Leaving<'a> {
    desks: &'a Desks,
    namespace: &'a Namespace,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut desks = lock(&self.desks.desks);
        // Beside the map, whoever leaves has it too.
        if desks.get(self.namespace).is_some_and(|desk| Arc::strong_count(desk) <= 2) {
            desks.remove(self.namespace);
        }
    }
}

impl Desk {
    /// One turn, for as many of those who queue as one command carries.
    async fn take_turn(&self, behind: &impl Behind, house: &House) {
        let turn = Turn::begin(self);
        let attend = turn.attend(house);
        let whole = behind.attend(attend.clone()).await;
        let done = match whole {
            // What has stopped is settled even where nothing can be admitted.
            Err(error) if !attend.settlings.is_empty() && !attend.parties.is_empty() => {
                let settle = Attend { parties: Vec::new(), ..attend };
                let settled = behind.attend(settle).await;
                (settled.map(|attended| attended.settled), Err(error))
            }
            Ok(Attended { settled, verdicts }) => (Ok(settled), Ok(verdicts)),
            Err(error) => (Err(error.clone()), Err(error)),
        };
        turn.end(done.0, done.1);
    }
}

/// Those whose turn it is. They queue up again if it does not come to its end.
struct Turn<'a> {
    desk: &'a Desk,
    calls: Vec<Call>,
    /// Which of its candidates each party brings, by their places.
    brought: Vec<Vec<usize>>,
}

impl<'a> Turn<'a> {
    fn begin(desk: &'a Desk) -> Turn<'a> {
        let mut queue = lock(&desk.queue);
        queue.retain(|call| !call.is_idle());
        let (mut parties, mut settlings) = (0, 0);
        let fits = |call: &&Call| {
            match call {
                Call::Admit(..) => parties += 1,
                Call::Settle(some, _) => settlings += some.len(),
            }
            parties <= CLAIM && settlings <= BATCH
        };
        let count = queue.iter().take_while(fits).count().max(1).min(queue.len());
        let calls: Vec<_> = queue.drain(..count).collect();
        let brought = allot(&calls.iter().filter_map(Call::party).collect::<Vec<_>>());
        Turn { desk, calls, brought }
    }

    fn attend(&self, house: &House) -> Attend {
        let settlings = self.calls.iter().flat_map(|call| match call {
            Call::Settle(some, _) => &some[..],
            Call::Admit(..) => &[],
        });
        let settlings = settlings.cloned().collect();
        let parties = self.calls.iter().filter_map(Call::party).zip(&self.brought);
        let parties = parties.map(|(party, brought)| Party {
            candidates: brought.iter().map(|place| party.candidates[*place].clone()).collect(),
            most: party.most,
        });
        Attend { house: house.clone(), settlings, parties: parties.collect() }
    }

    /// Answers everybody. The first who is still there does what follows from the settlement.
    fn end(
        mut self,
        settled: Result<Settled, StoreError>,
        verdicts: Result<Vec<Vec<Verdict>>, StoreError>,
    ) {
        let mut settled = settled;
        let mut verdicts = verdicts.map(|verdicts| self.spread(verdicts).into_iter());
        for call in std::mem::take(&mut self.calls) {
            match call {
                Call::Admit(_, answer) => {
                    let mine = match &mut verdicts {
                        Ok(verdicts) => Ok(verdicts.next().unwrap_or_default()),
                        Err(error) => Err(error.clone()),
                    };
                    drop(answer.send(mine));
                }
                Call::Settle(_, answer) => {
                    let others = settled.as_ref().map(|_| Settled::default()).map_err(Clone::clone);
                    if let Err(unheard) = answer.send(std::mem::replace(&mut settled, others)) {
                        settled = unheard;
                    }
                }
            }
        }
    }
}

impl Turn<'_> {
    /// The verdicts for all candidates of each party. One that another party has brought is that one's
    /// if it was admitted.
    fn spread(&self, verdicts: Vec<Vec<Verdict>>) -> Vec<Vec<Verdict>> {
        let parties = self.calls.iter().filter_map(Call::party);
        let all = parties.zip(&self.brought).zip(verdicts);
        let mut gone = HashSet::new();
        let own: Vec<_> = all
            .map(|((party, brought), verdicts)| {
                let own: HashMap<_, _> = brought.iter().copied().zip(verdicts).collect();
                let taken = |verdict: &Verdict| {
                    matches!(verdict, Verdict::Admitted(_) | Verdict::Elsewhere)
                };
                let taken = own.iter().filter(|(_, verdict)| taken(verdict));
                gone.extend(taken.map(|(place, _)| party.candidates[*place].execution));
                (party, own)
            })
            .collect();
        let spread = own.into_iter().map(|(party, mut own)| {
            let verdict = |(place, candidate): (usize, &Candidate)| {
                own.remove(&place).unwrap_or_else(|| match gone.contains(&candidate.execution) {
                    true => Verdict::Elsewhere,
                    false => Verdict::Unasked,
                })
            };
            party.candidates.iter().enumerate().map(verdict).collect()
        });
        spread.collect()
    }
}

/// Which of its candidates each party brings: no two the same one, so that each finds another, and no
/// more than a command may have. First everybody gets as many as it wants, then what is left.
fn allot(parties: &[&Party]) -> Vec<Vec<usize>> {
    let mut brought = vec![Vec::new(); parties.len()];
    let mut asked = HashSet::new();
    for spare in [0, CLAIM] {
        for (party, mine) in parties.iter().zip(&mut brought) {
            let most = party.most + spare;
            for (place, candidate) in party.candidates.iter().enumerate() {
                if mine.len() >= most || asked.len() >= CLAIM {
                    break;
                }
                if asked.insert(candidate.execution) {
                    mine.push(place);
                }
            }
        }
    }
    brought.iter_mut().for_each(|mine| mine.sort_unstable());
    brought
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        lock(&self.desk.queue).splice(..0, self.calls.drain(..));
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use ff_core::control::{Amounts, Control};
    use ff_core::machine::Admission;
    use ff_core::{ExecutionId, LeaseId, Partition, RequestId, Time};
    use tokio::sync::Semaphore;

    use super::*;

    /// Admits everybody, each turn when it is let.
    struct Slow {
        lets: Semaphore,
        turns: Mutex<Vec<(usize, usize)>>,
    }

    impl Slow {
        fn new() -> Slow {
            Slow { lets: Semaphore::new(0), turns: Mutex::default() }
        }

        fn turns(&self) -> Vec<(usize, usize)> {
            lock(&self.turns).clone()
        }
    }

    #[async_trait]
    impl Behind for Slow {
        fn partitions(&self) -> u16 {
            1
        }

        async fn attend(&self, attend: Attend) -> Result<Attended, StoreError> {
            lock(&self.turns).push((attend.settlings.len(), attend.parties.len()));
            if let Ok(permit) = self.lets.acquire().await {
                permit.forget();
            }
            let verdict = |one: &Candidate| {
                let (execution, name) = (one.execution, one.admission);
                Verdict::Admitted(Admission { execution, name, until: Time::MAX })
            };
            let verdicts =
                attend.parties.iter().map(|p| p.candidates.iter().map(verdict).collect());
            Ok(Attended { settled: Settled::default(), verdicts: verdicts.collect() })
        }
    }

    fn admission(n: u128) -> LeaseId {
        LeaseId { request: RequestId::new(n), index: 0 }
    }

    fn execution(n: u128) -> ExecutionId {
        ExecutionId::mint(Time::from_ms(1), Partition::ONLY, n as u32, n as u64)
    }

    fn candidates(names: impl Iterator<Item = u128>) -> Vec<Candidate> {
        let candidate = |n| Candidate {
            execution: execution(n),
            admission: admission(n),
            control: Control::default(),
            used: Amounts::new(),
        };
        names.map(candidate).collect()
    }

    async fn admit(desks: &Desks, slow: &Slow, names: std::ops::Range<u128>) -> Vec<LeaseId> {
        let (answer, receive) = oneshot::channel();
        let candidates = candidates(names);
        let party = Party { most: candidates.len(), candidates };
        let call = Call::Admit(party, answer);
        let verdicts = desks.serve(slow, &Namespace::default(), call, receive).await;
        let name = |verdict| match verdict {
            Verdict::Admitted(admission) => Some(admission.name),
            _ => None,
        };
        verdicts.unwrap_or_default().into_iter().filter_map(name).collect()
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn who_comes_while_a_turn_is_under_way_shares_the_next() {
        let (desks, slow) = (Desks::default(), Slow::new());
        let mut first = pin!(admit(&desks, &slow, 0..1));
        assert_eq!(poll(first.as_mut()), None);
        let mut others: Vec<_> =
            (1..6).map(|n| Box::pin(admit(&desks, &slow, 2 * n..2 * n + 2))).collect();
        others.iter_mut().for_each(|other| assert_eq!(poll(other.as_mut()), None));
        slow.lets.add_permits(2);
        assert_eq!(first.await, [admission(0)]);
        for (n, other) in (1..6).zip(others) {
            assert_eq!(other.await, [admission(2 * n), admission(2 * n + 1)]);
        }
        assert_eq!(slow.turns(), [(0, 1), (0, 5)]);
        assert_eq!(lock(&desks.desks).len(), 0, "nobody is at the desk");
    }

    #[tokio::test]
    async fn one_that_goes_away_in_its_turn_leaves_the_others_to_the_next() {
        let (desks, slow) = (Desks::default(), Slow::new());
        let mut first = Box::pin(admit(&desks, &slow, 0..1));
        assert_eq!(poll(first.as_mut()), None);
        let mut second = pin!(admit(&desks, &slow, 1..2));
        assert_eq!(poll(second.as_mut()), None);
        let mut third = pin!(admit(&desks, &slow, 2..3));
        assert_eq!(poll(third.as_mut()), None);
        drop(first);
        assert_eq!(poll(second.as_mut()), None);
        slow.lets.add_permits(1);
        assert_eq!(second.await, [admission(1)]);
        assert_eq!(third.await, [admission(2)]);
        assert_eq!(slow.turns(), [(0, 1), (0, 2)]);
    }

    #[tokio::test]
    async fn a_turn_carries_no_more_than_a_command_may() {
        let (desks, slow) = (Desks::default(), Slow::new());
        slow.lets.add_permits(9);
        let most = CLAIM as u128;
        let (a, b) =
            tokio::join!(admit(&desks, &slow, 0..most), admit(&desks, &slow, most..2 * most));
        assert_eq!((a.len(), b.len()), (CLAIM, CLAIM));
        assert_eq!(slow.turns(), [(0, 1), (0, 1)]);
    }
}
