//! Many callers, one transaction.

use std::collections::HashSet;

use ff_core::Millis;
use ff_core::Payload;
use ff_core::machine::{Complete, Submit};
use ff_store::{Store, WorkerBackend, mint};

use crate::calls::{Place, claim, complete, new_id, submit, violations};

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_queue_share_a_transaction() {
    const CALLERS: u64 = 200;
    let place = Place::new().await;
    let store = place.open().await;
    let running: Vec<_> = (0..CALLERS)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { submit(&store).await })
        })
        .collect();
    let mut ids = HashSet::new();
    for one in running {
        ids.insert(one.await.unwrap());
    }
    assert_eq!(ids.len() as u64, CALLERS);
    let stats = store.store().stats();
    assert_eq!(stats.commands, CALLERS);
    assert!(stats.commits < CALLERS / 4, "{stats:?}");
    let claims: Vec<_> = (0..CALLERS)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(
                async move { store.claim(claim(1), Millis::ZERO).await.unwrap().assignments },
            )
        })
        .collect();
    let mut taken = HashSet::new();
    for one in claims {
        taken.extend(one.await.unwrap().into_iter().map(|assignment| assignment.execution));
    }
    assert_eq!(taken, ids, "claims that share a transaction share its candidates");
    assert_eq!(violations(&**store.store()).await, Vec::<String>::new());
}

#[tokio::test]
async fn commands_of_one_call_see_what_those_before_them_wrote() {
    let place = Place::new().await;
    let store = place.open().await;
    let id = new_id();
    let batch = vec![
        mint::command(Submit::new(id)),
        mint::command(Submit::new(id)),
        mint::command(claim(1)),
        mint::command(claim(1)),
    ];
    let mut answers = store.store().execute(batch).await.into_iter();
    assert_eq!(store.store().stats().commits, 1);
    let mut claimed = || match answers.next_back().unwrap().unwrap() {
        ff_core::machine::Reply::Claimed(claimed) => claimed.assignments,
        other => panic!("{other:?}"),
    };
    assert!(claimed().is_empty(), "the first claim has it");
    let taken = claimed().remove(0);
    let result = Payload::bytes("x");
    let batch = vec![
        mint::command(complete(&taken)),
        mint::command(Complete { hold: taken.hold(), result }),
    ];
    let answers = store.store().execute(batch).await;
    assert!(answers[0].is_ok() && answers[1].is_err(), "{answers:?}");
    assert_eq!(violations(&**store.store()).await, Vec::<String>::new());
}
