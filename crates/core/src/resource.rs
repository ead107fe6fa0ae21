//! What a namespace has besides executions: workers, the state of lanes, budgets, quotas, and the
//! tickets of what these have admitted; and what a store has: the named tokens.
//!
//! A resource is a record of its own, with a version and at most one timer, in one partition. All
//! resources of a namespace share the partition that is its [home](Partition::home), so that one
//! write can change several of them; copies of a lane's state and of a feed lie in every partition,
//! where claims, submits and everything that is logged see them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::capability::Capabilities;
use crate::credential::Credential;
use crate::feed::FeedState;
use crate::id::{AdmissionId, ExecutionId, Partition, RequestId};
use crate::limits::{Amounts, subtract};
use crate::name::{Actor, Lane, Namespace, ResourceName, TokenName, WorkerInstanceId};
use crate::overrides::PolicyOverrides;
use crate::quota::Quota;
use crate::record::Version;
use crate::schedule::Schedule;
use crate::signing::SigningKeys;
use crate::state::Worker;
use crate::time::{Millis, Time};
use crate::webhook::Webhook;
use crate::words;

/// How long after an admission can no longer be used it counts as unused: so far the clocks of two
/// partitions may differ.
const TICKET_GRACE: Millis = Millis::from_secs(5);

/// The name of the one resource that has all signing keys.
const SIGNING: &str = "signing";

/// The name of the one feed of a namespace.
const EVENTS: &str = "events";

words!(
    /// The kind of a resource.
    ResourceKind {
        /// A budget.
        Budget = "budget",
        /// A named token.
        Credential = "credential",
        /// The feed of a namespace.
        Feed = "feed",
        /// The state of a lane.
        Lane = "lane",
        /// A quota.
        Quota = "quota",
        /// Work that is submitted at known moments.
        Schedule = "schedule",
        /// The signing keys of the store.
        SigningKeys = "signing_keys",
        /// What an execution holds in quotas and budgets.
        Ticket = "ticket",
        /// Where events of a namespace are sent.
        Webhook = "webhook",
        /// A registered worker.
        Worker = "worker",
    }
);

/// The name of a resource and where it lies.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceKey {
    /// The partition.
    pub partition: Partition,
    /// Its kind.
    pub kind: ResourceKind,
    /// The tenant, or the store itself.
    #[serde(deserialize_with = "Namespace::deserialize_stored")]
    pub namespace: Namespace,
    /// Its name among those of its kind and tenant.
    pub name: ResourceName,
}

impl ResourceKey {
    /// A worker, in a store of this many partitions.
    pub fn worker(namespace: &Namespace, instance: &WorkerInstanceId, partitions: u16) -> Self {
        ResourceKey {
            partition: Partition::home(namespace, partitions),
            kind: ResourceKind::Worker,
            namespace: namespace.clone(),
            name: instance.into(),
        }
    }

    /// A budget, quota or ticket, in a store of this many partitions.
    pub fn at_home(
        kind: ResourceKind,
        namespace: &Namespace,
        name: &ResourceName,
        partitions: u16,
    ) -> Self {
        let partition = Partition::home(namespace, partitions);
        ResourceKey { partition, kind, namespace: namespace.clone(), name: name.clone() }
    }

    /// A token, in a store of this many partitions.
    pub fn credential(name: &TokenName, partitions: u16) -> Self {
        let namespace = Namespace::system();
        Self::at_home(ResourceKind::Credential, &namespace, &name.into(), partitions)
    }

    /// The quota that keeps the limit of the lane whose state lies here.
    pub fn limit_of_lane(&self) -> Self {
        let name = ResourceName::of_lane(&(&self.name).into());
        ResourceKey { kind: ResourceKind::Quota, name, ..self.clone() }
    }

    /// The signing keys of a store of this many partitions.
    pub fn signing_keys(partitions: u16) -> Self {
        let name = ResourceName::of_store(SIGNING);
        Self::at_home(ResourceKind::SigningKeys, &Namespace::system(), &name, partitions)
    }

    /// The feed of a namespace as its home has it, in a store of this many partitions.
    pub fn feed(namespace: &Namespace, partitions: u16) -> Self {
        Self::feed_in(Partition::home(namespace, partitions), namespace)
    }

    /// The feed of a namespace as what is logged in `partition` sees it.
    pub fn feed_in(partition: Partition, namespace: &Namespace) -> Self {
        let (namespace, name) = (namespace.clone(), ResourceName::of_store(EVENTS));
        ResourceKey { partition, kind: ResourceKind::Feed, namespace, name }
    }

