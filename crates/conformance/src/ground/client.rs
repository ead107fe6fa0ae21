//! Words for what producers and operators do.

use std::collections::BTreeSet;

use ff_core::machine::{Cancel, Cancelled, Replay, Revoke, Submit, Submitted};
use ff_core::policy::{Backoff, Policy, Retry};
use ff_core::record::{Attempt, Exited};
use ff_core::{
    Category, ExecutionId, Fence, IdempotencyKey, Millis, Payload, TagKey, TagValue, When,
};
use ff_store::listing::{Filter, ListPage, Listing};
use ff_store::roles::Answer;

use super::{Ground, ms};

/// A policy without chance: a lease of 10 s, three attempts a second apart, two reclaims, a day of
/// retention.
pub(crate) fn steady() -> Policy {
    Policy {
        retry: Retry { max_attempts: 3, backoff: Backoff::fixed(ms(1_000)), categories: None },
        attempt_timeout: None,
        deadline: None,
        lease_ttl: ms(10_000),
        max_reclaims: 2,
        retention: Millis::from_days(1),
    }
}

/// As [`steady`], with everything that time can do: an attempt timeout of 3 s, a deadline of 60 s,
/// and only two categories that are retried.
pub(crate) fn busy() -> Policy {
    let categories = BTreeSet::from([Category::error(), Category::timeout()]);
    Policy {
        retry: Retry { categories: Some(categories), ..steady().retry },
        attempt_timeout: Some(ms(3_000)),
        deadline: Some(ms(60_000)),
        ..steady()
    }
}

pub(crate) fn key(text: &str) -> IdempotencyKey {
    IdempotencyKey::new(text).unwrap()
}

pub(crate) fn tag(key: &str, value: &str) -> (TagKey, TagValue) {
    (TagKey::new(key).unwrap(), TagValue::new(value).unwrap())
}

impl Ground {
    /// Work with a new id and the [`steady`] policy, not yet submitted.
    pub(crate) fn work(&self) -> Submit {
        let namespace = self.namespace.clone();
        Submit { namespace, policy: steady().into(), ..Submit::new(self.new_id()) }
    }

    pub(crate) async fn try_submit(&self, submit: Submit) -> Answer<Submitted> {
        self.backend().submit(vec![submit]).await?.remove(0)
    }

    /// Submits work that must be new.
    pub(crate) async fn submit(&self, submit: Submit) -> ExecutionId {
        let answer = self.try_submit(submit).await.unwrap();
        assert!(answer.created, "it was there before");
        answer.execution
    }

    /// Plain work, waiting in its queue.
    pub(crate) async fn waiting(&self) -> ExecutionId {
        self.submit(self.work()).await
    }

    /// Work that waits in its queue under `policy`.
    pub(crate) async fn waiting_under(&self, policy: Policy) -> ExecutionId {
        self.submit(Submit { policy: policy.into(), ..self.work() }).await
    }

    /// Work that may start after `span`.
    pub(crate) async fn delayed(&self, span: Millis) -> ExecutionId {
        self.submit(Submit { start: When::After(span), ..self.work() }).await
    }

    /// Work that is completed.
    pub(crate) async fn completed(&self) -> ExecutionId {
        let assignment = self.held().await;
        self.complete(&assignment, "done").await.unwrap();
        assignment.execution
    }

    /// Work that has failed for good.
    pub(crate) async fn failed(&self) -> ExecutionId {
        let assignment = self.held().await;
        self.fail(&assignment, super::permanent("broken")).await.unwrap();
        assignment.execution
    }

    /// Work that is cancelled and was never claimed.
    pub(crate) async fn cancelled(&self) -> ExecutionId {
        let id = self.waiting().await;
        self.cancel(id, None).await.unwrap();
        id
    }

    /// Work whose deadline has passed; a second of time passes.
    pub(crate) async fn expired(&self) -> ExecutionId {
        let id = self.waiting_under(Policy { deadline: Some(ms(1_000)), ..steady() }).await;
        self.advance(ms(1_000)).await;
        self.tick(id).await;
        id
    }

    pub(crate) async fn cancel(&self, id: ExecutionId, grace: Option<Millis>) -> Answer<Cancelled> {
        self.backend().cancel(Cancel { target: self.target(id), grace, reason: None }).await
    }

    pub(crate) async fn replay(&self, id: ExecutionId, run: u32) -> Answer<u32> {
        self.backend().replay(Replay { target: self.target(id), run }).await
    }

    /// Takes away the lease that `fence` names.
    pub(crate) async fn revoke(&self, id: ExecutionId, fence: Fence) -> Answer<Exited> {
        self.backend().revoke(Revoke { target: self.target(id), lease: fence.lease }).await
    }

    pub(crate) async fn attempts(&self, id: ExecutionId) -> Vec<Attempt> {
        self.backend().attempts(&self.target(id), 0, 1_000).await.unwrap()
    }

    pub(crate) async fn result(&self, id: ExecutionId) -> Answer<Payload> {
        self.backend().result(&self.target(id), None).await
    }

    pub(crate) fn listing(&self, filter: Filter) -> Listing {
        Listing { namespace: self.namespace.clone(), filter, after: None, limit: 100 }
    }

    pub(crate) async fn try_list(&self, listing: &Listing) -> Answer<ListPage> {
        self.backend().list(listing).await
    }

    /// The ids that a listing shows on its first page.
    pub(crate) async fn listed(&self, filter: Filter) -> Vec<ExecutionId> {
        let page = self.try_list(&self.listing(filter)).await.unwrap();
        page.executions.into_iter().map(|record| record.id).collect()
    }
}
