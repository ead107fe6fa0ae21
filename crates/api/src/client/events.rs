//! Events over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::bounds::EVENTS_WAIT_MAX;
use ff_core::feed::FeedState;
use ff_core::{Millis, Namespace};
use ff_store::events::{EventFilter, EventsPage, EventsRequest, FeedUpdate, StartAt};
use ff_store::{EventsBackend, StoreError};

use super::answers::understood;
use super::paths::percent;
use super::transport::HttpClient;
use crate::http::{FeedRequest, write_tags};
use crate::{EventsView, FeedView};

#[async_trait]
impl EventsBackend for HttpClient {
    async fn events(&self, request: EventsRequest) -> Result<EventsPage, StoreError> {
        let wait = request.wait.within("wait_ms", Millis::ZERO, EVENTS_WAIT_MAX)?;
        let wait = Duration::from_millis(wait.get());
        let view: EventsView = self.get_in(&path(&request), wait).await?;
        understood(EventsPage::try_from(view))
    }

    async fn feed(&self, namespace: &Namespace) -> Result<FeedState, StoreError> {
        let view: FeedView = self.get(&format!("/v1/feed?namespace={namespace}")).await?;
        Ok(view.into())
    }

    async fn set_feed(&self, update: FeedUpdate) -> Result<FeedState, StoreError> {
        let path = format!("/v1/feed?namespace={}", update.namespace);
        let view: FeedView = self.patch(&path, &FeedRequest::from(&update)).await?;
        Ok(view.into())
    }
}

fn path(request: &EventsRequest) -> String {
    let EventsRequest { namespace, from, filter, limit, wait } = request;
    let mut path = format!("/v1/events?namespace={namespace}&limit={limit}&wait_ms={}", wait.get());
    let EventFilter { names, lane, kind, execution, tags } = filter;
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", percent(&value)));
        }
    };
    match from {
        StartAt::Now => {}
        StartAt::Oldest => add("from", Some("oldest".to_owned())),
        StartAt::Latest => add("from", Some("latest".to_owned())),
        StartAt::After(cursor) => add("cursor", Some(cursor.to_string())),
    }
    let names: Vec<_> = names.iter().map(|name| name.as_str()).collect();
    add("event", (!names.is_empty()).then(|| names.join(",")));
    add("lane", lane.as_ref().map(ToString::to_string));
    add("kind", kind.as_ref().map(ToString::to_string));
    add("execution", execution.as_ref().map(ToString::to_string));
    add("tags", (!tags.is_empty()).then(|| write_tags(tags)));
    path
}
