//! The handle that everything starts from.

use std::sync::Arc;

use ff_core::signal::SignalEffect;
use ff_core::{ExecutionId, Namespace};
use ff_sdk::{Client, EventStream, Heartbeats, ToPayload};
use ff_store::ClientAndWorker;
use ff_store::ring::SignedToken;

use crate::Error;
use crate::builder::Builder;
use crate::connect::Connected;
use crate::engine::Background;
use crate::flow::{FlowBuilder, FlowHandle};
use crate::handle::TaskHandle;
use crate::limits::{BudgetBuilder, QuotaBuilder};
use crate::schedule::ScheduleBuilder;
use crate::task::TaskBuilder;
use crate::worker::WorkerBuilder;

/// A store or a server. Cheap to clone: clones share it.
///
/// A store is opened in this process, so its engine runs here too: timers, retries, and the release of
/// tasks that wait for a limit. The engine and all workers that were started here end with
/// [`close`](FlowFabric::close). When the last handle is dropped instead, they stop as
/// well, as long as the async runtime lives.
#[derive(Clone)]
pub struct FlowFabric {
    pub(crate) backend: Arc<dyn ClientAndWorker>,
    pub(crate) namespace: Namespace,
    pub(crate) heartbeats: Heartbeats,
    pub(crate) background: Arc<Background>,
}

impl FlowFabric {
    /// Opens what `url` names.
    ///
    /// | URL | what it is |
    /// |---|---|
    /// | `sqlite:PATH` | the SQLite file at `PATH`, made if it is missing |
    /// | `memory:` | a store in the memory of this process, which ends with it |
    /// | `postgres://HOST/DATABASE` | a schema of a Postgres database |
    /// | `valkey://HOST:PORT` | a Valkey server; `valkeys://` by TLS |
    /// | `valkey-cluster://HOST:PORT,..` | a Valkey cluster; `valkeys-cluster://` by TLS |
    /// | `http://HOST:PORT`, `https://HOST` | a FlowFabric server |
    pub async fn open(url: impl Into<String>) -> Result<FlowFabric, Error> {
        FlowFabric::builder().url(url).open().await
    }

    /// Opens with more than a URL: a namespace, a token.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(
        connected: Connected,
        namespace: Namespace,
        heartbeats: Heartbeats,
    ) -> FlowFabric {
        let (backend, store): (Arc<dyn ClientAndWorker>, _) = match connected {
            Connected::Store(store) => (store.clone(), Some(store)),
            Connected::Server(server) => (server, None),
        };
        let background = Arc::new(Background::start(store));
        FlowFabric { backend, namespace, heartbeats, background }
    }

    /// Describes a task of a kind, with its input: any type that serde can write, sent as
    /// JSON.
    pub fn task(&self, kind: &str, input: &(impl ToPayload + ?Sized)) -> TaskBuilder {
        TaskBuilder::new(self.clone(), kind, input)
    }

    /// Describes a flow: a graph of tasks, submitted as a whole.
    pub fn flow(&self) -> FlowBuilder {
        FlowBuilder::new(self.clone())
    }

    /// A flow that was submitted earlier, by its id. The store or server is not called yet.
    pub fn flow_handle(&self, id: ExecutionId) -> FlowHandle {
        FlowHandle::new(self.clone(), id)
    }

    /// A task that was submitted earlier, by its id. The store or server is not called yet.
    pub fn handle(&self, id: ExecutionId) -> TaskHandle {
        TaskHandle::new(self.clone(), id)
    }

    /// Sends a signal of this name by token, as the one whom the token was made for: all it takes is the
    /// [token](TaskHandle::token).
    pub async fn deliver_signal(
        &self,
        token: &SignedToken,
        name: &str,
        payload: &(impl ToPayload + ?Sized),
    ) -> Result<SignalEffect, Error> {
        Ok(self.client().deliver_signal(token, name, payload).await?.effect)
    }

    /// Describes a worker.
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(self.clone())
    }

    /// Describes a budget: what its tasks may use in total.
    pub fn budget(&self, name: &str) -> BudgetBuilder {
        BudgetBuilder::new(self.clone(), name)
    }

    /// Describes a quota: how many of its tasks may start in a window and run at once.
    pub fn quota(&self, name: &str) -> QuotaBuilder {
        QuotaBuilder::new(self.clone(), name)
    }

    /// Describes a schedule: tasks at moments that are known beforehand.
    pub fn schedule(&self, name: &str) -> ScheduleBuilder {
        ScheduleBuilder::new(self.clone(), name)
    }

    /// Follows what happens in the namespace; [`EventStream::open`] begins.
    ///
    /// A subscriber misses nothing from its beginning, or from the cursor that it gives, and may see an
    /// event again, under the same id.
    pub fn subscribe(&self) -> EventStream {
        self.client().subscribe()
    }

    /// Follows the ends of tasks: completed, failed, cancelled, expired.
    pub fn subscribe_completions(&self) -> EventStream {
        self.client().subscribe_completions()
    }

    /// Ends all workers that were started here, and then the engine if it runs here. Tasks that do not
    /// finish within their worker's drain time are handed back, and run when a worker takes them again.
    /// Other clones of the handle can still submit, and nothing that they submit runs.
    pub async fn close(self) {
        self.background.close().await;
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.backend.clone()).namespace(self.namespace.clone())
    }
}

impl std::fmt::Debug for FlowFabric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowFabric").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}
