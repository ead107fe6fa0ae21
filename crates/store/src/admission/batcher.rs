//! The admission batcher: what this process asks of the budgets and quotas of one namespace at one
//! time goes to the store as one command.
//!
//! While one command is in flight, further calls queue up; the next command carries all of them.
//! There is no task behind it: of the calls that wait, the first to get the lock sends for all. A
//! call that goes away while it sends leaves the others queued, and the next of them sends again,
//! which everything it asks for allows.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use ff_core::Namespace;
use ff_core::bounds::{BATCH, CLAIM};
use ff_core::machine::{
    AdmissionBatch, AdmissionRequest, Admit, AdmitReply, Decision, Home, Settlement,
    SettlementEffects,
};
use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::error::StoreError;
use crate::lock::lock;
use crate::roles::{only, run};
use crate::store::Store;

/// The batches of all namespaces, in one process.
#[derive(Debug, Default)]
pub(crate) struct AdmissionBatcher(Mutex<HashMap<Namespace, Arc<Lane>>>);

/// The calls of one namespace.
#[derive(Debug, Default)]
struct Lane {
    queue: Mutex<Vec<Call>>,
    /// Held by the call that sends.
    in_flight: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
enum Call {
    Admit(AdmissionBatch, Sender<Result<Vec<Decision>, StoreError>>),
    Settle(Vec<Settlement>, Sender<Result<SettlementEffects, StoreError>>),
}

impl Call {
    fn batch(&self) -> Option<&AdmissionBatch> {
        match self {
            Call::Admit(batch, _) => Some(batch),
            Call::Settle(..) => None,
        }
    }

    /// Whether no call waits for an admission any more. A settlement is made in any case.
    fn is_abandoned(&self) -> bool {
        matches!(self, Call::Admit(_, answer) if answer.is_closed())
    }
}

/// What a command is sent to.
#[async_trait]
pub(crate) trait Admitter: Sync {
    fn partitions(&self) -> u16;

    async fn admit(&self, admit: Admit) -> Result<AdmitReply, StoreError>;
}

#[async_trait]
impl Admitter for dyn Store {
    fn partitions(&self) -> u16 {
        Store::partitions(self)
    }

    async fn admit(&self, admit: Admit) -> Result<AdmitReply, StoreError> {
        run(self, admit).await.and_then(only!(AdmitReply))
    }
}

impl AdmissionBatcher {
    /// Asks for up to `batch.max` of its requests.
    pub(crate) async fn admit(
        &self,
        store: &(impl Admitter + ?Sized),
        namespace: &Namespace,
        batch: AdmissionBatch,
    ) -> Result<Vec<Decision>, StoreError> {
        let (answer, receive) = oneshot::channel();
        self.serve(store, namespace, Call::Admit(batch, answer), receive).await
    }

    /// Settles. The effects of settlements that are made together go to one of the callers.
    pub(crate) async fn settle(
        &self,
        store: &(impl Admitter + ?Sized),
        namespace: &Namespace,
        settlements: Vec<Settlement>,
    ) -> Result<SettlementEffects, StoreError> {
        let (answer, receive) = oneshot::channel();
        self.serve(store, namespace, Call::Settle(settlements, answer), receive).await
    }

    async fn serve<T>(
        &self,
        store: &(impl Admitter + ?Sized),
        namespace: &Namespace,
        call: Call,
        mut receive: Receiver<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let lane = lock(&self.0).entry(namespace.clone()).or_default().clone();
        lock(&lane.queue).push(call);
        let _leaving = Leaving { batcher: self, namespace };
        let home = Home { namespace: namespace.clone(), partitions: store.partitions() };
        let gone = |_| StoreError::Unavailable("the admission was abandoned".into());
        loop {
            let in_flight = tokio::select! {
                biased;
                answer = &mut receive => return answer.map_err(gone)?,
                in_flight = lane.in_flight.lock() => in_flight,
            };
            // It may have been answered while the lock was taken.
            match receive.try_recv() {
                Ok(answer) => return answer,
                Err(_) => lane.send(store, &home).await,
            }
            drop(in_flight);
        }
    }
}

/// Forgets a namespace that no call is in. Settlements are never forgotten with it.
struct Leaving<'a> {
    batcher: &'a AdmissionBatcher,
    namespace: &'a Namespace,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut lanes = lock(&self.batcher.0);
        // The map has it too, besides the call that leaves.
        let last = |lane: &Arc<Lane>| Arc::strong_count(lane) <= 2 && lock(&lane.queue).is_empty();
        if lanes.get(self.namespace).is_some_and(last) {
            lanes.remove(self.namespace);
        }
    }
}

