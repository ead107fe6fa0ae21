//! Webhooks: what is sent where, and how that goes.

use std::collections::BTreeSet;

use ff_core::act::Changed;
use ff_core::event::EventName;
use ff_core::webhook::{DeadLetter, DeliveryTally, Failing, Webhook, WebhookTarget};
use ff_core::webhook_url::WebhookUrl;
use ff_core::{Kind, Lane, Refusal, ResourceName};
use ff_store::webhooks::NamedWebhook;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::act::ChangedView;
use crate::http::schema;
use crate::timestamp::Timestamp;

/// A webhook. Its secrets are never shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhookView {
    /// Its name.
    #[schema(value_type = schema::Name)]
    pub webhook: ResourceName,
    /// Where it sends to.
    pub url: String,
    /// Which events; empty is all.
    #[schema(value_type = Vec<schema::EventName>)]
    pub events: Vec<EventName>,
    /// Of executions in this lane.
    #[schema(value_type = Option<schema::Name>)]
    pub lane: Option<Lane>,
    /// Of executions of this kind.
    #[schema(value_type = Option<schema::Name>)]
    pub kind: Option<Kind>,
    /// When it was made.
    pub created: Timestamp,
    /// Who changed it last, and when; null when that is not known.
    pub changed: Option<ChangedView>,
    /// How many events were delivered.
    pub delivered: u64,
    /// How many were given up after their last try.
    pub dead: u64,
    /// How often the log no longer had the next event: some were never sent.
    pub gaps: u64,
    /// When the last event was delivered.
    pub last_delivered: Option<Timestamp>,
    /// Set while deliveries fail.
    pub failing: Option<FailingView>,
    /// The latest events that were given up, the newest last.
    pub dead_letters: Vec<DeadLetterView>,
}

/// Deliveries fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailingView {
    /// Since when.
    pub since: Timestamp,
    /// How often the event was tried.
    pub tries: u32,
    /// Why the last try failed.
    pub reason: String,
}

/// An event that was given up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterView {
    /// The id of the event.
    #[schema(value_type = schema::EventId)]
    pub id: String,
    /// What happened.
    #[schema(value_type = schema::EventName)]
    pub event: EventName,
    /// When.
    pub at: Timestamp,
    /// How often it was tried.
    pub tries: u32,
    /// Why the last try failed.
    pub reason: String,
}

/// The webhooks of a namespace, in the order of their names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WebhooksView {
    /// All of them.
    pub webhooks: Vec<WebhookView>,
}

impl From<&NamedWebhook> for WebhookView {
    fn from(named: &NamedWebhook) -> WebhookView {
        let Webhook { target, created, changed, tally, failing, letters, .. } = &named.webhook;
        WebhookView {
            webhook: named.name.clone(),
            url: target.url.to_string(),
            events: target.names.iter().copied().collect(),
            lane: target.lane.clone(),
            kind: target.kind.clone(),
            created: (*created).into(),
            changed: changed.as_ref().map(ChangedView::from),
            delivered: tally.delivered,
            dead: tally.dead,
            gaps: tally.gaps,
            last_delivered: tally.last_delivered.map(Into::into),
            failing: failing.as_ref().map(|failing| FailingView {
                since: failing.since.into(),
                tries: failing.tries,
                reason: failing.why.to_string(),
            }),
            dead_letters: letters.iter().map(DeadLetterView::from).collect(),
        }
    }
}

impl From<&DeadLetter> for DeadLetterView {
    fn from(letter: &DeadLetter) -> DeadLetterView {
        DeadLetterView {
            id: letter.event.to_string(),
            event: letter.name,
            at: letter.at.into(),
            tries: letter.tries,
            reason: letter.why.to_string(),
        }
    }
}

impl TryFrom<WebhookView> for NamedWebhook {
    type Error = Refusal;

    fn try_from(view: WebhookView) -> Result<NamedWebhook, Refusal> {
        let target = WebhookTarget {
            url: WebhookUrl::new(view.url)?,
            names: view.events.into_iter().collect::<BTreeSet<_>>(),
            lane: view.lane,
            kind: view.kind,
        };
        let letter = |letter: DeadLetterView| {
            Ok(DeadLetter {
                event: letter.id.parse()?,
                name: letter.event,
                at: letter.at.0,
                tries: letter.tries,
                why: letter.reason.into(),
            })
        };
        let webhook = Webhook {
            target,
            secrets: Vec::new(),
            created: view.created.0,
            changed: view.changed.as_ref().map(Changed::from),
            cursor: Default::default(),
            turn: 0,
            turn_ends: ff_core::Time::EPOCH,
            tally: DeliveryTally {
                delivered: view.delivered,
                dead: view.dead,
                gaps: view.gaps,
                last_delivered: view.last_delivered.map(|at| at.0),
            },
            failing: view.failing.map(|failing| Failing {
                since: failing.since.0,
                tries: failing.tries,
                why: failing.reason.into(),
            }),
            letters: view.dead_letters.into_iter().map(letter).collect::<Result<_, Refusal>>()?,
        };
        Ok(NamedWebhook { name: view.webhook, webhook })
    }
}
