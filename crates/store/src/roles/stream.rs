//! What workers send to the stream of an execution, and how others watch it.

use async_trait::async_trait;
use ff_core::machine::{AppendFrames, AppendedFrames, PatchSummary, PatchedSummary, Target};
use ff_core::summary::Summary;
use ff_core::{Execution, Refusal};

use super::{Engine, only};
use crate::error::StoreError;
use crate::store::Store;
use crate::tails::{self, Follow, FramePage};

/// Send output while an execution runs.
#[async_trait]
pub trait EmitBackend: Send + Sync {
    /// Adds frames to the stream of what is held; without frames, it answers what number comes next.
    async fn append_frames(&self, append: AppendFrames) -> Result<AppendedFrames, StoreError>;

    /// Changes the summary of what is held by a JSON Merge Patch.
    async fn patch_summary(&self, patch: PatchSummary) -> Result<PatchedSummary, StoreError>;
}

/// Watch what executions send.
#[async_trait]
pub trait StreamBackend: Send + Sync {
    /// Frames from number `from` on, at most `limit` and about a megabyte.
    async fn frames(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<FramePage, StoreError>;

    /// Watches a stream from number `from` on, as it grows.
    async fn follow(&self, target: &Target, from: u64) -> Result<Box<dyn Follow>, StoreError>;

    /// The summary of an execution, if it has one.
    async fn summary(&self, target: &Target) -> Result<Option<Summary>, StoreError>;
}

#[async_trait]
impl<S: Store + ?Sized> EmitBackend for Engine<S> {
    async fn append_frames(&self, append: AppendFrames) -> Result<AppendedFrames, StoreError> {
        self.one(append).await.and_then(only!(AppendedFrames))
    }

    async fn patch_summary(&self, patch: PatchSummary) -> Result<PatchedSummary, StoreError> {
        self.one(patch).await.and_then(only!(PatchedSummary))
    }
}

#[async_trait]
impl<S: Store + ?Sized> StreamBackend for Engine<S> {
    async fn frames(
        &self,
        target: &Target,
        from: u64,
        limit: usize,
    ) -> Result<FramePage, StoreError> {
        tails::page(&*self.0.store, target, from, limit).await
    }

    async fn follow(&self, target: &Target, from: u64) -> Result<Box<dyn Follow>, StoreError> {
        let tails = self.0.store.wakeups().tails();
        Ok(Box::new(tails.follow(self.0.store.clone(), target.clone(), from)?))
    }

    async fn summary(&self, target: &Target) -> Result<Option<Summary>, StoreError> {
        let store = &self.0.store;
        let mine = |record: &Execution| record.spec.namespace == target.namespace;
        let record = store.record(target.execution).await?.filter(mine);
        let record = record.ok_or(Refusal::NotFound)?;
        let place = Summary::place(record.id);
        if record.counts.of(place.collection) == 0 {
            return Ok(None);
        }
        let unreadable =
            || StoreError::Corrupt(format!("the summary of {} cannot be read", record.id));
        let found = store.elements(place).await?;
        found.first().map(|element| Summary::of(element).ok_or_else(unreadable)).transpose()
    }
}
