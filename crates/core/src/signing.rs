//! Signing keys, as a store knows them: by name, fingerprint and state. Their secrets are in no store.
//!
//! One key is current and signs. A key that was replaced still verifies until its grace is over, however
//! many followed it meanwhile, and is then retired for good.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds::{KEYS_KEPT, VERIFYING_KEYS};
use crate::name::Kid;
use crate::refusal::{Full, Refusal};
use crate::time::{Millis, Time};
use crate::words;

/// What two servers compare to know that they have the same secret: the first half of a SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The fingerprint whose sixteen bytes these are.
    pub fn new(bytes: [u8; 16]) -> Fingerprint {
        Fingerprint(bytes)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

words!(
    /// What a signing key is good for.
    KeyState {
        /// It signs, and what it signed verifies.
        Current = "current",
        /// It signs nothing more; what it signed verifies until its grace is over.
        Verifies = "verifies",
        /// What it signed is refused.
        Retired = "retired",
    }
);

/// A signing key that is or was current.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKey {
    /// Its name, which every token carries.
    pub kid: Kid,
    /// What its secret is compared by.
    pub fingerprint: Fingerprint,
    /// When it became current.
    pub since: Time,
    /// Until when it verifies; `None` is the current one, which never expires.
    pub until: Option<Time>,
}

impl SigningKey {
    /// What it is good for at `now`.
    pub fn state(&self, now: Time) -> KeyState {
        match self.until {
            None => KeyState::Current,
            Some(until) if now < until => KeyState::Verifies,
            Some(_) => KeyState::Retired,
        }
    }
}

/// The signing keys of a store, in the order in which they became current: the last one is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SigningKeys(Vec<SigningKey>);

impl SigningKeys {
    /// One key, current from the beginning of time.
    pub fn of(kid: Kid, fingerprint: Fingerprint) -> SigningKeys {
        SigningKeys(vec![SigningKey { kid, fingerprint, since: Time::EPOCH, until: None }])
    }

    /// All that are remembered.
    pub fn all(&self) -> &[SigningKey] {
        &self.0
    }

    /// The one that signs; a store that never had a key has none.
    pub fn current(&self) -> Option<&SigningKey> {
        self.0.last()
    }

    /// The key of this name.
    pub fn get(&self, kid: &Kid) -> Option<&SigningKey> {
        self.0.iter().find(|key| key.kid == *kid)
    }

    /// The keys that verify at `now`.
    pub fn verifying(&self, now: Time) -> impl Iterator<Item = &SigningKey> {
        self.0.iter().filter(move |key| key.state(now) != KeyState::Retired)
    }

    /// The keys once `kid` is current and its predecessor verifies for `grace`. The same rotation again
    /// changes nothing; a name has one secret for ever, and a key that was replaced never returns.
    pub(crate) fn rotated(
        &self,
        kid: &Kid,
        fingerprint: Fingerprint,
        grace: Millis,
        now: Time,
    ) -> Result<SigningKeys, Refusal> {
        if let Some(known) = self.get(kid) {
            let why = match (known.fingerprint == fingerprint, known.until) {
                (true, None) => return Ok(self.clone()),
                (true, Some(_)) => "was replaced before and does not return",
                (false, _) => "is known to the store with another secret",
            };
            return Err(Refusal::KeyConflict { kid: kid.clone(), why });
        }
        let mut keys = self.0.clone();
        if let Some(current) = keys.last_mut() {
            current.until = Some(now + grace);
        }
        let most = VERIFYING_KEYS as u32;
        if keys.iter().filter(|key| key.state(now) != KeyState::Retired).count() >= VERIFYING_KEYS {
            return Err(Refusal::LimitReached { what: Full::SigningKeys { most } });
        }
        keys.push(SigningKey { kid: kid.clone(), fingerprint, since: now, until: None });
        while keys.len() > KEYS_KEPT {
            // There are more than can verify, so one of them is retired.
            let oldest = keys.iter().position(|key| key.state(now) == KeyState::Retired);
            keys.remove(oldest.unwrap_or(0));
        }
        Ok(SigningKeys(keys))
    }

