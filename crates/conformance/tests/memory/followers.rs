//! However many follow a namespace in one process, its log is read once for all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use ff_backend_memory::MemoryStore;
use ff_core::machine::Submit;
use ff_core::{Millis, Namespace};
use ff_store::events::{EventFilter, EventsRequest, LogPage, LogScan, StartAt};
use ff_store::roles::Engine;
use ff_store::{Store, StoreError};
use ff_testkit::{Forward, Forwarding, ManualClock};

const FOLLOWERS: usize = 1_000;

/// Counts how often the log is read.
struct Counted {
    store: MemoryStore,
    reads: Arc<AtomicUsize>,
}

#[async_trait]
impl Forward for Counted {
    fn beneath(&self) -> &dyn Store {
        &self.store
    }

    async fn events(&self, scan: LogScan) -> Result<LogPage, StoreError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.store.events(scan).await
    }
}

#[tokio::test]
async fn a_thousand_followers_cost_one_reader() {
    let (store, reads) = (MemoryStore::serial(Arc::new(ManualClock::default())), Arc::default());
    let counted = Counted { store, reads: Arc::clone(&reads) };
    let backend = Engine::new(Forwarding(counted)).erased();
    let request = |from, wait| EventsRequest {
        namespace: Namespace::default(),
        from,
        filter: EventFilter::default(),
        limit: 10,
        wait,
    };
    let start = backend.events(request(StartAt::Now, Millis::ZERO)).await.unwrap().cursor;
    let mut followers = tokio::task::JoinSet::new();
    for _ in 0..FOLLOWERS {
        let (backend, from) = (backend.clone(), StartAt::After(start.clone()));
        let request = request(from, Millis::from_secs(30));
        followers.spawn(async move { backend.events(request).await.unwrap() });
    }
    // Each gets as far as its wait: nothing here waits for anything else.
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    let id = backend.new_id(&Namespace::default(), None);
    backend.submit(vec![Submit::new(id)]).await.unwrap().remove(0).unwrap();
    while let Some(page) = followers.join_next().await {
        assert_eq!(page.unwrap().events[0].execution(), id);
    }
    let reads = reads.load(Ordering::SeqCst);
    assert!(reads <= FOLLOWERS / 10, "{FOLLOWERS} followers cost {reads} reads");
}
