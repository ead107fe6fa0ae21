//! A store that several processes have open, and short words for what they do with it.
//!
//! Two handles of one store share nothing in this process: each has its own connections, its own
//! beliefs and its own waiters. To the server they are two processes.
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use ff_backend_valkey::{Options, Prefix, ValkeyStore, backend};
use ff_conformance::{Snapshot, snapshot};
use ff_core::bounds::PARTITIONS;
use ff_core::machine::{Assignment, ClaimRequest, Complete, Submit, Target};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, Description, ExecutionId, Lane, Millis, Namespace, Partition, Payload, WorkerId,
    WorkerInstanceId,
};
use ff_store::roles::{Answer, Engine};
use ff_store::{ClientBackend, MaintenanceBackend, StoreError, WorkerBackend, audit, mint};
use ff_testkit::valkey::Server;
use ff_testkit::wait;

use crate::ground::{LuaClock, fresh_prefix, prelude};

/// Longer than anything takes that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A process that has the store open.
pub(crate) type Process = Engine<ValkeyStore>;

/// A store, which any number of processes can open.
#[derive(Clone)]
pub(crate) struct Home {
    pub(crate) options: Options,
}

impl Home {
    /// A fresh store on `server`.
    pub(crate) fn on(server: &Server, partitions: u16) -> Home {
        let mut options: Options = server.url().parse().unwrap();
        options.prefix = Prefix::new(&fresh_prefix()).unwrap();
        options.partitions = Some(partitions);
        Home { options }
    }

    /// The same store, with Lua at the head of its library.
    pub(crate) fn with_prelude(mut self, prelude: &str) -> Home {
        self.options.prelude = prelude.to_owned();
        self
    }

    /// The same store with its time in a test's hands, opened.
    pub(crate) async fn open_with_clock(
        self,
        server: &'static Server,
    ) -> (Home, Process, LuaClock) {
        // Functions of one server have names of their own, as stores have prefixes.
        let name = self.options.prefix.as_str().to_owned();
        let home = self.with_prelude(&prelude(0, &name));
        let process = home.open().await;
        let clock = LuaClock::new(std::slice::from_ref(server), 0, &name);
        (home, process, clock)
    }

    /// The same store, reached through another port, such as that of a proxy.
    pub(crate) fn through(&self, port: u16) -> Home {
        let mut options = self.options.clone();
        options.nodes = vec![("127.0.0.1".to_owned(), port)];
        Home { options }
    }

    pub(crate) async fn open(&self) -> Process {
        self.try_open().await.unwrap()
    }

    pub(crate) async fn try_open(&self) -> Result<Process, StoreError> {
        backend(&self.options).await
    }

    /// Where a partition announces work.
    pub(crate) fn channel(&self, partition: u16) -> String {
        format!("{}:wake:{{p:{partition}}}", self.options.prefix.as_str())
    }

    /// Returns when so many processes listen for work.
    pub(crate) async fn until_heard_by(&self, server: &Server, processes: usize) {
        let last = self.channel(self.options.partitions.unwrap_or(1) - 1);
        until("all processes to listen", async || {
            let answer = server.command(&["PUBSUB", "SHARDNUMSUB", &last]).unwrap().to_string();
            (answer.lines().nth(1) == Some(&processes.to_string())).then_some(())
        })
        .await;
    }
}

/// Waits until there is an answer.
pub(crate) async fn until<T>(what: &str, ask: impl AsyncFnMut() -> Option<T>) -> T {
    let answer = wait::until_async(PATIENCE, ask).await;
    answer.unwrap_or_else(|| panic!("waited in vain for {what}"))
}

/// Work with a new id, not yet submitted.
pub(crate) fn work(_: &Process) -> Submit {
    // Each in another partition: what is made together would otherwise share one.
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let partition = NEXT.fetch_add(1, Ordering::Relaxed) % PARTITIONS;
    Submit::new(mint::execution_id(Partition::new(partition).unwrap()))
}

pub(crate) async fn try_submit(process: &Process, submit: Submit) -> Answer<ExecutionId> {
    let answer = process.submit(vec![submit]).await?.remove(0)?;
    Ok(answer.execution)
}

/// Submits plain work.
pub(crate) async fn submit(process: &Process) -> ExecutionId {
    try_submit(process, work(process)).await.unwrap()
}

/// Submits so much plain work, a batch at a time.
pub(crate) async fn submit_many(process: &Process, count: usize) -> Vec<ExecutionId> {
    let works: Vec<_> = (0..count).map(|_| work(process)).collect();
    let ids = works.iter().map(|work| work.id).collect();
    for batch in works.chunks(500) {
        for answer in process.submit(batch.to_vec()).await.unwrap() {
            answer.unwrap();
        }
    }
    ids
}

pub(crate) fn worker(name: &str) -> Worker {
    let instance = WorkerInstanceId::new(format!("{name}-1")).unwrap();
    Worker { id: WorkerId::new(name).unwrap(), instance }
}

/// A claim of so many by worker `ada`, who offers nothing special.
pub(crate) fn claim(max: u16) -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: worker("ada"),
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max,
        retry: false,
    }
}

/// Claims without waiting.
pub(crate) async fn take(process: &Process, max: u16) -> Vec<Assignment> {
    process.claim(claim(max), Millis::ZERO).await.unwrap().assignments
}

/// New work in `ada`'s hands.
pub(crate) async fn held(process: &Process, submit: Submit) -> Assignment {
    let id = try_submit(process, submit).await.unwrap();
    let taken = take(process, 1).await.pop().expect("there is work");
    assert_eq!(taken.execution, id, "it is the only work");
    taken
}

pub(crate) async fn complete(process: &Process, of: &Assignment) -> Answer<()> {
    let batch = vec![Complete { hold: of.hold(), result: Payload::bytes("done") }];
    process.complete(batch).await?.remove(0).map(drop)
}

pub(crate) fn target(execution: ExecutionId) -> Target {
    Target { namespace: Namespace::default(), execution }
}

pub(crate) async fn describe(process: &Process, id: ExecutionId) -> Description {
    process.describe(&target(id)).await.unwrap()
}

/// All that the store holds.
pub(crate) async fn everything(process: &Process) -> Snapshot {
    snapshot(&**process.store()).await.unwrap()
}

/// The store must be sound.
pub(crate) async fn check(process: &Process) {
    let report = audit::audit(process.rows().await.unwrap()).await.unwrap();
    assert_eq!(report.violations, []);
}
