//! The keys that a store writes are those of the reference page.

use std::collections::BTreeSet;

use ff_backend_valkey::{LAYOUT, Options, Prefix, ValkeyStore};
use ff_core::budget::{BudgetLimits, DimensionLimits, OnBreach};
use ff_core::continuation::ContinuationKind;
use ff_core::credential::{Role, Scope, SecretDigest};
use ff_core::feed::FeedState;
use ff_core::journal::ReplayJournal;
use ff_core::limits::{Blocker, ExecutionLimits};
use ff_core::machine::{
    AdmissionBatch, AdmissionRequest, Admit, AppendFrames, Block, ClaimRequest, Complete,
    CopyResource, Fail, Home, IssueToken, LeaseRef, NeedsAdmission, PutBudget, PutQuota, Register,
    Replay, Reply, SetLane, Submit, Target, ToyLater,
};
use ff_core::quota::QuotaLimits;
use ff_core::record::Tags;
use ff_core::resource::Body;
use ff_core::state::{Failure, Worker};
use ff_core::stream::Frame;
use ff_core::{
    Actor, AdmissionId, Capabilities, Category, Dimension, FrameType, IdempotencyKey, Lane, Millis,
    Namespace, Partition, Patch, Payload, ResourceKey, ResourceKind, ResourceName, TokenName,
    WorkerId, WorkerInstanceId,
};
use ff_store::{EngineId, Store, mint};
use ff_testkit::valkey::Server;

/// Whether `key` matches `pattern`, under another prefix.
fn matches(pattern: &str, key: &str, prefix: &str) -> bool {
    let pattern = pattern.replacen("ff:", &format!("{prefix}:"), 1);
    let (mut pattern, mut key) = (pattern.as_str(), key);
    while let Some(start) = pattern.find('<') {
        let end = pattern.find('>').unwrap();
        let Some(rest) = key.strip_prefix(&pattern[..start]) else { return false };
        let word = rest.find([':', '}']).unwrap_or(rest.len());
        if word == 0 {
            return false;
        }
        (pattern, key) = (&pattern[end + 1..], &rest[word..]);
    }
    pattern == key
}

fn keys(server: &Server, prefix: &str) -> BTreeSet<String> {
    let pattern = format!("{prefix}:*");
    let found = server.command(&["KEYS", &pattern]).unwrap();
    found.list().iter().map(|key| String::from_utf8(key.bytes().to_vec()).unwrap()).collect()
}

async fn run(store: &ValkeyStore, action: impl Into<ff_core::machine::Action>) -> Reply {
    store.execute(vec![mint::command(action)]).await.remove(0).unwrap()
}

fn claim(capabilities: Capabilities) -> ClaimRequest {
    ClaimRequest {
        namespace: Namespace::default(),
        lane: Lane::default(),
        worker: Worker {
            id: WorkerId::new("w").unwrap(),
            instance: WorkerInstanceId::new("w-1").unwrap(),
        },
        capabilities,
        request: mint::request_id(),
        max: 1,
        retry: false,
    }
}

async fn take(store: &ValkeyStore, capabilities: Capabilities) -> LeaseRef {
    let Reply::Claimed(claimed) = run(store, claim(capabilities)).await else { panic!() };
    claimed.assignments[0].hold()
}

/// A budget, a quota, what they admitted, and what waits for them.
async fn limits(store: &ValkeyStore) {
    let home = Home { namespace: Namespace::default(), partitions: store.partitions() };
    let name = ResourceName::new("api").unwrap();
    let dimension = Dimension::new("tokens").unwrap();
    let limits = BudgetLimits {
        dimensions: [(dimension, DimensionLimits::default())].into(),
        period: None,
        on_breach: OnBreach::Block,
    };
    run(store, PutBudget { key: home.key(ResourceKind::Budget, &name), limits }).await;
    let limits = QuotaLimits {
        max_requests: None,
        window: Millis::from_secs(1),
        max_active: Some(1),
        jitter: Millis::ZERO,
    };
    run(store, PutQuota { key: home.key(ResourceKind::Quota, &name), limits }).await;
    let limits = ExecutionLimits { quotas: [name.clone()].into(), ..ExecutionLimits::default() };
    let execution = mint::scattered_id();
    run(store, Submit { limits, ..Submit::new(execution) }).await;
    let record = store.record(execution).await.unwrap().unwrap();
    let id = AdmissionId { batch: mint::request_id(), index: 0 };
    let needs = NeedsAdmission::of(&record, false).unwrap();
    let requests = vec![AdmissionRequest { id, needs }];
    let batch = AdmissionBatch { requests, max: 1, reserved_for: Millis::ZERO };
    run(store, Admit { home, settlements: Vec::new(), batches: vec![batch] }).await;
    let on = Blocker { kind: ResourceKind::Quota, name };
    run(store, Block { execution, on, detail: "for the test".into() }).await;
}

