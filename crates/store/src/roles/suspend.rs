//! What workers do to park an execution, and what others do to wake it.

use async_trait::async_trait;
use ff_core::bounds::PAGE;
use ff_core::collection::{Collection, ElementRange};
use ff_core::machine::{CloseWaitpoint, OpenWaitpoint, Resume, Signal, Signalled, Suspend, Target};
use ff_core::record::Exited;
use ff_core::signal::ReceivedSignal;
use ff_core::suspension::Waitpoint;
use ff_core::{Execution, Refusal};

use super::{Engine, KeysBackend, done, only};
use crate::error::StoreError;
use crate::ring::{Claims, Purpose, SignedToken};
use crate::store::Store;

/// A waitpoint that is open, and a token that sends signals to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedWaitpoint {
    /// The waitpoint.
    pub waitpoint: Waitpoint,
    /// A token for nobody in particular; the same waitpoint gives the same one. `None` without a signing
    /// key.
    pub token: Option<SignedToken>,
}

/// What a suspend did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parked {
    /// How the lease ended; `None` if the condition is satisfied already and the holder keeps it.
    pub exited: Option<Exited>,
    /// Those of its waitpoints that are open.
    pub waitpoints: Vec<OpenedWaitpoint>,
}

/// Park an execution until signals have come.
#[async_trait]
pub trait SuspendBackend: Send + Sync {
    /// Opens a waitpoint, so that its token can be handed out before anything waits for it. One of the
    /// same key that is open is answered as it is.
    async fn open_waitpoint(&self, open: OpenWaitpoint) -> Result<OpenedWaitpoint, StoreError>;

    /// Closes a waitpoint for ever.
    async fn close_waitpoint(&self, close: CloseWaitpoint) -> Result<(), StoreError>;

    /// Parks an execution, unless its condition is satisfied already.
    async fn suspend(&self, suspend: Suspend) -> Result<Parked, StoreError>;

    /// The signals that an execution has received from number `from` on, oldest first, at most `limit`.
    /// A page may be short; one after the last is empty.
    async fn received(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, StoreError>;
}

/// Wake an execution.
#[async_trait]
pub trait SignalBackend: Send + Sync {
    /// Delivers a signal.
    async fn signal(&self, signal: Signal) -> Result<Signalled, StoreError>;

    /// Ends a suspension without its condition; `false` if the execution is not suspended.
    async fn resume(&self, resume: Resume) -> Result<bool, StoreError>;

    /// The open waitpoints of an execution.
    async fn waitpoints(&self, target: &Target) -> Result<Vec<Waitpoint>, StoreError>;

    /// The signals that an execution has received from number `from` on, oldest first, at most `limit`.
    /// A page may be short; one after the last is empty.
    async fn signals(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> SuspendBackend for Engine<S> {
    async fn open_waitpoint(&self, open: OpenWaitpoint) -> Result<OpenedWaitpoint, StoreError> {
        let target = open.hold.target.clone();
        let opened = self.one(open).await.and_then(only!(WaitpointOpened))?;
        Ok(self.with_token(&target, opened.waitpoint))
    }

    async fn close_waitpoint(&self, close: CloseWaitpoint) -> Result<(), StoreError> {
        self.one(close).await.and_then(done)
    }

    async fn suspend(&self, suspend: Suspend) -> Result<Parked, StoreError> {
        let target = suspend.hold.target.clone();
        let suspended = self.one(suspend).await.and_then(only!(Suspended))?;
        let open = suspended.waitpoints.into_iter();
        let waitpoints = open.map(|waitpoint| self.with_token(&target, waitpoint)).collect();
        Ok(Parked { exited: suspended.exited, waitpoints })
    }

    async fn received(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, StoreError> {
        self.signals(target, from, limit).await
    }
}

#[async_trait]
impl<S: Store + ?Sized> SignalBackend for Engine<S> {
    async fn signal(&self, signal: Signal) -> Result<Signalled, StoreError> {
        self.one(signal).await.and_then(only!(Signalled))
    }

    async fn resume(&self, resume: Resume) -> Result<bool, StoreError> {
        self.one(resume).await.and_then(only!(Applied))
    }

    async fn waitpoints(&self, target: &Target) -> Result<Vec<Waitpoint>, StoreError> {
        let (record, now) = (self.execution(target).await?, self.store().now().await?);
        Ok(record.waits.waitpoints.into_iter().filter(|waitpoint| waitpoint.is_open(now)).collect())
    }

    async fn signals(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<Vec<ReceivedSignal>, StoreError> {
        if limit == 0 || limit > PAGE {
            let why = format!("is {limit}; give 1 to {PAGE}");
            return Err(Refusal::invalid("limit", why).into());
        }
        let received = self.execution(target).await?.counts.of(Collection::Signals);
        if from >= received {
            return Ok(Vec::new());
        }
        let limit = limit.min((received - from) as usize);
        let (owner, collection) = (target.execution, Collection::Signals);
        let page = self.store().elements(ElementRange { owner, collection, from, limit }).await?;
        let unreadable = |number| StoreError::Corrupt(format!("signal {number} cannot be read"));
        page.iter()
            .map(|one| ReceivedSignal::decode(one).ok_or_else(|| unreadable(one.number)))
            .collect()
    }
}

impl<S: Store + ?Sized> Engine<S> {
    /// A waitpoint with its token, if there is a key to sign it with.
    fn with_token(&self, target: &Target, waitpoint: Waitpoint) -> OpenedWaitpoint {
        let token = self.sign(Purpose::Signal, &Claims::of(target, &waitpoint)).ok();
        OpenedWaitpoint { waitpoint, token }
    }

    /// The record of an execution in the caller's namespace.
    async fn execution(&self, target: &Target) -> Result<Execution, StoreError> {
        let record = self.store().record(target.execution).await?;
        let mine = record.filter(|record| record.spec.namespace == target.namespace);
        mine.ok_or_else(|| Refusal::NotFound.into())
    }
}
