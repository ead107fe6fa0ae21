//! Whose a lease or a registration is: paths of calls about them name the worker.
//!
//! Leases are named after the request that took them, and a registration after its session, so a client
//! remembers who made these calls. A path only says who calls: no answer depends on it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ff_core::{RequestId, WorkerId};

/// How many calls are remembered; the oldest are forgotten first.
const MOST: usize = 4_096;

/// The worker in a path if this client knows of none.
const UNKNOWN: &str = "any";

/// The workers that a client acts for.
#[derive(Debug, Clone, Default)]
pub(super) struct Workers(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    of: HashMap<RequestId, WorkerId>,
    /// In the order of their calls.
    calls: VecDeque<RequestId>,
    newest: Option<WorkerId>,
}

impl Workers {
    /// A worker has made the call of this name.
    pub(super) fn remember(&self, call: RequestId, worker: &WorkerId) {
        let mut state = self.state();
        state.newest = Some(worker.clone());
        if state.of.insert(call, worker.clone()).is_some() {
            return;
        }
        state.calls.push_back(call);
        if state.calls.len() > MOST
            && let Some(oldest) = state.calls.pop_front()
        {
            state.of.remove(&oldest);
        }
    }

    /// The path of something that the worker does which has made the call of this name. For one that is
    /// forgotten, or that another client made, it is the worker that called last.
    pub(super) fn path(&self, call: RequestId, what: &str) -> String {
        let state = self.state();
        let worker = state.of.get(&call).or(state.newest.as_ref());
        format!("/v1/workers/{}/{what}", worker.map_or(UNKNOWN, WorkerId::as_str))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> WorkerId {
        WorkerId::new(name).unwrap()
    }

    #[test]
    fn a_path_names_the_worker_that_made_the_call() {
        let workers = Workers::default();
        let path = |call| workers.path(RequestId::new(call), "complete");
        assert_eq!(path(1), "/v1/workers/any/complete", "no worker is known");
        workers.remember(RequestId::new(1), &id("ada"));
        workers.remember(RequestId::new(2), &id("bob"));
        assert_eq!(path(1), "/v1/workers/ada/complete");
        assert_eq!(path(2), "/v1/workers/bob/complete");
        assert_eq!(path(3), "/v1/workers/bob/complete", "of another client");
    }

    #[test]
    fn a_bounded_number_of_calls_is_remembered() {
        let workers = Workers::default();
        workers.remember(RequestId::new(0), &id("ada"));
        for call in 1..=2 * MOST as u128 {
            workers.remember(RequestId::new(call), &id("bob"));
            workers.remember(RequestId::new(call), &id("bob"));
        }
        let state = workers.state();
        assert_eq!((state.of.len(), state.calls.len()), (MOST, MOST));
    }
}
