//! A process that was stopped past the end of its leases changes nothing when it goes on.
//!
//! The holder is this test binary, started again with `FF_STALE_HOLDER` naming the store. It takes
//! every lease, is stopped by SIGSTOP, and after SIGCONT tries every call that a holder can make.

// A test that cannot go on panics.
#![allow(clippy::unwrap_used)]

mod fixture;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ff_core::machine::{
    Assignment, CancelHeld, Claim, Complete, Delay, Fail, Hold, ReportProgress, Submit,
};
use ff_core::record::Progress;
use ff_core::state::{Failure, Worker};
use ff_core::{
    Capabilities, Category, Lane, Millis, Namespace, Payload, When, WorkerId, WorkerInstanceId,
};
use ff_engine::timers::{self, Timers};
use ff_store::audit::{Auditor, Row};
use ff_store::{EngineBackend, StoreError, mint};
use ff_testkit::report;
use fixture::{Ff, Lines, Process, wait_for};
use rustix::process::{Signal, WaitOptions, waitpid};
use tokio::runtime::Runtime;

const LEASES: usize = 200;
const LEASE_TTL: Millis = Millis::from_secs(2);
/// Names the store, in the environment of the holder.
const STORE: &str = "FF_STALE_HOLDER";
/// Every call that a holder can make.
const CALLS: [&str; 7] =
    ["renew", "progress", "complete", "fail", "delay", "cancel_held", "hand_back"];

#[test]
fn a_holder_stopped_until_others_took_over_changes_nothing() {
    let runtime = Runtime::new().unwrap();
    if let Ok(store) = std::env::var(STORE) {
        return runtime.block_on(hold(&store));
    }
    let mut scene = Scene::new(runtime, "a_holder_stopped_until_others_took_over_changes_nothing");
    scene.stop_holder();
    scene.reclaim();
    // Half of it is done by then, the rest still in other hands.
    let taken = scene.take_over();
    scene.complete(&taken[..LEASES / 2]);
    scene.holder_changes_nothing();
}

#[test]
fn a_holder_stopped_past_its_leases_changes_nothing_though_no_timer_has_run() {
    let runtime = Runtime::new().unwrap();
    if let Ok(store) = std::env::var(STORE) {
        return runtime.block_on(hold(&store));
    }
    let name = "a_holder_stopped_past_its_leases_changes_nothing_though_no_timer_has_run";
    let mut scene = Scene::new(runtime, name);
    scene.stop_holder();
    scene.wait_for_lease_ends();
    scene.holder_changes_nothing();
}

/// A store, and a process that holds everything in it.
struct Scene {
    runtime: Runtime,
    backend: Arc<dyn EngineBackend>,
    holder: Process,
    lines: Lines,
    _ff: Ff,
}

