//! How a connection to a node is made: TCP, TLS, login.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ff_store::StoreError;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, PushInfo, RedisConnectionInfo, RedisError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::tls;
use crate::error::{Fault, Kind};
use crate::options::Options;

/// How many commands may wait to be written before callers wait.
const QUEUE: usize = 1_024;

/// Host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// Receives the messages of a subscription.
pub(crate) type Listener = tokio::sync::mpsc::UnboundedSender<PushInfo>;

/// Everything that a new connection needs to know.
pub(crate) struct Dial {
    tls: Option<tokio_rustls::TlsConnector>,
    login: RedisConnectionInfo,
    connect_timeout: Duration,
    request_timeout: Duration,
}

impl Dial {
    pub(crate) fn new(options: &Options) -> Result<Dial, StoreError> {
        let mut login = RedisConnectionInfo::default()
            .set_db(options.database.into())
            .set_lib_name("flowfabric", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &options.user {
            login = login.set_username(user);
        }
        if let Some(password) = &options.password {
            login = login.set_password(password.reveal());
        }
        Ok(Dial {
            tls: tls::connector(&options.tls)?,
            login,
            connect_timeout: options.connect_timeout,
            request_timeout: options.request_timeout,
        })
    }

    /// How long a call may take.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.request_timeout
    }

    /// A connection for commands.
    pub(crate) async fn commands(&self, address: &Address) -> Result<Live, Fault> {
        // Every call has its own deadline.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        self.open(address, self.login.clone(), config).await
    }

    /// A connection for subscriptions, whose messages go to `listener`.
    pub(crate) async fn subscriptions(
        &self,
        address: &Address,
        listener: Listener,
    ) -> Result<Live, Fault> {
        // With the newer protocol, messages and replies can be distinguished.
        let login = self.login.clone().set_protocol(ProtocolVersion::RESP3);
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(self.request_timeout))
            .set_push_sender(listener);
        self.open(address, login, config).await
    }

    async fn open(
        &self,
        address: &Address,
        login: RedisConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> Result<Live, Fault> {
        let config =
            config.set_response_timeout(Some(self.request_timeout)).set_pipeline_buffer_size(QUEUE);
        let work = async {
            let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
            stream.set_nodelay(true)?;
            match &self.tls {
                None => Live::new(stream, login, config).await,
                Some(connector) => {
                    let name = tls::server_name(&address.host)?;
                    Live::new(connector.connect(name, stream).await?, login, config).await
                }
            }
        };
        match timeout(self.connect_timeout, work).await {
            Ok(Ok(live)) => Ok(live),
            Ok(Err(error)) => Err(Fault::connecting(&error).at(address)),
            Err(_) => {
                let hint = if self.tls.is_some() { "; is this its TLS port?" } else { "" };
                let text = format!("no connection within {:?}{hint}", self.connect_timeout);
                Err(Fault::new(Kind::Unreached, text).at(address))
            }
        }
    }
}

/// An open connection. It is closed when the last user is done.
pub(crate) struct Live {
    connection: MultiplexedConnection,
    closed: Arc<AtomicBool>,
    driver: AbortHandle,
}

impl Live {
    async fn new<S>(
        stream: S,
        login: RedisConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> Result<Live, RedisError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (connection, driver) =
            MultiplexedConnection::new_with_config(&login, stream, config).await?;
        let closed = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&closed);
        let driver = tokio::spawn(async move {
            driver.await;
            ended.store(true, Ordering::Release);
        });
        Ok(Live { connection, closed, driver: driver.abort_handle() })
    }

    /// Whether it is closed for sending.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Lets no new command use it; those in flight may still be answered.
    pub(crate) fn retire(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// The handle to send commands on.
    pub(crate) fn connection(&self) -> MultiplexedConnection {
        self.connection.clone()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
