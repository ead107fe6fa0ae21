//! The demo's workers: most run their tasks, some go silent.

use std::sync::Arc;
use std::time::Duration;

use ff_core::machine::{ClaimRequest, Complete};
use ff_core::state::Worker;
use ff_core::{
    Capabilities, Lane, Millis, Namespace, Payload, Refusal, WorkerId, WorkerInstanceId,
};
use ff_sdk::{
    Approval, Decided, Json, RegistrationGuard, Running, TaskContext, TaskError, WorkerRuntime,
};
use ff_store::roles::Registering;
use ff_store::{EngineBackend, StoreError, mint};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::trickle::{FRAGILE, LANE, TOKENS};
use crate::error::Error;

/// The demo's workers.
pub(crate) struct Workers {
    running: Vec<Running>,
    _fragile: DropGuard,
}

impl Workers {
    /// Stops them; what runs is handed back.
    pub(crate) async fn stop(self) {
        for running in self.running {
            running.shutdown().await;
        }
    }
}

/// Starts them.
pub(crate) async fn start(
    backend: Arc<dyn EngineBackend>,
    name: WorkerId,
) -> Result<Workers, Error> {
    let stop = CancellationToken::new();
    let fragile = fragile(backend.clone(), name.clone());
    tokio::spawn(stop.clone().run_until_cancelled_owned(fragile));
    let mut running = Vec::new();
    for number in 1..=2 {
        let instance = WorkerInstanceId::new(format!("{name}-{number}-{:04x}", fastrand::u16(..)))?;
        let runtime = WorkerRuntime::new(backend.clone())
            .named(name.clone(), instance)
            .concurrency(4)
            .drain(Duration::from_millis(200))
            .lane(LANE)?
            .on("greet", greet)?
            .on("flaky", flaky)?
            .on("doomed", doomed)?
            .on("summarize", summarize)?
            .on("fetch", fetch)?
            .on("deploy", deploy)?;
        running.push(runtime.start().await?);
    }
    Ok(Workers { running, _fragile: stop.drop_guard() })
}

async fn greet(task: TaskContext, Json(name): Json<String>) -> Result<Json<String>, TaskError> {
    task.progress(50, "looking for the right words").await?;
    tokio::time::sleep(Duration::from_millis(fastrand::u64(200..900))).await;
    Ok(Json(format!("hello, {name}")))
}

async fn flaky(task: TaskContext, Json(name): Json<String>) -> Result<Json<String>, TaskError> {
    tokio::time::sleep(Duration::from_millis(200)).await;
    match task.attempt() {
        0 => Err(TaskError::retryable("the network was down")),
        attempt => Ok(Json(format!("{name}, at attempt {attempt}"))),
    }
}

async fn doomed(_task: TaskContext, Json(name): Json<String>) -> Result<(), TaskError> {
    tokio::time::sleep(Duration::from_millis(200)).await;
    Err(TaskError::permanent(format!("there is no such thing as {name}")))
}

/// Uses something of its budget, and never quite what was expected.
async fn summarize(task: TaskContext, Json(name): Json<String>) -> Result<Json<String>, TaskError> {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(500..1_500))).await;
    let key = format!("attempt-{}", task.attempt());
    task.report_usage(&key, &[(TOKENS, fastrand::u64(150..300))]).await?;
    Ok(Json(format!("{name}, in a few words")))
}

/// Takes one of the few slots of its quota for a while.
async fn fetch(_task: TaskContext, Json(name): Json<String>) -> Result<Json<String>, TaskError> {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(400..1_600))).await;
    Ok(Json(format!("a page about {name}")))
}

/// Builds once, asks a person, and says what was decided; while it waits, it holds no worker.
async fn deploy(task: TaskContext, Json(name): Json<String>) -> Result<Json<String>, TaskError> {
    let build = async |_| Ok::<_, TaskError>(Json(format!("{name} {}.0", fastrand::u16(1..100))));
    let Json(build) = task.step("build", build).await?;
    let question = format!("Deploy {build} to production?\n\nAll tests have passed.");
    let decided = task.wait_for_approval("gate", Approval::ask(&question)).await?;
    Ok(Json(match decided {
        Decided::Approved(_) => format!("{build} is deployed"),
        _ => format!("{build} stays where it is"),
    }))
}

/// Serves the lane that loses its workers. A worker that claims a first attempt goes silent,
/// like a killed process: the lease expires, and the next worker gets the execution as a
/// second attempt and completes it.
async fn fragile(backend: Arc<dyn EngineBackend>, name: WorkerId) {
    let _presence = match registering(&name) {
        Ok(worker) => Some(RegistrationGuard::register_later(backend.clone(), worker)),
        Err(_) => None,
    };
    for number in 1.. {
        if let Err(error) = claim_fragile(&*backend, &name, number).await {
            tracing::warn!(%error, "the fragile lane is not served");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// The shared registration of the workers of the fragile lane.
fn registering(name: &WorkerId) -> Result<Registering, Refusal> {
    let instance = WorkerInstanceId::new(format!("{name}-fragile-{:04x}", fastrand::u16(..)))?;
    Ok(Registering {
        namespace: Namespace::default(),
        worker: Worker { id: name.clone(), instance },
        session: mint::request_id(),
        lanes: vec![Lane::new(FRAGILE)?],
        capabilities: Capabilities::NONE,
        ttl: Millis::from_secs(5),
    })
}

async fn claim_fragile(
    backend: &dyn EngineBackend,
    name: &WorkerId,
    number: u64,
) -> Result<(), StoreError> {
    let instance = WorkerInstanceId::new(format!("{name}-fragile-{number}"))?;
    let claim = ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::new(FRAGILE)?,
        worker: Worker { id: name.clone(), instance },
        capabilities: Capabilities::NONE,
        request: mint::request_id(),
        max: 1,
        retry: false,
    };
    let claimed = backend.claim(claim, Millis::from_secs(30)).await?;
    for assignment in claimed.assignments.iter().filter(|a| a.fence.attempt > 0) {
        let result = Payload::json(&b"\"hello, at last\""[..]);
        backend.complete(vec![Complete { hold: assignment.hold(), result }]).await?;
    }
    Ok(())
}
