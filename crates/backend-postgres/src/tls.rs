//! TLS to the server. Certificates are always checked.

use std::fs;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use ff_store::StoreError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::options::Tls;

/// Makes secured streams.
#[derive(Clone)]
pub(crate) struct Secure(TlsConnector);

/// How connections are secured, if they are.
pub(crate) fn connector(tls: &Tls) -> Result<Option<Secure>, StoreError> {
    let roots = match tls {
        Tls::Off => return Ok(None),
        Tls::On => native()?,
        Tls::Trusting(path) => from_file(path)?,
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Some(Secure(TlsConnector::from(Arc::new(config)))))
}

impl MakeTlsConnect<Socket> for Secure {
    type Stream = Secured;
    type TlsConnect = Host;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Host> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Host { connector: self.0.clone(), name })
    }
}

/// The handshake with one host.
pub(crate) struct Host {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for Host {
    type Stream = Secured;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let stream = self.connector.connect(self.name, stream).await?;
            Ok(Secured(Box::new(stream)))
        })
    }
}

/// A secured stream.
pub(crate) struct Secured(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for Secured {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}

fn native() -> Result<RootCertStore, StoreError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some machines have a certificate that cannot be read: the others still count.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    match added {
        0 => Err(unusable("this machine trusts no certificate authority; name one with ca=PATH")),
        _ => Ok(roots),
    }
}

fn from_file(path: &Path) -> Result<RootCertStore, StoreError> {
    let failed = |what: &str| unusable(&format!("the ca file {}: {what}", path.display()));
    let pem = fs::read(path).map_err(|error| failed(&error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| failed(&error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(&error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("holds no PEM certificate")),
        false => Ok(roots),
    }
}

fn unusable(what: &str) -> StoreError {
    StoreError::Incompatible(format!("TLS is not possible: {what}"))
}
