//! Workers learn of stops from whatever process they come.

use ff_core::machine::Cancel;
use ff_core::{Millis, Namespace};
use ff_store::{ClientBackend, WorkerBackend};
use ff_testkit::valkey::Server;

use crate::fixture::{Home, held, target, work};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_in_another_process_is_heard_of() {
    let home = Home::on(Server::shared(), 64);
    let (one, other) = (home.open().await, home.open().await);
    home.until_subscribed_by(Server::shared(), 2).await;
    let wait = Millis::from_secs(30);
    for _ in 0..5 {
        let held = held(&one, work(&one)).await;
        let instance = one.describe(&target(held.execution)).await.unwrap();
        let instance = instance.attempt.unwrap().worker.instance;
        let stops =
            async |after| one.stops(&Namespace::default(), &instance, after, wait).await.unwrap();
        let known = stops(None).await.cursor;
        let cancel = Cancel { target: target(held.execution), grace: None, reason: None };
        other.cancel(cancel).await.unwrap();
        assert_eq!(stops(Some(known)).await.stopped, Some(vec![held.execution]));
    }
}
