//! The text of a named token: made once, shown once, kept only as its SHA-256.
//!
//! `fft_NAME_SECRET`: the name says which record to read, the secret is 256 random bits in
//! hexadecimal. Nothing but [`TokenText::reveal`] writes it out.

use std::fmt;

use ff_core::TokenName;
use ff_core::credential::SecretDigest;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::error::StoreError;

/// What every token begins with.
pub const PREFIX: &str = "fft_";

/// How many bytes a secret has.
const SECRET_BYTES: usize = 32;

/// A token as its holder shows it.
#[derive(Clone)]
pub struct TokenText(String);

impl TokenText {
    /// A new token for `name`, from the randomness of the operating system.
    pub fn mint(name: &TokenName) -> Result<TokenText, StoreError> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret).map_err(|error| {
            StoreError::Failed(format!("the system has no randomness for a token: {error}"))
        })?;
        let secret: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(TokenText(format!("{PREFIX}{name}_{secret}")))
    }

    /// A token that was made elsewhere.
    pub fn new(text: String) -> TokenText {
        TokenText(text)
    }

    /// The text, to show it to its holder.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept of it.
    pub fn digest(&self) -> SecretDigest {
        digest(&self.0)
    }
}

impl fmt::Debug for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenText(redacted)")
    }
}

/// What is kept of the token `text`.
pub fn digest(text: &str) -> SecretDigest {
    SecretDigest::new(Sha256::digest(text).into())
}

/// The name that a token claims; `None` if no token is written like `text`.
pub fn name_of(text: &str) -> Option<TokenName> {
    let (name, secret) = text.strip_prefix(PREFIX)?.rsplit_once('_')?;
    let hexadecimal = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    let whole = secret.len() == 2 * SECRET_BYTES && secret.bytes().all(hexadecimal);
    whole.then(|| TokenName::new(name).ok()).flatten()
}

/// Whether two digests are one, in constant time.
pub fn is_same(kept: &SecretDigest, shown: &SecretDigest) -> Choice {
    kept.as_bytes()[..].ct_eq(&shown.as_bytes()[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> TokenName {
        TokenName::new(text).unwrap()
    }

    #[test]
    fn a_token_says_its_name_and_is_never_printed() {
        for text in ["ci", "a_b_c", "x.y-z", &"n".repeat(64)] {
            let token = TokenText::mint(&name(text)).unwrap();
            assert_eq!(name_of(token.reveal()), Some(name(text)));
            assert!(!format!("{token:?} {:?}", token.digest()).contains(token.reveal()));
            let secret = token.reveal().rsplit('_').next().unwrap();
            assert!(!format!("{token:?} {:?}", token.digest()).contains(secret));
        }
        let (a, b) = (TokenText::mint(&name("ci")).unwrap(), TokenText::mint(&name("ci")).unwrap());
        assert_ne!(a.reveal(), b.reveal());
    }

    #[test]
    fn what_is_written_otherwise_is_no_token() {
        let secret = "0".repeat(64);
        for bad in [
            String::new(),
            "fft_".into(),
            format!("fft__{secret}"),
            format!("fft_ci_{}", &secret[1..]),
            format!("fft_ci_{secret}0"),
            format!("fft_ci_{}A", &secret[1..]),
            format!("fft_c i_{secret}"),
            format!("fft_root_{secret}"),
            format!("fft_@system_{secret}"),
            format!("FFT_ci_{secret}"),
            format!(" fft_ci_{secret}"),
            format!("fft_{}_{secret}", "n".repeat(65)),
        ] {
            assert_eq!(name_of(&bad), None, "{bad}");
        }
    }

    #[test]
    fn a_digest_is_compared_to_its_last_bit() {
        let digest = digest("fft_ci_0");
        assert!(bool::from(is_same(&digest, &digest)));
        for place in 0..32 {
            for bit in 0..8 {
                let mut bytes = *digest.as_bytes();
                bytes[place] ^= 1 << bit;
                assert!(!bool::from(is_same(&digest, &SecretDigest::new(bytes))), "{place} {bit}");
            }
        }
    }
}
