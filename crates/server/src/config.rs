//! How the server is configured, and what it refuses to start with.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use ff_core::Millis;
use ff_core::bounds::CLAIM_WAIT_MAX;
use sha2::{Digest, Sha256};

use crate::tls::Tls;

/// The address the server binds by default.
pub const DEFAULT_LISTEN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7272);

/// How many requests a second a server takes of each named token by default.
pub const DEFAULT_TOKEN_RATE: u32 = 1_000;

/// How many requests of each named token a server works on at once by default.
pub const DEFAULT_TOKEN_REQUESTS: u32 = 256;

/// How many requests of each named token may wait at once by default.
pub const DEFAULT_TOKEN_WAITS: u32 = 1_024;

/// How the server works.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The token that clients must send; `None` only on loopback.
    pub token: Option<Token>,
    /// Serves HTTPS with this certificate; plain HTTP without.
    pub tls: Option<Tls>,
    /// How many connections it keeps at once.
    pub connections: usize,
    /// How many claims may wait for work at once.
    pub waiting_claims: usize,
    /// How many clients may wait for the end of an execution at once.
    pub waiting_clients: usize,
    /// How many requests a second it takes of everybody together, health checks aside; `None` is any number.
    pub rate: Option<NonZeroU32>,
    /// How many requests a second it takes of each named token; `None` is any number.
    pub token_rate: Option<NonZeroU32>,
    /// How many requests of each named token it works on at once, those that wait aside; `None` is any number.
    pub token_requests: Option<NonZeroU32>,
    /// How many requests of each named token may wait at once, streams included; `None` is any number.
    pub token_waits: Option<NonZeroU32>,
    /// How long a claim may wait for work, and a client for an end, whatever they ask for; they ask
    /// again.
    pub longest_wait: Millis,
    /// How long a client may take to send its headers, or anything at all.
    pub header_timeout: Duration,
    /// How long a client may take to send its body, or take nothing of an answer.
    pub body_timeout: Duration,
    /// How long a request may take, waiting included.
    pub request_timeout: Duration,
    /// How long requests may continue after a stop.
    pub drain: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: DEFAULT_LISTEN,
            token: None,
            tls: None,
            connections: 4_096,
            waiting_claims: 2_048,
            waiting_clients: 1_024,
            rate: None,
            token_rate: NonZeroU32::new(DEFAULT_TOKEN_RATE),
            token_requests: NonZeroU32::new(DEFAULT_TOKEN_REQUESTS),
            token_waits: NonZeroU32::new(DEFAULT_TOKEN_WAITS),
            longest_wait: CLAIM_WAIT_MAX,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(20),
            request_timeout: Duration::from_secs(120),
            drain: Duration::from_secs(10),
        }
    }
}

impl Config {
    /// Refuses a configuration that would serve the network without authentication.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.token.is_none() && !self.listen.ip().is_loopback() {
            return Err(ConfigError::Open(self.listen));
        }
        Ok(())
    }
}

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It would be open to the network.
    #[error(
        "{0} is not a loopback address and there is no token; set FF_TOKEN to a random secret of \
         at least 32 characters, or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The token is too easy to guess.
    #[error("the token has {0} characters; give at least 32 random visible ASCII characters")]
    WeakToken(usize),
    /// The certificate or its key cannot be used.
    #[error("TLS is not possible with {}: {why}; give PEM files that belong together", file.display())]
    Tls {
        /// Which file.
        file: PathBuf,
        /// Why not.
        why: String,
    },
    /// The store could never have work.
    #[error(transparent)]
    Scheduler(#[from] ff_scheduler::SchedulerError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why not.
        error: std::io::Error,
    },
}

/// A bearer token, kept only as its SHA-256.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// The least number of characters of a token.
    pub const MIN: usize = 32;

    /// A token from its text.
    pub fn new(text: &str) -> Result<Token, ConfigError> {
        if text.len() < Token::MIN || !text.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(ConfigError::WeakToken(text.len()));
        }
        Ok(Token(Sha256::digest(text).into()))
    }

    /// Whether `text` is this token, in constant time.
    pub fn is(&self, text: &str) -> bool {
        let shown: [u8; 32] = Sha256::digest(text).into();
        subtle::ConstantTimeEq::ct_eq(&self.0[..], &shown[..]).into()
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_may_go_without_a_token() {
        let mut config = Config::default();
        assert!(config.check().is_ok());
        for open in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1"] {
            config.listen = open.parse().unwrap();
            assert!(config.check().is_err(), "{open}");
        }
        config.token = Some(Token::new(&"x".repeat(32)).unwrap());
        assert!(config.check().is_ok());
    }

    #[test]
    fn a_token_is_itself_and_never_shown() {
        let text = "0123456789abcdef0123456789abcdef";
        let token = Token::new(text).unwrap();
        assert!(token.is(text));
        for other in ["", &text[1..], &text.to_uppercase(), &format!("{text} ")] {
            assert!(!token.is(other));
        }
        assert!(!format!("{token:?}").contains("0123"));
        assert!(Token::new("short").is_err());
    }
}
