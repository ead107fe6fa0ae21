//! What workers recorded: what they were given, when they ended it, what they reported.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::api::Held;

/// One lease that a worker was given. Times are those of the store, which shares its clock with
/// the workers here, in milliseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Hold {
    pub(super) execution: String,
    pub(super) epoch: u64,
    pub(super) kind: String,
    pub(super) lane: String,
    pub(super) worker: String,
    /// The store's time of the claim.
    pub(super) began: u64,
    /// It was held at least until here: a call that its holder sent then was accepted.
    pub(super) ended: u64,
    /// When the lease is over unless it is renewed.
    pub(super) until: u64,
    /// The last call that was accepted.
    pub(super) how: &'static str,
}

/// The records of all workers.
#[derive(Debug, Default)]
pub(super) struct History {
    holds: Mutex<BTreeMap<(String, u64), Hold>>,
    reports: Mutex<BTreeMap<String, Reports>>,
    cuts: AtomicU64,
}

/// The tokens that were reported for one execution.
#[derive(Debug, Default)]
struct Reports {
    /// How many reports.
    count: u64,
    accepted: u64,
    /// Reports whose answers were lost: counted or not.
    unknown: u64,
}

impl Hold {
    pub(super) fn summary(&self) -> String {
        let Hold { execution, epoch, kind, lane, worker, began, ended, how, .. } = self;
        format!("{began}..{ended} {execution} epoch {epoch} {kind} in {lane} by {worker}, {how}")
    }
}

impl History {
    /// A worker was given this, perhaps more than once.
    pub(super) fn began(&self, worker: &str, held: &Held) {
        let epoch = held.fence["epoch"].as_u64().unwrap();
        let hold = Hold {
            execution: held.execution.clone(),
            epoch,
            kind: held.kind.clone(),
            lane: held.lane.clone(),
            worker: worker.to_owned(),
            began: held.claimed,
            ended: held.claimed,
            until: held.until,
            how: "given",
        };
        let key = (held.execution.clone(), epoch);
        self.holds.lock().unwrap().entry(key).or_insert(hold);
    }

    /// The lease lasts until this time of the store.
    pub(super) fn renewed(&self, held: &Held, until: u64) {
        self.change(held, |hold| hold.until = hold.until.max(until));
    }

    /// A call that its holder first sent at `sent` was accepted: so it was held then, unless the
    /// lease had expired by then.
    pub(super) fn was_held(&self, held: &Held, sent: u64, how: &'static str) {
        self.change(held, |hold| {
            (hold.ended, hold.how) = (hold.ended.max(sent.min(hold.until)), how);
        });
    }

    fn change(&self, held: &Held, change: impl FnOnce(&mut Hold)) {
        let key = (held.execution.clone(), held.fence["epoch"].as_u64().unwrap());
        self.holds.lock().unwrap().get_mut(&key).map(change);
    }

    pub(super) fn accepted(&self, execution: &str, tokens: u64) {
        self.report(execution, |reports| reports.accepted += tokens);
    }

    pub(super) fn unknown(&self, execution: &str, tokens: u64) {
        self.report(execution, |reports| reports.unknown += tokens);
    }

    fn report(&self, execution: &str, add: impl FnOnce(&mut Reports)) {
        let mut reports = self.reports.lock().unwrap();
        let reports = reports.entry(execution.to_owned()).or_default();
        reports.count += 1;
        add(reports);
    }

    /// How many reports of an execution are recorded.
    pub(super) fn reports(&self, execution: &str) -> u64 {
        self.reports.lock().unwrap().get(execution).map_or(0, |reports| reports.count)
    }

    pub(super) fn cut(&self) {
        self.cuts.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::SeqCst)
    }

    /// What an execution may have used.
    pub(super) fn reported(&self, execution: &str) -> RangeInclusive<u64> {
        let reports = self.reports.lock().unwrap();
        let (accepted, unknown) =
            reports.get(execution).map_or((0, 0), |reports| (reports.accepted, reports.unknown));
        accepted..=accepted + unknown
    }

    /// All leases.
    pub(super) fn holds(&self) -> Vec<Hold> {
        self.holds.lock().unwrap().values().cloned().collect()
    }

    /// The leases in the order of their starts, a line each.
    pub(super) fn summary(&self) -> String {
        let mut holds = self.holds();
        holds.sort_by_key(|hold| hold.began);
        holds.iter().map(Hold::summary).collect::<Vec<_>>().join("\n")
    }
}
