//! Time passing in a store, as it does beside a server.

use std::sync::Arc;

use ff_engine::timers::{Options, Timers};
use ff_store::EngineBackend;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The timer loop, running.
pub(crate) struct Passing {
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Passing {
    pub(crate) fn start(backend: Arc<dyn EngineBackend>) -> Passing {
        let stop = CancellationToken::new();
        let until = stop.clone();
        let timers = Timers::new(backend, Options::default());
        Passing { stop, running: tokio::spawn(async move { timers.run(until).await }) }
    }

    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // A loop that panicked has nothing left to stop.
        let _ = self.running.await;
    }
}
