//! What SQLite does at best: the statements of a submit, a claim and a complete, replayed on a file
//! of the same schema and settings, with everything that the engine does besides left out.
//!
//! Decisions are made beforehand. The measured time covers the reads and writes of a command,
//! and commits of as many commands together as the engine did.

use std::path::Path;
use std::time::Instant;

use ff_core::machine::{
    Action, ClaimRequest, Command, Complete, Loaded, Step, Submit, WriteSet, apply,
};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, Execution, ExecutionId, Lane, Namespace, Partition, Payload, RequestId, Time,
    WorkerId, WorkerInstanceId,
};
use ff_store::steady::Mark;
use ff_store::{Clock, StoreError, SystemClock};
use rusqlite::Connection;

use crate::error::Fault;
use crate::options::Options;
use crate::{clock, commit, connection, query};

/// What is replayed.
#[derive(Debug, Clone, Copy)]
pub struct CeilingPlan {
    /// How many executions.
    pub executions: u64,
    /// How many bytes an input has.
    pub payload: usize,
    /// How many commands share a transaction.
    pub group: usize,
}

/// Replaying more than this adds no information.
const MOST: u64 = 20_000;

/// Executions per second of the bare statements, on a new file at `path`.
pub fn ceiling(path: &Path, plan: CeilingPlan) -> Result<f64, StoreError> {
    let replays = (0..plan.executions.clamp(1, MOST))
        .map(|number| Replay::decide(number as u32, plan.payload))
        .collect::<Result<Vec<_>, StoreError>>()?;
    let (connection, _) = connection::writer(&Options::file(path))?;
    let started = Instant::now();
    for group in replays.chunks(plan.group.max(1)) {
        for step in [submit, claim, complete] {
            replay(&connection, group, step)?;
        }
    }
    Ok(replays.len() as f64 / started.elapsed().as_secs_f64())
}

type Statements = fn(&Connection, &Replay, &mut Vec<u8>) -> Result<(), Fault>;

fn replay(connection: &Connection, group: &[Replay], step: Statements) -> Result<(), Fault> {
    let mut buffer = Vec::new();
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for replay in group {
        step(connection, replay, &mut buffer)?;
    }
    let now = SystemClock.now();
    clock::keep(connection, &Mark { now, clock: now, ..Mark::default() })?;
    Ok(connection.execute_batch("COMMIT")?)
}

fn submit(connection: &Connection, replay: &Replay, buffer: &mut Vec<u8>) -> Result<(), Fault> {
    read_record(connection, replay.id)?;
    commit::write(connection, &replay.submit, buffer).map(drop)
}

fn claim(connection: &Connection, replay: &Replay, buffer: &mut Vec<u8>) -> Result<(), Fault> {
    let mut head = connection.prepare_cached(
        "SELECT score, id FROM queue WHERE namespace = ?1 AND lane = ?2 AND class = '' \
         ORDER BY score, id LIMIT 1",
    )?;
    head.query_row(("default", "default"), |row| row.get::<_, i64>(0))?;
    read_record(connection, replay.id)?;
    query::blob(connection, BlobKey { execution: replay.id, part: BlobPart::Input })?;
    commit::write(connection, &replay.claim, buffer).map(drop)
}

fn complete(connection: &Connection, replay: &Replay, buffer: &mut Vec<u8>) -> Result<(), Fault> {
    read_record(connection, replay.id)?;
    commit::write(connection, &replay.complete, buffer).map(drop)
}

fn read_record(connection: &Connection, id: ExecutionId) -> Result<(), Fault> {
    let mut select = connection.prepare_cached("SELECT record FROM execution WHERE id = ?1")?;
    let mut rows = select.query([id.as_bytes()])?;
    if let Some(row) = rows.next()? {
        std::hint::black_box(row.get_ref(0)?.as_blob()?);
    }
    Ok(())
}

/// The writes of one execution's life.
struct Replay {
    id: ExecutionId,
    submit: WriteSet,
    claim: WriteSet,
    complete: WriteSet,
}

impl Replay {
    fn decide(number: u32, payload: usize) -> Result<Replay, StoreError> {
        let now = SystemClock.now();
        let id = ExecutionId::mint(now, Partition::ONLY, number, 0);
        let input = Payload::bytes(vec![b'x'; payload]);
        let (submit, record) =
            decide(Submit { input: input.clone(), ..Submit::new(id) }, Loaded::at(now))?;
        let claim = ClaimRequest {
            namespace: Namespace::default(),
            lane: Lane::default(),
            worker: Worker {
                id: WorkerId::new("bench")?,
                instance: WorkerInstanceId::new("bench-0")?,
            },
            capabilities: Capabilities::NONE,
            request: RequestId::new(number.into()),
            max: 1,
            retry: false,
        };
        let mut loaded = having(now, record);
        loaded.candidates = Some(vec![id]);
        let key = BlobKey { execution: id, part: BlobPart::Input };
        loaded.blobs.insert(key, Some(input.bytes));
        let (claim, record) = decide(claim, loaded)?;
        let target = ff_core::machine::Target { namespace: Namespace::default(), execution: id };
        let fence = record.fence().ok_or_else(undecided)?;
        let hold = ff_core::machine::LeaseRef { target, fence };
        let result = Payload::bytes(vec![b'y'; 100]);
        let (complete, _) = decide(Complete { hold, result }, having(now, record))?;
        Ok(Replay { id, submit, claim, complete })
    }
}

fn having(now: Time, record: Execution) -> Loaded {
    let mut loaded = Loaded::at(now);
    loaded.records.insert(record.id, Some(record));
    loaded
}

fn decide(action: impl Into<Action>, loaded: Loaded) -> Result<(WriteSet, Execution), StoreError> {
    let command = Command { entropy: 0, by: None, action: action.into() };
    let Step::Done(transition) = apply(&command, &loaded)? else { return Err(undecided()) };
    let write = transition.items.into_iter().find_map(|item| item.write);
    let write = write.ok_or_else(undecided)?;
    let record = write.changes.first().and_then(|change| change.after.clone());
    Ok((write, record.ok_or_else(undecided)?))
}

fn undecided() -> StoreError {
    StoreError::Corrupt("a replayed command did not decide".into())
}
