//! Where the examples of this package run.

use std::sync::Arc;

use ff_api::client::{HttpClient, HttpOptions};
use ff_core::Namespace;
use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_sdk::{Client, WorkerRuntime};
use ff_store::ClientAndWorker;
use tempfile::TempDir;

/// What went wrong, whatever it was.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The server in `FF_URL`, or a store of this process in a temporary folder. A namespace of its own
/// keeps an example from what else is there.
pub struct Place {
    backend: Arc<dyn ClientAndWorker>,
    namespace: Namespace,
    embedded: Option<(Supervisor, TempDir)>,
}

impl Place {
    /// Opens it.
    pub async fn open() -> Result<Place, Error> {
        let namespace = Namespace::new(format!("example-{:08x}", fastrand::u32(..)))?;
        if let Ok(url) = std::env::var("FF_URL") {
            let token = std::env::var("FF_TOKEN").ok();
            let server = HttpClient::new(HttpOptions { token, ..HttpOptions::new(url) })?;
            return Ok(Place { backend: Arc::new(server), namespace, embedded: None });
        }
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("work.ff");
        let store = ff_backends::open(&format!("sqlite:{}", file.display())).await?;
        // A server does this by itself: it lets time pass.
        let services = Services::new(store.clone()).start();
        Ok(Place { backend: store, namespace, embedded: Some((services, folder)) })
    }

    /// Somebody who submits work and sets limits.
    pub fn client(&self) -> Client {
        Client::new(self.backend.clone()).namespace(self.namespace.clone())
    }

    /// A worker without handlers.
    pub fn worker(&self) -> WorkerRuntime {
        WorkerRuntime::new(self.backend.clone()).namespace(self.namespace.clone())
    }

    /// Closes it.
    pub async fn close(self) {
        if let Some((services, _folder)) = self.embedded {
            services.stop().await;
        }
    }
}

/// Fails with `promise` unless it was kept.
pub fn check(kept: bool, promise: &str) -> Result<(), Error> {
    if kept { Ok(()) } else { Err(format!("this should hold: {promise}").into()) }
}
