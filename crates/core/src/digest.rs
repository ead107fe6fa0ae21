//! A 64-bit fingerprint of a request, to distinguish a repeated call from a different one.
//!
//! It compares two bodies under one key, one id or one lease. It is not cryptographic.
//! Fields are length-prefixed, so that no two field lists share an encoding. The format is stored.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The fingerprint of a list of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(u64);

impl Digest {
    /// The fingerprint of the fields that `write` names.
    pub fn of(write: impl FnOnce(&mut Fields)) -> Digest {
        let mut fields = Fields { short: [0; SHORT], len: 0, long: None };
        write(&mut fields);
        Digest(match fields.long {
            Some(long) => long.digest(),
            None => xxh3_64(&fields.short[..fields.len]),
        })
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

/// How many bytes of fields are hashed at once, at the end: most lists of fields are shorter.
const SHORT: usize = 256;

/// Collects the fields of a [`Digest`].
pub struct Fields {
    /// All fields so far, unless `long` has them.
    short: [u8; SHORT],
    len: usize,
    long: Option<Box<Xxh3>>,
}

impl Fields {
    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.add(&(bytes.len() as u64).to_le_bytes());
        self.add(bytes);
    }

    fn add(&mut self, bytes: &[u8]) {
        if let Some(long) = &mut self.long {
            return long.update(bytes);
        }
        let end = self.len + bytes.len();
        if let Some(room) = self.short.get_mut(self.len..end) {
            room.copy_from_slice(bytes);
            self.len = end;
            return;
        }
        let mut long = Box::new(Xxh3::new());
        long.update(&self.short[..self.len]);
        long.update(bytes);
        self.long = Some(long);
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.add(&number.to_le_bytes());
    }

    /// Adds a number that may be absent.
    pub fn maybe(&mut self, number: Option<u64>) {
        self.number(u64::from(number.is_some()));
        self.number(number.unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stored format: the fields one after the other, whatever their length.
    #[test]
    fn a_list_of_fields_has_one_fingerprint_however_long_it_is() {
        for len in [0, 1, SHORT - 17, SHORT - 16, SHORT - 15, SHORT, 3 * SHORT] {
            let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let digest = Digest::of(|fields| {
                fields.number(7);
                fields.bytes(&bytes);
                fields.text("end");
            });
            let mut stored = 7u64.to_le_bytes().to_vec();
            for field in [&bytes[..], b"end"] {
                stored.extend((field.len() as u64).to_le_bytes());
                stored.extend(field);
            }
            assert_eq!(digest.get(), xxh3_64(&stored), "{len} bytes");
        }
    }
}
