//! Plain HTTP, one request per connection, and the points at which to cut one.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use fastrand::Rng;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::api::Request;

/// No answer takes longer, waiting claims included.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A client of the server at an address, which need not always be up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    address: SocketAddr,
    /// How long an answer may take.
    timeout: Duration,
}

/// Where a client cuts its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nowhere: it reads the whole answer.
    Nowhere,
    /// Somewhere within the request, after this part of its bytes in thousandths.
    Within(usize),
    /// Right after the request.
    AfterSending,
    /// This long after the request, or after the answer if that is sooner.
    After(Duration),
    /// At the first byte of the answer.
    AtFirstByte,
}

/// What a server answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Null when there is none.
    pub(crate) body: Value,
}

impl Cut {
    /// Any of the cuts.
    pub(crate) fn random(rng: &mut Rng) -> Cut {
        match rng.u8(0..10) {
            0 => Cut::Within(rng.usize(0..1_000)),
            1 | 2 => Cut::AfterSending,
            3 => Cut::AtFirstByte,
            _ => Cut::After(Duration::from_micros(rng.u64(100..5_000))),
        }
    }
}

impl Client {
    pub(crate) fn of(address: SocketAddr) -> Client {
        Client { address, timeout: TIMEOUT }
    }

    /// The same client with this timeout for each answer.
    pub(crate) fn with_timeout(self, timeout: Duration) -> Client {
        Client { timeout, ..self }
    }

    /// Sends one request; `None` without a complete answer, whichever side cut it.
    pub(crate) async fn send(&self, request: &Request, cut: Cut) -> Option<Answer> {
        timeout(self.timeout, self.exchange(request, cut)).await.ok()?.ok()?
    }

    /// Sends one request and reads the answer.
    pub(crate) async fn ask(&self, request: &Request) -> Option<Answer> {
        self.send(request, Cut::Nowhere).await
    }

    async fn exchange(&self, request: &Request, cut: Cut) -> io::Result<Option<Answer>> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        if cut != Cut::Nowhere {
            // The connection is reset when it is dropped, so the server notices at once.
            stream.set_zero_linger()?;
        }
        let bytes = self.bytes(request);
        let sent = match cut {
            Cut::Within(part) => bytes.len() * part / 1_000,
            _ => bytes.len(),
        };
        stream.write_all(&bytes[..sent]).await?;
        let mut read = Vec::new();
        match cut {
            Cut::Nowhere => {
                stream.read_to_end(&mut read).await?;
                Ok(parse(&read))
            }
            Cut::Within(_) | Cut::AfterSending => Ok(None),
            Cut::AtFirstByte => stream.read_u8().await.map(|_| None),
            Cut::After(span) => {
                let mut rest = Vec::new();
                let _ = timeout(span, stream.read_to_end(&mut rest)).await;
                Ok(None)
            }
        }
    }

    fn bytes(&self, request: &Request) -> Vec<u8> {
        let (method, path, address) = (request.method, &request.path, self.address);
        let body = match &request.body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        [head.as_bytes(), body.as_bytes()].concat()
    }
}

/// The answer in these bytes, if they are a whole one.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
    });
    if length.unwrap_or(0) != body.len() {
        return None;
    }
    let body = if body.is_empty() { Value::Null } else { serde_json::from_str(body).ok()? };
    Some(Answer { status, body })
}

impl Answer {
    /// Whether the request succeeded.
    pub(crate) fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the answer is final: the same request again has the same answer.
    pub(crate) fn is_final(&self) -> bool {
        self.status < 500 && self.status != 429 && self.status != 408
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_answer_is_none() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"a\":1}";
        assert_eq!(parse(whole.as_bytes()).unwrap().body["a"], 1);
        for length in 0..whole.len() {
            assert!(parse(&whole.as_bytes()[..length]).is_none(), "{length}");
        }
    }

    #[test]
    fn an_answer_without_a_body_is_whole() {
        let answer = parse(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
        assert_eq!((answer.status, answer.body), (204, Value::Null));
    }
}