impl Lane {
    /// Sends one command, for as many of the queued calls as it carries.
    async fn send(&self, store: &(impl Admitter + ?Sized), home: &Home) {
        let sending = Sending::begin(self);
        let admit = sending.command(home);
        let whole = store.admit(admit.clone()).await;
        let (effects, decisions) = match whole {
            // What has stopped is settled even where nothing can be admitted.
            Err(error) if !admit.settlements.is_empty() && !admit.batches.is_empty() => {
                let settle = Admit { batches: Vec::new(), ..admit };
                let settled = store.admit(settle).await;
                (settled.map(|reply| reply.effects), Err(error))
            }
            Ok(AdmitReply { effects, decisions }) => (Ok(effects), Ok(decisions)),
            Err(error) => (Err(error.clone()), Err(error)),
        };
        sending.end(effects, decisions);
    }
}

/// The calls of one command. They queue up again if it does not come to its end.
struct Sending<'a> {
    lane: &'a Lane,
    calls: Vec<Call>,
    /// Which of its requests each batch brings, by their places.
    brought: Vec<Vec<usize>>,
}

impl<'a> Sending<'a> {
    fn begin(lane: &'a Lane) -> Sending<'a> {
        let mut queue = lock(&lane.queue);
        queue.retain(|call| !call.is_abandoned());
        let (mut batches, mut settlements) = (0, 0);
        let fits = |call: &&Call| {
            match call {
                Call::Admit(..) => batches += 1,
                Call::Settle(some, _) => settlements += some.len(),
            }
            batches <= CLAIM && settlements <= BATCH
        };
        let count = queue.iter().take_while(fits).count().max(1).min(queue.len());
        let calls: Vec<_> = queue.drain(..count).collect();
        let brought = allot(&calls.iter().filter_map(Call::batch).collect::<Vec<_>>());
        Sending { lane, calls, brought }
    }

    fn command(&self, home: &Home) -> Admit {
        let settlements = self.calls.iter().flat_map(|call| match call {
            Call::Settle(some, _) => &some[..],
            Call::Admit(..) => &[],
        });
        let settlements = settlements.cloned().collect();
        let batches = self.calls.iter().filter_map(Call::batch).zip(&self.brought);
        let batches = batches.map(|(batch, brought)| AdmissionBatch {
            requests: brought.iter().map(|place| batch.requests[*place].clone()).collect(),
            ..*batch
        });
        Admit { home: home.clone(), settlements, batches: batches.collect() }
    }

    /// Answers every call. The first settling one that is still there gets the effects.
    fn end(
        mut self,
        effects: Result<SettlementEffects, StoreError>,
        decisions: Result<Vec<Vec<Decision>>, StoreError>,
    ) {
        let mut effects = effects;
        let mut decisions = decisions.map(|decisions| self.spread(decisions).into_iter());
        for call in std::mem::take(&mut self.calls) {
            match call {
                Call::Admit(_, answer) => {
                    let mine = match &mut decisions {
                        Ok(decisions) => Ok(decisions.next().unwrap_or_default()),
                        Err(error) => Err(error.clone()),
                    };
                    drop(answer.send(mine));
                }
                Call::Settle(_, answer) => {
                    let others = effects.as_ref().map(|_| SettlementEffects::default());
                    let others = others.map_err(Clone::clone);
                    if let Err(unheard) = answer.send(std::mem::replace(&mut effects, others)) {
                        effects = unheard;
                    }
                }
            }
        }
    }

    /// The decisions on all requests of each batch. One that another batch has brought is that
    /// one's if it was admitted.
    fn spread(&self, decisions: Vec<Vec<Decision>>) -> Vec<Vec<Decision>> {
        let batches = self.calls.iter().filter_map(Call::batch);
        let all = batches.zip(&self.brought).zip(decisions);
        let mut elsewhere = HashSet::new();
        let own: Vec<_> = all
            .map(|((batch, brought), decisions)| {
                let own: HashMap<_, _> = brought.iter().copied().zip(decisions).collect();
                let taken = own.iter().filter(|(_, decision)| {
                    matches!(decision, Decision::Admitted(_) | Decision::AdmittedElsewhere { .. })
                });
                let taken = taken.map(|(place, _)| batch.requests[*place].needs.execution);
                elsewhere.extend(taken);
                (batch, own)
            })
            .collect();
        let spread = own.into_iter().map(|(batch, mut own)| {
            let decision = |(place, request): (usize, &AdmissionRequest)| {
                let is_elsewhere = elsewhere.contains(&request.needs.execution);
                own.remove(&place).unwrap_or(match is_elsewhere {
                    true => Decision::AdmittedElsewhere { spent: false },
                    false => Decision::NotEvaluated,
                })
            };
            batch.requests.iter().enumerate().map(decision).collect()
        });
        spread.collect()
    }
}

/// Which of its requests each batch brings: no two the same one, so that each is given another, and
/// no more than a command may have. First every batch gets as many as it wants, then what is left.
fn allot(batches: &[&AdmissionBatch]) -> Vec<Vec<usize>> {
    let mut brought = vec![Vec::new(); batches.len()];
    let mut asked = HashSet::new();
    for spare in [0, CLAIM] {
        for (batch, mine) in batches.iter().zip(&mut brought) {
            let most = batch.max + spare;
            for (place, request) in batch.requests.iter().enumerate() {
                if mine.len() >= most || asked.len() >= CLAIM {
                    break;
                }
                if asked.insert(request.needs.execution) {
                    mine.push(place);
                }
            }
        }
    }
    brought.iter_mut().for_each(|mine| mine.sort_unstable());
    brought
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        lock(&self.lane.queue).splice(..0, self.calls.drain(..));
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use ff_core::limits::{Amounts, ExecutionLimits};
    use ff_core::machine::{Admitted, NeedsAdmission, Phase};
    use ff_core::record::Version;
    use ff_core::{AdmissionId, ExecutionId, Millis, Partition, RequestId, Time};
    use tokio::sync::Semaphore;

    use super::*;

    /// Admits everything, each command when it may.
    struct Slow {
        permits: Semaphore,
        /// How many settlements and batches each command had.
        sent: Mutex<Vec<(usize, usize)>>,
        /// Commands that ask fail.
        refuses: bool,
    }

    impl Slow {
        fn new() -> Slow {
            Slow { permits: Semaphore::new(0), sent: Mutex::default(), refuses: false }
        }

        fn sent(&self) -> Vec<(usize, usize)> {
            lock(&self.sent).clone()
        }
    }

    #[async_trait]
    impl Admitter for Slow {
        fn partitions(&self) -> u16 {
            1
        }

        async fn admit(&self, admit: Admit) -> Result<AdmitReply, StoreError> {
            lock(&self.sent).push((admit.settlements.len(), admit.batches.len()));
            if let Ok(permit) = self.permits.acquire().await {
                permit.forget();
            }
            if self.refuses && !admit.batches.is_empty() {
                return Err(StoreError::Unavailable("a test says so".into()));
            }
            let decision = |request: &AdmissionRequest| {
                let request = request.clone();
                Decision::Admitted(Admitted {
                    request,
                    usable_until: Time::MAX,
                    counts_start: false,
                })
            };
            let decisions = admit.batches.iter().map(|b| b.requests.iter().map(decision).collect());
            let effects = SettlementEffects::default();
            Ok(AdmitReply { effects, decisions: decisions.collect() })
        }
    }

    fn id(n: u128) -> AdmissionId {
        AdmissionId { batch: RequestId::new(n), index: 0 }
    }

    fn execution(n: u128) -> ExecutionId {
        ExecutionId::mint(Time::from_ms(1), Partition::ONLY, n as u32, n as u64)
    }

    fn request(n: u128) -> AdmissionRequest {
        let needs = NeedsAdmission {
            execution: execution(n),
            version: Version::first(0),
            limits: ExecutionLimits::default(),
            used: Amounts::new(),
        };
        AdmissionRequest { id: id(n), needs }
    }

    fn settlement(n: u128) -> Settlement {
        Settlement {
            namespace: Namespace::default(),
            execution: execution(n),
            admission: id(n),
            limits: ExecutionLimits::default(),
            used: Amounts::new(),
            revision: 0,
            phase: Phase::Stopped { started: None },
        }
    }

    async fn admit(
        batcher: &AdmissionBatcher,
        slow: &Slow,
        numbers: std::ops::Range<u128>,
    ) -> Result<Vec<AdmissionId>, StoreError> {
        let requests: Vec<_> = numbers.map(request).collect();
        let max = requests.len();
        let batch = AdmissionBatch { requests, max, reserved_for: Millis::ZERO };
        let decisions = batcher.admit(slow, &Namespace::default(), batch).await?;
        let admitted = |decision| match decision {
            Decision::Admitted(admitted) => Some(admitted.request.id),
            _ => None,
        };
        Ok(decisions.into_iter().filter_map(admitted).collect())
    }

    async fn settle(batcher: &AdmissionBatcher, slow: &Slow, n: u128) -> Result<(), StoreError> {
        batcher.settle(slow, &Namespace::default(), vec![settlement(n)]).await.map(drop)
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn calls_that_come_while_one_is_in_flight_share_the_next() {
        let (batcher, slow) = (AdmissionBatcher::default(), Slow::new());
        let mut first = pin!(admit(&batcher, &slow, 0..1));
        assert!(poll(first.as_mut()).is_none());
        let mut others: Vec<_> =
            (1..6).map(|n| Box::pin(admit(&batcher, &slow, 2 * n..2 * n + 2))).collect();
        others.iter_mut().for_each(|other| assert!(poll(other.as_mut()).is_none()));
        slow.permits.add_permits(2);
        assert_eq!(first.await.unwrap(), [id(0)]);
        for (n, other) in (1..6).zip(others) {
            assert_eq!(other.await.unwrap(), [id(2 * n), id(2 * n + 1)]);
        }
        assert_eq!(slow.sent(), [(0, 1), (0, 5)]);
        assert_eq!(lock(&batcher.0).len(), 0, "nobody asks");
    }

    #[tokio::test]
    async fn a_call_that_goes_away_while_it_sends_leaves_the_others_to_the_next() {
        let (batcher, slow) = (AdmissionBatcher::default(), Slow::new());
        let mut first = Box::pin(admit(&batcher, &slow, 0..1));
        assert!(poll(first.as_mut()).is_none());
        let mut second = pin!(admit(&batcher, &slow, 1..2));
        assert!(poll(second.as_mut()).is_none());
        let mut third = pin!(admit(&batcher, &slow, 2..3));
        assert!(poll(third.as_mut()).is_none());
        drop(first);
        assert!(poll(second.as_mut()).is_none());
        slow.permits.add_permits(1);
        assert_eq!(second.await.unwrap(), [id(1)]);
        assert_eq!(third.await.unwrap(), [id(2)]);
        assert_eq!(slow.sent(), [(0, 1), (0, 2)]);
    }

    #[tokio::test]
    async fn a_settlement_outlives_the_call_that_sends_it_and_the_call_that_made_it() {
        let (batcher, slow) = (AdmissionBatcher::default(), Slow::new());
        let mut busy = Box::pin(admit(&batcher, &slow, 0..1));
        assert!(poll(busy.as_mut()).is_none());
        let mut sender = Box::pin(settle(&batcher, &slow, 1));
        assert!(poll(sender.as_mut()).is_none());
        drop(busy);
        assert!(poll(sender.as_mut()).is_none(), "it sends now");
        drop(sender);
        slow.permits.add_permits(1);
        assert_eq!(admit(&batcher, &slow, 2..3).await.unwrap(), [id(2)]);
        assert_eq!(slow.sent(), [(0, 1), (1, 0), (1, 1)], "the next command carries it");
    }

    #[tokio::test]
    async fn where_nothing_can_be_admitted_settlements_are_made() {
        let (batcher, slow) = (AdmissionBatcher::default(), Slow { refuses: true, ..Slow::new() });
        let mut busy = pin!(settle(&batcher, &slow, 0));
        assert!(poll(busy.as_mut()).is_none());
        let mut asks = pin!(admit(&batcher, &slow, 1..2));
        assert!(poll(asks.as_mut()).is_none());
        let mut settles = pin!(settle(&batcher, &slow, 2));
        assert!(poll(settles.as_mut()).is_none());
        slow.permits.add_permits(9);
        busy.await.unwrap();
        assert!(asks.await.is_err());
        settles.await.unwrap();
        assert_eq!(slow.sent(), [(1, 0), (1, 1), (1, 0)]);
    }

    #[tokio::test]
    async fn one_command_carries_no_more_than_it_may() {
        let (batcher, slow) = (AdmissionBatcher::default(), Slow::new());
        slow.permits.add_permits(9);
        let most = CLAIM as u128;
        let (a, b) =
            tokio::join!(admit(&batcher, &slow, 0..most), admit(&batcher, &slow, most..2 * most));
        assert_eq!((a.unwrap().len(), b.unwrap().len()), (CLAIM, CLAIM));
        assert_eq!(slow.sent(), [(0, 1), (0, 1)]);
    }
}
