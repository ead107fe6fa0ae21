//! A store that cannot read some resources, or one row.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use ff_backend_memory::MemoryStore;
use ff_core::machine::{Action, Command, Reply};
use ff_core::{Resource, ResourceKey};
use ff_store::audit::{Row, Rows};
use ff_store::{Store, StoreError};
use ff_testkit::{Forward, Forwarding};

/// The store beneath; while it fails, resources whose names have this prefix cannot be read.
pub(crate) struct Broken {
    store: MemoryStore,
    name: &'static str,
    fails: AtomicBool,
    /// How many more reads of all rows find one that is unreadable.
    spoilt: AtomicUsize,
}

impl Broken {
    pub(crate) fn new(store: MemoryStore, name: &'static str) -> Forwarding<Broken> {
        let (fails, spoilt) = (AtomicBool::new(false), AtomicUsize::new(0));
        Forwarding(Broken { store, name, fails, spoilt })
    }

    /// The next `times` reads of all rows find one that is unreadable.
    pub(crate) fn spoil(&self, times: usize) {
        self.spoilt.store(times, Ordering::SeqCst);
    }

    pub(crate) fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    fn is_broken(&self, key: &ResourceKey) -> bool {
        self.fails.load(Ordering::SeqCst) && key.name.as_str().starts_with(self.name)
    }
}

#[async_trait]
impl Forward for Broken {
    fn beneath(&self) -> &dyn Store {
        &self.store
    }

    async fn execute(&self, batch: Vec<Command>) -> Vec<Result<Reply, StoreError>> {
        let mut answers = Vec::new();
        for command in batch {
            let stuck =
                matches!(&command.action, Action::TickResource(tick) if self.is_broken(&tick.key));
            match stuck {
                true => answers.push(Err(StoreError::Unavailable("planted".into()))),
                false => answers.extend(self.store.execute(vec![command]).await),
            }
        }
        answers
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
        if self.is_broken(key) {
            return Err(StoreError::Unavailable("planted".into()));
        }
        self.store.resource(key).await
    }
}
