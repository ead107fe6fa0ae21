//! The background services of a store in one process: timers, the unblock scanner, the audit, the
//! signing keys and webhooks.
//!
//! All of them act on one share of the partitions, so a process counts once among the others.

use std::sync::Arc;

use ff_store::EngineBackend;

use crate::audit::AuditScanner;
use crate::keys;
use crate::ownership::PartitionOwnership;
use crate::scanner::Scanning;
use crate::supervisor::Supervisor;
use crate::timers::{self, Timers};
use crate::unblock::UnblockScanner;
use crate::webhooks::{self, DeliveryOptions};

/// The background services of one process.
pub struct Services {
    /// Fires timers.
    pub timers: Arc<Timers>,
    /// Releases executions whose limit has capacity.
    pub unblock: Arc<Scanning<UnblockScanner>>,
    /// Finds violations.
    pub audit: Arc<Scanning<AuditScanner>>,
    /// How webhooks are delivered.
    pub deliveries: DeliveryOptions,
    shares: Arc<PartitionOwnership>,
    backend: Arc<dyn EngineBackend>,
}

impl Services {
    /// The services of `backend`, not yet running.
    pub fn new(backend: Arc<dyn EngineBackend>) -> Services {
        Services::with(backend, UnblockScanner::default())
    }

    /// The same, with this unblock scanner.
    pub fn with(backend: Arc<dyn EngineBackend>, unblock: UnblockScanner) -> Services {
        let shares = Arc::new(PartitionOwnership::default());
        let timers = Timers::new(backend.clone(), timers::Options::default());
        let unblock = Scanning::new(unblock, backend.clone());
        let audit = Scanning::new(AuditScanner::default(), backend.clone());
        Services {
            timers: Arc::new(timers.sharing(shares.clone())),
            unblock: Arc::new(unblock.sharing(shares.clone())),
            audit: Arc::new(audit.sharing(shares.clone())),
            deliveries: DeliveryOptions::default(),
            shares,
            backend,
        }
    }

    /// Keeps them running until the supervisor is told to stop.
    pub fn start(self) -> Supervisor {
        let Services { timers, unblock, audit, deliveries, shares, backend } = self;
        let supervisor = Supervisor::default();
        let signing = backend.clone();
        supervisor.start("keys", move |stop| keys::run(signing.clone(), stop));
        let (sending, deliveries) = (backend.clone(), deliveries.clone());
        supervisor.start("webhooks", move |stop| {
            webhooks::run(sending.clone(), deliveries.clone(), stop)
        });
        supervisor.start("shares", move |stop| {
            let (shares, backend) = (shares.clone(), backend.clone());
            async move { shares.run(&*backend, stop).await }
        });
        supervisor.start("timers", move |stop| {
            let timers = timers.clone();
            async move { timers.run(stop).await }
        });
        supervisor.start("unblock", move |stop| {
            let unblock = unblock.clone();
            async move { unblock.run(stop).await }
        });
        supervisor.start("audit", move |stop| {
            let audit = audit.clone();
            async move { audit.run(stop).await }
        });
        supervisor
    }
}
