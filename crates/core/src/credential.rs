//! Named tokens as a store keeps them: what each may do, where, and until when.
//!
//! Of a secret only its SHA-256 is kept. A name has several secrets, so that one can be replaced
//! before it is revoked. Revoked and expired ones are kept for a while to be seen, and are never
//! accepted.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds::{TOKEN_NAMESPACES, TOKEN_SECRETS, TOKEN_USE_STEP};
use crate::name::{Actor, Namespace, TokenName};
use crate::refusal::{Full, Refusal};
use crate::time::Time;
use crate::words;

words!(
    /// What the holder of a token may do in its namespaces. Every role may read.
    Role {
        /// Submits work, and controls it one execution at a time.
        Producer = "producer",
        /// Registers, claims work, keeps it and ends it.
        Worker = "worker",
        /// Everything but tokens and signing keys.
        Operator = "operator",
        /// Answers what suspended work asks.
        Approver = "approver",
        /// Reads.
        Reader = "reader",
    }
);

/// The namespaces that a token reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// Every namespace, and what a server tells of all of them together.
    Every,
    /// These alone.
    Only(BTreeSet<Namespace>),
}

impl Scope {
    /// Whether the token reaches `namespace`.
    pub fn has(&self, namespace: &Namespace) -> bool {
        match self {
            Scope::Every => !namespace.is_system(),
            Scope::Only(namespaces) => namespaces.contains(namespace),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let Scope::Only(namespaces) = self else { return Ok(()) };
        if namespaces.is_empty() {
            return Err(Refusal::invalid("namespaces", "is empty; name at least one"));
        }
        if namespaces.iter().any(Namespace::is_system) {
            return Err(Refusal::invalid("namespaces", "has one that no token reaches"));
        }
        Refusal::cap("namespaces", namespaces.len(), TOKEN_NAMESPACES, "namespaces")
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Every => f.write_str("every namespace"),
            Scope::Only(namespaces) => {
                let names: Vec<_> = namespaces.iter().map(Namespace::as_str).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

/// The SHA-256 of a token. One that somebody shows is compared in constant time, never by `==`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// The digest that is these bytes.
    pub const fn new(bytes: [u8; 32]) -> SecretDigest {
        SecretDigest(bytes)
    }

    /// The bytes, to be compared in constant time.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest(redacted)")
    }
}

/// A token: what it may do, and its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// What it may do.
    pub role: Role,
    /// Where.
    pub scope: Scope,
    /// Its secrets, oldest first.
    pub secrets: Vec<Secret>,
    /// When one of them was last accepted, to about a minute.
    pub last_used: Option<Time>,
}

/// One secret of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// 1 for the first of its name.
    pub number: u32,
    /// What is kept of it.
    pub digest: SecretDigest,
    /// When it was made.
    pub created: Time,
    /// By whom.
    pub created_by: Actor,
    /// From then on it is not accepted.
    pub expires: Option<Time>,
    /// When it was revoked, and by whom.
    pub revoked: Option<(Time, Actor)>,
}

impl Secret {
    /// Whether it is accepted at `now`.
    pub fn is_live(&self, now: Time) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|at| now < at)
    }
}

impl Credential {
    /// A token without a secret.
    pub(crate) fn new(role: Role, scope: Scope) -> Credential {
        Credential { role, scope, secrets: Vec::new(), last_used: None }
    }

    /// Whether one of its secrets is accepted at `now`.
    pub fn is_live(&self, now: Time) -> bool {
        self.secrets.iter().any(|secret| secret.is_live(now))
    }

    /// Whether a use at `now` is worth a write.
    pub fn is_use_news(&self, now: Time) -> bool {
        self.last_used.is_none_or(|last| last + TOKEN_USE_STEP <= now)
    }

    /// Adds a secret; the oldest that is not accepted any more makes room for it.
    pub(crate) fn add(&mut self, secret: Secret, now: Time) -> Result<(), Refusal> {
        if self.secrets.len() >= TOKEN_SECRETS {
            let dead = self.secrets.iter().position(|secret| !secret.is_live(now));
            let full = Full::Secrets { most: TOKEN_SECRETS };
            self.secrets.remove(dead.ok_or(Refusal::LimitReached { what: full })?);
        }
        self.secrets.push(secret);
        Ok(())
    }

    /// The number of the next secret.
    pub(crate) fn next_number(&self) -> u32 {
        self.secrets.last().map_or(1, |last| last.number.saturating_add(1))
    }
}

/// A token as everybody with the right to list them may know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenView {
    /// Its name.
    pub name: TokenName,
    /// What it may do.
    pub role: Role,
    /// Where.
    pub scope: Scope,
    /// When one of its secrets was last accepted, to about a minute.
    pub last_used: Option<Time>,
    /// Its secrets, oldest first.
    pub secrets: Vec<SecretView>,
}

/// A secret as everybody with the right to list tokens may know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretView {
    /// 1 for the first of its name.
    pub number: u32,
    /// When it was made.
    pub created: Time,
    /// By whom.
    pub created_by: Actor,
    /// From then on it is not accepted.
    pub expires: Option<Time>,
    /// When it was revoked, and by whom.
    pub revoked: Option<(Time, Actor)>,
    /// Whether it is accepted.
    pub live: bool,
}

impl Credential {
    /// The token called `name` at `now`, without what its secrets are.
    pub fn view(&self, name: &TokenName, now: Time) -> TokenView {
        let secret = |secret: &Secret| SecretView {
            number: secret.number,
            created: secret.created,
            created_by: secret.created_by.clone(),
            expires: secret.expires,
            revoked: secret.revoked.clone(),
            live: secret.is_live(now),
        };
        TokenView {
            name: name.clone(),
            role: self.role,
            scope: self.scope.clone(),
            last_used: self.last_used,
            secrets: self.secrets.iter().map(secret).collect(),
        }
    }
}
