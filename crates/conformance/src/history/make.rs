//! Random parts of commands, chosen from few values so that they collide.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use ff_core::bounds::PARTITIONS;
use ff_core::bounds::STREAM_BYTES_MIN;
use ff_core::limits::{Amounts, ExecutionLimits};
use ff_core::machine::Submit;
use ff_core::policy::{Backoff, Growth, Policy, Retry};
use ff_core::record::Tags;
use ff_core::state::{Failure, Worker};
use ff_core::stream::StreamPolicy;
use ff_core::{
    Capabilities, Category, Dimension, ExecutionId, IdempotencyKey, Kind, Lane, Millis, Namespace,
    Partition, Payload, PolicyOverrides, RequestId, ResourceName, TagKey, TagValue, Time, When,
    WorkerId, WorkerInstanceId,
};

/// One of `all`.
pub(super) fn one<T: Clone>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.usize(..all.len())].clone()
}

/// One row of `all`.
pub(super) fn one_of<'a, K, V>(rng: &mut Rng, all: &'a BTreeMap<K, V>) -> Option<(&'a K, &'a V)> {
    (!all.is_empty()).then(|| all.iter().nth(rng.usize(..all.len()))).flatten()
}

/// Whether something that happens in `percent` of 100 cases happens.
pub(super) fn chance(rng: &mut Rng, percent: u8) -> bool {
    rng.u8(..100) < percent
}

pub(super) fn millis(rng: &mut Rng, all: &[u64]) -> Millis {
    Millis::new(one(rng, all))
}

/// Every namespace of a history.
pub(super) fn namespaces() -> [Namespace; 2] {
    ["acme", "rival"].map(|name| Namespace::new(name).unwrap())
}

pub(super) fn namespace(rng: &mut Rng) -> Namespace {
    let name = if chance(rng, 93) { "acme" } else { "rival" };
    Namespace::new(name).unwrap()
}

pub(super) fn lane(rng: &mut Rng) -> Lane {
    let name = if chance(rng, 90) { "default" } else { "slow" };
    Lane::new(name).unwrap()
}

pub(super) fn worker(rng: &mut Rng) -> Worker {
    let name = one(rng, &["ada", "bob"]);
    let instance = WorkerInstanceId::new(format!("{name}-1")).unwrap();
    Worker { id: WorkerId::new(name).unwrap(), instance }
}

pub(super) fn requires(rng: &mut Rng) -> Capabilities {
    Capabilities::parse(one(rng, &["", "", "", "", "a", "b", "a,b"])).unwrap()
}

pub(super) fn offers(rng: &mut Rng) -> Capabilities {
    Capabilities::parse(one(rng, &["", "a", "a,b", "a,b", "a,b", "a,b,c", "a,b,c"])).unwrap()
}

pub(super) fn request(rng: &mut Rng) -> RequestId {
    RequestId::new(rng.u128(..))
}

/// An id in any partition. Ids of one history are random, so their order is not that of time.
pub(super) fn id(rng: &mut Rng, partitions: u16) -> ExecutionId {
    let clock = Time::from_ms(1_700_000_000_000 + rng.u64(..3));
    let at = partition(rng, partitions);
    ExecutionId::mint(clock, at, rng.u32(..), rng.u64(..))
}

/// A partition of a store of this many, as an id may name it.
pub(super) fn partition(rng: &mut Rng, partitions: u16) -> Partition {
    match partitions {
        1 => Partition::ONLY,
        _ => Partition::new(rng.u16(..PARTITIONS)).unwrap(),
    }
}

/// The same id in the partition `at`.
pub(super) fn id_in(at: Partition, id: ExecutionId) -> ExecutionId {
    let mut bytes = *id.as_bytes();
    let [high, low] = at.number().to_be_bytes();
    (bytes[6], bytes[7]) = ((bytes[6] & 0xf0) | high, low);
    ExecutionId::from_bytes(&bytes).unwrap()
}

pub(super) fn payload(rng: &mut Rng) -> Payload {
    let len = one(rng, &[0, 1, 7, 20, 64, 65, 300]);
    let bytes: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
    if chance(rng, 50) { Payload::json(bytes) } else { Payload::bytes(bytes) }
}

pub(super) fn tags(rng: &mut Rng) -> Tags {
    let some = (0..rng.usize(..3)).map(|_| {
        let key = TagKey::new(one(rng, &["a", "b", "c"])).unwrap();
        (key, TagValue::new(one(rng, &["", "x", "größe"])).unwrap())
    });
    some.collect()
}

pub(super) fn priority(rng: &mut Rng) -> i16 {
    one(rng, &[0, 0, 0, 1, 5, 9_000, -1, -9_000])
}

pub(super) fn category(rng: &mut Rng) -> Category {
    Category::new(one(rng, &["error", "error", "network", "timeout"])).unwrap()
}

pub(super) fn failure(rng: &mut Rng) -> Failure {
    Failure {
        category: category(rng),
        retryable: chance(rng, 85),
        message: one(rng, &["", "broken", "größe"]).into(),
    }
}

pub(super) fn when(rng: &mut Rng, now: Time) -> When {
    match rng.u8(..10) {
        0..4 => When::Now,
        4..7 => When::After(millis(rng, &[0, 1, 50, 300, 2_000])),
        7..9 => When::At(now + millis(rng, &[1, 100, 700])),
        _ => When::At(now - millis(rng, &[0, 1, 5_000])),
    }
}

