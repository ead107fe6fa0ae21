//! Secrets of signing keys. They are compared by fingerprint and never printed.

use std::fmt;

use ff_core::bounds::KEYS_KEPT;
use ff_core::signing::Fingerprint;
use ff_core::{Kid, Refusal};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// How many bytes a secret has.
const SECRET_BYTES: usize = 32;

/// Separates the fingerprint of a secret from every other use of its bytes.
const FINGERPRINT: &[u8] = b"flowfabric signing key";

/// A signing key: a name and a secret of 256 bits.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    kid: Kid,
    secret: [u8; SECRET_BYTES],
}

impl Key {
    /// A new random key, named after its fingerprint.
    pub fn random() -> Result<Key, KeyError> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret).map_err(|error| KeyError::Random(error.to_string()))?;
        let name: String = fingerprint(&secret).to_string().chars().take(8).collect();
        Ok(Key { kid: Kid::new(name)?, secret })
    }

    /// The key of this name whose secret is written as 64 hexadecimal digits.
    pub fn parse(kid: &str, secret: &str) -> Result<Key, KeyError> {
        let kid = Kid::new(kid)?;
        let digits = secret.as_bytes();
        if digits.len() != 2 * SECRET_BYTES {
            return Err(KeyError::Length { kid, got: digits.len() });
        }
        let mut bytes = [0; SECRET_BYTES];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let (Some(high), Some(low)) = (hex(pair[0]), hex(pair[1])) else {
                return Err(KeyError::NotHex { kid });
            };
            *byte = high << 4 | low;
        }
        if bytes.iter().all(|byte| *byte == bytes[0]) {
            return Err(KeyError::Weak { kid });
        }
        Ok(Key { kid, secret: bytes })
    }

    /// Its name.
    pub fn kid(&self) -> &Kid {
        &self.kid
    }

    /// What it is compared by.
    pub fn fingerprint(&self) -> Fingerprint {
        fingerprint(&self.secret)
    }

    /// The secret as [`Key::parse`] reads it, for the file of keys alone.
    pub(super) fn reveal(&self) -> String {
        self.secret.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The MAC of these fields, each with its length before it.
    pub(super) fn mac(&self, fields: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = <Hmac<Sha256> as KeyInit>::new(&self.secret_block());
        for field in fields {
            mac.update(&(field.len() as u32).to_be_bytes());
            mac.update(field);
        }
        mac
    }

    /// The secret as a whole block of the hash, which is the same key: HMAC pads with zeros.
    fn secret_block(&self) -> hmac::digest::Key<Hmac<Sha256>> {
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        block[..SECRET_BYTES].copy_from_slice(&self.secret);
        block
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

fn fingerprint(secret: &[u8]) -> Fingerprint {
    let hash = Sha256::new().chain_update(FINGERPRINT).chain_update(secret).finalize();
    let mut half = [0; 16];
    half.copy_from_slice(&hash[..16]);
    Fingerprint::new(half)
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, redacted)", self.kid)
    }
}

/// Keys with distinct names and secrets, oldest first, at most [`KEYS_KEPT`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys(Vec<Key>);

impl Keys {
    /// One key.
    pub fn of(key: Key) -> Keys {
        Keys(vec![key])
    }

    /// Adds the newest key. A name or a secret that is there already is refused.
    pub fn add(&mut self, key: Key) -> Result<(), KeyError> {
        if self.get(key.kid()).is_some() {
            return Err(KeyError::Twice { kid: key.kid });
        }
        if let Some(same) = self.0.iter().find(|other| other.secret == key.secret) {
            return Err(KeyError::SameSecret { one: same.kid.clone(), other: key.kid });
        }
        if self.0.len() >= KEYS_KEPT {
            return Err(KeyError::TooMany);
        }
        self.0.push(key);
        Ok(())
    }

    /// The key of this name.
    pub fn get(&self, kid: &Kid) -> Option<&Key> {
        self.0.iter().find(|key| key.kid == *kid)
    }

