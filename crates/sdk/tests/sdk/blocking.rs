//! Handlers that block the one thread of their worker's runtime, in real time.

use std::future::Future;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use ff_backend_memory::MemoryStore;
use ff_core::{ExecutionId, Millis, Namespace};
use ff_sdk::{Client, Json, TaskContext, TaskError, WorkerRuntime};
use ff_store::roles::Engine;
use ff_store::{ClientAndWorker, SystemClock};
use ff_testkit::wait::until_async;

use crate::fixture::served::Served;

const MINUTE: Duration = Duration::from_secs(60);
const LEASE: Millis = Millis::from_secs(1);

/// What ends a blocking handler.
struct Released(Mutex<Receiver<()>>);

async fn block(task: TaskContext, Json(()): Json<()>) -> Result<(), TaskError> {
    let released = task.state::<Released>()?;
    let released = released.0.lock().unwrap();
    released.recv_timeout(MINUTE).map_err(|_| TaskError::permanent("it was not released"))
}

/// Runs `task` on a separate thread and runtime, which this one cannot block.
fn apart<F: Future<Output = ()>>(task: impl FnOnce() -> F + Send + 'static) {
    thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.unwrap().block_on(task());
    });
}

/// Returns when the lease of an execution, and every registration, were renewed well past their first
/// end, and releases its handler.
async fn watch(client: Client, execution: ExecutionId, release: Sender<()>) {
    let lease = async || Some(client.describe(execution).await.unwrap().lease()?.until);
    let first = until_async(MINUTE, &lease).await.unwrap();
    let renewed = async || lease().await.filter(|until| until.since(first) > LEASE);
    let registered = async || {
        let workers = client.backend().workers(&Namespace::default(), None, 10).await.unwrap();
        let is_alive = |worker: &ff_core::resource::Registration| {
            worker.last_seen.since(worker.registered_at) > worker.ttl
        };
        workers.first().is_some_and(is_alive).then_some(())
    };
    let both = until_async(MINUTE, renewed).await.zip(until_async(MINUTE, registered).await);
    let logged = until_async(MINUTE, async || log().contains("kind=block ").then_some(())).await;
    if both.is_some() && logged.is_some() {
        release.send(()).unwrap();
    }
}

/// A handler blocks the runtime it was started on, and no lease or registration is lost.
async fn nothing_is_lost(worker: Arc<dyn ClientAndWorker>, observer: Arc<dyn ClientAndWorker>) {
    capture_log();
    let (release, released) = channel();
    let runtime = WorkerRuntime::new(worker.clone()).registration_ttl(Duration::from_secs(1));
    let runtime = runtime.state(Released(Mutex::new(released))).on("block", block).unwrap();
    let running = runtime.start().await.unwrap();
    let client = Client::new(worker);
    let observer = Client::new(observer);
    let (submitted, task) = tokio::sync::oneshot::channel();
    // The handler may block this thread before a submit from here has its answer.
    apart(move || async move {
        let task = observer.task("block").unwrap().input(&()).unwrap();
        let task = task.policy(|ask| ask.lease_ttl = Some(LEASE)).send().await.unwrap().execution;
        submitted.send(task).unwrap();
        watch(observer, task, release).await;
    });
    let task = task.await.unwrap();
    client.wait_payload(task).await.unwrap();
    let record = client.describe(task).await.unwrap();
    assert_eq!((record.epoch, record.run.reclaims), (1, 0));
    assert!(log().contains("a handler blocks a thread of the async runtime"), "{}", log());
    running.shutdown().await;
}

#[tokio::test]
async fn leases_are_renewed_while_a_handler_blocks_the_runtime() {
    let store = MemoryStore::serial(Arc::new(SystemClock));
    let backend: Arc<dyn ClientAndWorker> = Arc::new(Engine::new(store));
    nothing_is_lost(backend.clone(), backend).await;
}

#[tokio::test]
async fn leases_are_renewed_over_http_while_a_handler_blocks_the_runtime() {
    let (send, server) = channel();
    apart(move || async move {
        send.send(Served::start().await).unwrap();
        std::future::pending::<()>().await;
    });
    let server = server.recv_timeout(MINUTE).unwrap();
    let client = || server.client(server.address.port());
    nothing_is_lost(client(), client()).await;
}

static LOG: OnceLock<Mutex<Vec<u8>>> = OnceLock::new();

struct Captured;

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOG.get_or_init(Mutex::default).lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps what is logged, in place of printing it.
fn capture_log() {
    let captured = tracing_subscriber::fmt().with_ansi(false).with_writer(|| Captured);
    // The other test of this file may have set it.
    let _ = captured.try_init();
}

fn log() -> String {
    String::from_utf8(LOG.get_or_init(Mutex::default).lock().unwrap().clone()).unwrap()
}
