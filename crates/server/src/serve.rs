//! Accepting connections: bounded in number, in time, and stopped gracefully.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use ff_store::EngineBackend;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bounds;
use crate::config::{Config, ConfigError};
use crate::dashboard::keep_history;
use crate::router::router;
use crate::state::AppState;
use crate::stream::Stream;

/// A server that is bound and not yet serving.
pub struct Server {
    listener: TcpListener,
    state: AppState,
}

impl Server {
    /// Checks the configuration and binds the address. A store that could never have work is refused.
    pub async fn bind(
        backend: Arc<dyn EngineBackend>,
        config: Config,
    ) -> Result<Server, ConfigError> {
        config.check()?;
        let address = config.listen;
        let state = AppState::new(backend, config, CancellationToken::new())?;
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|error| ConfigError::Bind { address, error })?;
        crate::metrics::install();
        Ok(Server { listener, state })
    }

    /// The address it is bound to.
    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap_or(self.state.config.listen)
    }

    /// Serves until `shutdown`, then lets running requests finish for the drain time. When it
    /// returns, what claims have taken is answered or handed back.
    pub async fn run(self, shutdown: CancellationToken) {
        let Server { listener, state } = self;
        let (app, config) = (router(state.clone()), state.config.clone());
        state.tasks.spawn(keep_history(state.clone()));
        let permits = Arc::new(Semaphore::new(config.connections));
        let (open, cut) = (TaskTracker::new(), CancellationToken::new());
        let accepting = async {
            loop {
                // A permit first: a connection past the cap waits in the listener's queue.
                let Ok(permit) = permits.clone().acquire_owned().await else { return };
                let stream = accept(&listener).await;
                let serving = secured(stream, app.clone(), config.clone(), shutdown.clone());
                let cut = cut.clone();
                open.spawn(async move {
                    cut.run_until_cancelled(serving).await;
                    drop(permit);
                });
            }
        };
        shutdown.run_until_cancelled(accepting).await;
        state.stopping.cancel();
        drop(listener);
        open.close();
        if tokio::time::timeout(config.drain, open.wait()).await.is_err() {
            tracing::warn!(open = open.len(), "requests were cut off by the stop");
            cut.cancel();
            open.wait().await;
        }
        drain(&state).await;
    }
}

/// Waits until everything claimed for clients that were not answered is handed back.
async fn drain(state: &AppState) {
    state.tasks.close();
    let drained = async {
        state.tasks.wait().await;
        state.backend.drain().await;
    };
    if tokio::time::timeout(state.config.drain, drained).await.is_err() {
        tracing::warn!("the store does not take back unanswered claims in time");
    }
}

async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                // Out of descriptors, most likely: give connections time to end.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        }
    }
}

/// Serves a connection, by TLS if the server has a certificate. The TLS handshake has the same
/// timeout as the headers.
async fn secured(stream: TcpStream, app: Router, config: Arc<Config>, shutdown: CancellationToken) {
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Some(tls) = &config.tls else { return connection(stream, app, &config, shutdown).await };
    let agreed = tokio::time::timeout(config.header_timeout, tls.accept(stream));
    match shutdown.run_until_cancelled(agreed).await {
        Some(Ok(Ok(stream))) => connection(stream, app, &config, shutdown).await,
        Some(Ok(Err(error))) => tracing::debug!(%error, "a TLS handshake failed"),
        Some(Err(_)) | None => {}
    }
}

async fn connection(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    app: Router,
    config: &Config,
    shutdown: CancellationToken,
) {
    let stream = Stream::new(stream, config.body_timeout, shutdown.clone());
    let mut builder = http1::Builder::new();
    // The limit for headers starts when hyper begins to wait for them, so it also bounds how long a
    // connection may be silent, new or kept alive.
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_timeout)
        .max_buf_size(bounds::HARD_HEADER_BYTES)
        .max_headers(bounds::HARD_HEADERS);
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
