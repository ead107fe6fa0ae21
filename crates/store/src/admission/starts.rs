//! Starts: rate quotas get a report when an execution has started.
//!
//! An admission counts a start at the latest time at which it can happen; when it did is reported a
//! little later, many at a time. An execution that has stopped by then reports it itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_core::AdmissionId;
use ff_core::machine::Settlement;

use super::settle;
use crate::lock::lock;
use crate::process::Process;

/// How long a start waits for others to be reported with it.
const TOGETHER: Duration = Duration::from_millis(10);

/// Starts that are still to be reported. One that is lost with its process stays counted at its
/// latest time.
#[derive(Debug, Default)]
pub(crate) struct Starts(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    starts: BTreeMap<AdmissionId, Settlement>,
    /// A task is about to report them.
    is_awaited: bool,
}

impl Starts {
    /// Its execution has stopped.
    pub(crate) fn forget(&self, admission: AdmissionId) {
        lock(&self.0).starts.remove(&admission);
    }

    /// Adds starts. Answers whether a task must be started to report them.
    fn add(&self, started: impl Iterator<Item = Settlement>) -> bool {
        let mut waiting = lock(&self.0);
        waiting.starts.extend(started.map(|start| (start.admission, start)));
        let is_new = !waiting.starts.is_empty() && !waiting.is_awaited;
        waiting.is_awaited |= is_new;
        is_new
    }

    fn take(&self) -> impl Iterator<Item = Settlement> + use<> {
        std::mem::take(&mut *lock(&self.0)).starts.into_values()
    }
}

/// Tells quotas of starts in a task of the process, shortly.
pub(crate) fn report_soon(process: &Arc<Process>, started: impl Iterator<Item = Settlement>) {
    if !process.starts.add(started) {
        return;
    }
    let owner = process.clone();
    process.own(async move {
        tokio::time::sleep(TOGETHER).await;
        let started = owner.starts.take().collect();
        settle::settle_own(&owner, started).await;
    });
}
