//! Distinguishes the calls of clients from the commands inside functions, by watching them all.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use ff_store::StoreError;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::send;
use crate::link::Node;
use crate::options::{Options, Tls};

/// The command that ends a watch: everything before it was seen.
const MARK: &str = "ff-watch-ends";

/// A watch over every command of some servers.
pub(super) struct Watch(JoinSet<io::Result<Seen>>);

impl Watch {
    /// Watches until [`Watch::end`].
    pub(super) async fn start(nodes: &[Arc<Node>], options: &Options) -> Result<Watch, StoreError> {
        if options.tls != Tls::Off {
            return Err(StoreError::Incompatible("commands are not watched through TLS".into()));
        }
        let mut watching = JoinSet::new();
        for node in nodes {
            watching.spawn(read(listen(node, options).await.map_err(failed)?));
        }
        Ok(Watch(watching))
    }

    /// The result of all of them.
    pub(super) async fn end(mut self, nodes: &[Arc<Node>]) -> Result<Seen, StoreError> {
        let mut mark = redis::cmd("PING");
        mark.arg(MARK);
        for node in nodes {
            send(node, &mark).await?;
        }
        let mut all = Seen::default();
        while let Some(ended) = self.0.join_next().await {
            all.add(ended.map_err(io::Error::other).and_then(|seen| seen).map_err(failed)?);
        }
        Ok(all)
    }
}

/// Logs in and requests every command. Each is one line, so no more of the protocol is needed.
async fn listen(node: &Node, options: &Options) -> io::Result<Lines<BufReader<TcpStream>>> {
    let address = node.address();
    let mut stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
    if let Some(password) = &options.password {
        let user = options.user.as_deref().unwrap_or("default");
        let login = redis::cmd("AUTH").arg(user).arg(password.reveal()).get_packed_command();
        stream.write_all(&login).await?;
    }
    stream.write_all(&redis::cmd("MONITOR").get_packed_command()).await?;
    let mut lines = BufReader::new(stream).lines();
    for _ in 0..1 + usize::from(options.password.is_some()) {
        match lines.next_line().await?.as_deref() {
            Some("+OK") => {}
            other => return Err(io::Error::other(format!("the server answered {other:?}"))),
        }
    }
    Ok(lines)
}

/// Reads what a server does until the mark.
async fn read(mut lines: Lines<BufReader<TcpStream>>) -> io::Result<Seen> {
    let mut seen = Seen::default();
    while let Some(line) = lines.next_line().await? {
        if line.contains(MARK) {
            return Ok(seen);
        }
        seen.note(&line);
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

fn failed(error: io::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot watch the commands of the server: {error}"))
}

/// How often each command was seen, by its first word in lower case.
#[derive(Debug, Default)]
pub(super) struct Seen(HashMap<String, Origin>);

/// Where a command came from, how often.
#[derive(Debug, Clone, Copy, Default)]
struct Origin {
    clients: u64,
    functions: u64,
}

impl Seen {
    /// Records a line such as `1339518083.1 [0 127.0.0.1:60866] "GET" "x"`, where a function has
    /// `lua` in place of the address.
    fn note(&mut self, line: &str) {
        let Some((source, command)) = line.split_once("] \"") else { return };
        let Some((command, _)) = command.split_once('"') else { return };
        let origin = self.0.entry(command.to_ascii_lowercase()).or_default();
        match source.ends_with(" lua") {
            true => origin.functions += 1,
            false => origin.clients += 1,
        }
    }

    pub(super) fn add(&mut self, other: Seen) {
        for (command, origin) in other.0 {
            let sum = self.0.entry(command).or_default();
            sum.clients += origin.clients;
            sum.functions += origin.functions;
        }
    }

    pub(super) fn client_calls(&self) -> u64 {
        self.0.values().map(|origin| origin.clients).sum()
    }

    /// The part of `command` that clients sent; all of it when none was seen.
    pub(super) fn share_of_clients(&self, command: &str) -> f64 {
        match self.0.get(command) {
            Some(origin) => {
                origin.clients as f64 / (origin.clients + origin.functions).max(1) as f64
            }
            None => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_and_functions_are_distinguished() {
        let mut seen = Seen::default();
        for line in [
            r#"+1794782912.491388 [0 127.0.0.1:33146] "FCALL" "t_f" "1" "x" "] \"lua""#,
            r#"+1794782912.491431 [0 lua] "SET" "x" "y""#,
            r#"+1794782912.491444 [0 lua] "GET" "x""#,
            r#"+1794782912.491444 [3 [::1]:7] "get" "x""#,
        ] {
            seen.note(line);
        }
        assert_eq!(seen.client_calls(), 2);
        let shares = ["fcall", "set", "get", "ping"].map(|name| seen.share_of_clients(name));
        assert_eq!(shares, [1.0, 0.0, 0.5, 1.0]);
    }
}