    /// The same resource, where its copy for `partition` lies.
    pub fn copy_in(&self, partition: Partition) -> Self {
        ResourceKey { partition, ..self.clone() }
    }

    /// The state of a lane as its home has it, in a store of this many partitions.
    pub fn lane(namespace: &Namespace, lane: &Lane, partitions: u16) -> Self {
        Self::lane_in(Partition::home(namespace, partitions), namespace, lane)
    }

    /// The state of a lane as claims and submits in `partition` see it.
    pub fn lane_in(partition: Partition, namespace: &Namespace, lane: &Lane) -> Self {
        let (namespace, name) = (namespace.clone(), lane.into());
        ResourceKey { partition, kind: ResourceKind::Lane, namespace, name }
    }
}

impl fmt::Debug for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, partition) = (self.kind.as_str(), self.partition.number());
        write!(f, "{kind}:{}:{}@{partition}", self.namespace, self.name)
    }
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resource {
    /// Its name and place.
    pub key: ResourceKey,
    /// Changes with every write.
    pub version: Version,
    /// What it is.
    pub body: Body,
}

/// What a resource is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// A budget.
    Budget(Budget),
    /// A named token.
    Credential(Credential),
    /// The feed of a namespace.
    Feed(FeedState),
    /// The state of a lane.
    Lane(LaneState),
    /// A quota.
    Quota(Quota),
    /// Work that is submitted at known moments.
    Schedule(Box<Schedule>),
    /// The signing keys of the store.
    SigningKeys(SigningKeys),
    /// What an execution holds in quotas and budgets.
    Ticket(Ticket),
    /// Where events of a namespace are sent.
    Webhook(Webhook),
    /// A registered worker.
    Worker(Registration),
}

impl Resource {
    /// A schedule, if that is what it is.
    pub fn as_schedule(&self) -> Option<&Schedule> {
        match &self.body {
            Body::Schedule(schedule) => Some(schedule),
            _ => None,
        }
    }

    /// When time next does something to it.
    pub fn timer(&self) -> Option<Time> {
        match &self.body {
            Body::Budget(budget) => budget.resets_at(),
            Body::Credential(_) => None,
            Body::Feed(feed) => feed.spread_by.into_iter().chain(feed.trim_at).min(),
            Body::Lane(lane) => lane.spread_by,
            Body::Quota(quota) => quota.release_at,
            Body::Schedule(schedule) => schedule.timer(&self.key),
            Body::SigningKeys(_) => None,
            Body::Ticket(ticket) => Some(ticket.until),
            Body::Webhook(webhook) => Some(webhook.turn_ends),
            Body::Worker(worker) => Some(worker.until()),
        }
    }
}

impl Body {
    /// Of a resource that every partition has a copy of: how often it was changed.
    pub fn generation(&self) -> Option<u64> {
        match self {
            Body::Lane(lane) => Some(lane.generation),
            Body::Feed(feed) => Some(feed.generation),
            _ => None,
        }
    }

    /// By when the engine copies it, if not every partition has it yet.
    pub fn spread_by(&self) -> Option<Time> {
        match self {
            Body::Lane(lane) => lane.spread_by,
            Body::Feed(feed) => feed.spread_by,
            _ => None,
        }
    }

    /// The same, to be copied by then.
    pub fn spreading(mut self, by: Option<Time>) -> Body {
        match &mut self {
            Body::Lane(lane) => lane.spread_by = by,
            Body::Feed(feed) => feed.spread_by = by,
            _ => {}
        }
        self
    }

    /// The same as a copy has it: what only home has is gone.
    pub fn copied(mut self) -> Body {
        if let Body::Feed(feed) = &mut self {
            feed.trim_at = None;
        }
        self.spreading(None)
    }
}

