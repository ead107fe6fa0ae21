//! Named tokens: issue, list, revoke; and tell whose one is.

use async_trait::async_trait;
use ff_core::credential::{Role, Scope, Secret, SecretDigest, TokenView};
use ff_core::machine::{IssueToken, NoteTokenUse, RevokeToken};
use ff_core::{
    Actor, Millis, Namespace, Resource, ResourceKey, ResourceKind, ResourceName, Time, TokenName,
};
use subtle::Choice;

use super::{Engine, done, only};
use crate::error::StoreError;
use crate::named_token::{self, TokenText};
use crate::store::Store;

/// A token to be made, or to be given another secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateToken {
    /// Its name.
    pub name: TokenName,
    /// What it may do.
    pub role: Role,
    /// Where.
    pub scope: Scope,
    /// How long the secret is accepted; `None` is until it is revoked.
    pub ttl: Option<Millis>,
    /// Who does it. A server puts in who asked it.
    pub by: Actor,
}

/// A token that was made.
#[derive(Debug, Clone)]
pub struct CreatedToken {
    /// Its text. It is kept nowhere.
    pub text: TokenText,
    /// The token, its new secret last.
    pub token: TokenView,
}

/// Give others access, and take it away.
#[async_trait]
pub trait NamedTokensBackend: Send + Sync {
    /// Makes a token, or gives one another secret. A call that is repeated makes another one.
    async fn create_token(&self, create: CreateToken) -> Result<CreatedToken, StoreError>;

    /// Tokens in the order of their names, after `after`, at most `limit`.
    async fn tokens(
        &self,
        after: Option<&TokenName>,
        limit: usize,
    ) -> Result<Vec<TokenView>, StoreError>;

    /// Revokes one secret of a token, or all of them. Servers accept it for up to
    /// [`TOKEN_TRUST`](ff_core::bounds::TOKEN_TRUST) more.
    async fn revoke_token(
        &self,
        name: &TokenName,
        number: Option<u32>,
        by: Actor,
    ) -> Result<TokenView, StoreError>;
}

/// Whose a token is, as a server needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Its name.
    pub name: TokenName,
    /// What it may do.
    pub role: Role,
    /// Where.
    pub scope: Scope,
    /// How long it is still accepted.
    pub left: Option<Millis>,
    /// Its use is worth a note.
    pub is_news: bool,
}

/// Tell whose a token is. Only what has the store itself can.
#[async_trait]
pub trait VerifyBackend: Send + Sync {
    /// Whose token `text` is; `None` if it is malformed, unknown, expired or revoked. It costs the same
    /// for each of these that has the form of a token.
    async fn verify_token(&self, text: &str) -> Result<Option<Verified>, StoreError>;

    /// Notes that a token was used, at most once a minute.
    async fn note_token_use(&self, name: &TokenName) -> Result<(), StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> NamedTokensBackend for Engine<S> {
    async fn create_token(&self, create: CreateToken) -> Result<CreatedToken, StoreError> {
        let CreateToken { name, role, scope, ttl, by } = create;
        let text = TokenText::mint(&name)?;
        let (key, digest) = (self.credential(&name), text.digest());
        let issued = self.one(IssueToken { key, role, scope, digest, ttl, by }).await?;
        let token = only!(Credential)(issued)?.view(&name, self.now().await?);
        Ok(CreatedToken { text, token })
    }

    async fn tokens(
        &self,
        after: Option<&TokenName>,
        limit: usize,
    ) -> Result<Vec<TokenView>, StoreError> {
        let (system, after) = (Namespace::system(), after.map(ResourceName::from));
        let found = self.resources(&system, ResourceKind::Credential, after, limit).await?;
        let now = self.now().await?;
        let view = |found: &Resource| {
            Some(found.as_credential()?.view(&TokenName::from(&found.key.name), now))
        };
        Ok(found.iter().filter_map(view).collect())
    }

    async fn revoke_token(
        &self,
        name: &TokenName,
        number: Option<u32>,
        by: Actor,
    ) -> Result<TokenView, StoreError> {
        let revoke = RevokeToken { key: self.credential(name), number, by };
        let revoked = self.one(revoke).await?;
        Ok(only!(Credential)(revoked)?.view(name, self.now().await?))
    }
}

#[async_trait]
impl<S: Store + ?Sized> VerifyBackend for Engine<S> {
    async fn verify_token(&self, text: &str) -> Result<Option<Verified>, StoreError> {
        let Some(name) = named_token::name_of(text) else { return Ok(None) };
        let found = self.store().resource(&self.credential(&name)).await?;
        let now = self.store().now().await?;
        let shown = named_token::digest(text);
        let credential = found.as_ref().and_then(Resource::as_credential);
        let live = live(credential.map_or(&[], |found| &found.secrets), &shown, now);
        Ok(credential.zip(live).map(|(credential, secret)| Verified {
            name,
            role: credential.role,
            scope: credential.scope.clone(),
            left: secret.expires.map(|at| at.since(now)),
            is_news: credential.is_use_news(now),
        }))
    }

    async fn note_token_use(&self, name: &TokenName) -> Result<(), StoreError> {
        self.one(NoteTokenUse { key: self.credential(name) }).await.and_then(done)
    }
}

impl<S: Store + ?Sized> Engine<S> {
    fn credential(&self, name: &TokenName) -> ResourceKey {
        ResourceKey::credential(name, self.store().partitions())
    }
}

/// The secret that is shown, if it is accepted at `now`. Every one is compared, whichever it is.
fn live<'a>(secrets: &'a [Secret], shown: &SecretDigest, now: Time) -> Option<&'a Secret> {
    let mut found = None;
    for secret in secrets {
        let same = named_token::is_same(&secret.digest, shown)
            & Choice::from(u8::from(secret.is_live(now)));
        if bool::from(same) {
            found = Some(secret);
        }
    }
    found
}
