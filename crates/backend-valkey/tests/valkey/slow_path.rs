//! Commands on the slow path go together.

use ff_core::Millis;
use ff_core::machine::{ClaimRequest, Submit};
use ff_core::policy::Policy;
use ff_store::{ClientBackend, MaintenanceBackend, PartitionSet, Store, WorkerBackend};
use ff_testkit::valkey::Server;

use crate::fixture::{Home, claim, counted, counting, until, work};

const PARTITIONS: u16 = 8;
const LEASES: usize = 500;

#[tokio::test(flavor = "multi_thread")]
async fn lost_leases_are_taken_back_in_two_calls_of_each_partition() {
    let home = Home::on(Server::shared(), PARTITIONS);
    let name = home.options.prefix.as_str().to_owned();
    let process = home.with_prelude(&counting(&name)).open().await;
    let policy = Policy { lease_ttl: Millis::new(100), ..Policy::default() };
    for _ in 0..LEASES {
        let submit = Submit { policy: policy.clone().into(), ..work(&process) };
        process.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    }
    let mut held = 0;
    until("all work to be claimed", async || {
        let claim = ClaimRequest { ..claim(100) };
        held += process.claim(claim, Millis::ZERO).await.unwrap().assignments.len();
        (held >= LEASES).then_some(())
    })
    .await;
    let lost = until("all leases to be lost", async || {
        let timers = process.store().due(&PartitionSet::All, None, 2 * LEASES).await.unwrap();
        let ids: Vec<_> = timers.due.into_iter().map(|(_, id)| id).collect();
        (ids.len() == LEASES).then_some(ids)
    })
    .await;
    let calls = |verb: &str| counted(Server::shared(), &name).get(verb).map_or(0, |it| it.calls);
    let before = [calls("load"), calls("commit_freeing")];
    for answer in process.tick(lost).await.unwrap() {
        assert!(answer.unwrap().did.is_some());
    }
    let after = [calls("load"), calls("commit_freeing")];
    eprintln!("{LEASES} lost leases: calls from {before:?} to {after:?}");
    for (before, after) in before.into_iter().zip(after) {
        let made = after - before;
        assert!(made > 0 && made <= i64::from(PARTITIONS), "{made} calls");
    }
}
