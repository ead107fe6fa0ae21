//! A server on loopback over a store in memory, and ways to talk to it.
#![allow(dead_code, reason = "not every test file uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

pub(crate) mod raw;
pub(crate) mod routes;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ff_api::client::{HttpClient, HttpOptions};
use ff_backend_memory::MemoryStore;
use ff_core::machine::{Assignment, ClaimRequest, Submit, Target};
use ff_core::state::Worker;
use ff_core::{Capabilities, Description, ExecutionId, Lane, Millis, Namespace};
use ff_server::{Config, Server};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, EngineBackend, WorkerBackend, mint};
use ff_testkit::ManualClock;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// No test waits longer for anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A token that is long enough.
pub(crate) const TOKEN: &str = "a-token-of-thirty-two-characters";

/// A running server and the store beneath it. It stops when it is dropped.
pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    pub(crate) store: Engine<MemoryStore>,
    pub(crate) clock: ManualClock,
    pub(crate) shutdown: CancellationToken,
    pub(crate) running: Option<JoinHandle<()>>,
}

/// A configuration that listens on a free port.
pub(crate) fn config() -> Config {
    Config { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), ..Config::default() }
}

impl Fixture {
    /// A server with the defaults.
    pub(crate) async fn start() -> Fixture {
        Fixture::with(config()).await
    }

    pub(crate) async fn with(config: Config) -> Fixture {
        let clock = ManualClock::default();
        let store = Engine::new(MemoryStore::serial(Arc::new(clock.clone())));
        let backend: Arc<dyn EngineBackend> = Arc::new(store.clone());
        let server = Server::bind(backend, config).await.unwrap();
        let (address, shutdown) = (server.address(), CancellationToken::new());
        let running = Some(tokio::spawn(server.run(shutdown.clone())));
        Fixture { address, store, clock, shutdown, running }
    }

    /// A client of the server.
    pub(crate) fn client(&self) -> HttpClient {
        client_of(self.address)
    }

    /// Submits plain work.
    pub(crate) async fn submitted(&self) -> ExecutionId {
        let submit = Submit::new(self.store.new_id(&Namespace::default(), None));
        self.store.submit(vec![submit]).await.unwrap().remove(0).unwrap().execution
    }

    /// New work in a worker's hands.
    pub(crate) async fn held(&self) -> Assignment {
        let id = self.submitted().await;
        let claimed = self.store.claim(claim(), Millis::ZERO).await.unwrap();
        let assignment = claimed.assignments.into_iter().next().unwrap();
        assert_eq!(assignment.execution, id);
        assignment
    }

    pub(crate) async fn described(&self, id: ExecutionId) -> Description {
        self.store.describe(&target(id)).await.unwrap()
    }

    /// How many claims wait in the default lane.
    pub(crate) fn waiting(&self) -> usize {
        let queue = (Namespace::default(), Lane::default());
        ff_store::MaintenanceBackend::wakeups(&self.store).waiting(&queue)
    }

    /// Returns when so many claims wait.
    pub(crate) async fn until_waiting(&self, count: usize) {
        within(async {
            while self.waiting() != count {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

pub(crate) fn client_of(address: SocketAddr) -> HttpClient {
    HttpClient::new(HttpOptions::new(format!("http://{address}"))).unwrap()
}

pub(crate) fn target(execution: ExecutionId) -> Target {
    Target { namespace: Namespace::default(), execution }
}

/// A claim of one execution.
pub(crate) fn claim() -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker { id: "ada".parse().unwrap(), instance: "ada-1".parse().unwrap() },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    }
}

/// What `future` gives, which must be soon.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, future).await.expect("it takes too long")
}
