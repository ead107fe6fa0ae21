//! Webhooks: set, list, remove; and the turns in which they are delivered.

use async_trait::async_trait;
use ff_core::bounds::WEBHOOKS;
use ff_core::machine::{Discard, ReportDelivery, SetWebhook};
use ff_core::refusal::Full;
use ff_core::webhook::{DeliveryReport, Webhook};
use ff_core::{
    Millis, Namespace, Refusal, Resource, ResourceKey, ResourceKind, ResourceName, Time,
};

use super::{Engine, EventsBackend, done, only};
use crate::error::StoreError;
use crate::events::{EventFilter, EventsRequest, StartAt};
use crate::store::Store;
use crate::webhooks::{NamedWebhook, Reach, Turn, WebhookUpdate};

/// Send the events of a namespace to addresses outside.
#[async_trait]
pub trait WebhooksBackend: Send + Sync {
    /// Makes a webhook, or changes what it sends where. A new one begins with what happens from now on. A
    /// target that may not be reached is refused. The answer has no secret.
    async fn set_webhook(&self, update: WebhookUpdate) -> Result<NamedWebhook, StoreError>;

    /// One webhook.
    async fn webhook(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<NamedWebhook, StoreError>;

    /// The webhooks of a namespace, in the order of their names: there are at most
    /// [`WEBHOOKS`](ff_core::bounds::WEBHOOKS).
    async fn webhooks(&self, namespace: &Namespace) -> Result<Vec<NamedWebhook>, StoreError>;

    /// Removes a webhook. What is on its way still arrives.
    async fn delete_webhook(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError>;
}

/// Deliver what webhooks send. Only what has the store itself does.
#[async_trait]
pub trait DeliveryBackend: Send + Sync {
    /// The next webhook whose turn this process has started.
    async fn next_turn(&self) -> Turn;

    /// Says what a turn has done, and that it is alive. The answer is the webhook as it is now: a later
    /// turn ends this one.
    async fn report_delivery(
        &self,
        key: &ResourceKey,
        turn: u64,
        report: DeliveryReport,
    ) -> Result<Webhook, StoreError>;

    /// What webhooks may reach.
    fn reach(&self) -> Reach;

    /// Changes that, for this process.
    fn set_reach(&self, reach: Reach);

    /// The store's time.
    async fn store_time(&self) -> Result<Time, StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> WebhooksBackend for Engine<S> {
    async fn set_webhook(&self, update: WebhookUpdate) -> Result<NamedWebhook, StoreError> {
        let WebhookUpdate { namespace, name, target, secret, grace } = update;
        self.0.turns.reach().resolve(&target.url).await?;
        let known = self.webhooks(&namespace).await?;
        let is_new = known.iter().all(|known| known.name != name);
        if is_new && known.len() >= WEBHOOKS {
            let what = Full::Webhooks { most: WEBHOOKS };
            return Err(Refusal::LimitReached { what }.into());
        }
        // Reading the place from which a new one begins switches the feed on.
        let now = EventsRequest {
            namespace: namespace.clone(),
            from: StartAt::Now,
            filter: EventFilter::default(),
            limit: 1,
            wait: Millis::ZERO,
        };
        let cursor = self.events(now).await?.cursor.to_string().into();
        let key = self.limit(ResourceKind::Webhook, &namespace, &name);
        let set = SetWebhook { key, target, secret, grace, cursor };
        let webhook = *self.one(set).await.and_then(only!(Webhook))?;
        Ok(NamedWebhook { name, webhook: without_secrets(webhook) })
    }

    async fn webhook(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<NamedWebhook, StoreError> {
        let key = self.limit(ResourceKind::Webhook, namespace, name);
        let found = self.store().resource(&key).await?;
        let found = found.and_then(named);
        found.ok_or_else(|| Refusal::NoSuch { what: ResourceKind::Webhook.as_str() }.into())
    }

    async fn webhooks(&self, namespace: &Namespace) -> Result<Vec<NamedWebhook>, StoreError> {
        let found = self.resources(namespace, ResourceKind::Webhook, None, WEBHOOKS).await?;
        Ok(found.into_iter().filter_map(named).collect())
    }

    async fn delete_webhook(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        let key = self.limit(ResourceKind::Webhook, namespace, name);
        self.one(Discard { key }).await.and_then(done)
    }
}

#[async_trait]
impl<S: Store + ?Sized> DeliveryBackend for Engine<S> {
    async fn next_turn(&self) -> Turn {
        self.0.turns.next().await
    }

    async fn report_delivery(
        &self,
        key: &ResourceKey,
        turn: u64,
        report: DeliveryReport,
    ) -> Result<Webhook, StoreError> {
        let said = self.one(ReportDelivery { key: key.clone(), turn, report }).await;
        Ok(*said.and_then(only!(Webhook))?)
    }

    fn reach(&self) -> Reach {
        self.0.turns.reach()
    }

    fn set_reach(&self, reach: Reach) {
        self.0.turns.set_reach(reach);
    }

    async fn store_time(&self) -> Result<Time, StoreError> {
        self.now().await
    }
}

fn named(found: Resource) -> Option<NamedWebhook> {
    let webhook = found.as_webhook()?.clone();
    Some(NamedWebhook { name: found.key.name, webhook: without_secrets(webhook) })
}

/// Secrets leave the store only to sign.
fn without_secrets(webhook: Webhook) -> Webhook {
    Webhook { secrets: Vec::new(), ..webhook }
}
