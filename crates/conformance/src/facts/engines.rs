//! Engine processes: which are alive, and what each of them acts on.

use std::time::Duration;

use ff_core::machine::Submit;
use ff_core::{Millis, When};
use ff_store::partition_set::ENGINE_TTL;
use ff_store::{EngineId, PartitionSet};

use crate::fixture::{Fixture, ms};

const ENGINES: [EngineId; 3] = [EngineId::new(11), EngineId::new(12), EngineId::new(13)];

const TTL: Millis = Millis::new(ENGINE_TTL.as_millis() as u64);

impl Fixture {
    /// Whom an engine knows to be alive after its heartbeat, in order.
    async fn beat(&self, engine: EngineId) -> Vec<EngineId> {
        let mut alive = self.store().engine_heartbeat(engine).await.unwrap();
        alive.sort();
        alive
    }

    /// All engines know each other.
    async fn acquaint(&self) {
        for engine in [ENGINES, ENGINES].concat() {
            self.beat(engine).await;
        }
    }
}

pub(crate) async fn an_engine_that_is_alone_knows_only_itself(g: Fixture) {
    for _ in 0..3 {
        assert_eq!(g.beat(ENGINES[0]).await, ENGINES[..1]);
    }
}

pub(crate) async fn engines_that_send_heartbeats_know_each_other(g: Fixture) {
    g.acquaint().await;
    for engine in ENGINES {
        assert_eq!(g.beat(engine).await, ENGINES);
    }
}

pub(crate) async fn every_partition_has_one_owner_among_the_engines(g: Fixture) {
    g.acquaint().await;
    let partitions = g.store().partitions();
    let mut owners = vec![0; usize::from(partitions)];
    for engine in ENGINES {
        let share = PartitionSet::of(engine, &g.beat(engine).await, partitions);
        (0..partitions).filter(|at| share.has(*at)).for_each(|at| owners[usize::from(at)] += 1);
    }
    assert!(owners.iter().all(|owners| *owners == 1), "{owners:?}");
}

pub(crate) async fn an_engine_that_leaves_is_gone_at_once(g: Fixture) {
    g.acquaint().await;
    let changed = g.store().wakeups().engines_changed();
    g.store().leave(ENGINES[0]).await.unwrap();
    assert_eq!(g.beat(ENGINES[1]).await, ENGINES[1..]);
    tokio::time::timeout(Duration::from_secs(10), changed).await.expect("the others are woken");
    // Leaving twice does no harm, nor does coming back.
    g.store().leave(ENGINES[0]).await.unwrap();
    g.beat(ENGINES[0]).await;
    assert_eq!(g.beat(ENGINES[1]).await, ENGINES);
}

pub(crate) async fn a_silent_engine_is_gone_after_its_time(g: Fixture) {
    g.acquaint().await;
    // The last heartbeat of the third has been seen.
    g.beat(ENGINES[0]).await;
    g.beat(ENGINES[1]).await;
    g.advance(TTL).await;
    g.beat(ENGINES[0]).await;
    assert_eq!(g.beat(ENGINES[1]).await, ENGINES, "it may still come");
    g.advance(ms(1)).await;
    g.beat(ENGINES[0]).await;
    assert_eq!(g.beat(ENGINES[1]).await, ENGINES[..2]);
    // It was only frozen.
    g.beat(ENGINES[2]).await;
    assert_eq!(g.beat(ENGINES[1]).await, ENGINES);
}

pub(crate) async fn an_engine_without_a_partition_sees_no_timer(g: Fixture) {
    let mut submit = Submit::new(g.new_id());
    (submit.namespace, submit.start) = (g.namespace.clone(), When::After(ms(10)));
    let id = submit.id;
    g.run(submit).await.unwrap();
    g.advance(ms(10)).await;
    let due = async |share| {
        let timers = g.store().due(&share, None, 10).await.unwrap();
        timers.due.into_iter().map(|(_, id)| id).collect::<Vec<_>>()
    };
    assert_eq!(due(PartitionSet::All).await, [id]);
    assert!(due(PartitionSet::Some(Vec::new())).await.is_empty());
    let none = PartitionSet::Some(Vec::new());
    assert!(g.store().blockers(&none, None, 10).await.unwrap().is_empty());
}
