//! Bulk operations that were started here: each runs to its end in a task of the process, slice by
//! slice, and says how far it is.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ff_core::journal::ReplayJournal;
use ff_core::machine::{Cancel, Delete, Replay, Target};
use ff_core::{Actor, ExecutionId, Namespace};
use ff_store::listing::Filter;
use ff_store::roles::{Bulk, BulkAction, BulkSlice, BulkVerb, REFUSALS};
use ff_store::{EngineBackend, StoreError};
use tokio::time::Instant;

use super::sessions;
use crate::error::ApiError;
use crate::state::AppState;
use axum::http::StatusCode;

/// How many operations are kept.
const JOBS: usize = 64;
/// How many run at once.
const RUNNING: usize = 8;
/// How many executions a slice has.
const SLICE: usize = 100;
/// How far a count goes before it says "or more".
pub(super) const COUNTED: u64 = 20_000;

/// What to do to which executions.
#[derive(Debug, Clone)]
pub(super) struct Order {
    /// Who wants it.
    pub(super) by: Actor,
    pub(super) namespace: Namespace,
    pub(super) verb: BulkVerb,
    pub(super) which: Which,
    pub(super) reason: Option<Box<str>>,
    /// The query of the list that it was ordered from.
    pub(super) query: String,
}

/// Which executions.
#[derive(Debug, Clone)]
pub(super) enum Which {
    /// These.
    Ids(Vec<ExecutionId>),
    /// All that the filter matches.
    Filter(Filter),
}

/// How far an operation is.
#[derive(Debug, Clone)]
pub(super) struct Job {
    namespace: Namespace,
    pub(super) verb: BulkVerb,
    pub(super) query: String,
    pub(super) total: Option<u64>,
    pub(super) slice: BulkSlice,
    pub(super) ended: bool,
    pub(super) problem: Option<String>,
    began: Instant,
}

/// The operations of this process.
#[derive(Debug, Default)]
pub(super) struct Jobs(Mutex<HashMap<String, Job>>);

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Job>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far the operation is, if it is one of `namespace`.
    pub(super) fn get(&self, id: &str, namespace: &Namespace) -> Option<Job> {
        self.lock().get(id).filter(|job| job.namespace == *namespace).cloned()
    }

    fn update(&self, id: &str, change: impl FnOnce(&mut Job)) {
        if let Some(job) = self.lock().get_mut(id) {
            change(job);
        }
    }

    /// A name for a new operation, if there is room for it.
    fn add(&self, order: &Order, total: Option<u64>) -> Option<String> {
        let mut jobs = self.lock();
        if jobs.values().filter(|job| !job.ended).count() >= RUNNING {
            return None;
        }
        if jobs.len() >= JOBS {
            let ended = jobs.iter().filter(|(_, job)| job.ended);
            let oldest = ended.min_by_key(|(_, job)| job.began).map(|(id, _)| id.clone());
            jobs.remove(&oldest?);
        }
        let id = sessions::random();
        let job = Job {
            namespace: order.namespace.clone(),
            verb: order.verb,
            query: order.query.clone(),
            total,
            slice: BulkSlice::default(),
            ended: false,
            problem: None,
            began: Instant::now(),
        };
        jobs.insert(id.clone(), job);
        Some(id)
    }
}

/// How many executions `order` is for, as far as they are counted, and whether there are more.
pub(super) async fn count(state: &AppState, order: &Order) -> Result<(u64, bool), StoreError> {
    let filter = match &order.which {
        Which::Ids(ids) => return Ok((ids.len() as u64, false)),
        Which::Filter(filter) => filter,
    };
    let mut slice = BulkSlice::default();
    loop {
        let bulk = Bulk { dry_run: true, limit: 1_000, ..order.bulk(filter, &slice) };
        slice.join(state.backend.bulk(&bulk).await?);
        if slice.next.is_none() || slice.matched >= COUNTED {
            return Ok((slice.matched, slice.next.is_some()));
        }
    }
}

/// Starts the operation and answers its name.
pub(super) fn start(
    state: &AppState,
    order: Order,
    total: Option<u64>,
) -> Result<String, ApiError> {
    let Some(id) = state.dashboard.jobs.add(&order, total) else {
        let detail = "too many bulk operations are running; try again when one has ended";
        return Err(ApiError::http(StatusCode::TOO_MANY_REQUESTS, "overloaded", detail));
    };
    let (task, name) = (state.clone(), id.clone());
    state.tasks.spawn(async move {
        let problem = run(&task, &order, &name).await.err().map(|error| {
            let ApiError { detail, .. } = error.into();
            detail
        });
        task.dashboard.jobs.update(&name, |job| (job.ended, job.problem) = (true, problem));
    });
    Ok(id)
}

/// Runs slice by slice; the server stops between two.
async fn run(state: &AppState, order: &Order, id: &str) -> Result<(), StoreError> {
    let stopped = || StoreError::Unavailable("the server stops".into());
    let backend = state.backend.acting(order.by.clone());
    match &order.which {
        Which::Ids(ids) => {
            for id_of_one in ids {
                if state.stopping.is_cancelled() {
                    return Err(stopped());
                }
                let answer = order.one(&*backend, *id_of_one).await;
                let mut slice = BulkSlice { matched: 1, ..BulkSlice::default() };
                match answer {
                    Ok(()) => slice.done = 1,
                    Err(error) if error.refused().is_some() => {
                        slice.refused = 1;
                        slice.refusals = vec![(*id_of_one, error)];
                    }
                    Err(error) => return Err(error),
                }
                state.dashboard.jobs.update(id, |job| job.slice.join(slice));
            }
        }
        Which::Filter(filter) => {
            let mut all = BulkSlice::default();
            loop {
                if state.stopping.is_cancelled() {
                    return Err(stopped());
                }
                all.join(backend.bulk(&order.bulk(filter, &all)).await?);
                all.refusals.truncate(REFUSALS);
                state.dashboard.jobs.update(id, |job| job.slice = all.clone());
                if all.next.is_none() {
                    break;
                }
            }
        }
    }
    Ok(())
}

impl Order {
    /// The slice after `done`.
    fn bulk(&self, filter: &Filter, done: &BulkSlice) -> Bulk {
        let action = match self.verb {
            BulkVerb::Cancel => BulkAction::Cancel { grace: None, reason: self.reason.clone() },
            BulkVerb::Replay => BulkAction::Replay,
            BulkVerb::Delete => BulkAction::Delete,
        };
        Bulk {
            namespace: self.namespace.clone(),
            filter: filter.clone(),
            action,
            dry_run: false,
            after: done.next,
            limit: SLICE,
        }
    }

    /// Does it to one execution.
    async fn one(
        &self,
        backend: &dyn EngineBackend,
        execution: ExecutionId,
    ) -> Result<(), StoreError> {
        let target = Target { namespace: self.namespace.clone(), execution };
        match self.verb {
            BulkVerb::Cancel => {
                let cancel = Cancel { target, grace: None, reason: self.reason.clone() };
                backend.cancel(cancel).await.map(drop)
            }
            BulkVerb::Replay => {
                let run = backend.describe(&target).await?.run.number;
                let replay = Replay { target, run, journal: ReplayJournal::Keep };
                backend.replay(replay).await.map(drop)
            }
            BulkVerb::Delete => backend.delete(Delete { target }).await,
        }
    }
}
