//! Many lanes, namespaces, budgets and quotas: while a function runs the server does nothing else, so
//! no call visits more than a bounded number of entries, however many there are.

use std::collections::BTreeMap;

use ff_core::bounds::CLAIM_WAIT_MAX;
use ff_core::limits::ExecutionLimits;
use ff_core::machine::{ClaimRequest, Complete, Submit};
use ff_core::policy::Policy;
use ff_core::quota::QuotaLimits;
use ff_core::{ExecutionId, Lane, Millis, Namespace, Payload, ResourceName, When};
use ff_store::listing::{Filter, Listing};
use ff_store::{
    ClientBackend, LimitsBackend, MaintenanceBackend, PartitionSet, Store, WorkerBackend, audit,
    mint,
};
use ff_testkit::report;
use ff_testkit::valkey::Server;

use crate::fixture::{Counted, Home, Process, claim, counted, counting, until, work};

/// Commands, and elements in their answers, of one call: some milliseconds of a server's time.
const VISITS: i64 = 10_000;

/// How many there are of each.
#[derive(Debug, Clone, Copy)]
struct Scale {
    lanes: usize,
    namespaces: usize,
    quotas: usize,
    queued: usize,
}

impl Scale {
    /// Bounded, unless the run has more time.
    fn of_this_run() -> Scale {
        match std::env::var("FF_EDGES_MINUTES") {
            Ok(_) => Scale { lanes: 10_000, namespaces: 1_000, quotas: 1_000, queued: 500_000 },
            Err(_) => Scale { lanes: 2_000, namespaces: 100, quotas: 100, queued: 8_000 },
        }
    }
}

fn lane(number: usize) -> Lane {
    Lane::new(format!("lane-{number}")).unwrap()
}

fn tenant(number: usize) -> Namespace {
    Namespace::new(format!("tenant-{number}")).unwrap()
}

fn quota(number: usize) -> ResourceName {
    ResourceName::new(format!("quota-{number}")).unwrap()
}

async fn submit(process: &Process, works: Vec<Submit>) {
    for batch in works.chunks(500) {
        for answer in process.submit(batch.to_vec()).await.unwrap() {
            answer.unwrap();
        }
    }
}

/// Work in every lane, and some in every namespace.
async fn fill(process: &Process, scale: Scale) {
    let lanes = (0..scale.queued)
        .map(|number| Submit { lane: lane(number % scale.lanes), ..work(process) });
    submit(process, lanes.collect()).await;
    let tenants =
        (0..scale.namespaces).map(|number| Submit { namespace: tenant(number), ..work(process) });
    submit(process, tenants.collect()).await;
}

/// Full quotas, and work that waits for each.
async fn block(process: &Process, scale: Scale) {
    let limits = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(60),
        max_active: Some(1),
        jitter: Millis::ZERO,
    };
    let mut works = Vec::new();
    for number in 0..scale.quotas {
        process.put_quota(&Namespace::default(), &quota(number), limits.clone()).await.unwrap();
        let limits =
            ExecutionLimits { quotas: [quota(number)].into(), ..ExecutionLimits::default() };
        let limited = Submit { lane: lane(scale.lanes), limits, ..work(process) };
        let again = || Submit { id: work(process).id, ..limited.clone() };
        works.extend([again(), again(), again()]);
    }
    submit(process, works).await;
    // One of each is claimed, and the others have to wait for it.
    let limited = ClaimRequest { lane: lane(scale.lanes), ..claim(256) };
    let mut taken = 0;
    while taken < scale.quotas {
        let mine = ClaimRequest { request: ff_store::mint::request_id(), ..limited.clone() };
        taken += process.claim(mine, CLAIM_WAIT_MAX).await.unwrap().assignments.len();
    }
    assert_eq!(taken, scale.quotas, "each quota admits one");
    until("the others to wait", async || {
        let again = ClaimRequest { request: ff_store::mint::request_id(), ..limited.clone() };
        assert_eq!(process.claim(again, Millis::ZERO).await.unwrap().assignments, []);
        let waiting: u64 = process.backlog().await.unwrap().blocked.values().sum();
        (waiting == 2 * scale.quotas as u64).then_some(())
    })
    .await;
}

/// Everything that reads over all partitions.
async fn read_all(process: &Process, scale: Scale) {
    let backlog = process.backlog().await.unwrap();
    assert_eq!(backlog.queues.len(), scale.lanes + scale.namespaces);
    let queued: u64 = backlog.queues.values().map(|queued| queued.count).sum();
    assert_eq!(queued, (scale.queued + scale.namespaces) as u64);
    assert_eq!(backlog.blocked.len(), scale.quotas);
    let namespace = Namespace::default();
    let filter = Filter::default();
    let mut listing = Listing { namespace: namespace.clone(), filter, after: None, limit: 1_000 };
    let mut listed = 0;
    while listed < 3_000 {
        let page = process.list(&listing).await.unwrap();
        listed += page.executions.len();
        listing.after = page.next;
    }
    process.due(&PartitionSet::All, None, 500).await.unwrap();
    let quotas = process.quotas(&namespace, None, 1_000).await.unwrap();
    assert_eq!(quotas.len(), scale.quotas);
    process.blockers(&PartitionSet::All, None, 100).await.unwrap();
    let report = audit::audit(process.rows().await.unwrap()).await.unwrap();
    assert_eq!(report.violations, []);
    assert!(report.records > (scale.queued + scale.namespaces) as u64);
    assert_eq!(process.store().repair().await.unwrap().fixed(), 0);
}

