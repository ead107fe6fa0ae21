//! What the dashboard costs the store: little for each page, and nothing more for each viewer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use ff_backend_memory::MemoryStore;
use ff_core::collection::{Element, ElementRange};
use ff_core::machine::{Command, Reply, Submit};
use ff_core::payload::BlobKey;
use ff_core::{Capabilities, Execution, ExecutionId, Resource, ResourceKey, Time};
use ff_server::Server;
use ff_store::backlog::Backlog;
use ff_store::roles::Engine;
use ff_store::{ClientBackend, ListScan, Listed, ResourceScan, Store, StoreError};
use ff_testkit::{Forward, Forwarding, ManualClock};
use tokio_util::sync::CancellationToken;

use crate::fixture::config;
use crate::fixture::raw::{Wire, ask, get};

/// A page is rendered every two seconds, and costs less than ten calls in each.
const CALLS: u64 = 20;

/// A store whose calls are counted.
struct Counted {
    beneath: MemoryStore,
    calls: Arc<AtomicU64>,
}

macro_rules! counted {
    ($($call:ident($($name:ident: $kind:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl Forward for Counted {
            fn beneath(&self) -> &dyn Store {
                &self.beneath
            }

            $(async fn $call(&self, $($name: $kind),*) -> Result<$answer, StoreError> {
                self.calls.fetch_add(1, Ordering::SeqCst);
                self.beneath.$call($($name),*).await
            })+

            async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
                self.calls.fetch_add(1, Ordering::SeqCst);
                self.beneath.execute(batch).await
            }
        }
    };
}

counted! {
    record(id: ExecutionId) -> Option<Execution>;
    blob(key: BlobKey) -> Option<Bytes>;
    elements(range: ElementRange) -> Vec<Element>;
    list(scan: ListScan) -> Vec<Listed>;
    resource(key: &ResourceKey) -> Option<Resource>;
    resources(scan: ResourceScan) -> Vec<Resource>;
    now() -> Time;
    backlog() -> Backlog;
}

/// A server over a store that counts, and an execution that no worker can run.
async fn counting()
-> (std::net::SocketAddr, Engine<Forwarding<Counted>>, Arc<AtomicU64>, ExecutionId, impl Drop) {
    let calls = Arc::new(AtomicU64::new(0));
    let beneath = MemoryStore::serial(Arc::new(ManualClock::default()));
    let store = Engine::new(Forwarding(Counted { beneath, calls: calls.clone() }));
    let server = Server::bind(Arc::new(store.clone()), config()).await.unwrap();
    let (address, shutdown) = (server.address(), CancellationToken::new());
    tokio::spawn(server.run(shutdown.clone()));
    let mut submit = Submit::new(store.new_id(&Default::default(), None));
    submit.requires = Capabilities::new(["gpu"]).unwrap();
    let id = submit.id;
    store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    (address, store, calls, id, shutdown.drop_guard())
}

#[tokio::test]
async fn an_open_page_costs_less_than_ten_calls_of_the_store_per_second() {
    let (address, _store, calls, id, _running) = counting().await;
    for path in [
        "/",
        "/executions",
        "/executions?state=failed",
        &format!("/executions/{id}"),
        "/approvals",
        "/workers",
        "/lanes",
        "/limits",
    ] {
        calls.store(0, Ordering::SeqCst);
        assert_eq!(ask(address, get(path)).await.status, 200);
        let cost = calls.load(Ordering::SeqCst);
        assert!(cost > 0 && cost < CALLS, "{path} costs {cost} calls");
    }
}

#[tokio::test]
async fn viewers_of_one_page_share_what_it_costs() {
    let (address, store, calls, _, _running) = counting().await;
    let mut viewers = Vec::new();
    for _ in 0..50 {
        let mut wire = Wire::open(address).await;
        wire.send(get("/live?page=%2Fexecutions")).await;
        wire.until("event: part").await;
        viewers.push(wire);
    }
    calls.store(0, Ordering::SeqCst);
    let submit = Submit::new(store.new_id(&Default::default(), None));
    let id = submit.id.to_string();
    store.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    for viewer in &mut viewers {
        viewer.until(&id).await;
    }
    let cost = calls.load(Ordering::SeqCst);
    assert!(cost < 3 * CALLS, "{cost} calls for fifty viewers");
}