    /// The keys once what `kid` signed is refused. The current one must be replaced first.
    pub(crate) fn retired(&self, kid: &Kid, now: Time) -> Result<SigningKeys, Refusal> {
        let mut keys = self.0.clone();
        let key = keys.iter_mut().find(|key| key.kid == *kid);
        let key = key.ok_or(Refusal::NoSuch { what: "signing key" })?;
        match &mut key.until {
            None => {
                let why = "is the current one; make another current first";
                return Err(Refusal::KeyConflict { kid: kid.clone(), why });
            }
            Some(until) => *until = now.min(*until),
        }
        Ok(SigningKeys(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Code;

    const GRACE: Millis = Millis::from_days(7);

    fn kid(name: &str) -> Kid {
        Kid::new(name).unwrap()
    }

    fn print(byte: u8) -> Fingerprint {
        Fingerprint::new([byte; 16])
    }

    fn rotated(keys: &SigningKeys, name: &str, byte: u8, at: u64) -> SigningKeys {
        keys.rotated(&kid(name), print(byte), GRACE, Time::from_ms(at)).unwrap()
    }

    fn states(keys: &SigningKeys, now: Time) -> Vec<KeyState> {
        keys.all().iter().map(|key| key.state(now)).collect()
    }

    #[test]
    fn every_replaced_key_verifies_for_its_own_grace() {
        let first = rotated(&SigningKeys::default(), "a", 1, 0);
        let third = rotated(&rotated(&first, "b", 2, 10), "c", 3, 20);
        let at = |ms: u64| states(&third, Time::from_ms(ms));
        use KeyState::{Current, Retired, Verifies};
        assert_eq!(at(20), [Verifies, Verifies, Current]);
        assert_eq!(at(9 + GRACE.get()), [Verifies, Verifies, Current]);
        assert_eq!(at(10 + GRACE.get()), [Retired, Verifies, Current]);
        assert_eq!(at(20 + GRACE.get()), [Retired, Retired, Current]);
        assert_eq!(at(u64::MAX), [Retired, Retired, Current]);
    }

    #[test]
    fn a_rotation_that_is_repeated_changes_nothing() {
        let keys = rotated(&rotated(&SigningKeys::default(), "a", 1, 0), "b", 2, 10);
        assert_eq!(rotated(&keys, "b", 2, 99), keys);
    }

    #[test]
    fn a_name_has_one_secret_and_is_current_once() {
        let keys = rotated(&rotated(&SigningKeys::default(), "a", 1, 0), "b", 2, 10);
        for (name, byte) in [("a", 9), ("b", 9), ("a", 1)] {
            for at in [10, 10 + GRACE.get()] {
                let refused = keys.rotated(&kid(name), print(byte), GRACE, Time::from_ms(at));
                assert_eq!(refused.unwrap_err().code(), Code::KeyConflict, "{name} {byte} {at}");
            }
        }
    }

    #[test]
    fn the_current_key_is_not_retired() {
        let keys = rotated(&rotated(&SigningKeys::default(), "a", 1, 0), "b", 2, 10);
        let now = Time::from_ms(11);
        assert_eq!(keys.retired(&kid("b"), now).unwrap_err().code(), Code::KeyConflict);
        assert_eq!(keys.retired(&kid("c"), now).unwrap_err().code(), Code::NotFound);
        let after = keys.retired(&kid("a"), now).unwrap();
        assert_eq!(states(&after, now), [KeyState::Retired, KeyState::Current]);
        assert_eq!(after.retired(&kid("a"), Time::from_ms(50)).unwrap(), after);
    }

    #[test]
    fn the_list_is_bounded_and_forgets_only_retired_keys() {
        let mut keys = SigningKeys::default();
        let name = |n: usize| format!("k{n}");
        for n in 0..VERIFYING_KEYS {
            keys = rotated(&keys, &name(n), n as u8, n as u64);
        }
        let one_more = kid("more");
        let refused = keys.rotated(&one_more, print(99), GRACE, Time::from_ms(50)).unwrap_err();
        assert_eq!(refused.code(), Code::LimitReached);
        for n in VERIFYING_KEYS..2 * KEYS_KEPT {
            keys = rotated(&keys, &name(n), n as u8, n as u64 * GRACE.get());
        }
        assert_eq!(keys.all().len(), KEYS_KEPT);
        assert_eq!(keys.get(&kid("k0")), None);
        assert_eq!(keys.current().unwrap().kid, kid(&name(2 * KEYS_KEPT - 1)));
    }
}
