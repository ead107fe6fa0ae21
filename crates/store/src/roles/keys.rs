//! Signing keys of a store, and what a process signs and verifies with them.

use async_trait::async_trait;
use ff_core::machine::{RegisterKey, RetireKey, RotateKey};
use ff_core::signing::{Fingerprint, SigningKeys};
use ff_core::{Kid, Millis, Refusal, Resource, ResourceKey, Time};

use super::{Engine, only};
use crate::error::StoreError;
use crate::metrics;
use crate::ring::signer::{Held, check_time};
use crate::ring::{Claims, Key, KeyFile, Keys, Purpose, SignedToken};
use crate::store::Store;

/// Keeps the signing keys of a store, and signs and verifies tokens.
#[async_trait]
pub trait KeysBackend: Send + Sync {
    /// The signing keys that the store knows, and its time.
    async fn signing_keys(&self) -> Result<(SigningKeys, Time), StoreError>;

    /// Signs and verifies with the keys of `file` from now on, as a server must: the newest key is
    /// registered in a store that never had one, and a process that lacks a key that still verifies is
    /// refused, also one without any.
    async fn serve_keys(&self, file: Option<KeyFile>) -> Result<(), StoreError>;

    /// Signs and verifies with the keys of `file` as far as the store knows them, and changes nothing.
    async fn use_keys(&self, file: KeyFile) -> Result<(), StoreError>;

    /// Learns what has changed: reads what the store says of its keys, and the file again if a key is
    /// not here. Answers the keys that still verify and are not here.
    async fn refresh_keys(&self) -> Result<Vec<Kid>, StoreError>;

    /// Makes a key current; the one before it verifies for `grace`.
    async fn rotate_key(
        &self,
        kid: &Kid,
        fingerprint: Fingerprint,
        grace: Millis,
    ) -> Result<SigningKeys, StoreError>;

    /// Ends the grace of a key that was replaced.
    async fn retire_key(&self, kid: &Kid) -> Result<SigningKeys, StoreError>;

    /// The token that says `claims`. Nothing is stored: the same claims give the same token.
    fn sign(&self, purpose: Purpose, claims: &Claims) -> Result<SignedToken, StoreError>;

    /// What a token says. A token that no key here has signed costs no call of the store, and every
    /// token that is not valid gets one answer.
    async fn verify(&self, purpose: Purpose, token: &SignedToken) -> Result<Claims, StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> KeysBackend for Engine<S> {
    async fn signing_keys(&self) -> Result<(SigningKeys, Time), StoreError> {
        let store = self.store();
        let found = store.resource(&self.place()).await?;
        let keys = found.as_ref().and_then(Resource::as_signing_keys).cloned();
        Ok((keys.unwrap_or_default(), store.now().await?))
    }

    async fn serve_keys(&self, file: Option<KeyFile>) -> Result<(), StoreError> {
        if file.is_none() && self.0.signer.held().states.current().is_some() {
            // It has a key of its own.
            return Ok(());
        }
        let (mut states, now) = self.signing_keys().await?;
        let keys = match file.as_ref().map_or(Ok(Keys::default()), KeyFile::read) {
            // What is lacking then says more than the name of a file.
            Err(error) if error.is_missing() && states.current().is_some() => Keys::default(),
            keys => keys?,
        };
        if let (None, Some(newest)) = (states.current(), keys.newest()) {
            let (kid, fingerprint) = (newest.kid().clone(), newest.fingerprint());
            let register = RegisterKey { key: self.place(), kid, fingerprint };
            states = self.one(register).await.and_then(only!(SigningKeys))?;
        }
        let held = Held { file, keys, states };
        if let Some(refused) = refused(&held, now) {
            return Err(StoreError::Incompatible(refused));
        }
        self.0.signer.hold(held);
        Ok(())
    }

    async fn use_keys(&self, file: KeyFile) -> Result<(), StoreError> {
        let keys = file.read()?;
        let (states, _) = self.signing_keys().await?;
        self.0.signer.hold(Held { file: Some(file), keys, states });
        Ok(())
    }

    async fn refresh_keys(&self) -> Result<Vec<Kid>, StoreError> {
        let before = self.0.signer.held();
        let Some(file) = &before.file else { return Ok(Vec::new()) };
        let (states, now) = self.signing_keys().await?;
        let mut held = Held { states, ..(*before).clone() };
        if held.lacking(now).next().is_some() {
            held.keys = file.read()?;
        }
        let lacking = held.lacking(now).map(|key| key.kid.clone()).collect();
        self.0.signer.hold(held);
        Ok(lacking)
    }

    async fn rotate_key(
        &self,
        kid: &Kid,
        fingerprint: Fingerprint,
        grace: Millis,
    ) -> Result<SigningKeys, StoreError> {
        let rotate = RotateKey { key: self.place(), kid: kid.clone(), fingerprint, grace };
        self.one(rotate).await.and_then(only!(SigningKeys))
    }

    async fn retire_key(&self, kid: &Kid) -> Result<SigningKeys, StoreError> {
        let retire = RetireKey { key: self.place(), kid: kid.clone() };
        self.one(retire).await.and_then(only!(SigningKeys))
    }

    fn sign(&self, purpose: Purpose, claims: &Claims) -> Result<SignedToken, StoreError> {
        Ok(self.0.signer.held().sign(purpose, claims)?)
    }

    async fn verify(&self, purpose: Purpose, token: &SignedToken) -> Result<Claims, StoreError> {
        let answer = self.verified(purpose, token).await;
        if matches!(answer, Err(StoreError::Refused(Refusal::InvalidToken))) {
            metrics::invalid_token();
        }
        answer
    }
}

impl<S: Store + ?Sized> Engine<S> {
    /// The same with a key of its own, for a store that ends with this process: no other process signs.
    pub fn with_own_key(self, key: Key) -> Engine<S> {
        self.0.signer.hold(Held::own(key));
        self
    }

    /// Where the keys of the store lie.
    fn place(&self) -> ResourceKey {
        ResourceKey::signing_keys(self.store().partitions())
    }

    async fn verified(&self, purpose: Purpose, token: &SignedToken) -> Result<Claims, StoreError> {
        let (claims, mut known) = self.0.signer.held().verify(purpose, token)?;
        if known.is_none() {
            // The secret is here and another process was first to learn that it is current.
            self.refresh_keys().await?;
            known = self.0.signer.held().verify(purpose, token)?.1;
        }
        let key = known.ok_or(Refusal::InvalidToken)?;
        if claims.expires.is_some() || key.until.is_some() {
            check_time(&claims, &key, self.store().now().await?)?;
        }
        Ok(claims)
    }
}

/// Why a server does not start with these keys.
fn refused(held: &Held, now: Time) -> Option<String> {
    let key = held.lacking(now).next()?;
    let (kid, fingerprint) = (&key.kid, key.fingerprint);
    let has = match held.keys.get(kid) {
        Some(other) => {
            let other = other.fingerprint();
            format!("here it has the fingerprint {other}: another secret has its name")
        }
        None => match &held.file {
            Some(file) => format!("{} does not have it", file.path().display()),
            None => "this server has no signing keys; give it some with --signing-keys".to_owned(),
        },
    };
    let until = match key.until {
        None => "it is the current one".to_owned(),
        Some(_) => "it was replaced and still verifies".to_owned(),
    };
    Some(format!(
        "tokens are signed with key {kid} (fingerprint {fingerprint}; {until}), and {has}; copy the \
         file of keys from a server that has it, or, if the key is lost, run `ff keys rotate` and \
         `ff keys retire {kid}`, after which its tokens are refused"
    ))
}
