//! `kill -9` of a process that writes to a SQLite file under load: what it acknowledged is there.
//!
//! Every round kills a server once while it opens the file and once while clients write through it
//! as fast as they can, then reads the file back. `FF_ROUNDS` sets the number of rounds.

// A test that cannot go on panics.
#![allow(clippy::unwrap_used)]

mod fixture;

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ff_api::client::{HttpClient, HttpOptions};
use ff_core::machine::{Claim, Complete, Submit, Target};
use ff_core::record::Exited;
use ff_core::state::Worker;
use ff_core::{
    Capabilities, ExecutionId, Lane, Millis, Namespace, Payload, PublicState, WorkerId,
    WorkerInstanceId,
};
use ff_store::{ClientBackend, EngineBackend, WorkerBackend, mint};
use ff_testkit::report;
use fixture::{Ff, PATIENCE, Process, bare};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout, timeout_at};

const ROUNDS: u64 = 20;
/// How many clients write at once.
const WRITERS: usize = 8;
/// How many executions one call of theirs carries.
const BATCH: u16 = 8;
/// Inputs and results are so long that the log is moved into the file again and again.
const PAYLOAD: std::ops::Range<usize> = 0..6_000;
/// How long after its first answer a server is killed, in milliseconds.
const LIFE_MS: std::ops::Range<u64> = 10..200;
/// How long after its start a server that nobody calls is killed, in microseconds.
const YOUTH_US: std::ops::Range<u64> = 0..30_000;

/// Something the server answered for.
enum Answered {
    Submitted(ExecutionId, Bytes),
    Completed(ExecutionId, Bytes),
}

/// All that was answered for.
#[derive(Default)]
struct Acknowledged {
    submitted: HashMap<ExecutionId, Bytes>,
    completed: HashMap<ExecutionId, Bytes>,
}

impl Acknowledged {
    fn add(&mut self, answered: Answered) {
        match answered {
            Answered::Submitted(id, input) => self.submitted.insert(id, input),
            Answered::Completed(id, result) => self.completed.insert(id, result),
        };
    }

    fn count(&self) -> usize {
        self.submitted.len() + self.completed.len()
    }

    /// What of it the store does not have.
    async fn lost(&self, store: &dyn EngineBackend) -> Vec<String> {
        let mut lost = Vec::new();
        for (id, input) in &self.submitted {
            match store.input(&target(*id)).await {
                Ok(found) if found.bytes == input => {}
                other => lost.push(format!("the input of {id}: {other:?}")),
            }
        }
        for (id, result) in &self.completed {
            let state = store.describe(&target(*id)).await.map(|view| view.public_state());
            match store.result(&target(*id), None).await {
                Ok(found) if found.bytes == result && is_completed(&state) => {}
                other => lost.push(format!("the result of {id} ({state:?}): {other:?}")),
            }
        }
        lost
    }
}

fn is_completed<E>(state: &Result<PublicState, E>) -> bool {
    matches!(state, Ok(PublicState::Completed))
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    let rounds = std::env::var("FF_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ff = Ff::new();
    let mut all = Acknowledged::default();
    let mut lost = Vec::new();
    for _ in 0..rounds {
        kill_while_opening(&ff);
        let answered = runtime.block_on(write_until_killed(&ff));
        lost.extend(runtime.block_on(read_back(&ff, &answered)));
        ff.check();
        all.submitted.extend(answered.submitted);
        all.completed.extend(answered.completed);
    }
    // What earlier rounds acknowledged outlived the later ones.
    lost.extend(runtime.block_on(read_back(&ff, &all)));
    eprintln!("{rounds} rounds, {} acknowledged, {} lost", all.count(), lost.len());
    assert_eq!(lost, Vec::<String>::new());
    assert!(all.completed.len() as u64 > rounds * u64::from(BATCH), "that was no load");
    report::count("kill_rounds", rounds);
    report::count("kill_acknowledged", all.count() as u64);
}

/// Kills a server that is about to open the file, opens it, or has just opened it.
fn kill_while_opening(ff: &Ff) {
    let mut command = bare(&["serve", "--listen", "127.0.0.1:0", "--store", &ff.store()]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut process = Process::start(command);
    process.stdout().next_within(Duration::from_micros(fastrand::u64(YOUTH_US)));
    process.kill();
}

/// Lets clients write through a server until it is killed.
async fn write_until_killed(ff: &Ff) -> Acknowledged {
    let mut server = ff.serve();
    let client = Arc::new(HttpClient::new(HttpOptions::new(&*server.url)).unwrap());
    let (tell, mut told) = unbounded_channel();
    let writers: Vec<_> =
        (0..WRITERS).map(|_| tokio::spawn(write(client.clone(), tell.clone()))).collect();
    drop(tell);
    let mut answered = Acknowledged::default();
    let first = timeout(PATIENCE, told.recv()).await.unwrap();
    answered.add(first.unwrap());
    let life = Instant::now() + Duration::from_millis(fastrand::u64(LIFE_MS));
    hear(&mut told, &mut answered, life).await;
    server.kill();
    hear(&mut told, &mut answered, Instant::now() + PATIENCE).await;
    for writer in writers {
        writer.await.unwrap();
    }
    answered
}

/// Collects what is told until `end`, or until nobody is left to tell more.
async fn hear(told: &mut UnboundedReceiver<Answered>, answered: &mut Acknowledged, end: Instant) {
    while let Ok(Some(more)) = timeout_at(end, told.recv()).await {
        answered.add(more);
    }
}

/// Submits, claims and completes until the server does not answer.
async fn write(client: Arc<HttpClient>, tell: UnboundedSender<Answered>) {
    loop {
        let batch: Vec<_> = (0..BATCH).map(|_| submit(&client)).collect();
        let inputs: Vec<_> = batch.iter().map(|s| (s.id, s.input.bytes.clone())).collect();
        let Ok(answers) = client.submit(batch).await else { return };
        for (answer, (id, input)) in answers.into_iter().zip(inputs) {
            answer.unwrap();
            tell.send(Answered::Submitted(id, input)).unwrap();
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
            assert_eq!(answer.unwrap(), Exited::Completed);
            tell.send(Answered::Completed(id, result)).unwrap();
        }
    }
}

/// What a process that opens the file anew does not find.
async fn read_back(ff: &Ff, answered: &Acknowledged) -> Vec<String> {
    let store = ff_backends::open(&ff.store()).await.unwrap();
    answered.lost(&*store).await
}

fn submit(client: &HttpClient) -> Submit {
    let id = client.new_id(&Namespace::default(), None);
    Submit { input: payload(), ..Submit::new(id) }
}

fn claim() -> Claim {
    Claim {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker {
            id: WorkerId::new("writer").unwrap(),
            instance: WorkerInstanceId::new("writer-1").unwrap(),
        },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: BATCH,
        first: 0,
        retry: false,
    }
}

fn payload() -> Payload {
    let mut bytes = vec![0; fastrand::usize(PAYLOAD)];
    fastrand::fill(&mut bytes);
    Payload::bytes(bytes)
}

fn target(execution: ExecutionId) -> Target {
    Target { namespace: Namespace::default(), execution }
}
