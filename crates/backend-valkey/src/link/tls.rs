//! TLS to the server. Certificates are always checked.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use ff_store::StoreError;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::options::Tls;

/// The TLS connector, if connections are to be secured.
pub(crate) fn connector(tls: &Tls) -> Result<Option<TlsConnector>, StoreError> {
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
    Ok(Some(TlsConnector::from(Arc::new(config))))
}

/// The name that the server's certificate must be for.
pub(crate) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn native() -> Result<RootCertStore, StoreError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    // Some machines have a certificate that cannot be read: the others still count.
    let (added, _) = roots.add_parsable_certificates(found.certs);
    match added {
        0 => Err(unusable("this machine trusts no certificate authority; name one with ?ca=PATH")),
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
