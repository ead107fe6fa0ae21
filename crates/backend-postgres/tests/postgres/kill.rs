//! A server that is killed under load: what was acknowledged is there when it is back.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ff_backend_postgres::{Options, PostgresStore, backend};
use ff_core::machine::Submit;
use ff_core::{ExecutionId, Millis};
use ff_store::roles::Engine;
use ff_store::{ClientBackend, Store, StoreError, WorkerBackend};
use ff_testkit::postgres::Server;
use ff_testkit::wait::until_async;
use futures_util::future::join_all;

use crate::calls::{claim, complete, new_id, violations};

const ROUNDS: usize = 3;
const CALLERS: usize = 6;
/// How many more are completed before each kill.
const EACH: usize = 25;
const LONGEST: Duration = Duration::from_secs(120);

/// What was acknowledged.
#[derive(Default)]
struct Acknowledged {
    submitted: HashSet<ExecutionId>,
    completed: HashSet<ExecutionId>,
}

/// Repeats a call until it is answered.
async fn answered<T>(mut call: impl AsyncFnMut() -> Result<T, StoreError>) -> T {
    let answer = until_async(LONGEST, async || match call().await {
        Ok(answer) => Some(answer),
        Err(error) => {
            assert!(error.is_retryable(), "{error:?}");
            None
        }
    });
    answer.await.expect("it is answered in the end")
}

async fn cycle(store: &Engine<PostgresStore>, seen: &Mutex<Acknowledged>, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        let work = Submit::new(new_id());
        let id = answered(async || store.submit(vec![work.clone()]).await?.remove(0)).await;
        seen.lock().unwrap().submitted.insert(id.execution);
        let mut call = claim(1);
        let taken = answered(async || {
            let taken = store.claim(call.clone(), Millis::ZERO).await;
            call.retry = true;
            taken
        });
        for assignment in taken.await.assignments {
            let done = complete(&assignment);
            answered(async || store.complete(vec![done.clone()]).await?.remove(0)).await;
            seen.lock().unwrap().completed.insert(assignment.execution);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_kills_of_the_server() {
    let server = Arc::new(Server::start(&[]));
    let options: Options = server.url().parse().unwrap();
    let store = backend(&options).await.unwrap();
    let (seen, stop) = (Mutex::<Acknowledged>::default(), AtomicBool::default());
    let callers = (0..CALLERS).map(|_| cycle(&store, &seen, &stop));
    let killing = async {
        for round in 1..=ROUNDS {
            let enough = until_async(LONGEST, async || {
                (seen.lock().unwrap().completed.len() >= round * EACH).then_some(())
            });
            enough.await.expect("work is done between kills");
            let server = server.clone();
            tokio::task::spawn_blocking(move || server.restart()).await.unwrap();
        }
        stop.store(true, Ordering::SeqCst);
    };
    tokio::join!(join_all(callers), killing);
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    for id in &seen.submitted {
        let record = store.store().record(*id).await.unwrap().expect("it was acknowledged");
        assert_eq!(record.outcome().is_some(), seen.completed.contains(id), "{id}");
    }
    assert!(seen.completed.len() >= ROUNDS * EACH);
    assert_eq!(violations(&**store.store()).await, Vec::<String>::new());
}
