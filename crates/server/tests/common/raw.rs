//! HTTP by hand, for requests that no client would send.

use std::net::SocketAddr;

use ff_api::http::Problem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::within;

/// A connection.
pub(crate) struct Wire {
    tcp: TcpStream,
    read: Vec<u8>,
}

/// What the server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) async fn open(address: SocketAddr) -> Wire {
        let tcp = within(TcpStream::connect(address)).await.unwrap();
        tcp.set_nodelay(true).unwrap();
        Wire { tcp, read: Vec::new() }
    }

    /// Sends; whether the other side still listened.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        within(self.tcp.write_all(bytes.as_ref())).await.is_ok()
    }

    /// Reads one answer; `None` when the connection ended without one.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        self.answer_to("GET").await
    }

    /// Reads the answer to a request with this method.
    pub(crate) async fn answer_to(&mut self, method: &str) -> Option<Answer> {
        let head = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = self.read.split_off(end + 4);
                break std::mem::replace(&mut self.read, rest);
            }
            if !self.more().await {
                assert!(self.read.is_empty(), "half an answer: {:?}", self.read);
                return None;
            }
        };
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut answer = Answer { status, headers, body: Vec::new() };
        let length = answer.header("content-length").map_or(0, |text| text.parse().unwrap());
        if method != "HEAD" {
            while self.read.len() < length {
                assert!(self.more().await, "half a body");
            }
            answer.body = self.read.drain(..length).collect();
        }
        Some(answer)
    }

    /// Returns when the server has ended the connection, and panics when it says anything.
    pub(crate) async fn closed(&mut self) {
        let mut byte = [0];
        let read = within(self.tcp.read(&mut byte)).await;
        assert!(matches!(read, Ok(0) | Err(_)), "the connection is still open");
        assert!(self.read.is_empty(), "there was more to read");
    }

    async fn more(&mut self) -> bool {
        let mut some = [0; 64 << 10];
        let read = within(self.tcp.read(&mut some)).await.unwrap_or(0);
        self.read.extend_from_slice(&some[..read]);
        read > 0
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The problem in the body, which must be well made, have this status and code, and repeat
    /// little of the request.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Problem {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let problem: Problem = serde_json::from_slice(&self.body).unwrap();
        assert_eq!((problem.status, problem.code.as_str()), (status, code), "{problem:?}");
        assert_eq!(problem.r#type, format!("/errors/{code}"));
        assert_eq!(self.header("x-request-id"), Some(problem.request_id.as_str()));
        assert!(!problem.detail.is_empty() && problem.detail.chars().count() <= 600, "{problem:?}");
        let field = problem.field.as_deref().unwrap_or("");
        for told in [problem.detail.as_str(), field] {
            assert!(!told.contains(char::is_control), "{told:?}");
            assert!(!told.contains(&*LONG), "{told}");
        }
        problem
    }
}

/// What tests send too much of: more of it than an answer may repeat.
pub(crate) static LONG: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "Z".repeat(65));

/// Sends one request on a connection of its own.
pub(crate) async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Answer {
    let mut wire = Wire::open(address).await;
    wire.send(request).await;
    wire.answer().await.unwrap()
}

/// A request without a body.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n")
}

/// A request with a JSON body.
pub(crate) fn post(path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    post_with(path, "content-type: application/json\r\n", body)
}

/// A request that changes something, with a JSON body.
pub(crate) fn patch(path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    send("PATCH", path, body)
}

/// A request by this method, with a JSON body.
pub(crate) fn send(method: &str, path: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    send_with(method, path, "content-type: application/json\r\n", body)
}

/// A request with these header lines and this body.
pub(crate) fn post_with(path: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    send_with("POST", path, headers, body)
}

fn send_with(method: &str, path: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}
