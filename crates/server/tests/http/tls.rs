//! HTTPS: which certificates a client trusts, and a server behind a proxy that gives it a path.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use ff_api::client::{HttpClient, HttpOptions};
use ff_core::Millis;
use ff_server::{Config, ConfigError, Tls};
use ff_store::{ClientBackend, StoreError, WorkerBackend};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::raw::{Wire, get};
use crate::fixture::{Fixture, claim, config, target, within};

/// A certificate authority, and a folder for what it has signed.
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
        let authority =
            Authority { issuer: Issuer::new(params, key), folder: tempfile::tempdir().unwrap() };
        authority.write("ca.pem", &certificate.pem());
        authority
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The files of a certificate for `name` and of its key.
    fn sign(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let certificate = self.write(&format!("{name}.pem"), &certificate.pem());
        (certificate, self.write(&format!("{name}.key"), &key.serialize_pem()))
    }

    /// A server that shows a certificate for `name`.
    async fn serving(&self, name: &str) -> Fixture {
        let (certificate, key) = self.sign(name);
        let tls = Some(Tls::from_files(&certificate, &key).unwrap());
        Fixture::with(Config { tls, ..config() }).await
    }
}

fn client(url: String, ca: &Path) -> HttpClient {
    HttpClient::new(HttpOptions { ca: Some(ca.to_owned()), ..HttpOptions::new(url) }).unwrap()
}

async fn distrusted(client: HttpClient) {
    let error = within(client.ping()).await.unwrap_err();
    assert!(error.to_string().contains("is not trusted"), "{error}");
    assert!(error.to_string().contains("--ca") && !error.is_retryable(), "{error:?}");
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_is_served() {
    let authority = Authority::new();
    let server = authority.serving("127.0.0.1").await;
    let client = client(format!("https://{}/", server.address), &authority.file());
    client.ping().await.unwrap();
    let id = server.submitted().await;
    assert_eq!(client.describe(&target(id)).await.unwrap().id, id);
    let taken = client.claim(claim(), Millis::from_secs(5)).await.unwrap();
    assert_eq!(taken.assignments[0].execution, id);
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_not_trusted() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = authority.serving("127.0.0.1").await;
    distrusted(client(format!("https://{}", server.address), &other.file())).await;
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_trusted() {
    let authority = Authority::new();
    let server = authority.serving("work.example").await;
    distrusted(client(format!("https://{}", server.address), &authority.file())).await;
}

#[tokio::test]
async fn a_client_without_tls_affects_no_other() {
    let authority = Authority::new();
    let server = authority.serving("127.0.0.1").await;
    let mut plain = Wire::open(server.address).await;
    plain.send(get("/livez")).await;
    let mut silent = Wire::open(server.address).await;
    let client = client(format!("https://{}", server.address), &authority.file());
    client.ping().await.unwrap();
    server.shutdown.cancel();
    silent.closed().await;
}

#[tokio::test]
async fn a_stopping_server_answers_a_claim_that_waits_by_tls() {
    let authority = Authority::new();
    let mut server = authority.serving("127.0.0.1").await;
    let client = client(format!("https://{}", server.address), &authority.file());
    let waiting = tokio::spawn(async move { client.claim(claim(), Millis::from_secs(50)).await });
    server.until_waiting(1).await;
    server.shutdown.cancel();
    within(server.running.take().unwrap()).await.unwrap();
    assert!(waiting.await.unwrap().unwrap().assignments.is_empty());
}

#[test]
fn files_that_make_no_certificate_are_named() {
    let (authority, other) = (Authority::new(), Authority::new());
    let ((certificate, key), (_, foreign)) = (authority.sign("a"), other.sign("b"));
    let missing = authority.folder.path().join("missing.pem");
    let empty = authority.write("empty.pem", "");
    for (certificate, key, named) in [
        (&missing, &key, &missing),
        (&empty, &key, &empty),
        (&certificate, &missing, &missing),
        (&certificate, &empty, &empty),
        (&certificate, &certificate, &certificate),
        (&certificate, &foreign, &foreign),
    ] {
        let error = Tls::from_files(certificate, key).unwrap_err();
        assert!(matches!(&error, ConfigError::Tls { file, .. } if file == named), "{error}");
    }
    for ca in [&missing, &empty, &key] {
        let options = HttpOptions { ca: Some(ca.clone()), ..HttpOptions::new("https://localhost") };
        let refusal = HttpClient::new(options).err().unwrap();
        assert_eq!(refusal.field(), Some("ca"), "{refusal}");
        assert!(refusal.to_string().contains(&ca.display().to_string()), "{refusal}");
    }
}

/// A proxy that serves a server under `/flow` and nothing else.
async fn proxied(server: &Fixture) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let (address, target) = (listener.local_addr().unwrap(), server.address);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await?);
                }
                let head = String::from_utf8(head).unwrap();
                let Some(rest) = head.split_once(" /flow/").map(|(method, rest)| {
                    let rest = rest.replacen("\r\n", "\r\nconnection: close\r\n", 1);
                    format!("{method} /{rest}")
                }) else {
                    let answer = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
                    return client.write_all(answer).await;
                };
                let mut server = TcpStream::connect(target).await?;
                server.write_all(rest.as_bytes()).await?;
                copy_bidirectional(&mut client, &mut server).await.map(drop)
            });
        }
    });
    format!("http://{address}")
}

#[tokio::test]
async fn a_server_behind_a_path_of_a_proxy_is_reached() {
    let server = Fixture::start().await;
    let url = proxied(&server).await;
    for base in ["/flow", "/flow/"] {
        let client = HttpClient::new(HttpOptions::new(format!("{url}{base}"))).unwrap();
        client.ping().await.unwrap();
        let id = server.submitted().await;
        assert_eq!(client.describe(&target(id)).await.unwrap().id, id);
        let taken = client.claim(claim(), Millis::from_secs(5)).await.unwrap();
        assert_eq!(taken.assignments[0].execution, id);
    }
    let elsewhere = HttpClient::new(HttpOptions::new(url)).unwrap();
    let error = elsewhere.ping().await.unwrap_err();
    assert!(!matches!(error, StoreError::Refused(_)), "{error:?}");
}

#[test]
fn a_url_with_more_than_a_host_and_a_path_is_refused() {
    for url in [
        "http://u:hunter2@localhost",
        "https://hunter2@localhost",
        "http://localhost?hunter2",
        "http://localhost/a#hunter2",
        "ftp://localhost",
        "localhost",
        "",
    ] {
        let refusal = HttpClient::new(HttpOptions::new(url)).err().unwrap();
        assert_eq!(refusal.field(), Some("url"), "{url}");
        assert!(!refusal.to_string().contains("hunter2"), "{refusal}");
    }
}
