//! Tokens: `ff1.KID.BODY.MAC`, with body and MAC in base64 for URLs, without padding.
//!
//! The MAC is HMAC-SHA-256 over the purpose, the name of the key and the body, each with its length
//! before it, so that no token can stand in for one of another purpose. A text is accepted only as it
//! is written here; everything else gets one answer, [`Refusal::InvalidToken`].

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ff_core::machine::Target;
use ff_core::{ExecutionId, Kid, Namespace, Refusal, Source, Subject, Time, WaitpointId};
use hmac::Mac;

use super::body::{self, BODY_BYTES};
use super::key::{Key, Keys};

/// The longest token, in bytes.
pub const TOKEN_BYTES: usize = 4
    + 1
    + ff_core::bounds::KID_BYTES
    + 1
    + base64_length(BODY_BYTES)
    + 1
    + base64_length(MAC_BYTES);

const MAC_BYTES: usize = 32;

const fn base64_length(bytes: usize) -> usize {
    (bytes * 4).div_ceil(3)
}

/// What a token is good for. One of one purpose is refused for every other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Sends signals to a waitpoint.
    Signal,
    /// Opens the page on which a person approves or rejects.
    ApprovalLink,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Purpose; 2] = [Purpose::Signal, Purpose::ApprovalLink];

    /// What its tokens begin with: the kind and the version of the format.
    const fn prefix(self) -> &'static str {
        match self {
            Purpose::Signal => "ff1",
            Purpose::ApprovalLink => "ffa1",
        }
    }

    /// Its name, which is signed.
    const fn name(self) -> &'static [u8] {
        match self {
            Purpose::Signal => b"signal",
            Purpose::ApprovalLink => b"approval-link",
        }
    }
}

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The tenant.
    pub namespace: Namespace,
    /// The execution.
    pub execution: ExecutionId,
    /// The waitpoint: 128 random bits, so that no token of an earlier one fits a later one.
    pub waitpoint: WaitpointId,
    /// Whom it was made for: the source of the signals that it sends.
    pub subject: Option<Subject>,
    /// From when on it is refused, by the store's clock.
    pub expires: Option<Time>,
}

impl Claims {
    /// The execution.
    pub fn target(&self) -> Target {
        Target { namespace: self.namespace.clone(), execution: self.execution }
    }

    /// Who sends what the token sends. All bearers of tokens without a subject are one.
    pub fn source(&self) -> Result<Source, Refusal> {
        Source::new(self.subject.as_ref().map_or(BEARER, Subject::as_str))
    }
}

/// The source of signals by a token that was made for nobody in particular.
const BEARER: &str = "bearer";

/// The text of a token. It prints as `redacted`.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedToken(Box<str>);

impl SignedToken {
    /// The token that says `claims`, signed with `key`.
    pub fn sign(key: &Key, purpose: Purpose, claims: &Claims) -> SignedToken {
        let body = body::encode(claims);
        let mac = mac(key, purpose, &body).finalize().into_bytes();
        let (prefix, kid) = (purpose.prefix(), key.kid());
        let (body, mac) = (BASE64.encode(body), BASE64.encode(mac));
        SignedToken(format!("{prefix}.{kid}.{body}.{mac}").into())
    }

    /// What a caller has sent as a token, whatever it is.
    pub fn received(text: impl Into<Box<str>>) -> SignedToken {
        SignedToken(text.into())
    }

    /// The text itself, for the one who is to have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The path of the page that an approval link opens, on any server of its store.
    pub fn approval_path(&self) -> String {
        format!("/approve/{}", self.0)
    }

    /// What the token says, and by which of `keys`, if one of them has signed it for `purpose`. Whether
    /// that key still verifies and the token has not expired is for the caller to check.
    pub fn verify(&self, keys: &Keys, purpose: Purpose) -> Result<(Claims, Kid), Refusal> {
        self.verified(keys, purpose).ok_or(Refusal::InvalidToken)
    }

    fn verified(&self, keys: &Keys, purpose: Purpose) -> Option<(Claims, Kid)> {
        let (kid, body, shown) = taken_apart(&self.0, purpose)?;
        // An unknown key costs as much as a known one.
        let key = keys.get(&kid).or(keys.newest())?;
        mac(key, purpose, &body).verify_slice(&shown).ok().filter(|()| *key.kid() == kid)?;
        Some((body::decode(&body)?, kid))
    }
}

impl fmt::Debug for SignedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("redacted")
    }
}

impl fmt::Display for SignedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("redacted")
    }
}

fn mac(key: &Key, purpose: Purpose, body: &[u8]) -> hmac::Hmac<sha2::Sha256> {
    key.mac(&[purpose.name(), purpose.prefix().as_bytes(), key.kid().as_str().as_bytes(), body])
}

/// The parts of a well-formed token. The decoder takes only the canonical form: no padding, no bits
/// after the last byte, no other alphabet.
fn taken_apart(text: &str, purpose: Purpose) -> Option<(Kid, Vec<u8>, [u8; MAC_BYTES])> {
    if text.len() > TOKEN_BYTES {
        return None;
    }
    let mut parts = text.split('.');
    let (prefix, kid, body, mac) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || prefix != purpose.prefix() {
        return None;
    }
    let body = BASE64.decode(body).ok()?;
    let mac = BASE64.decode(mac).ok()?;
    Some((Kid::new(kid).ok()?, body, mac.try_into().ok()?))
}

#[cfg(test)]
mod tests;
