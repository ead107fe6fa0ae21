//! Accepting connections: bounded in number, in time, and stopped gracefully.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use ff_store::EngineBackend;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::{Config, ConfigError};
use crate::router::router;

/// Most bytes of a request's line and headers.
const HEADER_BYTES: usize = 32 << 10;
/// Most headers of a request.
const HEADERS: usize = 64;

/// A server that is bound and not yet serving.
pub struct Server {
    listener: TcpListener,
    backend: Arc<dyn EngineBackend>,
    config: Config,
}

impl Server {
    /// Checks the configuration and binds the address.
    pub async fn bind(
        backend: Arc<dyn EngineBackend>,
        config: Config,
    ) -> Result<Server, ConfigError> {
        config.check()?;
        let address = config.listen;
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|error| ConfigError::Bind { address, error })?;
        crate::metrics::install();
        Ok(Server { listener, backend, config })
    }

    /// The address it is bound to.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or(self.config.listen)
    }

    /// Serves until `shutdown`, then lets running requests finish for the drain time.
    pub async fn run(self, shutdown: CancellationToken) {
        let app = router(self.backend, self.config.clone(), shutdown.clone());
        let permits = Arc::new(Semaphore::new(self.config.connections));
        let open = TaskTracker::new();
        loop {
            let Ok(permit) = permits.clone().acquire_owned().await else { break };
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = shutdown.cancelled() => break,
            };
            match accepted {
                Ok((stream, _)) => {
                    let connection =
                        connection(stream, app.clone(), self.config.clone(), shutdown.clone());
                    open.spawn(async move {
                        connection.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    // Out of descriptors, most likely: give connections time to end.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
            }
        }
        open.close();
        if tokio::time::timeout(self.config.drain, open.wait()).await.is_err() {
            tracing::warn!(open = open.len(), "requests were cut off by the stop");
        }
    }
}

async fn connection(stream: TcpStream, app: Router, config: Config, shutdown: CancellationToken) {
    // A client that says nothing is not waited for: hyper's own limit starts at the first byte.
    let mut byte = [0];
    let first = tokio::select! {
        first = tokio::time::timeout(config.header_timeout, stream.peek(&mut byte)) => first,
        () = shutdown.cancelled() => return,
    };
    if !matches!(first, Ok(Ok(1..))) || stream.set_nodelay(true).is_err() {
        return;
    }
    let mut builder = auto::Builder::new(TokioExecutor::new()).http1_only();
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_timeout)
        .max_buf_size(HEADER_BYTES)
        .max_headers(HEADERS);
    let service = TowerToHyperService::new(app);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = shutdown.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}
