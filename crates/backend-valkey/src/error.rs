//! Failures between a call and its answer, by name, and the errors that callers get.

use std::fmt;

use ff_store::StoreError;
use redis::{RedisError, ServerError};

/// Why a command has no reply.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// What it is.
    pub(crate) kind: Kind,
    /// What happened, for a person.
    pub(crate) text: String,
}

/// The faults that are distinguished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The node lacks the function: not run.
    Missing,
    /// The slot is on another node for good: not run.
    Moved(Redirect),
    /// The slot is moving to another node, which has this key: not run.
    Ask(Redirect),
    /// The slot is moving to another node, with some of the keys: not run.
    TryAgain,
    /// The cluster, or this slot of it, is not served: not run.
    ClusterDown,
    /// The server is loading its data: not run.
    Loading,
    /// The server is busy with a slow function: not run.
    Busy,
    /// The node is a replica that has lost its primary: not run.
    MasterDown,
    /// The node is a replica: not run.
    ReadOnly,
    /// The server refuses writes until its replicas or its disk recover: not run.
    Unwritable,
    /// The memory limit is reached: not run.
    Full,
    /// The user may not log in, or may not do this: not run, or only in part.
    Denied(Denial),
    /// A key holds something of another type than ours: not run, or only in part.
    WrongType,
    /// The library is on the server already: not run.
    AlreadyLoaded,
    /// The server is not part of a cluster: not run.
    NoCluster,
    /// No connection could be made: not sent.
    Unreached,
    /// The answer to a command that was sent is missing: whether it ran is unknown.
    Lost,
    /// A function accessed a slot that has left the node: it may have run in part.
    Strayed,
    /// Fewer replicas than required have the write; the primary has it.
    Unconfirmed,
    /// Anything else.
    Other,
}

/// What the user of the store's URL is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Denial {
    /// Anything, without a password.
    Unknown,
    /// Log in with this password.
    Password,
    /// Run this command, or touch this key or channel.
    Permission,
    /// Connect from its address.
    Protected,
}

impl Denial {
    fn of(code: &str) -> Option<Denial> {
        Some(match code {
            "NOAUTH" => Denial::Unknown,
            "WRONGPASS" => Denial::Password,
            "NOPERM" => Denial::Permission,
            "DENIED" => Denial::Protected,
            _ => return None,
        })
    }

    /// What an operator should do about it.
    fn advice(self) -> &'static str {
        match self {
            Denial::Unknown => "put a user and password into the store's URL",
            Denial::Password => "check the user and password of the store's URL",
            Denial::Permission => {
                "give this permission to the user of the store's URL, with ACL SETUSER"
            }
            Denial::Protected => "set a password on the server, or turn its protected mode off",
        }
    }
}

/// Where a node sends a command instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// The slot it concerns.
    pub(crate) slot: u16,
    /// The host, empty for the host that was called.
    pub(crate) host: String,
    /// The port.
    pub(crate) port: u16,
}

impl Fault {
    /// A fault that no server reported.
    pub(crate) fn new(kind: Kind, text: impl Into<String>) -> Fault {
        Fault { kind, text: text.into() }
    }

    /// What an error reply means. Where the server's code says only that there is an error, its
    /// text is all that distinguishes it; nothing outside of here reads that text.
    pub(crate) fn replied(error: &ServerError) -> Fault {
        let (code, details) = (error.code(), error.details().unwrap_or_default());
        let kind = match code {
            "MOVED" => redirect(details).map_or(Kind::Other, Kind::Moved),
            "ASK" => redirect(details).map_or(Kind::Other, Kind::Ask),
            "TRYAGAIN" => Kind::TryAgain,
            "CLUSTERDOWN" => Kind::ClusterDown,
            "LOADING" => Kind::Loading,
            "BUSY" => Kind::Busy,
            "MASTERDOWN" => Kind::MasterDown,
            "READONLY" => Kind::ReadOnly,
            "NOREPLICAS" | "MISCONF" => Kind::Unwritable,
            "OOM" => Kind::Full,
            "WRONGTYPE" => Kind::WrongType,
            _ if details.contains("ACL failure in script") => Kind::Denied(Denial::Permission),
            _ if details.contains("unction not found") => Kind::Missing,
            _ if details.contains("already exists") => Kind::AlreadyLoaded,
            _ if details.contains("cluster support disabled") => Kind::NoCluster,
            _ if STRAYED.iter().any(|text| details.contains(text)) => Kind::Strayed,
            code => Denial::of(code).map_or(Kind::Other, Kind::Denied),
        };
        Fault { kind, text: format!("{code} {details}") }
    }

    /// What a failure while connecting means: nothing has been sent.
    pub(crate) fn connecting(error: &RedisError) -> Fault {
        let refused = error.kind() == redis::ErrorKind::AuthenticationFailed;
        let denial = error.code().and_then(Denial::of);
        let kind = match denial.or(refused.then_some(Denial::Password)) {
            Some(denial) => Kind::Denied(denial),
            None => Kind::Unreached,
        };
        Fault { kind, text: error.to_string() }
    }

