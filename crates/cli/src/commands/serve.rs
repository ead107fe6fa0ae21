//! `ff serve`: a store over HTTP.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use ff_core::Millis;
use ff_engine::services::Services;
use ff_engine::supervisor::Supervisor;
use ff_engine::unblock::UnblockScanner;
use ff_server::{Config, Server, Tls, Token};
use ff_store::EngineBackend;
use ff_store::webhooks::Reach;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::Verdict;
use crate::duration;
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
    #[arg(long, value_name = "ADDRESS", env = "FF_LISTEN", hide_env_values = true)]
    #[arg(default_value_t = ff_server::DEFAULT_LISTEN)]
    listen: SocketAddr,

    /// Serve HTTPS with the certificate in this PEM file, followed by any intermediate certificates.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The PEM file of the certificate's private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// How many requests a second to take of each named token; 0 is any number.
    #[arg(long, value_name = "COUNT", default_value_t = ff_server::DEFAULT_TOKEN_RATE)]
    token_rate: u32,

    /// How many requests of each named token to work on at once, those that wait aside; 0 is any number.
    #[arg(long, value_name = "COUNT", default_value_t = ff_server::DEFAULT_TOKEN_REQUESTS)]
    token_requests: u32,

    /// How many requests of each named token may wait at once, such as claims and streams; 0 is any number.
    #[arg(long, value_name = "COUNT", default_value_t = ff_server::DEFAULT_TOKEN_WAITS)]
    token_waits: u32,

    /// How many requests a second to take of all callers together, health checks aside; 0 is any number.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    rate: u32,

    /// How often to release executions blocked on a limit that has capacity, in case the process that
    /// freed it died first: 100ms to 1h.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration::parse)]
    #[arg(allow_hyphen_values = true)]
    unblock_interval: Millis,

    /// Let webhooks send to private addresses too, and by plain http: whoever operates a namespace then
    /// reaches the network of this server.
    #[arg(long, env = "FF_PRIVATE_WEBHOOKS", hide_env_values = true)]
    private_webhooks: bool,
}

/// What a started server prints.
#[derive(Serialize)]
struct Started {
    url: String,
}

impl Serve {
    pub(crate) async fn run(self, session: &Session<'_>) -> Result<Verdict, Error> {
        let options = self.options()?;
        let backend = session.make_store().await?;
        let keys = session.signing_keys.clone();
        ff_backends::serve_keys(&*backend, session.store_url()?, keys).await?;
        let mut signals = Signals::listen().map_err(Error::Runtime)?;
        let service = Service::start(backend, options, session).await?;
        let started = Started { url: service.url.clone() };
        session.output.answer(&started, |started| format!("{}\n", started.url))?;
        session.output.talk("serving; Ctrl-C stops");
        signals.next().await;
        session.output.talk("stopping");
        service.stop().await;
        Ok(Verdict::Good)
    }

    fn options(&self) -> Result<Options, Error> {
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(Tls::from_files(certificate, key)?),
            _ => None,
        };
        let (least, most) = (Millis::new(100), Millis::from_hours(1));
        let interval = self.unblock_interval.within("unblock_interval", least, most)?;
        let unblock = UnblockScanner::every(Duration::from_millis(interval.get()));
        let limits = Limits {
            rate: NonZeroU32::new(self.rate),
            token_rate: NonZeroU32::new(self.token_rate),
            token_requests: NonZeroU32::new(self.token_requests),
            token_waits: NonZeroU32::new(self.token_waits),
        };
        let reach = if self.private_webhooks { Reach::Private } else { Reach::Public };
        Ok(Options { tls, unblock, limits, reach, ..Options::at(self.listen) })
    }
}

/// How a store is served.
pub(crate) struct Options {
    listen: SocketAddr,
    tls: Option<Tls>,
    unblock: UnblockScanner,
    limits: Limits,
    /// What webhooks may reach.
    reach: Reach,
}

/// How many requests a server takes.
struct Limits {
    rate: Option<NonZeroU32>,
    token_rate: Option<NonZeroU32>,
    token_requests: Option<NonZeroU32>,
    token_waits: Option<NonZeroU32>,
}

impl Options {
    /// For development: by plain HTTP at `listen`, and webhooks may go to programs on this machine.
    pub(crate) fn for_development(listen: SocketAddr) -> Options {
        Options { reach: Reach::Private, ..Options::at(listen) }
    }

    /// By plain HTTP at `listen`.
    fn at(listen: SocketAddr) -> Options {
        let Config { rate, token_rate, token_requests, token_waits, .. } = Config::default();
        let limits = Limits { rate, token_rate, token_requests, token_waits };
        let (unblock, reach) = (UnblockScanner::default(), Reach::Public);
        Options { listen, tls: None, unblock, limits, reach }
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
    /// Binds, serves and runs the background services.
    pub(crate) async fn start(
        backend: Arc<dyn EngineBackend>,
        options: Options,
        session: &Session<'_>,
    ) -> Result<Service, Error> {
        let token = session.token.as_deref().map(Token::new).transpose()?;
        let Options { listen, tls, unblock, limits, reach } = options;
        let Limits { rate, token_rate, token_requests, token_waits } = limits;
        backend.set_reach(reach);
        let scheme = if tls.is_some() { "https" } else { "http" };
        let config = Config {
            listen,
            token,
            tls,
            rate,
            token_rate,
            token_requests,
            token_waits,
            ..Config::default()
        };
        let server = Server::bind(backend.clone(), config).await?;
        let url = format!("{scheme}://{}", server.address());
        let stop = CancellationToken::new();
        let background = Services::with(backend, unblock).start();
        Ok(Service { url, serving: tokio::spawn(server.run(stop.clone())), background, stop })
    }

    /// Stops both; running requests finish first.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        // A server that panicked has nothing left to stop.
        let _ = tokio::join!(self.serving, self.background.stop());
    }
}
