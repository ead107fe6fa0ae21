//! What Postgres does at best: the statements of submits, claims and completes, replayed in a schema of
//! the same tables, with everything that the engine does besides left out; and the simplest queue, a table
//! whose rows are fetched with SKIP LOCKED and marked as done.
//!
//! Decisions are made beforehand. The measured time covers the loads, writes and commits of groups of as many
//! commands as the engine had.

use std::time::Instant;

use ff_core::machine::{ClaimRequest, Command, Complete, Reply, Submit};
use ff_core::payload::{BlobKey, BlobPart};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, ExecutionId, Lane, Namespace, Partition, Payload, Time, WorkerId,
    WorkerInstanceId,
};
use ff_store::{AfterCommit, StoreError, mint, serial};
use futures_util::future::try_join_all;

use crate::clock::StoreClock;
use crate::commit::Pending;
use crate::connection::{Dial, Session};
use crate::error::Fault;
use crate::group::first_wants;
use crate::load;
use crate::options::{Options, Schema};
use crate::schema::migrate;
use crate::view::{Stored, View};
use crate::wants::{Head, Wants};

/// The load on the bare store.
#[derive(Debug, Clone, Copy)]
pub struct CeilingPlan {
    /// How many executions.
    pub executions: u64,
    /// How many bytes an input has.
    pub payload: usize,
    /// How many connections fetch from the simplest queue.
    pub callers: usize,
    /// How many of its rows go into one statement.
    pub batch: u16,
    /// How many commands share a transaction.
    pub group: usize,
}

/// What the bare store reached, in executions per second.
#[derive(Debug, Clone, Copy)]
pub struct Ceilings {
    /// The statements of the engine.
    pub statements: f64,
    /// The simplest queue.
    pub queue: f64,
}

/// Replaying more than this adds no information.
const MOST: u64 = 20_000;
/// The most connections to the simplest queue.
const FETCHERS: usize = 16;

/// Measures in a schema of its own next to the store's, which is removed afterwards.
pub async fn ceiling(options: &Options, plan: CeilingPlan) -> Result<Ceilings, StoreError> {
    let name: String = options.schema.as_str().chars().take(40).collect();
    let options = Options { schema: Schema::new(&format!("{name}_limit"))?, ..options.clone() };
    let dial = Dial::new(&options)?;
    let session = dial.connect(None).await?;
    let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", options.schema.as_str());
    session.batch(&drop).await?;
    migrate(&options, None).await?;
    let measured = async {
        let statements = statements(&dial, &options, plan).await?;
        let queue = queue(&dial, &session, plan).await?;
        Ok::<_, Fault>(Ceilings { statements, queue })
    };
    let measured = measured.await;
    session.batch(&drop).await?;
    Ok(measured?)
}

/// The load and the writes of one transaction.
struct Step {
    rounds: Vec<Wants>,
    pending: Pending,
}

async fn statements(dial: &Dial, options: &Options, plan: CeilingPlan) -> Result<f64, Fault> {
    let writers = options.writers.max(1);
    let each = (plan.executions.clamp(1, MOST) as usize).div_ceil(writers);
    let mut lines = Vec::new();
    for writer in 0..writers {
        let session = dial.connect(None).await?;
        let now = StoreClock::default().read(&session).await?;
        lines.push((session, decided(writer, each, now, plan)?));
    }
    let started = Instant::now();
    try_join_all(lines.into_iter().map(|(session, steps)| replay(session, steps))).await?;
    Ok((each * writers) as f64 / started.elapsed().as_secs_f64())
}

async fn replay(session: Session<'static>, steps: Vec<Step>) -> Result<(), Fault> {
    let clock = StoreClock::default();
    for Step { rounds, pending } in steps {
        let mut rounds = rounds.into_iter();
        let first = rounds.next().unwrap_or_default();
        let mut view = load::begin(&session, &clock, first).await?;
        for wants in rounds {
            load::load(&session, &mut view, wants).await?;
        }
        pending.flush(&session, &[("COMMIT", Vec::new())]).await?;
    }
    Ok(())
}

/// The transactions of a writer whose executions have a lane of their own.
fn decided(writer: usize, count: usize, now: Time, plan: CeilingPlan) -> Result<Vec<Step>, Fault> {
    let lane = Lane::new(format!("limit-{writer}")).map_err(StoreError::from)?;
    let mut view = View { now, ..View::default() };
    let mut steps = Vec::new();
    let group = plan.group.clamp(1, 512);
    for first in (0..count).step_by(group) {
        let numbers = first..count.min(first + group);
        let id = |number: usize| {
            let counter = (writer * count + number) as u32;
            ExecutionId::mint(now, Partition::ONLY, counter, fastrand::u64(..))
        };
        let submit = |number| {
            let input = Payload::bytes(vec![b'x'; plan.payload]);
            mint::command(Submit { input, lane: lane.clone(), ..Submit::new(id(number)) })
        };
        let submits: Vec<_> = numbers.clone().map(submit).collect();
        steps.push(step(&mut view, &submits)?.0);
        let claims = numbers.map(|_| claim(&lane)).collect::<Result<Vec<_>, StoreError>>()?;
        let (mut claimed, replies) = step(&mut view, &claims)?;
        let mut inputs = Wants::default();
        let mut completes = Vec::new();
        for reply in replies {
            let Reply::Claimed(claimed) = reply else { continue };
            for assignment in claimed.assignments {
                let execution = assignment.execution;
                inputs.blobs.insert(BlobKey { execution, part: BlobPart::Input });
                let result = Payload::bytes(vec![b'y'; 100]);
                completes.push(mint::command(Complete { hold: assignment.hold(), result }));
            }
        }
        claimed.rounds.push(inputs);
        steps.push(claimed);
        steps.push(step(&mut view, &completes)?.0);
        // What has ended is not looked at again.
        view = View { now, ..View::default() };
    }
    Ok(steps)
}

