//! How a store is opened.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ff_core::Namespace;
use ff_core::Refusal;

/// What the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topology {
    /// One server that takes every command.
    Standalone,
    /// Several primaries, each with its share of the slots.
    Cluster,
}

/// How the connection is protected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    Off,
    /// By TLS; certificates are checked against what the machine trusts.
    On,
    /// By TLS; certificates are checked against the authorities in this PEM file, and no others.
    Trusting(PathBuf),
}

/// How a store is opened. `"valkey://localhost".parse()` gives one with every default.
#[derive(Clone)]
pub struct Options {
    /// What the server is.
    pub topology: Topology,
    /// Host and port of the server, or of some nodes of the cluster: the others are found.
    pub nodes: Vec<(String, u16)>,
    /// How the connection is protected.
    pub tls: Tls,
    /// The user to log in as; without one, the server's default user.
    pub user: Option<String>,
    /// The password to log in with.
    pub password: Option<Secret>,
    /// The numbered database; a cluster has only 0.
    pub database: u32,
    /// The prefix of every key.
    pub prefix: Prefix,
    /// How many partitions the store shall have. It is fixed at first start, by default 64;
    /// afterwards another number is refused.
    pub partitions: Option<u16>,
    /// Whether to open a store whose server may lose what it has acknowledged.
    pub accept_data_loss: bool,
    /// How many replicas must have a write before it is answered; 0 waits for none.
    pub confirm_replicas: u32,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long a call may take, repetitions included.
    pub request_timeout: Duration,
    /// How long an opening store waits for a server that loads its data.
    pub loading_timeout: Duration,
    /// Lua at the head of the library. Only tests have any.
    pub prelude: String,
    /// Lua of the library that is replaced, each text by another. Only tests have any.
    pub alter: Vec<(String, String)>,
}

impl Options {
    /// A store on one server.
    pub fn standalone(host: impl Into<String>, port: u16) -> Options {
        Options::at(Topology::Standalone, vec![(host.into(), port)])
    }

    /// A store on the cluster that has these nodes.
    pub fn cluster(nodes: Vec<(String, u16)>) -> Options {
        Options::at(Topology::Cluster, nodes)
    }

    fn at(topology: Topology, nodes: Vec<(String, u16)>) -> Options {
        Options {
            topology,
            nodes,
            tls: Tls::Off,
            user: None,
            password: None,
            database: 0,
            prefix: Prefix::default(),
            partitions: None,
            accept_data_loss: false,
            confirm_replicas: 0,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(5),
            loading_timeout: Duration::from_secs(600),
            prelude: String::new(),
            alter: Vec::new(),
        }
    }
}

/// As a URL, without the password.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secure = if self.tls == Tls::Off { "" } else { "s" };
        let cluster = if self.topology == Topology::Cluster { "-cluster" } else { "" };
        write!(f, "valkey{secure}{cluster}://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        for (index, (host, port)) in self.nodes.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match host.contains(':') {
                true => write!(f, "{comma}[{host}]:{port}")?,
                false => write!(f, "{comma}{host}:{port}")?,
            }
        }
        match self.database {
            0 => Ok(()),
            database => write!(f, "/{database}"),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("url", &self.to_string())
            .field("tls", &self.tls)
            .field("password", &self.password)
            .field("prefix", &self.prefix)
            .field("partitions", &self.partitions)
            .field("accept_data_loss", &self.accept_data_loss)
            .field("confirm_replicas", &self.confirm_replicas)
            .field("connect_timeout", &self.connect_timeout)
            .field("request_timeout", &self.request_timeout)
            .finish_non_exhaustive()
    }
}

/// Text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text, for the one place that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// The prefix of every key of a store: of the same alphabet as the names in keys, so that it
/// cannot move a key to another slot.
#[derive(Clone, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Checks `text`.
    pub fn new(text: &str) -> Result<Prefix, Refusal> {
        match Namespace::new(text) {
            Ok(_) => Ok(Prefix(text.to_owned())),
            Err(_) => Err(Refusal::invalid(
                "store",
                format!(
                    "has the prefix {text:?}; give letters, digits, _ - and . that begin with a \
                     letter or digit"
                ),
            )),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix("ff".to_owned())
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
