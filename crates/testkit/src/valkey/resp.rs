//! As much of the server's protocol as a test needs to administer it: one command on a
//! new connection, and its reply.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

const CONNECT_LIMIT: Duration = Duration::from_secs(1);
const REPLY_LIMIT: Duration = Duration::from_secs(10);

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A status or a string of bytes.
    Bytes(Vec<u8>),
    /// A number.
    Number(i64),
    /// Nil: there is no value.
    Nil,
    /// Several replies.
    List(Vec<Reply>),
}

/// Why a command has no reply.
#[derive(Debug)]
pub enum CommandError {
    /// The server cannot be reached, or the connection broke.
    Connection(io::Error),
    /// The server answers with this error.
    Refused(String),
}

impl Reply {
    /// The parts of a list; any other reply has none.
    pub fn list(&self) -> &[Reply] {
        match self {
            Self::List(parts) => parts,
            _ => &[],
        }
    }

    /// The bytes of a string; any other reply has none.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => &[],
        }
    }
}

/// The reply as text: a list has a line for each part, nothing is empty.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Number(number) => write!(f, "{number}"),
            Self::Nil => Ok(()),
            Self::List(parts) => parts.iter().try_for_each(|part| writeln!(f, "{part}")),
        }
    }
}

/// A reply equals a text when it is a string of exactly these bytes.
impl PartialEq<str> for Reply {
    fn eq(&self, text: &str) -> bool {
        matches!(self, Self::Bytes(bytes) if bytes == text.as_bytes())
    }
}

impl PartialEq<&str> for Reply {
    fn eq(&self, text: &&str) -> bool {
        self == *text
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => write!(f, "no reply from the server: {error}"),
            Self::Refused(message) => write!(f, "the server answers: {message}"),
        }
    }
}

impl std::error::Error for CommandError {}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

/// Sends one command to a server on this machine and reads the reply.
pub(super) fn command<W: AsRef<[u8]>>(port: u16, words: &[W]) -> Result<Reply, CommandError> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, CONNECT_LIMIT)?;
    stream.set_read_timeout(Some(REPLY_LIMIT))?;
    stream.set_write_timeout(Some(REPLY_LIMIT))?;
    (&stream).write_all(&encode(words))?;
    read(&mut BufReader::new(stream))
}

fn encode<W: AsRef<[u8]>>(words: &[W]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        let word = word.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn read(from: &mut impl BufRead) -> Result<Reply, CommandError> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    let (Some(kind), Some(rest)) = (line.get(..1), line.get(1..).map(str::trim_end)) else {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    };
    let number = || rest.parse::<i64>().map_err(|_| unreadable(&line));
    match kind {
        "+" => Ok(Reply::Bytes(rest.as_bytes().to_vec())),
        "-" => Err(CommandError::Refused(rest.to_owned())),
        ":" => Ok(Reply::Number(number()?)),
        "$" => match usize::try_from(number()?) {
            Ok(length) => {
                let mut bytes = vec![0; length + 2];
                from.read_exact(&mut bytes)?;
                bytes.truncate(length);
                Ok(Reply::Bytes(bytes))
            }
            Err(_) => Ok(Reply::Nil),
        },
        "*" => match usize::try_from(number()?) {
            Ok(length) => {
                (0..length).map(|_| read(from)).collect::<Result<_, _>>().map(Reply::List)
            }
            Err(_) => Ok(Reply::Nil),
        },
        _ => Err(unreadable(&line).into()),
    }
}

fn unreadable(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a reply: {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_reply_is_read() {
        let bytes = |text: &str| Reply::Bytes(text.as_bytes().to_vec());
        for (sent, expected) in [
            ("+OK\r\n", bytes("OK")),
            (":-7\r\n", Reply::Number(-7)),
            ("$4\r\na\r\nb\r\n", bytes("a\r\nb")),
            ("$-1\r\n", Reply::Nil),
            (
                "*2\r\n:1\r\n*1\r\n$1\r\nx\r\n",
                Reply::List(vec![Reply::Number(1), Reply::List(vec![bytes("x")])]),
            ),
        ] {
            assert_eq!(read(&mut sent.as_bytes()).unwrap(), expected, "{sent:?}");
        }
    }

    #[test]
    fn an_error_reply_and_a_cut_reply_are_errors() {
        let refused = read(&mut "-ERR no\r\n".as_bytes());
        assert!(matches!(refused, Err(CommandError::Refused(why)) if why == "ERR no"));
        for cut in ["", "$4\r\nab", "*2\r\n:1\r\n"] {
            let reply = read(&mut cut.as_bytes());
            assert!(matches!(reply, Err(CommandError::Connection(_))), "{cut:?}");
        }
    }
}
