//! What workers do.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ff_core::bounds::{CLAIM_WAIT_MAX, END_WAIT_MAX};
use ff_core::limits::Amounts;
use ff_core::machine::{
    CancelHeld, ClaimGranted, ClaimRequest, Claimed, Complete, Delay, Disconnect, Fail, GrantNext,
    Granted, HandBack, Heartbeat, LeaseRef, RecordStep, RecordedStep, Register, Registered, Renew,
    Renewed, ReportProgress, ReportUsage, Target,
};
use ff_core::record::Exited;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, RequestId, ResourceKey, WorkerInstanceId};

use super::{Answer, EmitBackend, Engine, MemberBackend, SuspendBackend, TokenBackend, done, only};
use crate::admission::{claim, settle};
use crate::error::StoreError;
use crate::journal::{self, JournalPage, Which};
use crate::stops::{StopCursor, StopNews};
use crate::store::Store;
use crate::{metrics, waiting};

/// Take work, keep it, end it.
#[async_trait]
pub trait WorkerBackend: EmitBackend + MemberBackend + SuspendBackend + TokenBackend {
    /// Whether the store answers.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Takes work, waiting up to `wait` for some to appear. When the caller goes away meanwhile,
    /// what was taken is handed back.
    async fn claim(&self, claim: ClaimRequest, wait: Millis) -> Result<Claimed, StoreError>;

    /// Reserves work.
    async fn grant(&self, grant: GrantNext) -> Result<Granted, StoreError>;

    /// Takes reserved work.
    async fn claim_granted(&self, claim: ClaimGranted) -> Result<Claimed, StoreError>;

    /// Keeps leases; each gets its own answer.
    async fn renew(&self, holds: Vec<LeaseRef>) -> Result<Vec<Answer<Renewed>>, StoreError>;

    /// What was cancelled, revoked or has expired after `after` while the process of a worker held it;
    /// waits up to `wait` for something. A hint: the worker renews what it holds of that.
    async fn stops(
        &self,
        namespace: &Namespace,
        instance: &WorkerInstanceId,
        after: Option<StopCursor>,
        wait: Millis,
    ) -> Result<StopNews, StoreError>;

    /// Tells how far the work is.
    async fn progress(&self, report: ReportProgress) -> Result<(), StoreError>;

    /// Completes executions; each gets its own answer.
    async fn complete(&self, batch: Vec<Complete>) -> Result<Vec<Answer<Exited>>, StoreError>;

    /// Ends an attempt by a failure.
    async fn fail(&self, fail: Fail) -> Result<Exited, StoreError>;

    /// Puts work off.
    async fn delay(&self, delay: Delay) -> Result<Exited, StoreError>;

    /// Cancels what is held.
    async fn cancel_held(&self, cancel: CancelHeld) -> Result<Exited, StoreError>;

    /// Gives work back; each gets its own answer.
    async fn hand_back(&self, holds: Vec<LeaseRef>) -> Result<Vec<Answer<Exited>>, StoreError>;

    /// Adds to what an execution has used, or takes back from it. Answers all that it has used.
    async fn report_usage(&self, report: ReportUsage) -> Result<Amounts, StoreError>;

    /// Keeps the result of a step for all later attempts. The same result again gets the first answer.
    async fn record_step(&self, record: RecordStep) -> Result<RecordedStep, StoreError>;

    /// What attempts find of a journal, from number `from` on, at most `limit` entries and about a
    /// megabyte.
    async fn journal(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<JournalPage, StoreError>;

    /// Registers a worker, so that people and the engine know what is there to run work.
    async fn register(&self, worker: Registering) -> Result<Registered, StoreError>;

    /// Says that a registered worker is alive.
    async fn heartbeat(&self, session: &Session) -> Result<Registered, StoreError>;

    /// A registered worker leaves.
    async fn disconnect(&self, session: &Session) -> Result<(), StoreError>;

    /// The same backend for calls from another runtime: over connections of its own, where it is the
    /// calling runtime that drives them, so that what blocks one runtime does not stop the other.
    fn on_own_connections(&self) -> Arc<dyn WorkerBackend>;
}

/// A worker that registers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registering {
    /// The tenant.
    pub namespace: Namespace,
    /// Who.
    pub worker: Worker,
    /// The name of this registration: random, repeated with every call about it.
    pub session: RequestId,
    /// Which lanes it serves.
    pub lanes: Vec<Lane>,
    /// What it offers.
    pub capabilities: Capabilities,
    /// How long it may be silent.
    pub ttl: Millis,
}

impl Registering {
    /// How later calls name the registration.
    pub fn session(&self) -> Session {
        Session {
            namespace: self.namespace.clone(),
            instance: self.worker.instance.clone(),
            session: self.session,
        }
    }
}

/// A registration, as its worker names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Session {
    /// The tenant.
    pub namespace: Namespace,
    /// The running process.
    pub instance: WorkerInstanceId,
    /// The name it registered with.
    pub session: RequestId,
}

#[async_trait]
impl<S: Store + ?Sized> WorkerBackend for Engine<S> {
    async fn ping(&self) -> Result<(), StoreError> {
        self.store().now().await.map(drop)
    }

