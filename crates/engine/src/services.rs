//! What runs beside a store: its timers and the net beneath its limits, in one process.
//!
//! All of them act on one share of the partitions, so a process counts once among the others.

use std::sync::Arc;

use ff_store::EngineBackend;

use crate::scanner::Scanning;
use crate::shares::Shares;
use crate::supervisor::Supervisor;
use crate::timers::{self, Timers};
use crate::unblock::UnblockScanner;

/// The background services of one process.
pub struct Services {
    /// Lets time pass.
    pub timers: Arc<Timers>,
    /// Lets go who waits for nothing any more.
    pub unblock: Arc<Scanning<UnblockScanner>>,
}

impl Services {
    /// The services of `backend`, not yet running.
    pub fn new(backend: Arc<dyn EngineBackend>) -> Services {
        let shares = Arc::new(Shares::default());
        let timers = Timers::new(backend.clone(), timers::Options::default());
        let unblock = Scanning::new(UnblockScanner::default(), backend);
        Services {
            timers: Arc::new(timers.sharing(shares.clone())),
            unblock: Arc::new(unblock.sharing(shares)),
        }
    }

    /// Keeps them running until the supervisor is told to stop.
    pub fn start(self) -> Supervisor {
        let Services { timers, unblock } = self;
        let supervisor = Supervisor::default();
        supervisor.start("timers", move |stop| {
            let timers = timers.clone();
            async move { timers.run(stop).await }
        });
        supervisor.start("unblock", move |stop| {
            let unblock = unblock.clone();
            async move { unblock.run(stop).await }
        });
        supervisor
    }
}
