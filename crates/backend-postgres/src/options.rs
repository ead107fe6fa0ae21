//! How a store is opened.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ff_core::Refusal;

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

/// How a store is opened. `"postgres://localhost/app".parse()` gives one with every default.
#[derive(Clone)]
pub struct Options {
    /// Where the server is, and who logs in.
    pub(crate) server: tokio_postgres::Config,
    /// The schema of the store's tables.
    pub schema: Schema,
    /// How the connection is protected.
    pub tls: Tls,
    /// How many connections read at once.
    pub readers: usize,
    /// How many connections write at once.
    pub writers: usize,
    /// Whether to open a store whose server may lose what it has acknowledged.
    pub accept_data_loss: bool,
    /// How long to wait for a lock that another process holds before answering `store_busy`.
    pub busy_timeout: Duration,
    /// Whether the tables are made or brought up to date where that is allowed.
    pub migrates: bool,
    /// Whether this process turns what SQL has submitted into executions.
    pub takes_submissions: bool,
}

/// How many connections read at once, by default.
pub(crate) const READERS: usize = 4;
/// How many connections write at once, by default.
pub(crate) const WRITERS: usize = 2;
/// The most of either.
pub(crate) const CONNECTIONS: usize = 64;

/// How long a connection may take to be made.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

impl Options {
    /// A store on this server, with every default.
    pub(crate) fn at(server: tokio_postgres::Config) -> Options {
        Options {
            server,
            schema: Schema::default(),
            tls: Tls::Off,
            readers: READERS,
            writers: WRITERS,
            accept_data_loss: false,
            busy_timeout: Duration::from_secs(3),
            migrates: true,
            takes_submissions: true,
        }
    }
}

/// As a URL, without the password.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        if let Some(user) = self.server.get_user() {
            write!(f, "{user}@")?;
        }
        let ports = self.server.get_ports();
        for (index, host) in self.server.get_hosts().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
            match host {
                tokio_postgres::config::Host::Tcp(host) => write!(f, "{comma}{host}:{port}")?,
                #[cfg(unix)]
                tokio_postgres::config::Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
        }
        write!(f, "/{}", self.server.get_dbname().unwrap_or_default())?;
        match self.schema == Schema::default() {
            true => Ok(()),
            false => write!(f, "?schema={}", self.schema.as_str()),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("url", &self.to_string())
            .field("tls", &self.tls)
            .field("readers", &self.readers)
            .field("writers", &self.writers)
            .field("accept_data_loss", &self.accept_data_loss)
            .finish_non_exhaustive()
    }
}

/// The name of a schema: letters, digits and underscores that begin with a letter, in lower case, at most
/// 48. It needs no quotes in SQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema(String);

/// How long the name of a schema may be: a channel is named after it.
const SCHEMA_BYTES: usize = 48;

impl Schema {
    /// Checks `text`.
    pub fn new(text: &str) -> Result<Schema, Refusal> {
        let begins = text.starts_with(|first: char| first.is_ascii_lowercase());
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        let is_name = begins && text.len() <= SCHEMA_BYTES && text.bytes().all(plain);
        if is_name && !text.starts_with("pg_") {
            return Ok(Schema(text.to_owned()));
        }
        let why = format!(
            "has the schema {text:?}; give up to {SCHEMA_BYTES} small letters, digits and _ that begin \
             with a letter and not with pg_"
        );
        Err(Refusal::invalid("store", why))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Schema {
    fn default() -> Schema {
        Schema("flowfabric".to_owned())
    }
}
