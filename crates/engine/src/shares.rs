//! Which partitions this process acts on: its share among the engine processes that are alive.
//!
//! All services of a process have one share between them: one with a share of its own would leave
//! partitions to services that do not do its work. The process says that it is alive every
//! [`ENGINE_BEAT`]; the share of a process that dies goes to the others within
//! [`ENGINE_TTL`](ff_store::share::ENGINE_TTL). While nobody can be asked it keeps what it has.

use ff_store::share::ENGINE_BEAT;
use ff_store::{EngineBackend, EngineId, Share, outage};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The share of one process.
pub(crate) struct Shares {
    engine: EngineId,
    present: Mutex<(Share, Option<Instant>)>,
}

impl Default for Shares {
    fn default() -> Self {
        Shares { engine: EngineId::random(), present: Mutex::new((Share::All, None)) }
    }
}

impl Shares {
    /// The share of now.
    pub(crate) async fn present(&self, backend: &dyn EngineBackend) -> Share {
        let partitions = backend.partitions();
        let (share, said) = &mut *self.present.lock().await;
        let silent = said.is_none_or(|said| said.elapsed() >= ENGINE_BEAT);
        if partitions > 1 && silent {
            match backend.alive(self.engine).await {
                Ok(alive) => {
                    *share = Share::of(self.engine, &alive, partitions);
                    *said = Some(Instant::now());
                }
                Err(error) => outage::failed(&error, "cannot say that this process is alive"),
            }
        }
        share.clone()
    }
}