fn print(scale: Scale, counted: &BTreeMap<String, Counted>) {
    eprintln!("{scale:?}");
    for (verb, Counted { most, calls }) in counted {
        eprintln!("{verb}: {calls} calls, of which one visited {most} at most");
    }
    let most = counted.values().map(|counted| counted.most).max().unwrap_or(0);
    report::count("entries visited by the longest call", most as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn edge_many_lanes_namespaces_and_quotas_cost_no_call_more_than_its_bound() {
    let scale = Scale::of_this_run();
    let home = Home::on(Server::shared(), 64);
    let name = home.options.prefix.as_str().to_owned();
    let home = home.with_prelude(&counting(&name));
    let counted = || counted(Server::shared(), &name);
    let calls = |verb: &str| counted().get(verb).map_or(0, |counted| counted.calls);
    let process = home.open().await;
    fill(&process, scale).await;
    block(&process, scale).await;
    // A process that has received no announcement finds work in the lanes of its claims.
    let other = home.open().await;
    for number in (0..scale.lanes).step_by(scale.lanes / 50) {
        let one = ClaimRequest { lane: lane(number), ..claim(2) };
        assert!(!other.claim(one, Millis::ZERO).await.unwrap().assignments.is_empty());
    }
    drop(other);
    let taken = 50 * 2;
    read_all(&process, Scale { queued: scale.queued - taken, ..scale }).await;

    // A claim that waits on an empty lane costs one scan of that lane per second, and nothing else.
    let waiting = {
        let (process, empty) =
            (process.clone(), ClaimRequest { lane: Lane::default(), ..claim(1) });
        tokio::spawn(async move { process.claim(empty, CLAIM_WAIT_MAX).await })
    };
    until("a claim to wait", async || process.wakeups().anybody_waits().then_some(())).await;
    let sum = || counted().values().map(|counted| counted.calls).sum::<i64>();
    let scans = calls("peek");
    until("a scan", async || (calls("peek") > scans).then_some(())).await;
    let (scans, before) = (calls("peek"), sum());
    until("three scans", async || (calls("peek") >= scans + 3).then_some(())).await;
    let (scans, all) = (calls("peek") - scans, sum() - before);
    eprintln!("idle: {scans} scans, {all} calls in total");
    assert!(all <= scans + 1, "{:?}", counted());
    waiting.abort();

    let counted = counted();
    print(scale, &counted);
    let long: Vec<_> = counted.iter().filter(|(_, counted)| counted.most > VISITS).collect();
    assert!(long.is_empty(), "{long:?}");
}

/// The due timers, once there are some.
async fn due(process: &Process) -> Vec<ExecutionId> {
    until("a timer to be due", async || {
        let due = process.due(&PartitionSet::All, None, 10).await.unwrap().due;
        (!due.is_empty()).then(|| due.into_iter().map(|(_, id)| id).collect())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_finished_executions_are_retired() {
    let home = Home::on(Server::shared(), 4);
    let name = home.options.prefix.as_str().to_owned();
    let home = home.with_prelude(&counting(&name));
    let retires = || counted(Server::shared(), &name).get("retire").map_or(0, |verb| verb.calls);
    let process = home.open().await;
    let policy = Policy { retention: Millis::new(1), ..Policy::default() };
    let delayed = Submit {
        start: When::After(Millis::new(1)),
        policy: policy.into(),
        ..Submit::new(mint::scattered_id())
    };
    let id = delayed.id;
    process.submit(vec![delayed]).await.unwrap().remove(0).unwrap();
    assert_eq!(due(&process).await, [id]);
    process.tick(vec![id]).await.unwrap().remove(0).unwrap();
    assert_eq!(retires(), 0, "it was delayed");
    let taken = process.claim(claim(1), Millis::ZERO).await.unwrap().assignments.remove(0);
    let done = Complete { hold: taken.hold(), result: Payload::bytes("done") };
    process.complete(vec![done]).await.unwrap().remove(0).unwrap();
    assert_eq!(due(&process).await, [id]);
    process.tick(vec![id]).await.unwrap().remove(0).unwrap();
    assert_eq!(retires(), 1, "it was finished");
    assert_eq!(process.store().record(id).await.unwrap(), None);
}
