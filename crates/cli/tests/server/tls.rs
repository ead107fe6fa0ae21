//! `ff serve` by HTTPS, and `ff` as its client.

use std::process::Stdio;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::fixture::{Ff, Process, bare, finish};

/// Writes an authority and a certificate of it for 127.0.0.1 next to the store.
fn certify(ff: &Ff) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    std::fs::write(ff.path("ca.pem"), authority.pem()).unwrap();
    std::fs::write(ff.path("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(ff.path("key.pem"), key.serialize_pem()).unwrap();
}

#[test]
fn a_server_with_a_certificate_is_called_by_https() {
    let store = Ff::new();
    certify(&store);
    let serve =
        ["serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let mut command = store.command(&serve);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Process::start(&mut command);
    let url = server.stdout().next().unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let ca = store.path("ca.pem");
    let submit = ["submit", "--url", &url, "--ca", ca.to_str().unwrap()];
    let done = finish(&mut bare(&submit), b"");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let done = finish(bare(&["ls", "--url", &url]).env("FF_CA", &ca), b"");
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let other = Ff::new();
    certify(&other);
    let done = finish(bare(&["ls", "--url", &url]).env("FF_CA", other.path("ca.pem")), b"");
    assert_ne!(done.code, Some(0));
    assert!(done.stderr.contains("server_not_trusted"), "{}", done.stderr);
}

#[test]
fn a_certificate_needs_its_key_and_both_their_files() {
    let store = Ff::new();
    certify(&store);
    let serve = |args: &[&str]| store.run(&[&["serve", "--listen", "127.0.0.1:0"], args].concat());
    assert_eq!(serve(&["--tls-cert", "cert.pem"]).code, Some(2));
    assert_eq!(serve(&["--tls-key", "key.pem"]).code, Some(2));
    let done = serve(&["--tls-cert", "cert.pem", "--tls-key", "ca.pem"]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("ca.pem"), "{}", done.stderr);
}

#[test]
fn the_interval_of_the_unblock_scanner_has_bounds() {
    let store = Ff::new();
    for bad in ["0s", "99ms", "2h"] {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--unblock-interval", bad];
        assert_eq!(store.refusal(&serve)["field"], "unblock_interval", "{bad}");
    }
}
