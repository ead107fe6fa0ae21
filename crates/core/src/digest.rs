//! A 64-bit fingerprint of a request, to distinguish a repeated call from a different one.
//!
//! It compares two bodies under one key, one id or one lease. It is not cryptographic.
//! Fields are length-prefixed, so that no two field lists share an encoding. The format is stored.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

/// The fingerprint of a list of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(u64);

impl Digest {
    /// The fingerprint of the fields that `write` names.
    pub fn of(write: impl FnOnce(&mut Fields)) -> Digest {
        let mut fields = Fields(Xxh3::new());
        write(&mut fields);
        Digest(fields.0.digest())
    }

    /// The fingerprint that was stored as this number.
    pub const fn from_stored(number: u64) -> Digest {
        Digest(number)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Collects the fields of a [`Digest`].
pub struct Fields(Xxh3);

impl Fields {
    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    /// Adds a number that may be absent.
    pub fn maybe(&mut self, number: Option<u64>) {
        self.number(u64::from(number.is_some()));
        self.number(number.unwrap_or(0));
    }
}
