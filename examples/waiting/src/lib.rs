//! What the examples of this package share: where they find a server, and how to call it by hand.

use std::io::{Read, Write};
use std::net::TcpStream;

/// What went wrong, whatever it was.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The server: `FF_URL`, or that of `ff dev`.
pub fn url() -> String {
    std::env::var("FF_URL").unwrap_or_else(|_| "http://127.0.0.1:7272".to_owned())
}

/// Posts a body to a server, as any program in any language can, and gives the answer's status and body.
pub fn post(url: &str, path: &str, media: &str, body: &str) -> Result<(u16, String), Error> {
    let host = url.strip_prefix("http://").ok_or("this example calls plain http:// only")?;
    let mut stream = TcpStream::connect(host)?;
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: {media}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the answer ends in its head")?;
    let status = head.split(' ').nth(1).ok_or("the answer has no status")?;
    Ok((status.parse()?, body.to_owned()))
}

/// Fails with `promise` unless it was kept.
pub fn check(kept: bool, promise: &str) -> Result<(), Error> {
    if kept { Ok(()) } else { Err(format!("this should hold: {promise}").into()) }
}
