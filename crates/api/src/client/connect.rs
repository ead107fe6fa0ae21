//! Connections to a server: plain, or by TLS with its certificate checked.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ff_core::Refusal;
use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};
use tower::Service;

type Failure = Box<dyn Error + Send + Sync>;

/// Connects to the server of a URL.
#[derive(Clone)]
pub(super) struct Connector {
    http: HttpConnector,
    tls: Option<TlsConnector>,
}

impl Connector {
    /// Connects by `http`, and by TLS when a configuration is given.
    pub(super) fn new(mut http: HttpConnector, tls: Option<Arc<ClientConfig>>) -> Connector {
        http.enforce_http(false);
        Connector { http, tls: tls.map(TlsConnector::from) }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.http.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        // An IPv6 address has brackets in a URL, and none in a certificate.
        let host = uri.host().unwrap_or("").trim_matches(['[', ']']).to_owned();
        let (connecting, tls) = (self.http.call(uri), self.tls.clone());
        Box::pin(async move {
            let tcp = connecting.await?.into_inner();
            let stream: Box<dyn Stream> = match tls {
                None => Box::new(tcp),
                Some(tls) => Box::new(tls.connect(ServerName::try_from(host)?, tcp).await?),
            };
            Ok(TokioIo::new(stream))
        })
    }
}

/// The bytes of a connection, plain or by TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Connection for Box<dyn Stream> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// Trusts the authorities in the file at `ca`, or those of this machine when none is given.
pub(super) fn trust(ca: Option<&Path>) -> Result<Arc<ClientConfig>, Refusal> {
    let roots = match ca {
        Some(path) => from_file(path)?,
        None => of_this_machine()?,
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn of_this_machine() -> Result<RootCertStore, Refusal> {
    let mut roots = RootCertStore::empty();
    // Some machines have a certificate that cannot be read: the others still count.
    let found = rustls_native_certs::load_native_certs().certs;
    match roots.add_parsable_certificates(found) {
        (0, _) => Err(unusable("this machine trusts no certificate authority; name a file of one")),
        _ => Ok(roots),
    }
}

fn from_file(path: &Path) -> Result<RootCertStore, Refusal> {
    let failed = |what: &str| unusable(&format!("{}: {what}; give a PEM file", path.display()));
    let pem = fs::read(path).map_err(|error| failed(&error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| failed(&error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(&error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("holds no certificate")),
        false => Ok(roots),
    }
}

fn unusable(what: &str) -> Refusal {
    Refusal::invalid("ca", format!("cannot be used: {what}"))
}

/// Why the server's certificate is not accepted, if that is the cause of `error`.
pub(super) fn distrust(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let tls = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::InvalidCertificate(why)) = tls {
            return Some(why.to_string());
        }
        cause = error.source();
    }
    None
}