#[tokio::test]
async fn every_key_is_documented_and_every_documented_key_is_written() {
    let server = Server::shared();
    let prefix = "layout";
    let mut options: Options = server.url().parse().unwrap();
    options.prefix = Prefix::new(prefix).unwrap();
    let store = ValkeyStore::open(&options).await.unwrap();
    store.engine_heartbeat(EngineId::new(1)).await.unwrap();

    let mut seen = BTreeSet::new();
    let mut note = || seen.extend(keys(server, prefix));
    let key = IdempotencyKey::new("order-1").unwrap();
    let id = mint::execution_id(Partition::of_key(&Namespace::default(), &key));
    let long = Payload::bytes(vec![7; 1_000]);
    let feed = FeedState { on: true, generation: 1, ..FeedState::default() };
    let at = id.partition().among(store.partitions());
    let key_of_feed = ResourceKey::feed_in(at, &Namespace::default());
    run(&store, CopyResource { key: key_of_feed, body: Box::new(Body::Feed(feed)) }).await;
    run(
        &store,
        Submit { key: Some(key), input: long.clone(), tags: Tags::new(), ..Submit::new(id) },
    )
    .await;
    note();
    let hold = take(&store, Capabilities::NONE).await;
    note();
    let frames = vec![Frame::new(FrameType::output(), "hello")];
    run(&store, AppendFrames { hold: hold.clone(), first: Some(0), frames }).await;
    run(&store, Complete { hold, result: long }).await;
    let target = Target { namespace: Namespace::default(), execution: id };
    run(&store, Replay { target: target.clone(), run: 0, journal: ReplayJournal::Keep }).await;
    let (add, count) = (vec![(ContinuationKind::TOY, 1)], [(0, 1)].into());
    run(&store, ToyLater { target, changes: false, add, count, at_zero: None }).await;
    let hold = take(&store, Capabilities::NONE).await;
    let failure =
        Failure { category: Category::timeout(), retryable: false, message: "for the test".into() };
    run(&store, Fail { hold, failure }).await;
    note();
    let gpu = Capabilities::new(["gpu"]).unwrap();
    run(&store, Submit { requires: gpu, ..Submit::new(mint::scattered_id()) }).await;
    let ClaimRequest { namespace, lane, worker, capabilities, request, .. } =
        claim(Capabilities::NONE);
    let key = ResourceKey::worker(&namespace, &worker.instance, store.partitions());
    let (lanes, ttl) = (vec![lane.clone()], Millis::from_secs(9));
    run(&store, Register { key, worker, session: request, lanes, capabilities, ttl }).await;
    let key = ResourceKey::lane(&namespace, &lane, store.partitions());
    let set = SetLane {
        key,
        paused: Some(true),
        draining: None,
        max_active: Patch::Set(2),
        defaults: Patch::Unset,
        reason: None,
        spread: true,
    };
    run(&store, set).await;
    limits(&store).await;
    let ci = TokenName::new("ci").unwrap();
    let issue = IssueToken {
        key: ResourceKey::credential(&ci, store.partitions()),
        role: Role::Reader,
        scope: Scope::Every,
        digest: SecretDigest::new([7; 32]),
        ttl: None,
        by: Actor::local(),
    };
    run(&store, issue).await;
    note();

    let written: Vec<_> = LAYOUT.iter().filter(|family| family.written).collect();
    for key in &seen {
        let known = written.iter().any(|family| matches(family.pattern, key, prefix));
        assert!(known, "{key} is not on the page");
    }
    for family in written {
        let found = seen.iter().any(|key| matches(family.pattern, key, prefix));
        assert!(found, "nothing is ever written to {}", family.pattern);
    }
}
