//! A target of webhooks on loopback, which records what it gets and answers as a test says.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ff_core::webhook::SigningSecret;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

/// Far longer than anything here takes.
pub(super) const LIMIT: Duration = Duration::from_secs(60);

/// A request that came.
#[derive(Debug, Clone)]
pub(super) struct Got {
    pub(super) line: String,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Got {
    pub(super) fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// How many signatures it has, and whether one of them is by `secret`.
    pub(super) fn signatures(&self, secret: &SigningSecret) -> (usize, bool) {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal()).unwrap();
        mac.update(format!("{}.{}.", self.id(), self.headers["webhook-timestamp"]).as_bytes());
        mac.update(&self.body);
        let expected = format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()));
        let mut all = self.headers["webhook-signature"].split(' ');
        (all.clone().count(), all.any(|signature| signature == expected))
    }
}

/// How a request is answered.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// With this status and these headers.
    Status(u16, &'static str),
    /// Redirected there.
    To(String),
    /// Not at all.
    Never,
    /// With success and a body that does not end.
    Endless,
}

/// A target.
pub(super) struct Receiver {
    pub(super) address: SocketAddr,
    requests: mpsc::UnboundedReceiver<Got>,
}

impl Receiver {
    /// One that answers by the request.
    pub(super) async fn start(answer: impl Fn(&Got) -> Answer + Send + Sync + 'static) -> Receiver {
        Receiver::with(None, answer).await
    }

    /// The same, by TLS.
    pub(super) async fn with(
        tls: Option<TlsAcceptor>,
        answer: impl Fn(&Got) -> Answer + Send + Sync + 'static,
    ) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        let answer = Arc::new(answer);
        tokio::spawn(async move {
            loop {
                let Ok((socket, _)) = listener.accept().await else { return };
                let (sender, answer, tls) = (sender.clone(), answer.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(socket, sender, answer).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(socket).await else { return };
                            serve(stream, sender, answer).await;
                        }
                    }
                });
            }
        });
        Receiver { address, requests }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook?a=b", self.address)
    }

    /// The next request.
    pub(super) async fn next(&mut self) -> Got {
        tokio::time::timeout(LIMIT, self.requests.recv()).await.unwrap().unwrap()
    }

    /// The requests that have come.
    pub(super) fn come(&mut self) -> Vec<Got> {
        std::iter::from_fn(|| self.requests.try_recv().ok()).collect()
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut socket: S,
    sender: mpsc::UnboundedSender<Got>,
    answer: Arc<impl Fn(&Got) -> Answer>,
) {
    let Some(got) = read(&mut socket).await else { return };
    let answer = answer(&got);
    let _ = sender.send(got);
    let text = match answer {
        Answer::Status(status, headers) => {
            format!("HTTP/1.1 {status} x\r\n{headers}content-length: 2\r\n\r\nok")
        }
        Answer::To(place) => {
            format!("HTTP/1.1 302 x\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n")
        }
        Answer::Never => {
            // Until the sender goes away.
            let _ = socket.read(&mut [0]).await;
            return;
        }
        Answer::Endless => {
            let head = b"HTTP/1.1 200 x\r\ncontent-length: 1000000000\r\n\r\n";
            if socket.write_all(head).await.is_ok() {
                while socket.write_all(&[b'x'; 4_096]).await.is_ok() {}
            }
            return;
        }
    };
    let _ = socket.write_all(text.as_bytes()).await;
    let _ = socket.flush().await;
}

async fn read<S: AsyncRead + Unpin>(socket: &mut S) -> Option<Got> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        let mut some = [0; 1_024];
        let read = socket.read(&mut some).await.ok().filter(|read| *read > 0)?;
        bytes.extend(&some[..read]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let line = lines.next()?.to_owned();
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = bytes.split_off(head + 4);
    while body.len() < length {
        let mut some = [0; 1_024];
        let read = socket.read(&mut some).await.ok().filter(|read| *read > 0)?;
        body.extend(&some[..read]);
    }
    Some(Got { line, headers, body })
}
