//! Webhooks, over HTTP.

use async_trait::async_trait;
use ff_core::{Namespace, ResourceName};
use ff_store::webhooks::{NamedWebhook, WebhookUpdate};
use ff_store::{StoreError, WebhooksBackend};

use super::answers::understood;
use super::transport::HttpClient;
use crate::http::WebhookRequest;
use crate::{WebhookView, WebhooksView};

#[async_trait]
impl WebhooksBackend for HttpClient {
    async fn set_webhook(&self, update: WebhookUpdate) -> Result<NamedWebhook, StoreError> {
        let path = path(&update.namespace, &update.name);
        let view: WebhookView = self.put(&path, &WebhookRequest::from(&update)).await?;
        understood(NamedWebhook::try_from(view))
    }

    async fn webhook(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<NamedWebhook, StoreError> {
        let view: WebhookView = self.get(&path(namespace, name)).await?;
        understood(NamedWebhook::try_from(view))
    }

    async fn webhooks(&self, namespace: &Namespace) -> Result<Vec<NamedWebhook>, StoreError> {
        let view: WebhooksView = self.get(&format!("/v1/webhooks?namespace={namespace}")).await?;
        view.webhooks.into_iter().map(|view| understood(NamedWebhook::try_from(view))).collect()
    }

    async fn delete_webhook(
        &self,
        namespace: &Namespace,
        name: &ResourceName,
    ) -> Result<(), StoreError> {
        self.delete(&path(namespace, name)).await
    }
}

fn path(namespace: &Namespace, name: &ResourceName) -> String {
    format!("/v1/webhooks/{name}?namespace={namespace}")
}
