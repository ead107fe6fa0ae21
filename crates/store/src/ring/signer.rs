//! What one process signs and verifies with: the secrets that it holds, and the states that the store
//! has of them.
//!
//! The store says which key is current and which still verify; the process needs the secret of each.
//! Both are re-read while the process runs, so that a rotation is learned without a restart.

use std::sync::{Arc, PoisonError, RwLock};

use ff_core::signing::{KeyState, SigningKey, SigningKeys};
use ff_core::{Refusal, Time};

use super::file::KeyFile;
use super::key::{Key, Keys};
use super::token::{Claims, Purpose, SignedToken};

/// Signs and verifies for one process. It has no keys until it is given some.
#[derive(Debug, Default)]
pub(crate) struct Signer {
    held: RwLock<Arc<Held>>,
}

/// The keys that a process has, as of one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held {
    /// The file that the secrets are from, which may get further ones; `None` if the process has no
    /// keys, or one of its own.
    pub(crate) file: Option<KeyFile>,
    /// The secrets.
    pub(crate) keys: Keys,
    /// What the store says of them.
    pub(crate) states: SigningKeys,
}

impl Held {
    /// One key of a process whose store ends with it.
    pub(crate) fn own(key: Key) -> Held {
        let states = SigningKeys::of(key.kid().clone(), key.fingerprint());
        Held { file: None, keys: Keys::of(key), states }
    }

    /// The keys that verify at `now` and whose secret is not here.
    pub(crate) fn lacking(&self, now: Time) -> impl Iterator<Item = &SigningKey> {
        self.states.verifying(now).filter(|known| !self.has(known))
    }

    fn has(&self, known: &SigningKey) -> bool {
        let key = self.keys.get(&known.kid);
        key.is_some_and(|key| key.fingerprint() == known.fingerprint)
    }

    /// The token that says `claims`, signed with the current key.
    pub(crate) fn sign(&self, purpose: Purpose, claims: &Claims) -> Result<SignedToken, Refusal> {
        let current = self.states.current().filter(|current| self.has(current));
        let key = current.and_then(|current| self.keys.get(&current.kid));
        let key = key.ok_or(Refusal::NoSigningKey)?;
        Ok(SignedToken::sign(key, purpose, claims))
    }

    /// What a token says that was signed with one of the secrets, and what the store says of its key:
    /// `None` if the store does not know it.
    pub(crate) fn verify(
        &self,
        purpose: Purpose,
        token: &SignedToken,
    ) -> Result<(Claims, Option<SigningKey>), Refusal> {
        let (claims, kid) = token.verify(&self.keys, purpose)?;
        let known = self.states.get(&kid).filter(|known| self.has(known));
        Ok((claims, known.cloned()))
    }
}

/// Refuses a token that has expired, or whose key is retired, at `now`.
pub(crate) fn check_time(claims: &Claims, key: &SigningKey, now: Time) -> Result<(), Refusal> {
    let expired = claims.expires.is_some_and(|at| at <= now);
    match expired || key.state(now) == KeyState::Retired {
        true => Err(Refusal::InvalidToken),
        false => Ok(()),
    }
}

impl Signer {
    /// The keys of this moment.
    pub(crate) fn held(&self) -> Arc<Held> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Signs and verifies with these keys from now on.
    pub(crate) fn hold(&self, held: Held) {
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(held);
    }
}
