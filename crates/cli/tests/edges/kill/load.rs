//! Clients that write through a server as fast as they can, until it fails or they are stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ff_api::client::{HttpClient, HttpOptions};
use ff_core::machine::{ClaimRequest, Complete, Submit};
use ff_core::record::Exited;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, Payload, WorkerId, WorkerInstanceId};
use ff_store::{ClientBackend, WorkerBackend, mint};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::acknowledged::{Acknowledged, Answered};
use crate::fixture::TIMEOUT;

/// How many clients write at once.
const WRITERS: usize = 8;
/// How many executions one call of theirs carries.
pub(crate) const BATCH: u16 = 8;
/// Inputs and results are long enough that a log is moved into its file repeatedly.
const PAYLOAD: std::ops::Range<usize> = 0..6_000;
/// Work of a killed holder is reclaimed after this.
const LEASE_TTL: Millis = Millis::from_secs(2);

/// Clients at work.
pub(crate) struct Load {
    client: Arc<HttpClient>,
    writers: Vec<JoinHandle<()>>,
    answers: UnboundedReceiver<Answered>,
    stop: Arc<AtomicBool>,
    answered: Acknowledged,
}

impl Load {
    /// Starts to write through the server at `url`; returns with its first answer.
    pub(crate) async fn start(url: &str) -> Load {
        let client = Arc::new(HttpClient::new(HttpOptions::new(url)).unwrap());
        let (sender, answers) = unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let writers = (0..WRITERS)
            .map(|_| tokio::spawn(write(client.clone(), sender.clone(), stop.clone())))
            .collect();
        let answered = Acknowledged::default();
        let mut load = Load { client, writers, answers, stop, answered };
        let first = timeout(TIMEOUT, load.answers.recv()).await.unwrap();
        load.answered.add(first.unwrap());
        load
    }

    /// Collects answers until `end`, or until all writers have ended.
    pub(crate) async fn collect(&mut self, end: Instant) {
        while let Ok(Some(more)) = timeout_at(end, self.answers.recv()).await {
            self.answered.add(more);
        }
    }

    /// Lets the clients end, and returns all their answers.
    pub(crate) async fn end(mut self) -> Acknowledged {
        self.stop.store(true, Ordering::SeqCst);
        self.collect(Instant::now() + TIMEOUT).await;
        for writer in self.writers {
            writer.await.unwrap();
        }
        self.answered
    }

    /// Submits until the server accepts it, and answers how long that took.
    pub(crate) async fn until_served(&mut self) -> std::time::Duration {
        let started = Instant::now();
        let submit = submit(&self.client);
        let (id, input) = (submit.id, submit.input.bytes.clone());
        while started.elapsed() < TIMEOUT {
            let answer = self.client.submit(vec![submit.clone()]).await;
            if answer.is_ok_and(|answers| answers[0].is_ok()) {
                self.answered.add(Answered::Submitted(id, input));
                return started.elapsed();
            }
        }
        panic!("the server does not serve again");
    }
}

/// Submits, claims and completes until the server fails or the load is stopped.
async fn write(client: Arc<HttpClient>, sender: UnboundedSender<Answered>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::SeqCst) {
        let batch: Vec<_> = (0..BATCH).map(|_| submit(&client)).collect();
        let inputs: Vec<_> = batch.iter().map(|s| (s.id, s.input.bytes.clone())).collect();
        let Ok(answers) = client.submit(batch).await else { return };
        for (answer, (id, input)) in answers.into_iter().zip(inputs) {
            if answer.is_err() {
                return;
            }
            sender.send(Answered::Submitted(id, input)).unwrap();
        }
        let Ok(claimed) = client.claim(claim(), Millis::ZERO).await else { return };
        let holds = claimed.assignments.iter().map(|assignment| assignment.hold());
        let batch: Vec<_> = holds.map(|hold| Complete { hold, result: payload() }).collect();
        if batch.is_empty() {
            continue;
        }
        let results: Vec<_> = batch
            .iter()
            .map(|complete| (complete.hold.target.execution, complete.result.bytes.clone()))
            .collect();
        let Ok(answers) = client.complete(batch).await else { return };
        for (answer, (id, result)) in answers.into_iter().zip(results) {
            let Ok(exited) = answer else { return };
            assert_eq!(exited, Exited::Completed);
            sender.send(Answered::Completed(id, result)).unwrap();
        }
    }
}

fn submit(client: &HttpClient) -> Submit {
    let id = client.new_id(&Namespace::default(), None);
    let mut submit = Submit { input: payload(), ..Submit::new(id) };
    submit.policy.lease_ttl = Some(LEASE_TTL);
    submit
}

fn claim() -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker {
            id: WorkerId::new("writer").unwrap(),
            instance: WorkerInstanceId::new("writer-1").unwrap(),
        },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: BATCH,
        retry: false,
    }
}

fn payload() -> Payload {
    let mut bytes = vec![0; fastrand::usize(PAYLOAD)];
    fastrand::fill(&mut bytes);
    Payload::bytes(bytes)
}
