//! What a webhook is to send where.

use std::fmt;

use ff_core::bounds::{WEBHOOK_EVENTS, WEBHOOK_GRACE};
use ff_core::event::EventName;
use ff_core::webhook::WebhookTarget;
use ff_core::webhook_url::WebhookUrl;
use ff_core::{Kind, Lane, Millis, Namespace, Refusal, ResourceName};
use ff_store::webhooks::{WebhookUpdate, read_secret, secret_text};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::schema;

/// What a webhook sends where.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookRequest {
    /// Where to: `https`, and a host on the public internet, unless the server allows others.
    #[schema(max_length = 2048)]
    pub url: String,
    /// Only these events; all when absent or empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::EventName>, max_items = 64)]
    pub events: Vec<EventName>,
    /// Only of executions in this lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub lane: Option<Lane>,
    /// Only of executions of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Name>)]
    pub kind: Option<Kind>,
    /// What bodies are signed with: `whsec_` and 24 to 64 random bytes in base64. A new webhook needs one;
    /// for another it replaces the one before. It is never answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 128)]
    pub secret: Option<SecretText>,
    /// How long a secret that is replaced signs too; a day when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 604_800_000u64)]
    pub grace_ms: Option<u64>,
}

/// The text of a secret. It is not printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretText(pub String);

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(redacted)")
    }
}

impl WebhookRequest {
    /// The update of the webhook `name`.
    pub fn update(
        self,
        namespace: Namespace,
        name: ResourceName,
    ) -> Result<WebhookUpdate, Refusal> {
        let (field, got, most) = ("events", self.events.len(), WEBHOOK_EVENTS);
        if got > most {
            return Err(Refusal::TooLarge { field, got, most, unit: "events" });
        }
        let target = WebhookTarget {
            url: WebhookUrl::new(self.url)?,
            names: self.events.into_iter().collect(),
            lane: self.lane,
            kind: self.kind,
        };
        let secret = self.secret.map(|text| read_secret(&text.0)).transpose()?;
        let grace = self.grace_ms.map_or(WEBHOOK_GRACE, Millis::new);
        Ok(WebhookUpdate { namespace, name, target, secret, grace })
    }
}

impl From<&WebhookUpdate> for WebhookRequest {
    fn from(update: &WebhookUpdate) -> WebhookRequest {
        let WebhookTarget { url, names, lane, kind } = &update.target;
        WebhookRequest {
            url: url.to_string(),
            events: names.iter().copied().collect(),
            lane: lane.clone(),
            kind: kind.clone(),
            secret: update.secret.as_ref().map(|secret| SecretText(secret_text(secret))),
            grace_ms: Some(update.grace.get()),
        }
    }
}
