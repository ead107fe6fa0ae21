//! Tokens: issued, revoked, used.

use super::{Context, Decide, Facts, ReadSet, Reply, Step};
use crate::bounds::{TOKEN_TTL_MAX, TOKEN_TTL_MIN};
use crate::credential::{Credential, Role, Scope, Secret, SecretDigest};
use crate::name::Actor;
use crate::refusal::Refusal;
use crate::resource::{Body, Resource, ResourceKey};
use crate::time::Millis;

/// Makes a token, or gives one another secret. While one of its secrets is accepted, its role and
/// namespaces stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueToken {
    /// Where it lies.
    pub key: ResourceKey,
    /// What it may do.
    pub role: Role,
    /// Where.
    pub scope: Scope,
    /// The SHA-256 of the new secret.
    pub digest: SecretDigest,
    /// How long it is accepted; `None` is until it is revoked.
    pub ttl: Option<Millis>,
    /// Who does it.
    pub by: Actor,
}

impl Decide for IssueToken {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        if let Some(ttl) = self.ttl {
            ttl.within("expires", TOKEN_TTL_MIN, TOKEN_TTL_MAX)?;
        }
        self.scope.check()
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (before, now) = (context.loaded.resource(&self.key), context.now);
        let mut after = match before.and_then(Resource::as_credential) {
            Some(earlier) if earlier.is_live(now) => {
                self.same(earlier)?;
                earlier.clone()
            }
            Some(earlier) => {
                Credential { role: self.role, scope: self.scope.clone(), ..earlier.clone() }
            }
            None => Credential::new(self.role, self.scope.clone()),
        };
        let secret = Secret {
            number: after.next_number(),
            digest: self.digest,
            created: now,
            created_by: self.by.clone(),
            expires: self.ttl.map(|ttl| now + ttl),
            revoked: None,
        };
        after.add(secret, now)?;
        let answer = Reply::Credential(Box::new(after.clone()));
        Ok(Step::write(context.put(&self.key, before, Body::Credential(after)), answer))
    }
}

impl IssueToken {
    /// Refuses to change what a token that is in use may do.
    fn same(&self, earlier: &Credential) -> Result<(), Refusal> {
        let name = &self.key.name;
        if earlier.role != self.role {
            let role = earlier.role;
            let why =
                format!("is {}; token {name} is in use as {role}; revoke it first", self.role);
            return Err(Refusal::invalid("role", why));
        }
        if earlier.scope != self.scope {
            let why = format!(
                "is not what token {name} has, {}; give the same, or revoke it first",
                earlier.scope
            );
            return Err(Refusal::invalid("namespaces", why));
        }
        Ok(())
    }
}

/// Revokes one secret of a token, or all of them. What is revoked already stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeToken {
    /// Where it lies.
    pub key: ResourceKey,
    /// Which secret; `None` is all of them.
    pub number: Option<u32>,
    /// Who does it.
    pub by: Actor,
}

impl Decide for RevokeToken {
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
        let before = context.loaded.resource(&self.key);
        let earlier = before.and_then(Resource::as_credential);
        let earlier = earlier.ok_or(Refusal::NoSuch { what: "token" })?;
        let meant = |secret: &Secret| self.number.is_none_or(|number| secret.number == number);
        if !earlier.secrets.iter().any(meant) {
            return Err(Refusal::NoSuch { what: "secret of this token" });
        }
        let mut after = earlier.clone();
        for secret in after.secrets.iter_mut().filter(|secret| meant(secret)) {
            secret.revoked.get_or_insert_with(|| (context.now, self.by.clone()));
        }
        let answer = Reply::Credential(Box::new(after.clone()));
        Ok(match after == *earlier {
            true => Step::answer(answer),
            false => Step::write(context.put(&self.key, before, Body::Credential(after)), answer),
        })
    }
}

/// Notes that a token was used, unless that was noted within the last minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteTokenUse {
    /// Where it lies.
    pub key: ResourceKey,
}

impl Decide for NoteTokenUse {
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
        let before = context.loaded.resource(&self.key);
        let earlier = before.and_then(Resource::as_credential);
        let Some(news) = earlier.filter(|token| token.is_use_news(context.now)) else {
            return Ok(Step::answer(Reply::Done));
        };
        let after = Credential { last_used: Some(context.now), ..news.clone() };
        Ok(Step::write(context.put(&self.key, before, Body::Credential(after)), Reply::Done))
    }
}