    async fn claim(&self, claim: ClaimRequest, wait: Millis) -> Result<Claimed, StoreError> {
        let allowed = wait.within("wait", Millis::ZERO, CLAIM_WAIT_MAX).map_err(StoreError::from);
        if let Err(refused) = &allowed {
            metrics::ClaimTimer::start(&claim.lane).fail(refused);
        }
        allowed?;
        let (place, request) = ((&claim.namespace, &claim.lane), claim.request);
        let longest = Duration::from_millis(wait.get());
        let asked = self.0.claimers.asks(place, &claim.worker, &claim.capabilities, longest);
        let claimed = waiting::claim(&self.0, claim, wait).await?;
        if let Some(asked) = asked.filter(|_| !claimed.assignments.is_empty()) {
            self.0.claimers.took(asked, request);
        }
        Ok(claimed)
    }

    async fn grant(&self, grant: GrantNext) -> Result<Granted, StoreError> {
        let place = (&grant.namespace, &grant.lane);
        self.0.claimers.asks(place, &grant.worker, &grant.capabilities, Duration::ZERO);
        let measured = metrics::ClaimTimer::start(&grant.lane);
        let process = self.0.clone();
        let granted = self.0.call(async move { claim::grant(&process, grant).await }).await;
        match &granted {
            Ok(granted) if granted.offer.is_some() => measured.end("granted"),
            Ok(granted) if granted.withheld.is_some() => measured.end("withheld"),
            Ok(_) => measured.end("empty"),
            Err(error) => measured.fail(error),
        }
        granted
    }

    async fn claim_granted(&self, claim: ClaimGranted) -> Result<Claimed, StoreError> {
        self.one(claim).await.and_then(only!(Claimed))
    }

    async fn renew(&self, holds: Vec<LeaseRef>) -> Result<Vec<Answer<Renewed>>, StoreError> {
        let requests: Vec<_> = holds.iter().map(|hold| hold.fence.lease.request).collect();
        let renewals = holds.into_iter().map(|hold| Renew { hold }).collect();
        let answers = self.many(renewals, only!(Renewed)).await?;
        let renewed = requests.into_iter().zip(&answers).filter(|(_, answer)| answer.is_ok());
        renewed.for_each(|(request, _)| self.0.claimers.renews(request));
        Ok(answers)
    }

    async fn stops(
        &self,
        namespace: &Namespace,
        instance: &WorkerInstanceId,
        after: Option<StopCursor>,
        wait: Millis,
    ) -> Result<StopNews, StoreError> {
        let wait = wait.within("wait", Millis::ZERO, END_WAIT_MAX)?;
        Ok(self.store().wakeups().stops().after(namespace, instance, after, wait).await)
    }

    async fn progress(&self, report: ReportProgress) -> Result<(), StoreError> {
        self.one(report).await.and_then(done)
    }

    async fn complete(&self, batch: Vec<Complete>) -> Result<Vec<Answer<Exited>>, StoreError> {
        self.many(batch, only!(Exited)).await
    }

    async fn fail(&self, fail: Fail) -> Result<Exited, StoreError> {
        self.one(fail).await.and_then(only!(Exited))
    }

    async fn delay(&self, delay: Delay) -> Result<Exited, StoreError> {
        self.one(delay).await.and_then(only!(Exited))
    }

    async fn cancel_held(&self, cancel: CancelHeld) -> Result<Exited, StoreError> {
        self.one(cancel).await.and_then(only!(Exited))
    }

    async fn hand_back(&self, holds: Vec<LeaseRef>) -> Result<Vec<Answer<Exited>>, StoreError> {
        let hand_backs = holds.into_iter().map(|hold| HandBack { hold }).collect();
        self.many(hand_backs, only!(Exited)).await
    }

    async fn report_usage(&self, report: ReportUsage) -> Result<Amounts, StoreError> {
        let process = self.0.clone();
        let execution = report.hold.target.execution;
        let call = async move {
            let used = settle::report(&process, report).await;
            settle::settle_stopped(&process).await;
            process.store.settlements().made([execution].into_iter()).await;
            used
        };
        self.0.call(call).await
    }

    async fn record_step(&self, record: RecordStep) -> Result<RecordedStep, StoreError> {
        self.one(record).await.and_then(only!(RecordedStep))
    }

    async fn journal(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<JournalPage, StoreError> {
        journal::page(&*self.0.store, target, Which::Visible, from, limit).await
    }

    async fn register(&self, worker: Registering) -> Result<Registered, StoreError> {
        let Registering { namespace, worker, session, lanes, capabilities, ttl } = worker;
        let key = ResourceKey::worker(&namespace, &worker.instance, self.store().partitions());
        let register = Register { key, worker, session, lanes, capabilities, ttl };
        self.one(register).await.and_then(only!(Registered))
    }

    async fn heartbeat(&self, session: &Session) -> Result<Registered, StoreError> {
        let heartbeat = Heartbeat { key: self.registration(session), session: session.session };
        self.one(heartbeat).await.and_then(only!(Registered))
    }

    async fn disconnect(&self, session: &Session) -> Result<(), StoreError> {
        let disconnect = Disconnect { key: self.registration(session), session: session.session };
        self.one(disconnect).await.and_then(done)
    }

    fn on_own_connections(&self) -> Arc<dyn WorkerBackend> {
        Arc::new(self.clone())
    }
}

impl<S: Store + ?Sized> Engine<S> {
    /// Where a registration lies.
    fn registration(&self, session: &Session) -> ResourceKey {
        ResourceKey::worker(&session.namespace, &session.instance, self.store().partitions())
    }
}
