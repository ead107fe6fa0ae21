//! `ff serve`: a store over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_server::{Config, Server, Token};
use ff_store::EngineBackend;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::Verdict;
use crate::error::Error;
use crate::session::Session;
use crate::signals::Signals;

/// `ff serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Loopback needs no token. Any other address does not start without one: set \
                        FF_TOKEN to a random secret of at least 32 characters, here and for every \
                        caller.\n\nSIGTERM or Ctrl-C stops it: running requests finish first."
)]
pub(crate) struct Serve {
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value_t = ff_server::DEFAULT_LISTEN)]
    listen: SocketAddr,
}

/// What a server that has started says of itself.
#[derive(Serialize)]
struct Started {
    url: String,
}

impl Serve {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let backend = session.open_store().await?;
        let mut signals = Signals::listen().map_err(Error::Runtime)?;
        let service = Service::start(backend, self.listen, session).await?;
        let started = Started { url: service.url.clone() };
        session.output.answer(&started, |started| format!("{}\n", started.url))?;
        session.output.talk("serving; Ctrl-C stops");
        signals.next().await;
        session.output.talk("stopping");
        service.stop().await;
        Ok(Verdict::Good)
    }
}

/// A server and the background services of its store.
pub(crate) struct Service {
    pub(crate) url: String,
    stop: CancellationToken,
    serving: tokio::task::JoinHandle<()>,
    background: Supervisor,
}

impl Service {
    /// Binds, serves and lets time pass, in the background.
    pub(crate) async fn start(
        backend: Arc<dyn EngineBackend>,
        listen: SocketAddr,
        session: &Session<'_>,
    ) -> Result<Service, Error> {
        let token = session.token.as_deref().map(Token::new).transpose()?;
        let server = Server::bind(backend.clone(), Config { listen, token, ..Config::default() });
        let server = server.await?;
        let url = format!("http://{}", server.address());
        let stop = CancellationToken::new();
        let background = Services::new(backend).start();
        Ok(Service { url, serving: tokio::spawn(server.run(stop.clone())), background, stop })
    }

    /// Stops both; running requests finish first.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // A server that panicked has nothing left to stop.
        let _ = tokio::join!(self.serving, self.background.stop());
    }
}
