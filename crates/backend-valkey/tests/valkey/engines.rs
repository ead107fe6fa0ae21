//! Engine processes divide the partitions among themselves, and the share of a dead one is taken
//! over.

use std::sync::Arc;

use ff_conformance::TestClock;
use ff_core::machine::{Submit, Tick};
use ff_core::{Millis, Partition, PublicState};
use ff_engine::services::Services;
use ff_engine::timers::{self, Timers};
use ff_store::partition_set::ENGINE_TTL;
use ff_store::{EngineId, MaintenanceBackend, PartitionSet, mint};
use ff_testkit::valkey::Server;

use crate::fixture::{self, Home, describe, try_submit, until};

fn ttl() -> Millis {
    Millis::new(ENGINE_TTL.as_millis() as u64)
}

#[tokio::test]
async fn a_silent_process_is_not_alive_any_more() {
    let subject = fixture::four_partitions().await;
    let (one, other) = (EngineId::new(1), EngineId::new(2));
    subject.store.engine_heartbeat(one).await.unwrap();
    let mut both = subject.store.engine_heartbeat(other).await.unwrap();
    both.sort();
    assert_eq!(both, [one, other]);
    subject.clock.advance(ttl()).await;
    assert_eq!(
        subject.store.engine_heartbeat(other).await.unwrap().len(),
        2,
        "its heartbeat has just arrived"
    );
    subject.clock.advance(Millis::new(1)).await;
    assert_eq!(subject.store.engine_heartbeat(other).await.unwrap(), [other]);
}

#[tokio::test]
async fn shares_cover_every_timer_once_and_a_dead_ones_share_is_taken_over() {
    let subject = fixture::four_partitions().await;
    for n in 0..64 {
        let mut submit = Submit::new(mint::execution_id(Partition::new(n).unwrap()));
        submit.start = ff_core::When::After(Millis::new(10));
        subject.store.execute(vec![mint::command(submit)]).await.remove(0).unwrap();
    }
    subject.clock.advance(Millis::new(10)).await;
    let engines = [EngineId::new(7), EngineId::new(8)];
    for engine in engines {
        subject.store.engine_heartbeat(engine).await.unwrap();
    }
    let alive = subject.store.engine_heartbeat(engines[0]).await.unwrap();
    let mut seen = Vec::new();
    for engine in engines {
        let share = PartitionSet::of(engine, &alive, subject.store.partitions());
        seen.extend(subject.store.due(&share, None, 100).await.unwrap().due);
    }
    seen.sort();
    let all = subject.store.due(&PartitionSet::All, None, 100).await.unwrap().due;
    assert_eq!(seen, all, "together they see everything once");
    assert_eq!(all.len(), 64);

    subject.clock.advance(Millis::new(ttl().get() + 1)).await;
    let alive = subject.store.engine_heartbeat(engines[1]).await.unwrap();
    let share = PartitionSet::of(engines[1], &alive, subject.store.partitions());
    let due = subject.store.due(&share, None, 100).await.unwrap().due;
    assert_eq!(due, all, "the one that is left sees everything");
    let ticks = due.iter().map(|(_, id)| mint::command(Tick { execution: *id })).collect();
    assert!(subject.store.execute(ticks).await.iter().all(Result::is_ok));
}

#[tokio::test]
async fn the_timer_loop_acts_on_its_share_alone() {
    let subject = fixture::sixty_four_partitions().await;
    let loops = [(); 2].map(|()| Timers::new(subject.backend.clone(), timers::Options::default()));
    for one in &loops {
        one.run_once().await.unwrap();
    }
    for n in 0..64 {
        let mut submit = Submit::new(mint::execution_id(Partition::new(n).unwrap()));
        submit.start = ff_core::When::After(Millis::new(10));
        subject.store.execute(vec![mint::command(submit)]).await.remove(0).unwrap();
    }
    subject.clock.advance(Millis::new(10)).await;
    // The second one knows the first; each partition has one of the timers.
    let fired = loops[1].run_once().await.unwrap().fired;
    let left = subject.store.due(&PartitionSet::All, None, 100).await.unwrap().due.len() as u64;
    assert_eq!(fired + left, 64);
    assert!(fired > 0 && left > 0, "{fired} fired, {left} left");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_share_of_a_process_that_stops_is_taken_over_at_once() {
    // The store's time is stopped: no process is ever silent for too long.
    let home = Home::on(Server::shared(), 64);
    let (home, process, clock) = home.open_with_clock(Server::shared()).await;
    let other = home.open().await;
    home.until_subscribed_by(Server::shared(), 2).await;
    let (stays, leaves) =
        (Services::new(Arc::new(process.clone())), Services::new(Arc::new(other)));
    let (stays, leaves) = (stays.start(), leaves.start());
    let probe = EngineId::new(1);
    until("both to be known", async || {
        let alive = process.engine_heartbeat(probe).await.unwrap();
        process.leave(probe).await.unwrap();
        (alive.len() == 3).then_some(())
    })
    .await;
    leaves.stop().await;
    assert_eq!(
        process.engine_heartbeat(probe).await.unwrap().len(),
        2,
        "the one that stays and the probe"
    );
    process.leave(probe).await.unwrap();
    let mut delayed = Vec::new();
    for n in 0..64 {
        let mut submit = Submit::new(mint::execution_id(Partition::new(n).unwrap()));
        submit.start = ff_core::When::After(Millis::new(10));
        delayed.push(try_submit(&process, submit).await.unwrap());
    }
    clock.advance(Millis::new(10)).await;
    for id in delayed {
        until("the timers of all partitions to fire", async || {
            (describe(&process, id).await.public_state() == PublicState::Waiting).then_some(())
        })
        .await;
    }
    stays.stop().await;
}

#[tokio::test]
async fn all_services_of_a_process_have_one_share() {
    let subject = fixture::four_partitions().await;
    let services = Services::new(subject.backend.clone());
    services.timers.run_once().await.unwrap();
    services.unblock.run_once().await.unwrap();
    let probe = EngineId::new(1);
    let alive = subject.store.engine_heartbeat(probe).await.unwrap();
    assert_eq!(alive.len(), 2, "the process and the probe");
}

#[test]
fn one_lost_heartbeat_does_not_end_a_share() {
    assert!(ff_store::partition_set::ENGINE_BEAT * 2 < ENGINE_TTL);
}
