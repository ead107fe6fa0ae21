//! TLS: the certificate that the server presents, and connections secured by it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::config::ConfigError;

/// A certificate and its key, ready to be presented.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Reads a certificate with its chain, and its key, from PEM files.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Tls, ConfigError> {
        let wrong = |file: &Path, what: &dyn fmt::Display| ConfigError::Tls {
            file: file.to_owned(),
            why: what.to_string(),
        };
        let pem = fs::read(certificate).map_err(|error| wrong(certificate, &error))?;
        let chain = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| wrong(certificate, &error))?;
        if chain.is_empty() {
            return Err(wrong(certificate, &"it holds no PEM certificate"));
        }
        let pem = fs::read(key).map_err(|error| wrong(key, &error))?;
        let secret = PrivateKeyDer::from_pem_slice(&pem);
        let secret = secret.map_err(|_| wrong(key, &"it holds no PEM private key"))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(certificate, &error))?
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(|error| wrong(key, &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls(TlsAcceptor::from(Arc::new(config))))
    }

    /// Makes a connection secure.
    pub(crate) async fn accept(&self, tcp: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        self.0.accept(tcp).await
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls(redacted)")
    }
}
