//! Two stores on one schema, which take turns: what one has decided and written, the other goes on from.

use std::sync::atomic::{AtomicUsize, Ordering};

use ff_backend_postgres::PostgresStore;
use ff_conformance::Subject;
use ff_store::Store;
use ff_testkit::{Forward, Forwarding};

use crate::fixture::{fresh, options};

struct InTurn {
    stores: [PostgresStore; 2],
    calls: AtomicUsize,
}

impl Forward for InTurn {
    fn beneath(&self) -> &dyn Store {
        &self.stores[self.calls.fetch_add(1, Ordering::SeqCst) % 2]
    }
}

pub(crate) async fn subject() -> Subject {
    let (borrowed, clock) = fresh().await;
    let options = options(&borrowed.schema());
    let first = PostgresStore::open(&options).await.unwrap();
    let stores = [first, PostgresStore::open(&options).await.unwrap()];
    let store = Forwarding(InTurn { stores, calls: AtomicUsize::new(0) });
    Subject::new(store, clock).keeping(borrowed)
}
