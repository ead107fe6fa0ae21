//! TLS, through a proxy that speaks it in front of a server that does not.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ff_testkit::valkey::Server;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::{connect, library, options, put, text};
use crate::Options;
use crate::link::{Link, SubscriptionEvent};

/// A certificate authority and its file.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: TempDir,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), certificate.pem()).unwrap();
        Authority { issuer: Issuer::new(params, key), folder }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A port at which `server` is served by TLS under this name.
    async fn vouch(&self, name: &str, server: &Server) -> u16 {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)), server.port()));
        port
    }
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, target: u16) {
    while let Ok((client, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let mut client = acceptor.accept(client).await?;
            let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, target)).await?;
            copy_bidirectional(&mut client, &mut server).await
        });
    }
}

async fn refusal(url: &str) -> (&'static str, String) {
    let error = Link::connect(&options(url), library()).await.err().unwrap();
    (error.code(), error.to_string())
}

#[tokio::test]
async fn a_certificate_of_a_named_authority_is_trusted() {
    let authority = Authority::new();
    let port = authority.vouch("127.0.0.1", Server::shared()).await;
    let ca = authority.file();
    let link = connect(&options(&format!("valkeys://127.0.0.1:{port}?ca={}", ca.display()))).await;
    assert_eq!(put(&link, "tls", "v").await.unwrap(), text("v"));
    let mut events = link.subscribe(vec!["tls".into()]);
    assert_eq!(events.recv().await, Some(SubscriptionEvent::Gap));
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let port = Authority::new().vouch("127.0.0.1", Server::shared()).await;
    let ca = Authority::new();
    let url = format!("valkeys://127.0.0.1:{port}?ca={}", ca.file().display());
    let (code, error_text) = refusal(&url).await;
    assert_eq!(code, "store_unavailable");
    assert!(error_text.contains("certificate"), "{error_text}");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let authority = Authority::new();
    let port = authority.vouch("elsewhere.example", Server::shared()).await;
    let url = format!("valkeys://127.0.0.1:{port}?ca={}", authority.file().display());
    let (_, error_text) = refusal(&url).await;
    assert!(error_text.contains("certificate"), "{error_text}");
}

#[tokio::test]
async fn a_certificate_that_the_machine_does_not_trust_is_refused() {
    let port = Authority::new().vouch("127.0.0.1", Server::shared()).await;
    let (_, error_text) = refusal(&format!("valkeys://127.0.0.1:{port}")).await;
    assert!(error_text.contains("certificate"), "{error_text}");
}

#[tokio::test]
async fn a_server_without_tls_is_refused() {
    let authority = Authority::new();
    let url = format!("valkeys://{}?ca={}", Server::shared().address(), authority.file().display());
    let options = Options { connect_timeout: Duration::from_millis(500), ..options(&url) };
    let error = Link::connect(&options, library()).await.err().unwrap();
    assert_eq!(error.code(), "store_unavailable");
    assert!(error.to_string().contains("TLS port"), "{error}");
}

#[tokio::test]
async fn a_file_without_an_authority_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing").unwrap();
    for file in [empty, folder.path().join("missing.pem")] {
        let (code, error_text) =
            refusal(&format!("valkeys://localhost?ca={}", file.display())).await;
        assert_eq!(code, "store_incompatible");
        assert!(error_text.contains(&*file.to_string_lossy()), "{error_text}");
    }
}
