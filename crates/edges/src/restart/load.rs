//! Clients of two servers: they switch to the other one when one does not answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{CAP, QUOTA};
use crate::api::{self, Held, Limits, Request};
use crate::http::{Answer, Client};
use crate::settings::Settings;
use crate::view::must;

const LANE: &str = "edge";
const WORKERS: u64 = 6;
const SUBMITTERS: u64 = 2;
/// How long a client waits for an answer before it calls the other server.
const ANSWER: Duration = Duration::from_secs(2);
/// How long a claim waits for work, in milliseconds.
const WAIT_MS: u64 = 1_000;
const PAUSE: Duration = Duration::from_millis(10);
/// How long work is held, in milliseconds.
const HELD_MS: std::ops::Range<u64> = 0..40;

/// Clients at work.
pub(super) struct Load {
    submitters: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    submitted: AtomicU64,
    full: AtomicBool,
    end: AtomicBool,
    /// The leases under which each execution was completed, as the servers acknowledged.
    completed: Mutex<BTreeMap<String, Vec<String>>>,
}

struct Caller {
    clients: [Client; 2],
    rng: Rng,
    name: String,
    shared: Arc<Shared>,
}

impl Load {
    pub(super) async fn start(clients: [Client; 2], settings: Settings, lease_ms: u64) -> Load {
        must(clients[0], &api::put_quota(QUOTA, None, Some(CAP))).await;
        let shared = Arc::new(Shared::default());
        let clients = clients.map(|client| client.with_timeout(ANSWER));
        let caller = |number: u64| {
            let name = format!("c{number}");
            Caller { clients, rng: settings.rng(1 + number), name, shared: shared.clone() }
        };
        let submitters = 0..SUBMITTERS;
        let workers = SUBMITTERS..SUBMITTERS + WORKERS;
        Load {
            submitters: submitters.map(|n| tokio::spawn(caller(n).submit_all(lease_ms))).collect(),
            workers: workers.map(|n| tokio::spawn(caller(n).work())).collect(),
            shared,
        }
    }

    /// How many executions were accepted so far.
    pub(super) fn submitted(&self) -> u64 {
        self.shared.submitted.load(Ordering::SeqCst)
    }

    /// Ends the submitting, and answers how many were accepted.
    pub(super) async fn stop_submitting(&self) -> u64 {
        self.shared.full.store(true, Ordering::SeqCst);
        while !self.submitters.iter().all(JoinHandle::is_finished) {
            sleep(PAUSE).await;
        }
        self.submitted()
    }

    /// Ends the rest, and answers how many were completed, and what was completed twice.
    pub(super) async fn end(self) -> (usize, BTreeMap<String, Vec<String>>) {
        self.shared.end.store(true, Ordering::SeqCst);
        for task in self.submitters.into_iter().chain(self.workers) {
            task.await.unwrap();
        }
        let mut completed = self.shared.completed.lock().unwrap().clone();
        let count = completed.len();
        completed.retain(|_, leases| leases.len() > 1);
        (count, completed)
    }
}

impl Caller {
    /// Sends a request to one server or the other until it is answered for good.
    async fn send_until_final(&mut self, request: &Request) -> Answer {
        let (mut request, first) = (request.clone(), self.rng.usize(0..2));
        for turn in first.. {
            let answer = self.clients[turn % 2].ask(&request).await;
            if let Some(answer) = answer.filter(Answer::is_final) {
                return answer;
            }
            request = request.repeated();
            sleep(PAUSE).await;
        }
        unreachable!("there is always another turn")
    }

    async fn submit_all(mut self, lease_ms: u64) {
        let mut number = 0;
        while !self.shared.full.load(Ordering::SeqCst) {
            number += 1;
            let key = format!("{}-{number}", self.name);
            let quotas: &[&str] = if self.rng.bool() { &[QUOTA] } else { &[] };
            let policy = json!({"lease_ttl_ms": lease_ms, "max_attempts": 1});
            let limits = Limits { quotas, ..Limits::default() };
            let submit = api::submit(&key, LANE, "task", limits, policy);
            let answer = self.send_until_final(&submit).await;
            assert!(answer.is_ok(), "{answer:?}");
            self.shared.submitted.fetch_add(1, Ordering::SeqCst);
            sleep(PAUSE).await;
        }
    }

    async fn work(mut self) {
        while !self.shared.end.load(Ordering::SeqCst) {
            let claim = api::claim(&mut self.rng, &self.name, LANE, 2, WAIT_MS);
            let claimed = self.send_until_final(&claim).await;
            for held in api::assignments(&claimed.body) {
                sleep(Duration::from_millis(self.rng.u64(HELD_MS))).await;
                self.complete(&held).await;
            }
        }
    }

    /// Completes what it holds, and records under which lease.
    async fn complete(&mut self, held: &Held) {
        let answer = self.send_until_final(&api::complete(held)).await;
        if answer.is_ok() {
            let lease = held.fence["lease"].to_string();
            let mut completed = self.shared.completed.lock().unwrap();
            let leases = completed.entry(held.execution.clone()).or_default();
            if !leases.contains(&lease) {
                leases.push(lease);
            }
        }
    }
}