    /// The key that was added last.
    pub fn newest(&self) -> Option<&Key> {
        self.0.last()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        self.0.iter()
    }
}

/// Why keys cannot be used. No variant has a secret in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The name is not one.
    #[error("{0}")]
    Kid(#[from] Refusal),
    /// The secret has another length.
    #[error("the secret of key {kid} has {got} characters; give 64 hexadecimal digits")]
    Length {
        /// Whose.
        kid: Kid,
        /// How many it has.
        got: usize,
    },
    /// The secret has another alphabet.
    #[error("the secret of key {kid} has a character that is no hexadecimal digit")]
    NotHex {
        /// Whose.
        kid: Kid,
    },
    /// The secret is no random one.
    #[error("the secret of key {kid} repeats one byte; give 256 random bits")]
    Weak {
        /// Whose.
        kid: Kid,
    },
    /// A name occurs twice.
    #[error("key {kid} occurs twice; a name has one secret")]
    Twice {
        /// Which.
        kid: Kid,
    },
    /// A secret occurs twice.
    #[error("keys {one} and {other} have the same secret; make a new one")]
    SameSecret {
        /// One.
        one: Kid,
        /// The other.
        other: Kid,
    },
    /// There are too many.
    #[error("there are more than {KEYS_KEPT} keys; remove those that are retired")]
    TooMany,
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    Random(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

    #[test]
    fn a_secret_is_64_hexadecimal_digits_that_differ() {
        let short = &SECRET[2..];
        let odd = &SECRET[1..];
        for (kid, secret) in [
            ("a", ""),
            ("a", short),
            ("a", odd),
            ("a", &format!("{SECRET}00")),
            ("a", &SECRET.replace('f', "g")),
            ("a", &SECRET.replacen("00", "+1", 1)),
            ("a", &"ab".repeat(32)),
            ("a", &"0".repeat(64)),
            ("", SECRET),
            ("a.b", SECRET),
            (&"k".repeat(17), SECRET),
        ] {
            let error = Key::parse(kid, secret).unwrap_err().to_string();
            assert!(secret.len() < 8 || !error.contains(&secret[..8]), "{error}");
        }
        let key = Key::parse("a", SECRET).unwrap();
        assert_eq!(key.reveal(), SECRET);
        assert_eq!(Key::parse("a", &SECRET.to_uppercase()).unwrap(), key);
    }

    #[test]
    fn the_fingerprint_is_pinned_and_no_secret_is_printed() {
        let key = Key::parse("k1", SECRET).unwrap();
        assert_eq!(key.fingerprint().to_string(), PINNED);
        let printed = format!("{key:?} {:?}", Keys(vec![key.clone()]));
        assert!(printed.contains("redacted") && !printed.contains("0001"), "{printed}");
        assert!(!printed.contains("1, 2, 3"), "{printed}");
    }

    const PINNED: &str = "aba6e117251e84e80b1644cac9a3cd79";

    #[test]
    fn random_keys_differ_and_are_named_after_their_fingerprint() {
        let (one, other) = (Key::random().unwrap(), Key::random().unwrap());
        assert_ne!(one, other);
        assert!(one.fingerprint().to_string().starts_with(one.kid().as_str()));
    }

    #[test]
    fn names_and_secrets_are_distinct_and_few() {
        let mut keys = Keys::default();
        keys.add(Key::parse("a", SECRET).unwrap()).unwrap();
        let twice = keys.add(Key::parse("a", &SECRET.replace("00", "ff")).unwrap());
        assert!(matches!(twice, Err(KeyError::Twice { .. })));
        let same = keys.add(Key::parse("b", SECRET).unwrap());
        assert!(matches!(same, Err(KeyError::SameSecret { .. })));
        for _ in 1..KEYS_KEPT {
            keys.add(Key::random().unwrap()).unwrap();
        }
        assert_eq!(keys.add(Key::random().unwrap()), Err(KeyError::TooMany));
    }
}
