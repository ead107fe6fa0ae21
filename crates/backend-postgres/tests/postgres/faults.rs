//! Connections that fail at any point: what a caller repeats, it gets; nothing is done twice or by half.

use ff_backend_postgres::{Options, Schema, backend};
use ff_core::Millis;
use ff_core::machine::Submit;
use ff_store::{ClientBackend, WorkerBackend};
use ff_testkit::postgres::Server;
use ff_testkit::proxy::{Mode, Proxy};

use crate::calls::{Place, claim, complete, new_id, submit, target, violations};

/// Options of a store that is reached through the proxy.
fn through(proxy: &Proxy, place: &Place) -> Options {
    let url = format!(
        "postgres://ff@127.0.0.1:{}/postgres?accept_data_loss=true&writers=1&readers=1",
        proxy.port()
    );
    let mut options: Options = url.parse().unwrap();
    options.schema = Schema::new(&place.schema()).unwrap();
    options.takes_submissions = false;
    options
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_cut_at_any_request_loses_nothing_and_repeats_nothing() {
    let place = Place::new().await;
    let proxy = Proxy::to(Server::shared().port());
    let store = backend(&through(&proxy, &place)).await.unwrap();
    let mut failures = 0;
    // How many requests a round of work takes is up to the store; a cut that one round does not reach is
    // reached by a later one.
    let (mut armed, mut rounds) = (0, 0);
    while proxy.cuts() < 12 {
        rounds += 1;
        assert!(rounds <= 100, "{} cuts in {rounds} rounds", proxy.cuts());
        if proxy.cuts() == armed {
            proxy.cut_after(armed);
            armed += 1;
        }
        let work = Submit::new(new_id());
        // A call whose answer was lost is repeated as it was sent.
        let execution = loop {
            match store.submit(vec![work.clone()]).await.and_then(|mut all| all.remove(0)) {
                Ok(submitted) => break submitted.execution,
                Err(error) => {
                    assert!(error.is_retryable(), "{error:?}");
                    failures += 1;
                }
            }
        };
        let mut call = claim(1);
        let taken = loop {
            match store.claim(call.clone(), Millis::ZERO).await {
                Ok(claimed) if !claimed.assignments.is_empty() => break claimed.assignments,
                Ok(_) => {}
                Err(error) => {
                    assert!(error.is_retryable(), "{error:?}");
                    failures += 1;
                }
            }
            call.retry = true;
        };
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].execution, execution);
        loop {
            match store.complete(vec![complete(&taken[0])]).await.and_then(|mut all| all.remove(0))
            {
                Ok(_) => break,
                Err(error) => {
                    assert!(error.is_retryable(), "{error:?}");
                    failures += 1;
                }
            }
        }
    }
    assert!(failures >= 1, "none of {} cuts was seen by a caller", proxy.cuts());
    let direct = place.open().await;
    assert_eq!(violations(&**direct.store()).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_commit_whose_answer_is_lost_has_an_unknown_outcome_and_happens_once() {
    let place = Place::new().await;
    let proxy = Proxy::to(Server::shared().port());
    let store = backend(&through(&proxy, &place)).await.unwrap();
    submit(&store).await;
    // The first request of a submit loads, the second writes and commits.
    proxy.cut_after(1);
    let work = Submit::new(new_id());
    let lost =
        store.submit(vec![work.clone()]).await.and_then(|mut all| all.remove(0)).unwrap_err();
    assert!(lost.outcome_is_unknown() && lost.is_retryable(), "{lost:?}");
    // The server may have lost its client before it committed, or not. Repeating it is one execution.
    let again = store.submit(vec![work.clone()]).await.unwrap().remove(0).unwrap();
    assert_eq!(again.execution, work.id);
    assert_eq!(store.describe(&target(work.id)).await.unwrap().id, work.id);
    assert_eq!(violations(&**store.store()).await, Vec::<String>::new());
}

#[tokio::test]
async fn idle_connections_that_were_lost_cost_no_call() {
    let place = Place::new().await;
    let proxy = Proxy::to(Server::shared().port());
    let store = backend(&through(&proxy, &place)).await.unwrap();
    let id = submit(&store).await;
    store.describe(&target(id)).await.unwrap();
    proxy.cut();
    assert_eq!(store.describe(&target(id)).await.unwrap().id, id);
    submit(&store).await;
}

#[tokio::test]
async fn a_server_that_refuses_connections_is_unavailable_until_it_does_not() {
    let place = Place::new().await;
    let proxy = Proxy::to(Server::shared().port());
    let store = backend(&through(&proxy, &place)).await.unwrap();
    proxy.set(Mode::Refuse);
    proxy.cut();
    let id = new_id();
    let error =
        store.submit(vec![Submit::new(id)]).await.and_then(|mut all| all.remove(0)).unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    assert!(store.describe(&target(id)).await.unwrap_err().is_retryable());
    proxy.set(Mode::Forward);
    submit(&store).await;
}
