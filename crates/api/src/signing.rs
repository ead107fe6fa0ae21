//! Signing keys, as `ff keys` prints them: never a secret.

use ff_core::Kid;
use serde::Serialize;

use crate::timestamp::Timestamp;

/// The signing keys of a store and of the file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SigningKeysView {
    /// In the order in which they became current; those that never were come last.
    pub keys: Vec<SigningKeyView>,
}

/// One signing key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SigningKeyView {
    /// Its name.
    pub key: Kid,
    /// What its secret is compared by.
    pub fingerprint: String,
    /// `added`, `current`, `verifies` or `retired`.
    pub state: String,
    /// When it became current.
    pub since: Option<Timestamp>,
    /// Until when it verifies; null for the current one, which does not expire.
    pub until: Option<Timestamp>,
    /// Whether its secret is in the file that was read.
    pub held: bool,
}