fn claim(lane: &Lane) -> Result<Command, StoreError> {
    let (id, instance) = (WorkerId::new("bench")?, WorkerInstanceId::new("bench-0")?);
    Ok(mint::command(ClaimRequest {
        namespace: Namespace::default(),
        lane: lane.clone(),
        worker: Worker { id, instance },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    }))
}

/// Decides commands on what the view has; what it lacks is not there.
fn step(view: &mut View, batch: &[Command]) -> Result<(Step, Vec<Reply>), Fault> {
    let calls: Vec<&[Command]> = batch.chunks(1).collect();
    let rounds = vec![first_wants(&calls)];
    let mut replies = Vec::with_capacity(batch.len());
    for command in batch {
        let reply = loop {
            view.has_missed = false;
            let answer = serial::run(view, command, &mut AfterCommit::default());
            if !view.has_missed {
                break answer?;
            }
            let missing = std::mem::take(&mut view.missing);
            lack(view, missing);
        };
        replies.push(reply);
    }
    Ok((Step { rounds, pending: std::mem::take(&mut view.pending) }, replies))
}

fn lack(view: &mut View, missing: Wants) {
    view.records.extend(missing.records.into_iter().map(|id| (id, Stored::Absent)));
    view.keys.extend(missing.keys.into_iter().map(|key| (key, None)));
    view.heads.extend(missing.heads.into_iter().map(|(key, _)| (key, Head::default())));
    let requests = missing.requests.into_iter();
    view.requests.extend(requests.map(|request| (request, Default::default())));
    view.classes.extend(missing.classes.into_iter().map(|lane| (lane, Default::default())));
    view.blobs.extend(missing.blobs.into_iter().map(|key| (key, None)));
    let resources = missing.resources.into_iter().chain(missing.lanes);
    view.resources.extend(resources.map(|key| (key, Stored::Absent)));
}

const JOB: &str = "CREATE TABLE job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     state text NOT NULL DEFAULT 'available', kind text NOT NULL, args bytea NOT NULL,
     attempt smallint NOT NULL DEFAULT 0, created_at timestamptz NOT NULL DEFAULT now(),
     attempted_at timestamptz, finalized_at timestamptz, scheduled_at timestamptz NOT NULL DEFAULT now());
 CREATE INDEX job_fetch ON job (state, scheduled_at, id)";

const INSERT_JOBS: &str =
    "INSERT INTO job (kind, args) SELECT 'task', $1 FROM generate_series(1, $2::integer)";

const FETCH_JOBS: &str = "WITH next AS (SELECT id FROM job WHERE state = 'available'
     AND scheduled_at <= now() ORDER BY scheduled_at, id LIMIT $1 FOR UPDATE SKIP LOCKED)
 UPDATE job SET state = 'running', attempt = attempt + 1, attempted_at = now() FROM next
 WHERE job.id = next.id RETURNING job.id, job.args";

const COMPLETE_JOBS: &str = "UPDATE job SET state = 'completed', finalized_at = now() WHERE id = ANY($1) AND state = 'running'";

/// A table of jobs, from insert to done.
async fn queue(dial: &Dial, session: &Session<'_>, plan: CeilingPlan) -> Result<f64, Fault> {
    session.batch(JOB).await?;
    let fetchers = plan.callers.clamp(1, FETCHERS);
    let each = (plan.executions.clamp(1, MOST) as usize).div_ceil(fetchers);
    let mut sessions = Vec::new();
    for _ in 0..fetchers {
        let session = dial.connect(None).await?;
        session.prepare(&[INSERT_JOBS, FETCH_JOBS, COMPLETE_JOBS]).await?;
        sessions.push(session);
    }
    let started = Instant::now();
    let working = sessions.iter().map(|session| jobs(session, each, plan));
    let done: usize = try_join_all(working).await?.into_iter().sum();
    Ok(done as f64 / started.elapsed().as_secs_f64())
}

/// Inserts jobs, and fetches and completes as many. Answers how many there were to fetch.
async fn jobs(session: &Session<'_>, count: usize, plan: CeilingPlan) -> Result<usize, Fault> {
    let args = vec![b'x'; plan.payload];
    let batch = usize::from(plan.batch.max(1));
    let (mut inserted, mut done) = (0, 0);
    while inserted < count {
        let next = batch.min(count - inserted);
        session.query(INSERT_JOBS, &[&args, &(next as i32)]).await?;
        inserted += next;
        let rows = session.query(FETCH_JOBS, &[&(next as i64)]).await?;
        let ids = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
        session.query(COMPLETE_JOBS, &[&ids]).await?;
        done += ids.len();
    }
    Ok(done)
}
