//! Named tokens.

use ff_core::credential::{self, Role, Scope};
use ff_core::{Actor, Namespace, TokenName};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::schema;
use crate::timestamp::Timestamp;

/// A token, without its secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedTokenView {
    /// Its name.
    #[schema(value_type = String)]
    pub name: TokenName,
    /// What it may do.
    #[schema(value_type = schema::Role)]
    pub role: Role,
    /// The namespaces it reaches; null is every one.
    #[schema(value_type = Option<Vec<String>>)]
    pub namespaces: Option<Vec<Namespace>>,
    /// Whether one of its secrets is accepted.
    pub live: bool,
    /// When one of its secrets was last accepted, to about a minute.
    pub last_used: Option<Timestamp>,
    /// Its newest secrets, oldest first.
    pub secrets: Vec<SecretView>,
}

/// One secret of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretView {
    /// 1 for the first of its token.
    pub number: u32,
    /// Whether it is accepted.
    pub live: bool,
    /// When it was made.
    pub created: Timestamp,
    /// By whom.
    #[schema(value_type = String)]
    pub created_by: Actor,
    /// From then on it is not accepted; null is never.
    pub expires: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// By whom.
    #[schema(value_type = Option<String>)]
    pub revoked_by: Option<Actor>,
}

/// A page of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedTokenPageView {
    /// The tokens, in the order of their names.
    pub tokens: Vec<NamedTokenView>,
    /// Where to continue; null if this is the last page.
    #[schema(value_type = Option<String>)]
    pub next: Option<TokenName>,
}

/// A token that was made.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct CreatedTokenView {
    /// The token itself, which is shown this once.
    pub secret: String,
    /// What is kept of it; its new secret is the last.
    pub token: NamedTokenView,
}

impl std::fmt::Debug for CreatedTokenView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedTokenView").field("token", &self.token).finish_non_exhaustive()
    }
}

impl From<&credential::TokenView> for NamedTokenView {
    fn from(view: &credential::TokenView) -> NamedTokenView {
        NamedTokenView {
            name: view.name.clone(),
            role: view.role,
            namespaces: match &view.scope {
                Scope::Every => None,
                Scope::Only(names) => Some(names.iter().cloned().collect()),
            },
            live: view.secrets.iter().any(|secret| secret.live),
            last_used: view.last_used.map(Timestamp),
            secrets: view.secrets.iter().map(SecretView::from).collect(),
        }
    }
}

impl From<&credential::SecretView> for SecretView {
    fn from(view: &credential::SecretView) -> SecretView {
        SecretView {
            number: view.number,
            live: view.live,
            created: view.created.into(),
            created_by: view.created_by.clone(),
            expires: view.expires.map(Timestamp),
            revoked: view.revoked.as_ref().map(|(at, _)| Timestamp(*at)),
            revoked_by: view.revoked.as_ref().map(|(_, by)| by.clone()),
        }
    }
}

impl NamedTokenView {
    /// The token.
    pub fn to_domain(&self) -> credential::TokenView {
        let secret = |view: &SecretView| credential::SecretView {
            number: view.number,
            created: view.created.0,
            created_by: view.created_by.clone(),
            expires: view.expires.map(|at| at.0),
            revoked: view.revoked.map(|at| at.0).zip(view.revoked_by.clone()),
            live: view.live,
        };
        let names = self.namespaces.as_ref().map(|names| names.iter().cloned().collect());
        credential::TokenView {
            name: self.name.clone(),
            role: self.role,
            scope: names.map_or(Scope::Every, Scope::Only),
            last_used: self.last_used.map(|at| at.0),
            secrets: self.secrets.iter().map(secret).collect(),
        }
    }
}

impl NamedTokenPageView {
    /// A page of at most `limit`, which may have another after it if it is full.
    pub fn new(found: &[credential::TokenView], limit: usize) -> NamedTokenPageView {
        let next = (found.len() >= limit).then(|| found.last().map(|last| last.name.clone()));
        NamedTokenPageView {
            tokens: found.iter().map(NamedTokenView::from).collect(),
            next: next.flatten(),
        }
    }
}
