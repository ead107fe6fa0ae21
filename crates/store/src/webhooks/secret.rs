//! The secret of a webhook as text: `whsec_` and its bytes in base64, as receivers' libraries read it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ff_core::Refusal;
use ff_core::webhook::SigningSecret;

use crate::error::StoreError;

/// What every secret begins with.
pub const SECRET_PREFIX: &str = "whsec_";

/// How many bytes a secret has that is made here.
const SECRET_BYTES: usize = 32;

/// A new secret, from the randomness of the operating system.
pub fn mint_secret() -> Result<SigningSecret, StoreError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        StoreError::Failed(format!("the system has no randomness for a secret: {error}"))
    })?;
    Ok(SigningSecret::new(bytes)?)
}

/// The secret that a text says.
pub fn read_secret(text: &str) -> Result<SigningSecret, Refusal> {
    let bytes = text.strip_prefix(SECRET_PREFIX).and_then(|bytes| BASE64.decode(bytes).ok());
    let why = || Refusal::invalid("secret", format!("is not {SECRET_PREFIX} and bytes in base64"));
    SigningSecret::new(bytes.ok_or_else(why)?)
}

/// The text of a secret, for who has to keep it.
pub fn secret_text(secret: &SigningSecret) -> String {
    format!("{SECRET_PREFIX}{}", BASE64.encode(secret.reveal()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_reads_back() {
        let (one, other) = (mint_secret().unwrap(), mint_secret().unwrap());
        assert_ne!(one, other);
        assert_eq!(read_secret(&secret_text(&one)).unwrap(), one);
    }

    #[test]
    fn what_is_written_otherwise_is_no_secret() {
        let good = secret_text(&mint_secret().unwrap());
        for bad in ["", "whsec_", "whsec_AAAA", &good[1..], &good[6..], &format!("{good} ")] {
            let refused = read_secret(bad).unwrap_err();
            assert!(bad.len() < 10 || !refused.to_string().contains(bad), "it is not repeated");
        }
    }
}
