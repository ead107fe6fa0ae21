//! Watches what an execution streams.

use std::collections::VecDeque;
use std::time::Duration;

use ff_core::ExecutionId;
use ff_core::bounds::END_WAIT_MAX;
use ff_core::stream::StreamFrame;
use ff_store::StoreError;
use ff_store::retry::{Backoff, repeated};
use ff_store::tails::{Follow, FramePage};

use crate::client::Client;
use crate::error::SdkError;

/// A stream that is watched: every frame that is kept, once and in order, until the execution has ended.
/// A server that goes away and comes back costs nothing but time.
pub struct Tail {
    client: Client,
    execution: ExecutionId,
    /// The number of the next frame.
    at: u64,
    following: Option<Box<dyn Follow>>,
    waiting: VecDeque<StreamFrame>,
}

impl Tail {
    pub(crate) fn new(client: Client, execution: ExecutionId, from: u64) -> Tail {
        Tail { client, execution, at: from, following: None, waiting: VecDeque::new() }
    }

    /// The next frame, as soon as there is one; `None` when the execution has ended and every frame was
    /// given. Frames that are not kept any more are skipped: their numbers are missing.
    pub async fn next(&mut self) -> Result<Option<StreamFrame>, SdkError> {
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return Ok(Some(frame));
            }
            let page = self.page().await?;
            self.at = page.next;
            if page.cut {
                self.following = None;
            }
            self.waiting.extend(page.frames);
            if self.waiting.is_empty() && page.end.is_some() {
                return Ok(None);
            }
        }
    }

    async fn page(&mut self) -> Result<FramePage, StoreError> {
        let backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(2));
        let (client, target, at) =
            (self.client.clone(), self.client.target(self.execution), self.at);
        let slot = tokio::sync::Mutex::new(&mut self.following);
        let again = |error: &StoreError, _| error.is_retryable();
        repeated(backoff, again, |_| async {
            let mut following = slot.lock().await;
            let mut viewer = match following.take() {
                Some(viewer) => viewer,
                None => client.backend().follow(&target, at).await?,
            };
            let page = viewer.next(END_WAIT_MAX).await?;
            **following = Some(viewer);
            Ok(page)
        })
        .await
    }
}
