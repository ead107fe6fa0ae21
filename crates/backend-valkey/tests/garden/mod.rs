//! A store with an execution in every state, made through the public surface, and the ways past it.

use std::collections::BTreeSet;

use ff_core::machine::{ClaimRequest, Complete, Fail, Replay, Submit};
use ff_core::policy::Backoff;
use ff_core::state::{Failure, Worker};
use ff_core::{
    Capabilities, Category, IdempotencyKey, Lane, Millis, Payload, When, WorkerId, WorkerInstanceId,
};
use ff_store::audit::{Rule, audit};
use ff_store::roles::Registering;
use ff_store::{ClientBackend, MaintenanceBackend, WorkerBackend};
use ff_testkit::valkey::{Reply, Server};

use crate::scene::{Home, Process, claim, target, work};

/// A store to plant in. Executions are named as they are on the server.
pub(crate) struct Garden {
    pub(crate) process: Process,
    server: &'static Server,
    prefix: String,
    /// Waits in its queue.
    pub(crate) queued: String,
    /// Waits for a worker with a capability.
    pub(crate) classed: String,
    /// Waits for its time.
    pub(crate) delayed: String,
    /// Is held.
    pub(crate) active: String,
    /// Has a long input, a long result and an idempotency key.
    pub(crate) completed: String,
    /// Has failed at its second attempt.
    pub(crate) failed: String,
    /// Waits for its second run; the first has a result.
    pub(crate) replayed: String,
}

/// More bytes than a record keeps.
fn long() -> Payload {
    Payload::bytes(vec![7; 1_000])
}

/// Work of a lane of its own.
fn of_lane(process: &Process, lane: &str) -> Submit {
    let input = Payload::json("[1, 2]");
    Submit { lane: Lane::new(lane).unwrap(), input, ..work(process) }
}

async fn take(process: &Process, lane: &str) -> ff_core::machine::LeaseRef {
    let claim = ClaimRequest { lane: Lane::new(lane).unwrap(), ..claim(1) };
    process.claim(claim, Millis::ZERO).await.unwrap().assignments.remove(0).hold()
}

async fn complete(process: &Process, lane: &str) {
    let hold = take(process, lane).await;
    let complete = Complete { hold, result: long() };
    process.complete(vec![complete]).await.unwrap().remove(0).unwrap();
}

async fn fail(process: &Process, lane: &str, retryable: bool) {
    let hold = take(process, lane).await;
    let failure = Failure { category: Category::error(), retryable, message: "no".into() };
    process.fail(Fail { hold, failure }).await.unwrap();
}

/// The worker of the garden, as its indexes name it.
pub(crate) const WORKER: &str = "worker:default:gardener-1";

async fn register(process: &Process) {
    let ClaimRequest { namespace, capabilities, request, .. } = claim(1);
    let instance = WorkerInstanceId::new("gardener-1").unwrap();
    let worker = Worker { id: WorkerId::new("gardener").unwrap(), instance };
    let (lanes, ttl) = (vec![Lane::default()], Millis::from_hours(1));
    let session = request;
    let registering = Registering { namespace, worker, session, lanes, capabilities, ttl };
    process.register(registering).await.unwrap();
}

impl Garden {
    /// A sound store.
    pub(crate) async fn grow() -> Garden {
        let server = Server::shared();
        let home = Home::on(server, 1);
        let process = home.open().await;
        let prefix = home.options.prefix.as_str().to_owned();
        let mut known = BTreeSet::new();
        let none = String::new;
        let mut garden = Garden {
            process,
            server,
            prefix,
            queued: none(),
            classed: none(),
            delayed: none(),
            active: none(),
            completed: none(),
            failed: none(),
            replayed: none(),
        };
        let process = garden.process.clone();
        let queued = of_lane(&process, "queued");
        garden.queued = garden.add(queued, &mut known).await;
        let requires = Capabilities::new(["gpu"]).unwrap();
        let classed = Submit { requires, ..of_lane(&process, "classed") };
        garden.classed = garden.add(classed, &mut known).await;
        let start = When::After(Millis::from_hours(1));
        let delayed = Submit { start, ..of_lane(&process, "delayed") };
        garden.delayed = garden.add(delayed, &mut known).await;
        let active = of_lane(&process, "active");
        garden.active = garden.add(active, &mut known).await;
        take(&process, "active").await;
        let key = Some(IdempotencyKey::new("order-1").unwrap());
        let completed = Submit { key, input: long(), ..of_lane(&process, "completed") };
        garden.completed = garden.add(completed, &mut known).await;
        complete(&process, "completed").await;
        let mut tried = of_lane(&process, "failed");
        tried.policy.backoff = Backoff::none().into();
        garden.failed = garden.add(tried, &mut known).await;
        fail(&process, "failed", true).await;
        fail(&process, "failed", false).await;
        let replayed = of_lane(&process, "replayed");
        let run = target(replayed.id);
        garden.replayed = garden.add(replayed, &mut known).await;
        complete(&process, "replayed").await;
        assert_eq!(process.replay(Replay { target: run, run: 0 }).await.unwrap(), 1);
        register(&process).await;
        garden
    }

    /// Submits, and tells the name of what is new.
    async fn add(&self, submit: Submit, known: &mut BTreeSet<String>) -> String {
        self.process.submit(vec![submit]).await.unwrap().remove(0).unwrap();
        let listed = self.order(&["ZRANGE", &self.index("list:default"), "0", "-1"]);
        let mut listed = listed.list().iter().map(ToString::to_string);
        listed.find(|name| known.insert(name.clone())).unwrap()
    }

    /// Every broken rule that the audit names, once for each violation, in the order of rules.
    pub(crate) async fn broken_rules(&self) -> Vec<Rule> {
        let report = audit(self.process.rows().await.unwrap()).await.unwrap();
        assert_eq!(report.further, 0);
        eprintln!("{:?}", report.violations);
        let mut rules: Vec<_> = report.violations.iter().map(|violation| violation.rule).collect();
        rules.sort();
        rules
    }

    /// The name of no execution.
    pub(crate) fn stranger(&self) -> String {
        let (start, end) = self.queued.split_at(17);
        let other = if end.starts_with('A') { 'B' } else { 'A' };
        format!("{start}{other}{}", &end[1..])
    }

    /// The key of an index.
    pub(crate) fn index(&self, name: &str) -> String {
        format!("{}:idx:{{p:0}}:{name}", self.prefix)
    }

    /// The key of a queue without requirements.
    pub(crate) fn queue(&self, lane: &str) -> String {
        self.index(&format!("lane:default:{lane}:eligible"))
    }

    /// The classes of a lane.
    pub(crate) fn classes(&self, lane: &str) -> String {
        self.index(&format!("lane:default:{lane}:classes"))
    }

    /// The key of a record, or of what is beside it.
    pub(crate) fn record(&self, name: &str, beside: &str) -> String {
        format!("{}:exec:{{p:0}}:{name}{beside}", self.prefix)
    }

    /// The key of the worker.
    pub(crate) fn worker(&self) -> String {
        format!("{}:worker:{{p:0}}:default:gardener-1", self.prefix)
    }

    /// Runs a command past the store.
    pub(crate) fn order<W: AsRef<[u8]>>(&self, words: &[W]) -> Reply {
        self.server.command(words).unwrap()
    }

    /// Runs a command past the store that must change one thing.
    pub(crate) fn change<W: AsRef<[u8]>>(&self, words: &[W]) {
        assert_eq!(self.order(words), Reply::Number(1));
    }
}
