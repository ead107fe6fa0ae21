//! A store, and a process that holds everything in it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use ff_core::machine::{Assignment, Complete, Submit};
use ff_core::{Millis, Namespace, Payload};
use ff_engine::timers::{self, Timers};
use ff_store::audit::{Auditor, Row};
use ff_store::{EngineBackend, PartitionSet};
use ff_testkit::report;
use rustix::process::{Signal, WaitOptions, waitpid};
use tokio::runtime::Runtime;

use super::holder::{self, STORE};
use crate::fixture::{Ff, Lines, Process, wait_for};

pub(crate) const LEASES: usize = 200;
const LEASE_TTL: Millis = Millis::from_secs(2);

pub(crate) struct Fixture {
    runtime: Runtime,
    backend: Arc<dyn EngineBackend>,
    holder: Process,
    lines: Lines,
    /// Whether the holder was released to try its calls.
    released: bool,
    _ff: Ff,
}

impl Fixture {
    /// Submits the work and waits until the holder, which runs test `name`, has all of it.
    pub(crate) fn new(name: &str, ff: Ff) -> Fixture {
        let store = ff.store();
        Fixture::with_holder_at(name, ff, &store)
    }

    /// The same, with a holder that reaches the store at another URL.
    pub(crate) fn with_holder_at(name: &str, ff: Ff, store: &str) -> Fixture {
        let runtime = Runtime::new().unwrap();
        let backend = runtime.block_on(ff_backends::open(&ff.store())).unwrap();
        let submits = (0..LEASES).map(|_| {
            let id = backend.new_id(&Namespace::default(), None);
            let mut submit = Submit::new(id);
            submit.policy.lease_ttl = Some(LEASE_TTL);
            submit
        });
        for answer in runtime.block_on(backend.submit(submits.collect())).unwrap() {
            answer.unwrap();
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = format!("stale_holder::{name}");
        command.args(["--exact", &name, "--nocapture"]).env(STORE, store);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut holder = Process::start(pipes);
        let lines = holder.stderr();
        assert_eq!(lines.after("held "), LEASES.to_string());
        Fixture { runtime, backend, holder, lines, released: false, _ff: ff }
    }

    pub(crate) fn let_holder_try(&mut self) {
        self.holder.stdin().write_all(b"go\n").unwrap();
        self.released = true;
    }

    pub(crate) fn stop_holder(&self) {
        self.holder.signal(Signal::STOP);
        let options = WaitOptions::UNTRACED | WaitOptions::NOHANG;
        wait_for("the holder to be stopped", || {
            let (_, status) = waitpid(Some(self.holder.pid()), options).unwrap()?;
            status.stopped().then_some(())
        });
    }

    pub(crate) fn wait_for_lease_ends(&self) {
        wait_for("all leases to end", || (self.due() == LEASES).then_some(()));
    }

    /// How many timers are due.
    fn due(&self) -> usize {
        let (mut due, mut after) = (BTreeSet::new(), None);
        loop {
            let page = self.backend.due(&PartitionSet::All, after, LEASES);
            let page = self.runtime.block_on(page).unwrap();
            due.extend(page.due);
            after = page.more;
            if after.is_none() {
                return due.len();
            }
        }
    }

    pub(crate) fn reclaim(&self) {
        let timers = Timers::new(self.backend.clone(), timers::Options::default());
        let mut reclaimed = 0;
        wait_for("all leases to be reclaimed", || {
            reclaimed += self.runtime.block_on(timers.run_once()).unwrap().fired;
            (reclaimed == LEASES as u64).then_some(())
        });
    }

    pub(crate) fn take_over(&self) -> Vec<Assignment> {
        let taken = self.runtime.block_on(holder::take(&*self.backend, "second"));
        assert!(taken.iter().all(|assignment| assignment.fence.attempt == 1));
        taken
    }

    pub(crate) fn complete(&self, assignments: &[Assignment]) {
        let done = assignments.iter().map(|assignment| Complete {
            hold: assignment.hold(),
            result: Payload::json("\"second\""),
        });
        for answer in self.runtime.block_on(self.backend.complete(done.collect())).unwrap() {
            answer.unwrap();
        }
    }

    /// Lets the holder continue; it tries each of these calls, and none is accepted.
    pub(crate) fn holder_changes_nothing(&mut self, expected: &[&str]) {
        let before = self.rows();
        if !self.released {
            self.let_holder_try();
        }
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
        let often = |call: &&str| calls.get(call).is_some_and(|count| *count >= LEASES / 7);
        assert!(expected.iter().all(often), "{calls:?}");
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
