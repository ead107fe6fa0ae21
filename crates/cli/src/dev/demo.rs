//! The demo's workers: most do as they are told, one stops breathing.

use std::sync::Arc;
use std::time::Duration;

use ff_core::machine::Claim;
use ff_core::state::Worker;
use ff_core::{Capabilities, Lane, Millis, Namespace, WorkerId, WorkerInstanceId};
use ff_sdk::{Json, Running, TaskContext, TaskError, WorkerRuntime};
use ff_store::{EngineBackend, mint};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::trickle::FRAGILE;
use crate::error::Error;

/// The demo's workers.
pub(crate) struct Workers {
    running: Vec<Running>,
    _vanishing: DropGuard,
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
    let vanishing = vanish(backend.clone(), name.clone());
    let stopped = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = vanishing => {}
            () = stopped.cancelled() => {}
        }
    });
    let mut running = Vec::new();
    for number in 1..=2 {
        let instance = WorkerInstanceId::new(format!("{name}-{number}"))?;
        let runtime = WorkerRuntime::new(backend.clone())
            .named(name.clone(), instance)
            .concurrency(4)
            .drain(Duration::from_millis(200))
            .lane("default")?
            .lane(FRAGILE)?
            .on("greet", greet)?
            .on("flaky", flaky)?
            .on("doomed", doomed)?;
        let started = runtime.start().await;
        running.push(started.map_err(|error| Error::Runtime(std::io::Error::other(error)))?);
    }
    Ok(Workers { running, _vanishing: stop.drop_guard() })
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

/// Claims what has never been tried and then stops breathing, as a killed process does: the lease
/// runs out, and another worker gets a second attempt.
async fn vanish(backend: Arc<dyn EngineBackend>, name: WorkerId) {
    let (Ok(lane), Ok(instance)) =
        (Lane::new(FRAGILE), WorkerInstanceId::new(format!("{name}-killed")))
    else {
        return;
    };
    loop {
        let claim = Claim {
            namespace: Namespace::default(),
            lane: lane.clone(),
            worker: Worker { id: name.clone(), instance: instance.clone() },
            capabilities: Capabilities::NONE,
            request: mint::request_id(),
            max: 1,
            first: 0,
            retry: false,
        };
        if backend.claim(claim, Millis::from_secs(30)).await.is_err() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
