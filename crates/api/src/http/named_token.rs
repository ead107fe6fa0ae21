//! A token to be made.

use ff_core::credential::{Role, Scope};
use ff_core::{Actor, Millis, Namespace, Refusal, TokenName, bounds};
use ff_store::roles::CreateToken;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema;

/// A token to be made, or to be given another secret.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedTokenRequest {
    /// Its name: who shows it is known by it.
    #[schema(value_type = schema::Name)]
    pub name: TokenName,
    /// What it may do.
    #[schema(value_type = schema::Role)]
    pub role: Role,
    /// The namespaces it reaches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Name>, max_items = 64)]
    pub namespaces: Vec<Namespace>,
    /// It reaches every namespace; then none is named.
    #[serde(default)]
    pub every_namespace: bool,
    /// How long it is accepted; until it is revoked when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1000, maximum = 315360000000u64)]
    pub expires_ms: Option<u64>,
}

impl NamedTokenRequest {
    /// What is to be made, for `by`.
    pub fn create(self, by: Actor) -> Result<CreateToken, Refusal> {
        let (got, most) = (self.namespaces.len(), bounds::TOKEN_NAMESPACES);
        if got > most {
            return Err(Refusal::TooLarge { field: "namespaces", got, most, unit: "namespaces" });
        }
        let scope = match (self.every_namespace, got) {
            (true, 0) => Scope::Every,
            (true, _) => {
                let why = "are named although the token reaches every one; give one of both";
                return Err(Refusal::invalid("namespaces", why));
            }
            (false, _) => Scope::Only(self.namespaces.into_iter().collect()),
        };
        let ttl = self.expires_ms.map(Millis::new);
        Ok(CreateToken { name: self.name, role: self.role, scope, ttl, by })
    }
}

impl From<&CreateToken> for NamedTokenRequest {
    fn from(create: &CreateToken) -> NamedTokenRequest {
        NamedTokenRequest {
            name: create.name.clone(),
            role: create.role,
            namespaces: match &create.scope {
                Scope::Every => Vec::new(),
                Scope::Only(names) => names.iter().cloned().collect(),
            },
            every_namespace: create.scope == Scope::Every,
            expires_ms: create.ttl.map(Millis::get),
        }
    }
}
