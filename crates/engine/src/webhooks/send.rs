//! One try: resolve, check, connect to what was checked, send, and read how it was taken.
//!
//! Nothing of the answer but its status is kept. A redirect is not followed: it is a failed try, as
//! everything is that is not a success. No proxy of the environment is used.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ff_core::webhook_url::{UrlParts, WebhookUrl};
use ff_store::webhooks::Reach;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::DeliveryOptions;
use super::sign::{ID, SIGNATURE, TIMESTAMP};

/// Most bytes of an answer that are read.
const ANSWER: usize = 64 << 10;

const AGENT: &str = concat!("flowfabric/", env!("CARGO_PKG_VERSION"));

/// Whose certificates are trusted.
#[derive(Debug, Clone, Default)]
pub enum Trust {
    /// The authorities that this machine trusts.
    #[default]
    Machine,
    /// These certificates alone.
    Only(Vec<CertificateDer<'static>>),
}

/// What is sent.
pub(super) struct Letter {
    pub(super) id: String,
    pub(super) timestamp: u64,
    pub(super) signatures: String,
    pub(super) body: Bytes,
}

/// Sends to targets.
pub(super) struct Sender {
    timeout: Duration,
    trust: Trust,
    tls: OnceLock<Result<TlsConnector, String>>,
}

impl Sender {
    pub(super) fn new(options: &DeliveryOptions) -> Sender {
        Sender { timeout: options.timeout, trust: options.trust.clone(), tls: OnceLock::new() }
    }

    /// Sends `letter` to `url`; what fails says why.
    pub(super) async fn send(
        &self,
        reach: Reach,
        url: &WebhookUrl,
        letter: Letter,
    ) -> Result<(), String> {
        let seconds = self.timeout.as_secs_f32();
        match tokio::time::timeout(self.timeout, self.try_send(reach, url, letter)).await {
            Ok(sent) => sent,
            Err(_) => Err(format!("no answer within {seconds} s")),
        }
    }

    async fn try_send(&self, reach: Reach, url: &WebhookUrl, letter: Letter) -> Result<(), String> {
        let addresses = reach.resolve(url).await.map_err(|refused| refused.to_string())?;
        let parts = url.parts();
        let stream = self.connect(&addresses, parts).await?;
        let (mut requests, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(said)?;
        // It ends with the try.
        let _connection =
            Aborted(tokio::spawn(async move { drop(connection.await) }).abort_handle());
        let path = match parts.path {
            path if path.starts_with('/') => path.to_owned(),
            query => format!("/{query}"),
        };
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, parts.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, AGENT)
            .header(ID, letter.id)
            .header(TIMESTAMP, letter.timestamp)
            .header(SIGNATURE, letter.signatures)
            .body(Full::new(letter.body))
            .map_err(said)?;
        let answer = requests.send_request(request).await.map_err(said)?;
        let status = answer.status();
        if !status.is_success() {
            let redirects =
                if status.is_redirection() { "; redirects are not followed" } else { "" };
            return Err(format!("it answered {}{redirects}", status.as_u16()));
        }
        // What it says besides is not read further than this, and is nobody's business.
        let _ = Limited::new(answer.into_body(), ANSWER).collect().await;
        Ok(())
    }

    async fn connect(
        &self,
        addresses: &[SocketAddr],
        parts: UrlParts<'_>,
    ) -> Result<Box<dyn Stream>, String> {
        let tcp = TcpStream::connect(addresses).await.map_err(said)?;
        if !parts.secure {
            return Ok(Box::new(tcp));
        }
        let name = ServerName::try_from(parts.host.to_owned()).map_err(said)?;
        let tls = self.tls.get_or_init(|| connector(&self.trust)).clone()?;
        Ok(Box::new(tls.connect(name, tcp).await.map_err(said)?))
    }
}

/// The bytes of a connection, plain or by TLS.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A task that ends when this is dropped.
struct Aborted(AbortHandle);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn connector(trust: &Trust) -> Result<TlsConnector, String> {
    let mut roots = RootCertStore::empty();
    let found = match trust {
        Trust::Machine => rustls_native_certs::load_native_certs().certs,
        Trust::Only(certificates) => certificates.clone(),
    };
    if roots.add_parsable_certificates(found).0 == 0 {
        return Err("this machine trusts no certificate authority".to_owned());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(said)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
