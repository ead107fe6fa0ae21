//! Webhooks: set by an operator, delivered in turns, reported on.

use super::{Context, Decide, Facts, ReadSet, Reply, Step};
use crate::bounds::{EVENT_CURSOR_BYTES, WEBHOOK_GRACE_MAX, WEBHOOK_PAGE};
use crate::refusal::Refusal;
use crate::resource::{Body, Resource, ResourceKey};
use crate::time::Millis;
use crate::webhook::{DeliveryReport, DeliveryTally, SigningSecret, Webhook, WebhookTarget};

/// Makes a webhook, or changes what it sends where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetWebhook {
    /// Where it lies.
    pub key: ResourceKey,
    /// What is sent where.
    pub target: WebhookTarget,
    /// What bodies are signed with from now on. A new webhook needs one; `None` leaves that of another.
    pub secret: Option<SigningSecret>,
    /// How long a secret that is replaced signs too.
    pub grace: Millis,
    /// Where a new webhook begins. One that is changed continues.
    pub cursor: Box<str>,
}

impl Decide for SetWebhook {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        self.key.name.check_free("name")?;
        self.grace.within("grace_ms", Millis::ZERO, WEBHOOK_GRACE_MAX)?;
        Refusal::cap("cursor", self.cursor.len(), EVENT_CURSOR_BYTES, "bytes")
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let (before, now) = (context.loaded.resource(&self.key), context.now);
        let earlier = before.and_then(Resource::as_webhook);
        let mut after = match (earlier, &self.secret) {
            (Some(earlier), _) => Webhook { target: self.target.clone(), ..earlier.clone() },
            (None, Some(_)) => Webhook {
                target: self.target.clone(),
                secrets: Vec::new(),
                created: now,
                changed: None,
                cursor: self.cursor.clone(),
                turn: 0,
                turn_ends: now,
                tally: DeliveryTally::default(),
                failing: None,
                letters: Default::default(),
            },
            (None, None) => {
                let why = "is missing; a new webhook needs one to sign with";
                return Err(Refusal::invalid("secret", why));
            }
        };
        if let Some(secret) = &self.secret {
            after.rotate(secret, self.grace, now)?;
        }
        if earlier == Some(&after) {
            return Ok(Step::answer(Reply::Webhook(Box::new(after))));
        }
        after.changed = context.changed(after.changed.as_ref());
        // Whoever delivers stops, and the next turn goes by what is set now.
        after.turn += 1;
        after.turn_ends = now;
        let answer = Reply::Webhook(Box::new(after.clone()));
        Ok(Step::write(context.put(&self.key, before, Body::Webhook(after)), answer))
    }
}

/// Says what a turn of deliveries has done, and that it is alive. Once there is a later turn it changes
/// nothing, and the answer says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportDelivery {
    /// Where the webhook lies.
    pub key: ResourceKey,
    /// Whose turn it is.
    pub turn: u64,
    /// What it has done.
    pub report: DeliveryReport,
}

impl Decide for ReportDelivery {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        let cursor = self.report.cursor.as_ref().map_or(0, |cursor| cursor.len());
        Refusal::cap("cursor", cursor, EVENT_CURSOR_BYTES, "bytes")?;
        Refusal::cap("letters", self.report.letters.len(), WEBHOOK_PAGE, "letters")
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let webhook = before.and_then(Resource::as_webhook);
        let webhook = webhook.ok_or(Refusal::NoSuch { what: "webhook" })?;
        if webhook.turn != self.turn {
            return Ok(Step::answer(Reply::Webhook(Box::new(webhook.clone()))));
        }
        let mut after = webhook.clone();
        after.note(&self.report, context.now);
        let answer = Reply::Webhook(Box::new(after.clone()));
        Ok(Step::write(context.put(&self.key, before, Body::Webhook(after)), answer))
    }
}
