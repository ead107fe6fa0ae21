//! Webhooks: which addresses they reach, their secrets as text, and the turns that a process has to take.

mod secret;
pub mod target;
pub(crate) mod turns;

use ff_core::webhook::{SigningSecret, Webhook, WebhookTarget};
use ff_core::{Millis, Namespace, ResourceName};

pub use secret::{SECRET_PREFIX, mint_secret, read_secret, secret_text};
pub use target::Reach;
pub use turns::Turn;

/// What becomes of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUpdate {
    /// The tenant.
    pub namespace: Namespace,
    /// Its name.
    pub name: ResourceName,
    /// What is sent where.
    pub target: WebhookTarget,
    /// What bodies are signed with from now on; a new webhook needs one. Whoever makes it keeps it: it is
    /// never answered.
    pub secret: Option<SigningSecret>,
    /// How long the secret that is replaced signs too.
    pub grace: Millis,
}

/// A webhook and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedWebhook {
    /// Its name.
    pub name: ResourceName,
    /// What it is.
    pub webhook: Webhook,
}