impl Scene {
    /// Submits the work and waits until the holder, which runs test `name`, has all of it.
    fn new(runtime: Runtime, name: &str) -> Scene {
        let ff = Ff::new();
        let backend = runtime.block_on(ff_backends::open(&ff.store())).unwrap();
        let submits = (0..LEASES).map(|_| {
            let id = backend.new_id(&Namespace::default(), None);
            let mut submit = Submit::new(id);
            submit.policy.lease_ttl = LEASE_TTL;
            submit
        });
        for answer in runtime.block_on(backend.submit(submits.collect())).unwrap() {
            answer.unwrap();
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--nocapture"]).env(STORE, ff.store());
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut holder = Process::start(pipes);
        let lines = holder.stderr();
        assert_eq!(lines.after("held "), LEASES.to_string());
        Scene { runtime, backend, holder, lines, _ff: ff }
    }

    fn stop_holder(&self) {
        self.holder.signal(Signal::STOP);
        let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
        wait_for("the holder to be stopped", || {
            let (_, status) = waitpid(Some(self.holder.pid()), options).unwrap()?;
            status.stopped().then_some(())
        });
    }

    fn wait_for_lease_ends(&self) {
        wait_for("all leases to end", || {
            let timers = self
                .runtime
                .block_on(self.backend.due(&ff_store::Share::All, None, LEASES + 1))
                .unwrap();
            (timers.due.len() == LEASES).then_some(())
        });
    }

    fn reclaim(&self) {
        let timers = Timers::new(self.backend.clone(), timers::Options::default());
        let mut reclaimed = 0;
        wait_for("all leases to be reclaimed", || {
            reclaimed += self.runtime.block_on(timers.run_once()).unwrap().fired;
            (reclaimed == LEASES as u64).then_some(())
        });
    }

    fn take_over(&self) -> Vec<Assignment> {
        let taken = self.runtime.block_on(take(&*self.backend, "second"));
        assert!(taken.iter().all(|assignment| assignment.fence.attempt == 1));
        taken
    }

    fn complete(&self, assignments: &[Assignment]) {
        let done = assignments.iter().map(|assignment| Complete {
            hold: assignment.hold(),
            result: Payload::json("\"second\""),
        });
        for answer in self.runtime.block_on(self.backend.complete(done.collect())).unwrap() {
            answer.unwrap();
        }
    }

    /// Lets the holder go on; nothing that it tries is accepted.
    fn holder_changes_nothing(&mut self) {
        let before = self.rows();
        self.holder.stdin().write_all(b"go\n").unwrap();
        self.holder.signal(Signal::CONT);
        let tries: Vec<_> = (0..LEASES).map(|_| self.lines.after("tried ")).collect();
        assert!(self.holder.ended().success());
        let accepted = tries.iter().filter(|line| line.ends_with(" accepted")).count();
        eprintln!("{accepted} of {} stale calls accepted", tries.len());
        let mut calls = BTreeMap::<_, usize>::new();
        for (call, answer) in tries.iter().map(|line| line.split_once(' ').unwrap()) {
            assert_eq!(answer, "stale_lease", "{call}");
            *calls.entry(call).or_default() += 1;
        }
        assert!(CALLS.iter().all(|call| calls[call] >= LEASES / CALLS.len()), "{calls:?}");
        assert!(self.rows() == before, "the stale holder changed something");
        report::count("stale_tries", tries.len() as u64);
        report::count("stale_accepted", accepted as u64);
    }

    /// The whole state, which must be sound.
    fn rows(&self) -> Vec<Row> {
        self.runtime.block_on(async {
            let mut rows = self.backend.rows().await.unwrap();
            let (mut all, mut auditor) = (Vec::new(), Auditor::default());
            while let Some(row) = rows.next().await {
                let row = row.unwrap();
                auditor.row(row.clone());
                all.push(row);
            }
            assert_eq!(auditor.finish().violations, []);
            all
        })
    }
}

/// The holder: takes everything, waits to be told to go on, and tries every call.
async fn hold(store: &str) {
    let backend = ff_backends::open(store).await.unwrap();
    let held = take(&*backend, "first").await;
    eprintln!("held {}", held.len());
    std::io::stdin().read_line(&mut String::new()).unwrap();
    for (number, assignment) in held.iter().enumerate() {
        let call = CALLS[number % CALLS.len()];
        match try_call(&*backend, call, assignment.hold()).await {
            Ok(()) => eprintln!("tried {call} accepted"),
            Err(error) => eprintln!("tried {call} {}", error.code()),
        }
    }
}

async fn try_call(backend: &dyn EngineBackend, call: &str, hold: Hold) -> Result<(), StoreError> {
    match call {
        "renew" => backend.renew(vec![hold]).await?.remove(0).map(drop),
        "progress" => {
            let progress = Progress { percent: Some(99), message: None };
            backend.progress(ReportProgress { hold, progress }).await
        }
        "complete" => {
            let result = Payload::json("\"first\"");
            backend.complete(vec![Complete { hold, result }]).await?.remove(0).map(drop)
        }
        "fail" => {
            let (category, message) = (Category::error(), "too late".into());
            let failure = Failure { category, retryable: true, message };
            backend.fail(Fail { hold, failure }).await.map(drop)
        }
        "delay" => {
            let until = When::After(Millis::from_secs(1));
            backend.delay(Delay { hold, until }).await.map(drop)
        }
        "cancel_held" => backend.cancel_held(CancelHeld { hold, reason: None }).await.map(drop),
        "hand_back" => backend.hand_back(vec![hold]).await?.remove(0).map(drop),
        other => panic!("{other} is no call"),
    }
}

/// Claims all of the work.
async fn take(backend: &dyn EngineBackend, worker: &str) -> Vec<Assignment> {
    let claim = Claim {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker {
            id: WorkerId::new(worker).unwrap(),
            instance: WorkerInstanceId::new(worker).unwrap(),
        },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: LEASES as u16,
        first: 0,
        retry: false,
    };
    let taken = backend.claim(claim, Millis::ZERO).await.unwrap().assignments;
    assert_eq!(taken.len(), LEASES);
    taken
}
