//! The audit finds violations: each store here is sound but for one, planted past the store.

use ff_conformance::EveryState;
use ff_store::Store;
use ff_store::audit::{Rule, audit};

use crate::calls::Place;

/// The rules that are broken in a store with an execution in every state after `plant`.
async fn broken(plant: impl Fn(&EveryState) -> String) -> Vec<Rule> {
    let place = Place::new().await;
    let store = place.open().await;
    let all = EveryState::make(&store).await;
    let sql = plant(&all);
    if !sql.is_empty() {
        assert_eq!(place.sql(&sql).await, 1, "{sql}");
    }
    let report = audit(store.store().rows().await.unwrap()).await.unwrap();
    report.violations.into_iter().map(|violation| violation.rule).collect()
}

#[tokio::test]
async fn a_sound_store_is_found_sound() {
    assert_eq!(broken(|_| String::new()).await, []);
}

#[tokio::test]
async fn every_kind_of_planted_row_is_found() {
    use Rule::{
        ElementsInOrder, EntryOwned, EntryThere, PayloadOwned, PayloadThere, Readable,
        ResourceOwned, ResourceThere, TallyOwned,
    };
    type Plant = fn(&EveryState) -> String;
    let plants: &[(&[Rule], Plant)] = &[
        (&[EntryThere], |all| format!("DELETE FROM queue WHERE id = '{}'", all.queued)),
        (&[EntryThere], |all| format!("DELETE FROM timer WHERE id = '{}'", all.delayed)),
        (&[EntryThere], |all| format!("DELETE FROM request WHERE id = '{}'", all.active)),
        (&[EntryThere], |all| format!("DELETE FROM attention WHERE id = '{}'", all.failed)),
        (&[EntryThere], |all| format!("DELETE FROM list WHERE id = '{}'", all.queued)),
        (&[EntryThere], |_| "DELETE FROM idempotency_key".into()),
        (&[EntryOwned], |all| format!("INSERT INTO timer VALUES (7, '{}')", all.queued)),
        (&[Readable], |_| {
            "INSERT INTO timer VALUES (7, '00000000-0000-0000-0000-000000000000')".into()
        }),
        (&[Readable], |all| format!("INSERT INTO list VALUES ('a b', 1, '{}')", all.queued)),
        (&[Readable], |_| {
            "INSERT INTO execution VALUES ('018bcfe5-6800-7007-8000-040000000002', 1, '\\x7f')"
                .into()
        }),
        (&[PayloadOwned], |all| format!("INSERT INTO blob VALUES ('{}', 9, '')", all.queued)),
        (&[PayloadThere], |all| {
            format!("UPDATE blob SET bytes = 'x' WHERE id = '{}' AND part = -1", all.completed)
        }),
        (&[ElementsInOrder], |all| {
            format!("DELETE FROM element WHERE owner = '{}' AND collection = 0", all.failed)
        }),
        (&[TallyOwned], |_| {
            "INSERT INTO tally VALUES ('018bcfe5-6800-7007-8000-040000000002', 1, 1)".into()
        }),
        (&[ResourceThere, ResourceOwned], |_| {
            "UPDATE resource SET due = due + 1 WHERE kind = 'worker'".into()
        }),
    ];
    for (number, (rules, plant)) in plants.iter().enumerate() {
        assert_eq!(broken(plant).await, *rules, "plant {number}");
    }
}
