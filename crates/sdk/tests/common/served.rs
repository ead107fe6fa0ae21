//! A server and its clients.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ff_api::client::{HttpClient, HttpOptions};
use ff_server::{Config, Server};
use ff_store::ClientAndWorker;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::World;

/// A server over a store in memory. It stops when it is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    _running: DropGuard,
}

impl Served {
    pub(crate) async fn start() -> Served {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let config = Config { listen, ..Config::default() };
        let server = Server::bind(World::start().backend, config).await.unwrap();
        let (address, stop) = (server.address(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        Served { address, _running: stop.drop_guard() }
    }

    /// A client that finds the server behind a port of this machine.
    pub(crate) fn client(&self, port: u16) -> Arc<dyn ClientAndWorker> {
        Arc::new(HttpClient::new(HttpOptions::new(format!("http://127.0.0.1:{port}"))).unwrap())
    }
}