    /// Whether the user may not do this, and waiting does not help.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self.kind, Kind::Denied(_))
    }

    /// What a failure after sending means.
    pub(crate) fn sent(error: &RedisError) -> Fault {
        Fault::new(Kind::Lost, format!("the connection gave no answer: {error}"))
    }

    /// Adds where it happened.
    pub(crate) fn at(mut self, place: &impl fmt::Display) -> Fault {
        self.text = format!("{place}: {}", self.text);
        self
    }
}

/// The texts by which a server reports, inside a function, that a key's slot is not its own.
const STRAYED: &[&str] = &[
    "access a non local key in a cluster node",
    "undeclared keys were accessed during rehashing of the slot",
    "while the cluster is down",
    "access a slot not served",
];

fn redirect(details: &str) -> Option<Redirect> {
    let mut words = details.split_ascii_whitespace();
    let slot = words.next()?.parse().ok()?;
    let (host, port) = words.next()?.rsplit_once(':')?;
    Some(Redirect { slot, host: host.to_owned(), port: port.parse().ok()? })
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> StoreError {
        let Fault { kind, text } = fault;
        match kind {
            Kind::Loading | Kind::Busy | Kind::TryAgain => StoreError::Busy(text),
            Kind::Full => StoreError::Full(text),
            Kind::Denied(denial) => StoreError::Denied(format!("{text}; {}", denial.advice())),
            Kind::WrongType => StoreError::Corrupt(text),
            Kind::Other => {
                tracing::error!(error = text, "the store answered with an unknown error");
                StoreError::Failed(text)
            }
            _ => StoreError::Unavailable(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replied(line: &str) -> Fault {
        let reply = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let redis::Value::ServerError(error) = reply else { panic!("{reply:?}") };
        Fault::replied(&error)
    }

    #[test]
    fn every_fault_has_its_name_and_its_code() {
        let to = |host: &str| Redirect { slot: 3999, host: host.into(), port: 6381 };
        for (line, kind, code) in [
            ("MOVED 3999 127.0.0.1:6381", Kind::Moved(to("127.0.0.1")), "store_unavailable"),
            ("MOVED 3999 :6381", Kind::Moved(to("")), "store_unavailable"),
            ("ASK 3999 ::1:6381", Kind::Ask(to("::1")), "store_unavailable"),
            ("TRYAGAIN Multiple keys", Kind::TryAgain, "store_busy"),
            ("CLUSTERDOWN The cluster is down", Kind::ClusterDown, "store_unavailable"),
            ("LOADING Valkey is loading", Kind::Loading, "store_busy"),
            ("BUSY Valkey is busy running a script", Kind::Busy, "store_busy"),
            ("MASTERDOWN Link with MASTER is down", Kind::MasterDown, "store_unavailable"),
            ("READONLY You can't write", Kind::ReadOnly, "store_unavailable"),
            ("NOREPLICAS Not enough good replicas", Kind::Unwritable, "store_unavailable"),
            ("MISCONF Errors writing to the AOF file", Kind::Unwritable, "store_unavailable"),
            ("OOM command not allowed", Kind::Full, "store_full"),
            ("NOAUTH Authentication required.", Kind::Denied(Denial::Unknown), "store_denied"),
            (
                "WRONGPASS invalid username-password pair",
                Kind::Denied(Denial::Password),
                "store_denied",
            ),
            ("NOPERM No permissions", Kind::Denied(Denial::Permission), "store_denied"),
            (
                "ERR ACL failure in script: User bob has no permissions to run the 'zadd' command",
                Kind::Denied(Denial::Permission),
                "store_denied",
            ),
            ("DENIED protected mode", Kind::Denied(Denial::Protected), "store_denied"),
            ("WRONGTYPE Operation against a key", Kind::WrongType, "store_corrupt"),
            ("ERR Library 'ff' already exists", Kind::AlreadyLoaded, "store_unavailable"),
            (
                "ERR This instance has cluster support disabled",
                Kind::NoCluster,
                "store_unavailable",
            ),
            ("ERR Function not found", Kind::Missing, "store_unavailable"),
            (
                "ERR Script attempted to access a slot not served",
                Kind::Strayed,
                "store_unavailable",
            ),
            ("ERR something else", Kind::Other, "store_failed"),
            ("MOVED to somewhere", Kind::Other, "store_failed"),
        ] {
            let fault = replied(line);
            assert_eq!(fault.kind, kind, "{line}");
            let error = StoreError::from(fault);
            assert_eq!(error.code(), code, "{line}");
            let later = ["store_busy", "store_full", "store_unavailable"].contains(&code);
            assert_eq!(error.is_retryable(), later, "{error}");
            assert!(error.to_string().contains(line), "{error}");
        }
    }
}
