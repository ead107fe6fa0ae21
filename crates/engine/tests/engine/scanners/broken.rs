//! A store that cannot read one resource, or one row.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use ff_backend_memory::MemoryStore;
use ff_core::{Resource, ResourceKey};
use ff_store::audit::{Row, Rows};
use ff_store::{Store, StoreError};
use ff_testkit::{Forward, Forwarding};

/// The store beneath, of which one resource cannot be read while it fails.
pub(crate) struct Broken {
    store: MemoryStore,
    name: &'static str,
    fails: AtomicBool,
    /// How often its rows are still read with one that is unreadable.
    spoilt: AtomicUsize,
}

impl Broken {
    pub(crate) fn new(store: MemoryStore, name: &'static str) -> Forwarding<Broken> {
        let (fails, spoilt) = (AtomicBool::new(false), AtomicUsize::new(0));
        Forwarding(Broken { store, name, fails, spoilt })
    }

    /// The next reads of all rows meet one that is unreadable, so many times.
    pub(crate) fn spoil(&self, times: usize) {
        self.spoilt.store(times, Ordering::SeqCst);
    }

    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }
}

#[async_trait]
impl Forward for Broken {
    fn beneath(&self) -> &dyn Store {
        &self.store
    }

    async fn rows(&self) -> Result<Rows, StoreError> {
        let left = self.spoilt.load(Ordering::SeqCst);
        self.spoilt.store(left.saturating_sub(1), Ordering::SeqCst);
        let mut rows = self.store.rows().await?;
        let (sender, stream) = Rows::channel();
        let bad = Row::Unreadable { place: self.name.into(), why: "it is broken".into() };
        tokio::spawn(async move {
            if left > 0 {
                sender.send(Ok(bad)).await.unwrap();
            }
            while let Some(row) = rows.next().await {
                if sender.send(row).await.is_err() {
                    return;
                }
            }
        });
        Ok(stream)
    }

    async fn resource(&self, key: &ResourceKey) -> Result<Option<Resource>, StoreError> {
        if self.fails.load(Ordering::SeqCst) && key.name.as_str() == self.name {
            return Err(StoreError::Unavailable("a test says so".into()));
        }
        self.store.resource(key).await
    }
}
