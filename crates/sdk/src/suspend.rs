//! Suspending a claimed task: its lease ends, and it is claimed again when signals have come.

use ff_core::machine::Suspend;
use ff_core::record::Exited;
use ff_store::roles::Parked;

use crate::error::SdkError;
use crate::task::ClaimedTask;
use crate::wait::Wait;
use crate::waitpoint::TaskWaitpoint;

/// A task that was suspended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspendedTask {
    /// How the lease ended: suspended, or cancelled if that was requested meanwhile.
    pub exited: Exited,
    /// The waitpoints at which it takes signals, with their tokens; none if it continues already.
    pub waitpoints: Vec<TaskWaitpoint>,
}

/// What [`ClaimedTask::try_suspend`] did.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub enum TrySuspend {
    /// The lease has ended.
    Suspended(SuspendedTask),
    /// What it would wait for has come: the task is still held, and its
    /// [signals](ClaimedTask::signals) are there.
    Satisfied(ClaimedTask),
}

impl ClaimedTask {
    /// Ends the lease until what `wait` describes has come. The execution then continues the same
    /// attempt, claimed by whatever worker is next, and reads what has come with
    /// [`ClaimedTask::signals`]. It holds no worker and no quota meanwhile. If its signals have come
    /// already, it returns to its queue at once.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ff_backend_memory::MemoryStore;
    /// use ff_core::Payload;
    /// use ff_sdk::{Client, FlowFabricWorker, Wait, WorkerConfig};
    /// use ff_store::ring::Key;
    /// use ff_store::{EngineBackend, SystemClock, roles::Engine};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let engine = Engine::new(MemoryStore::serial(Arc::new(SystemClock)));
    /// let backend: Arc<dyn EngineBackend> = Arc::new(engine.with_own_key(Key::random()?));
    /// let client = Client::new(backend.clone());
    /// client.submit("refund", &100).await?;
    /// let worker = FlowFabricWorker::connect(WorkerConfig::new(backend, "teller".parse()?)).await?;
    ///
    /// let task = worker.claim_next().await?.ok_or("there is a task")?;
    /// let wait = Wait::at("manager").named("approve");
    /// let suspended = task.suspend(wait).await?;
    /// let token = suspended.waitpoints[0].token()?;
    ///
    /// client.deliver_signal(token, "approve", &"go on").await?;
    /// let task = worker.claim_next().await?.ok_or("it continues")?;
    /// assert_eq!(task.signals().await?[0].decode::<String>()?, "go on");
    /// task.complete(Payload::json("\"refunded\"")).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn suspend(mut self, wait: Wait) -> Result<SuspendedTask, SdkError> {
        let parked = self.park(wait, false).await?;
        let exited = parked.exited.ok_or_else(kept)?;
        Ok(suspended(exited, parked))
    }

    /// The same, unless what `wait` describes has come already: then the lease is kept.
    pub async fn try_suspend(mut self, wait: Wait) -> Result<TrySuspend, SdkError> {
        let parked = self.park(wait, true).await?;
        Ok(match parked.exited {
            Some(exited) => TrySuspend::Suspended(suspended(exited, parked)),
            None => TrySuspend::Satisfied(self),
        })
    }

    async fn park(&mut self, wait: Wait, keep: bool) -> Result<Parked, SdkError> {
        let suspend: Suspend = match wait.suspend(self.hold(), None, keep) {
            Ok(suspend) => suspend,
            Err(refusal) => return Err(self.fail_refused(refusal.into()).await),
        };
        let backend = self.backend().clone();
        let call = || backend.suspend(suspend.clone());
        self.finish_unless(call, |parked| parked.exited.is_none()).await
    }
}

fn suspended(exited: Exited, parked: Parked) -> SuspendedTask {
    let waitpoints = parked.waitpoints.into_iter().map(TaskWaitpoint::from).collect();
    SuspendedTask { exited, waitpoints }
}

/// The engine keeps a lease only for who asks for it.
fn kept() -> SdkError {
    ff_store::StoreError::Corrupt("a suspend left its task the lease".into()).into()
}