fn backoff(rng: &mut Rng) -> Backoff {
    match rng.u8(..3) {
        0 => Backoff::none(),
        1 => Backoff::fixed(millis(rng, &[1, 200])),
        _ => Backoff {
            growth: Growth::Exponential,
            base: millis(rng, &[10, 100]),
            cap: millis(rng, &[150, 1_000]),
            jitter_percent: one(rng, &[0, 50, 100]),
        },
    }
}

pub(super) fn policy(rng: &mut Rng, keyed: bool) -> Policy {
    let categories =
        chance(rng, 30).then(|| BTreeSet::from([Category::error(), category(rng), category(rng)]));
    let max_attempts = one(rng, &[1, 2, 3]);
    let stream = stream(&mut aside(rng));
    Policy {
        retry: Retry { max_attempts, backoff: backoff(rng), categories },
        attempt_timeout: chance(rng, 50).then(|| millis(rng, &[60, 60, 300, 1_500, 6_000])),
        deadline: chance(rng, 45).then(|| millis(rng, &[150, 500, 1_500, 4_000])),
        lease_ttl: millis(rng, &[100, 400, 2_000, 5_000]),
        max_reclaims: one(rng, &[0, 1, 2]),
        retention: match keyed {
            true => Millis::from_hours(24),
            false => millis(rng, &[1, 100, 100, 1_000, 1_000, 86_400_000]),
        },
        stream,
    }
}

/// Bounds that a history reaches.
fn stream(rng: &mut Rng) -> StreamPolicy {
    let bytes = one(rng, &[STREAM_BYTES_MIN, STREAM_BYTES_MIN, 4 * STREAM_BYTES_MIN]);
    StreamPolicy { frames: one(rng, &[1, 2, 3, 8]), bytes }
}

/// A separate source: drawing from it does not change what is drawn from `rng` later.
pub(super) fn aside(rng: &Rng) -> Rng {
    Rng::with_seed(rng.get_seed() ^ 0x5eed_a51d_e5ee_da51)
}

/// A part of `policy`.
fn part(rng: &mut Rng, policy: Policy) -> PolicyOverrides {
    let mut overrides = PolicyOverrides::from(policy);
    let (silent, backoff) = (PolicyOverrides::default(), &mut overrides.backoff);
    match rng.u8(..4) {
        0 => *backoff = silent.backoff,
        1 => backoff.base = None,
        2 => (backoff.growth, backoff.cap) = (None, None),
        _ => backoff.jitter_percent = None,
    }
    let mut set = || chance(rng, 50);
    overrides.max_attempts = overrides.max_attempts.filter(|_| set());
    overrides.lease_ttl = overrides.lease_ttl.filter(|_| set());
    overrides.max_reclaims = overrides.max_reclaims.filter(|_| set());
    overrides.retention = overrides.retention.filter(|_| set());
    overrides.categories = if set() { overrides.categories } else { silent.categories };
    overrides.attempt_timeout =
        if set() { overrides.attempt_timeout } else { silent.attempt_timeout };
    overrides.deadline = if set() { overrides.deadline } else { silent.deadline };
    overrides
}

/// The defaults of a lane.
pub(super) fn defaults(rng: &mut Rng) -> PolicyOverrides {
    let policy = policy(rng, false);
    part(rng, policy)
}

/// The overrides of a submit: mostly all of `policy`.
fn overrides(rng: &mut Rng, policy: Policy) -> PolicyOverrides {
    match rng.u8(..10) {
        0..2 => part(rng, policy),
        2 => PolicyOverrides::default(),
        _ => policy.into(),
    }
}

pub(super) fn submit(rng: &mut Rng, now: Time, partitions: u16) -> Submit {
    let key =
        chance(rng, 25).then(|| IdempotencyKey::new(one(rng, &["k1", "k2", "k3", "k4"])).unwrap());
    Submit {
        id: id(rng, partitions),
        namespace: namespace(rng),
        lane: lane(rng),
        kind: Kind::new(one(rng, &["task", "render"])).unwrap(),
        input: payload(rng),
        tags: tags(rng),
        priority: priority(rng),
        start: if chance(rng, 70) { When::Now } else { when(rng, now) },
        policy: {
            let policy = policy(rng, key.is_some());
            overrides(&mut aside(rng), policy)
        },
        key,
        requires: requires(rng),
        limits: limits(rng),
    }
}

/// The limits of an execution; mostly none.
pub(super) fn limits(rng: &mut Rng) -> ExecutionLimits {
    let names = |rng: &mut Rng, all: &[&[&str]]| {
        let some = one(rng, all);
        some.iter().map(|name| ResourceName::new(*name).unwrap()).collect::<BTreeSet<_>>()
    };
    if chance(rng, 75) {
        return ExecutionLimits::default();
    }
    let budgets = names(rng, &[&[], &[], &["money"], &["money", "tokens"]]);
    let quotas = names(rng, &[&["api"], &["api"], &["api", "slots"], &["slots"], &[]]);
    let estimate = match budgets.is_empty() {
        false if chance(rng, 40) => amounts(rng),
        _ => Amounts::new(),
    };
    ExecutionLimits { budgets, quotas, estimate }
}

/// Amounts by dimension.
pub(super) fn amounts(rng: &mut Rng) -> Amounts {
    let some = (0..1 + rng.usize(..2)).map(|_| {
        let dimension = Dimension::new(one(rng, &["cents", "words"])).unwrap();
        (dimension, one(rng, &[0, 1, 3, 10, 50]))
    });
    some.collect()
}