macro_rules! bodies {
    ($($(#[$doc:meta])* $name:ident: $variant:ident($kind:ty);)+) => {
        impl Resource {
            $($(#[$doc])*
            pub fn $name(&self) -> Option<&$kind> {
                match &self.body {
                    Body::$variant(body) => Some(body),
                    _ => None,
                }
            })+
        }
    };
}

bodies! {
    /// A budget, if that is what it is.
    as_budget: Budget(Budget);
    /// A named token, if that is what it is.
    as_credential: Credential(Credential);
    /// The feed of a namespace, if that is what it is.
    as_feed: Feed(FeedState);
    /// The state of a lane, if that is what it is.
    as_lane: Lane(LaneState);
    /// A quota, if that is what it is.
    as_quota: Quota(Quota);
    /// Signing keys, if that is what it is.
    as_signing_keys: SigningKeys(SigningKeys);
    /// A ticket, if that is what it is.
    as_ticket: Ticket(Ticket);
    /// A webhook, if that is what it is.
    as_webhook: Webhook(Webhook);
    /// A worker, if that is what it is.
    as_worker: Worker(Registration);
}

/// What budgets and quotas hold for one admitted execution. Past `until` the engine checks whether
/// the execution still has the admission, and releases the ticket only if it does not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Whose it is.
    pub execution: ExecutionId,
    /// The name of the admission, which the execution has too while it is reserved or held.
    pub admission: AdmissionId,
    /// Quotas that count it as running.
    pub quotas: BTreeSet<ResourceName>,
    /// Budgets that it is charged to.
    pub budgets: BTreeSet<ResourceName>,
    /// What it is expected to use, reserved from each of its budgets.
    pub estimate: Amounts,
    /// What the execution had used when it was admitted.
    pub baseline: Amounts,
    /// What the execution had used when it was last settled.
    pub used: Amounts,
    /// How many writes the execution had had by then: an older settlement changes nothing.
    pub revision: u64,
    /// When it was admitted: a limit created later, under a name it holds, has nothing of it.
    pub admitted_at: Time,
    /// From then on the admission is not used.
    pub usable_until: Time,
    /// Quotas count its start at this moment, the latest at which it can happen. `None` once the
    /// start is known.
    pub starts_by: Option<Time>,
    /// The execution is known to have been claimed under it.
    pub started: bool,
    /// What each budget was charged for it, and in which period.
    pub charged: BTreeMap<ResourceName, (Time, Amounts)>,
    /// When the engine checks it.
    pub until: Time,
}

impl Ticket {
    /// What its budgets still reserve for it: the estimate less what it has used since.
    pub fn reserved(&self) -> Amounts {
        let mut used = self.used.clone();
        subtract(&mut used, &self.baseline);
        let mut reserved = self.estimate.clone();
        subtract(&mut reserved, &used);
        reserved
    }

    /// Whether nothing can be claimed under it any more unless the execution has it already.
    pub fn is_spent(&self, now: Time) -> bool {
        self.started || self.usable_until + TICKET_GRACE <= now
    }
}

/// A worker that has registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// Who.
    pub worker: Worker,
    /// The name of this registration: another process with the same instance id has another one.
    pub session: RequestId,
    /// Which lanes it serves.
    pub lanes: Vec<Lane>,
    /// What it offers.
    pub capabilities: Capabilities,
    /// How long it may be silent.
    pub ttl: Millis,
    /// When it registered.
    pub registered_at: Time,
    /// When its last heartbeat arrived.
    pub last_seen: Time,
}

impl Registration {
    /// When it counts as gone unless a heartbeat arrives.
    pub fn until(&self) -> Time {
        self.last_seen + self.ttl
    }

    /// Whether it serves `lane`.
    pub fn serves(&self, lane: &Lane) -> bool {
        self.lanes.contains(lane)
    }
}

/// The operator's settings for a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneState {
    /// Nothing of it is claimed.
    pub paused: bool,
    /// Nothing new is submitted to it.
    pub draining: bool,
    /// How many of it may run at once; `None` is any number. A quota of its own keeps count.
    pub max_active: Option<u32>,
    /// Defaults for its submits; `None` leaves them to the built-in policy.
    pub defaults: Option<Box<PolicyOverrides>>,
    /// Why, for people.
    pub reason: Option<Box<str>>,
    /// When these settings were made.
    pub since: Time,
    /// Grows with every change: a copy never goes back to an earlier one.
    pub generation: u64,
    /// Not every partition has these settings yet: the engine copies them by then. Set only at home.
    pub spread_by: Option<Time>,
    /// Who made these settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
}

impl LaneState {
    /// Whether work is claimed and submitted: it is neither paused nor draining.
    pub fn is_open(&self) -> bool {
        !self.paused && !self.draining
    }

    /// Whether its submits get defaults from it.
    pub fn has_defaults(&self) -> bool {
        self.defaults.is_some()
    }

    /// Whether its executions must be admitted by its own quota.
    pub fn is_limited(&self) -> bool {
        self.max_active.is_some()
    }
}
