//! Tests of tasks and workers: a whole engine in virtual time, and single calls of a handler.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use ff_core::Namespace;
use ff_sdk::Heartbeats;
use ff_store::clock::TokioClock;

pub use ff_sdk::TestTask;

use crate::connect::Connected;
use crate::flowfabric::FlowFabric;

/// An engine in memory whose time is tokio's. In a test with paused time, hours of waits and backoff
/// pass in milliseconds, and always in the same order.
///
/// Everything a [`FlowFabric`] does is done with it: it dereferences to one.
///
/// ```
/// use std::time::Duration;
/// use flowfabric::prelude::*;
/// use flowfabric::testing::Harness;
///
/// async fn third_time(task: TaskContext, (): ()) -> Result<u32, TaskError> {
///     match task.attempt() {
///         2 => Ok(2),
///         _ => Err(TaskError::retryable("not yet")),
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Error> {
/// // In a test: #[tokio::test(start_paused = true)]
/// let harness = Harness::start();
/// harness.worker().on("third_time", third_time).start().await?;
/// let hour = Duration::from_secs(3_600);
/// let task = harness.task("third_time", &()).backoff(hour, 2 * hour).send().await?;
/// assert_eq!(task.result::<u32>().await?, 2);
/// harness.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Harness {
    flowfabric: FlowFabric,
}

impl Harness {
    /// Starts one, with nothing in it.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn start() -> Harness {
        let store = ff_backends::memory(Arc::new(TokioClock::start()));
        // A separate thread for heartbeats would not share the virtual time.
        let heartbeats = Heartbeats::SameRuntime;
        let connected = Connected::Store(store);
        Harness { flowfabric: FlowFabric::new(connected, Namespace::default(), heartbeats) }
    }

    /// Lets this much time pass, with all that happens in it: timers fire, workers run.
    pub async fn pass(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// Ends its workers and its engine.
    pub async fn close(self) {
        self.flowfabric.close().await;
    }
}

impl Deref for Harness {
    type Target = FlowFabric;

    fn deref(&self) -> &FlowFabric {
        &self.flowfabric
    }
}
