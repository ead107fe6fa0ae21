//! Bulk operations over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::machine::Delete;
use ff_store::StoreError;
use ff_store::roles::{Bulk, BulkBackend, BulkSlice};

use super::answers::error_of;
use super::transport::{HttpClient, broken};
use crate::BulkView;
use crate::http::BulkRequest;

#[async_trait]
impl BulkBackend for HttpClient {
    async fn delete(&self, delete: Delete) -> Result<(), StoreError> {
        let (id, namespace) = (delete.target.execution, delete.target.namespace);
        HttpClient::delete(self, &format!("/v1/executions/{id}?namespace={namespace}")).await
    }

    async fn bulk(&self, bulk: &Bulk) -> Result<BulkSlice, StoreError> {
        let path = format!("/v1/executions/bulk?namespace={}", bulk.namespace);
        let view = self.post(&path, &BulkRequest::from(bulk), Duration::ZERO).await?;
        let view: BulkView = view.ok_or_else(|| broken("no content"))?;
        let refusals = view.refusals.into_iter();
        Ok(BulkSlice {
            matched: view.matched,
            done: view.done,
            refused: view.refused,
            refusals: refusals.map(|refusal| (refusal.id, error_of(refusal.error))).collect(),
            unreadable: view.unreadable,
            next: match view.next {
                Some(cursor) => Some(cursor.parse().map_err(|_| broken("a bad cursor"))?),
                None => None,
            },
        })
    }
}
