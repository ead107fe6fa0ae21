//! How a worker connects.

use std::sync::Arc;
use std::time::Duration;

use ff_core::{Capabilities, Lane, Namespace, WorkerId, WorkerInstanceId};
use ff_store::WorkerBackend;

use crate::background::Heartbeats;
use crate::event::{self, EventHook};
use crate::round_robin::ServedLane;
use crate::shutdown::Shutdown;

/// The default time a worker may be silent: two leases of the default length.
const REGISTRATION_TTL: Duration = Duration::from_secs(60);

/// How a worker connects and what it takes.
#[derive(Clone)]
pub struct WorkerConfig {
    /// Where the work is.
    pub backend: Arc<dyn WorkerBackend>,
    /// The tenant.
    pub namespace: Namespace,
    /// The queues it serves, by weighted round-robin. At least one.
    pub lanes: Vec<ServedLane>,
    /// Its name, shared by its instances.
    pub worker: WorkerId,
    /// The name of this process; unique among the live ones, or it does not connect.
    pub instance: WorkerInstanceId,
    /// What it offers.
    pub capabilities: Capabilities,
    /// How many tasks it holds at once.
    pub concurrency: usize,
    /// How long one claim waits for work before it is sent again. A worker of several lanes waits on
    /// one of them, and finds work that meanwhile appears in the others after that time.
    pub poll_interval: Duration,
    /// How long it tries to register at first. `None`: once, and a worker whose backend does not answer
    /// begins without, to register as soon as it does.
    pub connect_timeout: Option<Duration>,
    /// How long it may be silent before it counts as gone: 1 second to 24 hours. It sends a heartbeat
    /// at a third of that.
    pub registration_ttl: Duration,
    /// Where renewals of its leases and of its registration run.
    pub heartbeats: Heartbeats,
    /// How long running tasks may continue after a stop request, before they are handed back.
    pub drain: Duration,
    /// Requests the stop.
    pub shutdown: Shutdown,
    /// Receives its claims and failures; by default they are logged.
    pub events: EventHook,
}

impl WorkerConfig {
    /// A worker of lane `default` in namespace `default`, one task at a time, with a random
    /// instance name.
    pub fn new(backend: Arc<dyn WorkerBackend>, worker: WorkerId) -> WorkerConfig {
        let instance = WorkerInstanceId::new(format!("i-{:016x}", fastrand::u64(..)));
        WorkerConfig {
            backend,
            namespace: Namespace::default(),
            lanes: vec![Lane::default().into()],
            worker,
            instance: instance.unwrap_or_else(|_| unreachable!("the alphabet of a name")),
            capabilities: Capabilities::NONE,
            concurrency: 1,
            poll_interval: Duration::from_secs(1),
            connect_timeout: Some(Duration::from_secs(10)),
            registration_ttl: REGISTRATION_TTL,
            heartbeats: Heartbeats::default(),
            drain: Duration::from_secs(10),
            shutdown: Shutdown::default(),
            events: Arc::new(event::log),
        }
    }
}
