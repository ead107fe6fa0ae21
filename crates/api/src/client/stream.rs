//! Streams and summaries, over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use ff_core::bounds::{END_WAIT_MAX, FRAMES};
use ff_core::machine::{AppendFrames, AppendedFrames, PatchSummary, PatchedSummary, Target};
use ff_core::summary::Summary;
use ff_core::{Millis, Refusal};
use ff_store::tails::{Follow, FramePage};
use ff_store::{EmitBackend, StoreError, StreamBackend};
use serde_json::value::RawValue;

use super::answers::understood;
use super::transport::HttpClient;
use crate::http::{FramesRequest, NextView, SummaryRequest};
use crate::{FramesView, SummaryView};

#[async_trait]
impl EmitBackend for HttpClient {
    async fn append_frames(&self, append: AppendFrames) -> Result<AppendedFrames, StoreError> {
        let (got, most) = (append.frames.len(), FRAMES);
        if got > most {
            let unit = "frames in one call";
            return Err(Refusal::TooLarge { field: "frames", got, most, unit }.into());
        }
        let body = FramesRequest::from(&append);
        let view: NextView = self.steer(&append.hold.target, "/frames", &body).await?;
        Ok(AppendedFrames { next: view.next })
    }

    async fn patch_summary(&self, patch: PatchSummary) -> Result<PatchedSummary, StoreError> {
        let text = String::from_utf8(patch.patch.to_vec()).ok();
        let json = text.and_then(|text| RawValue::from_string(text).ok());
        let json = json.ok_or_else(|| Refusal::invalid("patch", "is not JSON"))?;
        let (fence, number) = (patch.hold.fence.into(), patch.number);
        let body = SummaryRequest { fence, number, patch: json };
        let view: NextView = self.steer(&patch.hold.target, "/summary", &body).await?;
        Ok(PatchedSummary { next: view.next })
    }
}

#[async_trait]
impl StreamBackend for HttpClient {
    async fn frames(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<FramePage, StoreError> {
        let path = HttpClient::execution(target, "/stream");
        let view: FramesView = self.get(&format!("{path}&from={from}&limit={limit}")).await?;
        understood(view.page())
    }

    async fn follow(&self, target: &Target, from: u64) -> Result<Box<dyn Follow>, StoreError> {
        Ok(Box::new(Polling { client: self.clone(), target: target.clone(), at: from }))
    }

    async fn summary(&self, target: &Target) -> Result<Option<Summary>, StoreError> {
        let view: SummaryView = self.get(&HttpClient::execution(target, "/summary")).await?;
        Ok(view.summary())
    }
}

/// Watches a stream by requests that wait.
struct Polling {
    client: HttpClient,
    target: Target,
    at: u64,
}

#[async_trait]
impl Follow for Polling {
    async fn next(&mut self, wait: Millis) -> Result<FramePage, StoreError> {
        let wait = wait.min(END_WAIT_MAX);
        let path = HttpClient::execution(&self.target, "/stream");
        let path = format!("{path}&from={}&wait_ms={wait_ms}", self.at, wait_ms = wait.get());
        let longest = Duration::from_millis(wait.get());
        let view: FramesView = self.client.get_in(&path, longest).await?;
        let page = understood(view.page())?;
        self.at = page.next;
        Ok(page)
    }
}
