//! One primary of three stops: the partitions of the others continue.

use std::collections::BTreeSet;
use std::time::Duration;

use ff_core::limits::ExecutionLimits;
use ff_core::machine::{ClaimRequest, Claimed, Submit};
use ff_core::quota::QuotaLimits;
use ff_core::{ExecutionId, Lane, Millis, Namespace, Partition, PublicState, ResourceName, When};
use ff_engine::services::Services;
use ff_store::{ClientBackend, LimitsBackend, WorkerBackend, mint};
use ff_testkit::report;
use ff_testkit::valkey::{Cluster, Config, Server};
use std::sync::Arc;

use crate::fixture::{self, Home, Process, claim, complete, until};

const PARTITIONS: u16 = 64;

/// A cluster of which a part can be lost, and the partitions on each side.
struct Divided {
    cluster: Cluster,
    lost: u16,
    home: Home,
    living: Vec<u16>,
    dead: Vec<u16>,
}

impl Divided {
    fn start() -> Divided {
        let config = Config::default().with("appendfsync", "no");
        // Without it all nodes refuse everything as soon as one slot is not served.
        let config = config.with("cluster-require-full-coverage", "no");
        let cluster = Cluster::start_with(3, 0, config);
        let mut home = Home::on(&cluster.nodes()[0], PARTITIONS);
        home.options.topology = ff_backend_valkey::Topology::Cluster;
        home.options.nodes =
            cluster.nodes().iter().map(|node| ("127.0.0.1".to_owned(), node.port())).collect();
        home.options.request_timeout = Duration::from_secs(1);
        let prefix = home.options.prefix.as_str();
        let port = |key: &str| cluster.primary_of(cluster.slot_of(key)).port();
        // The worst one to lose: it has the set of engine processes.
        let lost = port(&format!("{prefix}:engines"));
        let is_lost = |at: &u16| port(&format!("{prefix}:{{p:{at}}}")) == lost;
        let (dead, living) = (0..PARTITIONS).partition(is_lost);
        Divided { cluster, lost, home, living, dead }
    }

    fn lost(&self) -> &Server {
        self.cluster.nodes().iter().find(|node| node.port() == self.lost).unwrap()
    }

    /// A namespace whose budgets and quotas are on the living side.
    fn tenant(&self) -> Namespace {
        let names = (0..).map(|number| Namespace::new(format!("tenant-{number}")).unwrap());
        let lives =
            |name: &Namespace| self.living.contains(&Partition::home(name, PARTITIONS).number());
        names.into_iter().find(lives).unwrap()
    }
}

fn work_in(partition: u16) -> Submit {
    Submit::new(mint::execution_id(Partition::new(partition).unwrap()))
}

/// Claims and completes until this many are done. Claims that fail are left to be repeated: what one
/// took before it was cut off is held until then.
async fn work_off(
    process: &Process,
    namespace: &Namespace,
    lane: &Lane,
    count: usize,
) -> Vec<ClaimRequest> {
    let (mut done, mut failed) = (BTreeSet::new(), Vec::new());
    until("all work to be done", async || {
        let mine = ClaimRequest { namespace: namespace.clone(), lane: lane.clone(), ..claim(8) };
        match process.claim(mine.clone(), Millis::new(100)).await {
            Ok(claimed) => done.extend(complete_all(process, claimed).await),
            Err(_) => failed.push(mine),
        }
        (done.len() >= count).then_some(())
    })
    .await;
    failed
}

async fn complete_all(process: &Process, claimed: Claimed) -> Vec<ExecutionId> {
    let mut done = Vec::new();
    for taken in claimed.assignments {
        complete(process, &taken).await.unwrap();
        done.push(taken.execution);
    }
    done
}

/// Repeats claims whose outcome is unknown, and completes what they hold.
async fn repeat(process: &Process, failed: Vec<ClaimRequest>) -> usize {
    let mut done = BTreeSet::new();
    for request in failed {
        let claimed = until("a claim to be repeated", async || {
            process.claim(request.clone(), Millis::new(100)).await.ok()
        })
        .await;
        done.extend(complete_all(process, claimed).await);
    }
    done.len()
}

async fn state(process: &Process, id: ExecutionId) -> PublicState {
    process.describe(&fixture::target(id)).await.unwrap().public_state()
}

#[tokio::test(flavor = "multi_thread")]
async fn edge_one_primary_stopped_costs_its_own_partitions_alone() {
    let divided = Divided::start();
    let (process, namespace) = (divided.home.open().await, Namespace::default());
    let engine = Services::new(Arc::new(divided.home.open().await)).start();
    let (lane, other) = (Lane::default(), Lane::new("other").unwrap());
    // The best heads are on the side that is about to be lost.
    for partition in divided.dead.iter().take(8) {
        let urgent = Submit { priority: 100, ..work_in(*partition) };
        process.submit(vec![urgent]).await.unwrap().remove(0).unwrap();
    }
    divided.lost().pause();

    // Submits and claims.
    for partition in &divided.living {
        process.submit(vec![work_in(*partition)]).await.unwrap().remove(0).unwrap();
    }
    let failed = work_off(&process, &namespace, &lane, divided.living.len()).await;

    // Timers.
    let mut delayed = Vec::new();
    for partition in &divided.living {
        let start = When::After(Millis::new(10));
        let submit = Submit { start, lane: other.clone(), ..work_in(*partition) };
        delayed.push(submit.id);
        process.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    }
    for id in &delayed {
        until("a delay to be over", async || {
            (state(&process, *id).await != PublicState::Delayed).then_some(())
        })
        .await;
    }

    // Releases: one at a time, each releases the next one.
    let (tenant, quota) = (divided.tenant(), ResourceName::new("one").unwrap());
    let limits = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(60),
        max_active: Some(1),
        jitter: Millis::ZERO,
    };
    process.put_quota(&tenant, &quota, limits).await.unwrap();
    for partition in divided.living.iter().take(16) {
        let limits =
            ExecutionLimits { quotas: [quota.clone()].into(), ..ExecutionLimits::default() };
        let submit = Submit { namespace: tenant.clone(), limits, ..work_in(*partition) };
        process.submit(vec![submit]).await.unwrap().remove(0).unwrap();
    }
    let refused = work_off(&process, &tenant, &lane, 16).await;
    eprintln!(
        "with a third of the partitions lost: {} submits and claims ({} claims failed), {} \
         timers, 16 releases ({} claims failed)",
        divided.living.len(),
        failed.len(),
        delayed.len(),
        refused.len()
    );
    report::count("calls with a stopped primary", 2 * divided.living.len() as u64 + 16);

    divided.lost().resume();
    divided.cluster.wait_ok();
    let repeated = repeat(&process, failed).await;
    work_off(&process, &namespace, &lane, 8 - repeated.min(8)).await;
    repeat(&process, refused).await;
    engine.stop().await;
    fixture::check(&process).await;
}
