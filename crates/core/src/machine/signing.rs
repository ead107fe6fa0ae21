//! Signing keys of a store: the first is registered, another becomes current, a replaced one is retired.

use super::{Context, Decide, Facts, ReadSet, Reply, Step};
use crate::bounds::KEY_GRACE_MAX;
use crate::name::Kid;
use crate::refusal::Refusal;
use crate::resource::{Body, Resource, ResourceKey};
use crate::signing::{Fingerprint, SigningKeys};
use crate::time::Millis;

/// Makes a key the current one of a store that never had any. It adds none to a store that has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterKey {
    /// Where the keys lie.
    pub key: ResourceKey,
    /// The name of the key.
    pub kid: Kid,
    /// What its secret is compared by.
    pub fingerprint: Fingerprint,
}

/// Makes a key current. The one before it verifies for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotateKey {
    /// Where the keys lie.
    pub key: ResourceKey,
    /// The name of the key.
    pub kid: Kid,
    /// What its secret is compared by.
    pub fingerprint: Fingerprint,
    /// How long the one before it still verifies.
    pub grace: Millis,
}

/// Ends the grace of a key that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetireKey {
    /// Where the keys lie.
    pub key: ResourceKey,
    /// The name of the key.
    pub kid: Kid,
}

impl Decide for RegisterKey {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (before, keys) = context.signing_keys(&self.key);
        if keys.current().is_some() {
            return Ok(Step::answer(Reply::SigningKeys(keys)));
        }
        let after = keys.rotated(&self.kid, self.fingerprint, Millis::ZERO, context.now)?;
        Ok(context.written(&self.key, before, keys, after))
    }
}

impl Decide for RotateKey {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.grace.within("grace", Millis::ZERO, KEY_GRACE_MAX).map(drop)
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (before, keys) = context.signing_keys(&self.key);
        let after = keys.rotated(&self.kid, self.fingerprint, self.grace, context.now)?;
        Ok(context.written(&self.key, before, keys, after))
    }
}

impl Decide for RetireKey {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (before, keys) = context.signing_keys(&self.key);
        let after = keys.retired(&self.kid, context.now)?;
        Ok(context.written(&self.key, before, keys, after))
    }
}

impl Context<'_> {
    /// The keys that lie there.
    fn signing_keys(&self, key: &ResourceKey) -> (Option<&Resource>, SigningKeys) {
        let before = self.loaded.resource(key);
        let keys = before.and_then(Resource::as_signing_keys).cloned();
        (before, keys.unwrap_or_default())
    }

    /// Writes the keys as they are from now on, if that changes anything.
    fn written(
        &self,
        key: &ResourceKey,
        before: Option<&Resource>,
        keys: SigningKeys,
        after: SigningKeys,
    ) -> Step {
        let answer = Reply::SigningKeys(after.clone());
        match after == keys {
            true => Step::answer(answer),
            false => Step::write(self.put(key, before, Body::SigningKeys(after)), answer),
        }
    }
}
