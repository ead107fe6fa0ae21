//! A namespace in which something is damaged, and the work that must continue there.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::json;

use crate::api::{self, Held, Limits, Request};
use crate::http::{Answer, Client};
use crate::view;

/// The lane of what is damaged.
pub(super) const LANE: &str = "same";
const OTHER: &str = "other";
/// Admits [`CAP`] at once: an execution that is damaged while it runs keeps its slot.
pub(super) const QUOTA: &str = "good";
const CAP: u32 = 2;
const BUDGET: &str = "rich";
/// How long any step may take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long a claim waits, in milliseconds.
const WAIT_MS: u64 = 200;
/// The lease of work that is abandoned to be reclaimed.
const LEASE_MS: u64 = 1_000;
/// Longer than a run takes.
const LONG_LEASE_MS: u64 = 120_000;

/// Work to submit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) lane: &'a str,
    pub(super) budgets: &'a [&'a str],
    pub(super) quotas: &'a [&'a str],
    pub(super) delay_ms: u64,
    pub(super) lease_ms: u64,
    /// The length of the input in bytes.
    pub(super) length: usize,
    /// The idempotency key, if it matters.
    pub(super) key: Option<&'a str>,
}

impl<'a> Work<'a> {
    /// Nothing limits it.
    pub(super) fn plain(lane: &'a str) -> Work<'a> {
        let (delay_ms, lease_ms) = (0, LONG_LEASE_MS);
        Work { lane, budgets: &[], quotas: &[], delay_ms, lease_ms, length: 1, key: None }
    }

    /// A sound quota and a sound budget limit it.
    pub(super) fn limited(lane: &'a str) -> Work<'a> {
        Work { budgets: &[BUDGET], quotas: &[QUOTA], ..Work::plain(lane) }
    }
}

/// A namespace and its one worker.
pub(super) struct Tenant {
    client: Client,
    pub(super) name: String,
    rng: Rng,
    submitted: u64,
    worked: u64,
    /// The last error of a claim.
    last_failure: String,
}

impl Tenant {
    pub(super) fn new(client: Client, name: &str, rng: Rng) -> Tenant {
        Tenant {
            client,
            name: name.to_owned(),
            rng,
            submitted: 0,
            worked: 0,
            last_failure: String::new(),
        }
    }

    /// How much was completed in spite of the damage.
    pub(super) fn worked(&self) -> u64 {
        self.worked
    }

    async fn must(&self, request: Request) -> serde_json::Value {
        view::must(self.client, &request.within(&self.name)).await
    }

    pub(super) async fn set_up(&mut self) {
        self.put_quota(QUOTA, CAP).await;
        self.put_budget(BUDGET).await;
    }

    pub(super) async fn put_quota(&self, name: &str, cap: u32) {
        self.must(api::put_quota(name, None, Some(cap))).await;
    }

    pub(super) async fn put_budget(&self, name: &str) {
        self.must(api::put_budget(name, 1_000_000)).await;
    }

    pub(super) async fn limit_lane(&self, lane: &str) {
        self.must(api::patch_lane(lane, json!({"max_active": 5}))).await;
    }

    pub(super) async fn register(&mut self, worker: &str) {
        let request = api::register(&mut self.rng, worker, LANE);
        self.must(request).await;
    }

    pub(super) async fn submit(&mut self, work: &Work<'_>) -> String {
        self.submitted += 1;
        let key = work.key.map_or_else(|| format!("n-{}", self.submitted), str::to_owned);
        let tokens = 5 * work.budgets.len() as u64;
        let limits = Limits { budgets: work.budgets, quotas: work.quotas, tokens };
        let policy = json!({"lease_ttl_ms": work.lease_ms, "backoff": {"base_ms": 1, "cap_ms": 1}});
        let mut request = api::submit(&key, work.lane, "task", limits, policy);
        request.body["input"] = "x".repeat(work.length).into();
        request.body["delay_ms"] = work.delay_ms.into();
        let submitted = self.must(request).await;
        submitted["id"].as_str().unwrap().to_owned()
    }

    pub(super) async fn complete(&self, held: &Held) {
        self.must(api::complete(held)).await;
    }

    pub(super) async fn complete_all(&self, all: &[Held]) {
        for held in all {
            self.complete(held).await;
        }
    }

    pub(super) async fn complete_with(&self, held: &Held, length: usize) {
        let mut request = api::complete(held);
        request.body["result"] = json!("y".repeat(length));
        self.must(request).await;
    }

    /// Claims until this execution is given; others that precede it are completed.
    pub(super) async fn take(&mut self, lane: &str, id: &str) -> Result<Held, String> {
        let give_up = Instant::now() + TIMEOUT;
        while Instant::now() < give_up {
            for held in self.claim(lane).await? {
                if held.execution == id {
                    return Ok(held);
                }
                // It may have been damaged meanwhile.
                let request = api::complete(&held).within(&self.name);
                self.client.ask(&request).await;
            }
        }
        let explain = api::get(format!("/v1/executions/{id}/explain")).within(&self.name);
        let explained = self.client.ask(&explain).await.map(|answer| answer.body);
        let failure = &self.last_failure;
        Err(format!(
            "{id} of lane {lane} is never claimed; claims failed: {failure}; {explained:?}"
        ))
    }

    async fn claim(&mut self, lane: &str) -> Result<Vec<Held>, String> {
        let claim = api::claim(&mut self.rng, "ada", lane, 1, WAIT_MS).within(&self.name);
        match self.client.ask(&claim).await {
            Some(answer) if answer.is_ok() => Ok(api::assignments(&answer.body)),
            // A claim that finds damage may report it, and the next one passes it.
            Some(answer) if answer.status >= 500 => {
                self.last_failure = answer.body["detail"].to_string();
                Ok(Vec::new())
            }
            other => Err(format!("a claim of lane {lane} answers {other:?}")),
        }
    }

    /// Work that waits for a slot of the quota, and the holders of all slots.
    pub(super) async fn blocked(&mut self) -> (String, Vec<Held>) {
        let mut held = Vec::new();
        for _ in 0..CAP {
            let id = self.submit(&Work::limited(LANE)).await;
            held.push(self.take(LANE, &id).await.expect("there is a free slot"));
        }
        let id = self.submit(&Work::limited(LANE)).await;
        let give_up = Instant::now() + TIMEOUT;
        while view::execution_of(self.client, &self.name, &id).await["blocked"].is_null() {
            assert!(Instant::now() < give_up, "it never waits");
            self.claim(LANE).await.expect("a claim");
        }
        (id, held)
    }

    /// An execution at its second attempt.
    pub(super) async fn tried_twice(&mut self) -> String {
        let id = self.submit(&Work::plain(LANE)).await;
        let held = self.take(LANE, &id).await.expect("it can be claimed");
        self.must(api::fail(&held, true)).await;
        self.take(LANE, &id).await.expect("it can be claimed again");
        id
    }

    /// Other work of the same lane and of another one continues in every way.
    pub(super) async fn continues(&mut self) -> Result<(), String> {
        for lane in [LANE, OTHER] {
            for work in [Work::plain(lane), Work::limited(lane)] {
                let delayed = Work { delay_ms: 50, ..work };
                for work in [work, delayed] {
                    let id = self.submit(&work).await;
                    let held =
                        self.take(lane, &id).await.map_err(|why| format!("{work:?}: {why}"))?;
                    self.complete(&held).await;
                    self.worked += 1;
                }
            }
        }
        self.is_released().await?;
        self.is_reclaimed().await?;
        self.is_listed().await
    }

    /// A waiting execution gets the slot.
    async fn is_released(&mut self) -> Result<(), String> {
        let mut waiting = BTreeSet::new();
        for _ in 0..CAP + 3 {
            waiting.insert(self.submit(&Work::limited(OTHER)).await);
        }
        // All slots are taken, and the rest was denied one.
        let mut held = Vec::new();
        loop {
            match self.claim(OTHER).await? {
                more if more.is_empty() => break,
                more => held.extend(more),
            }
        }
        let give_up = Instant::now() + TIMEOUT;
        while !waiting.is_empty() {
            if Instant::now() > give_up {
                return Err(format!("{waiting:?} wait for a quota that has capacity"));
            }
            for held in std::mem::take(&mut held) {
                self.complete(&held).await;
                self.worked += u64::from(waiting.remove(&held.execution));
            }
            held = self.claim(OTHER).await?;
        }
        Ok(())
    }

    /// Abandoned work is reclaimed by another worker.
    async fn is_reclaimed(&mut self) -> Result<(), String> {
        let id = self.submit(&Work { lease_ms: LEASE_MS, ..Work::limited(LANE) }).await;
        let left = self.take(LANE, &id).await?;
        let again = self.take(LANE, &id).await?;
        if again.fence == left.fence {
            return Err(format!("{id} is given twice under one lease"));
        }
        self.complete(&again).await;
        self.worked += 1;
        Ok(())
    }

    /// Sound executions are listed, whatever cannot be read.
    async fn is_listed(&mut self) -> Result<(), String> {
        let id = self.submit(&Work::plain(OTHER)).await;
        let list = api::get("/v1/executions?limit=1000").within(&self.name);
        let listed = self.client.ask(&list).await;
        let body = listed.as_ref().map(|answer| answer.body.clone()).unwrap_or_default();
        match body["executions"].to_string().contains(&id) {
            true => Ok(()),
            false => Err(format!("a listing leaves out {id}: {listed:?}")),
        }
    }

    /// The explanation of this execution names `blamed`, and says that it cannot be read.
    pub(super) async fn explains(&self, id: &str, blamed: &str) -> Result<(), String> {
        let explain = api::get(format!("/v1/executions/{id}/explain")).within(&self.name);
        let answer: Option<Answer> = self.client.ask(&explain).await;
        let text = answer.as_ref().map(|answer| answer.body.to_string()).unwrap_or_default();
        match text.contains(blamed) && text.contains("read") {
            true => Ok(()),
            false => Err(format!("explain does not say what is wrong: {answer:?}")),
        }
    }
}
