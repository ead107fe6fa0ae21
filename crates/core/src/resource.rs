//! What a namespace has besides executions: its workers and the state of its lanes.
//!
//! A resource is a record of its own, with a version and at most one timer, in one partition. All
//! resources of a namespace share the partition that is its [home](Partition::home), so that one
//! write can change several of them; copies of a lane's state lie in every partition, where claims
//! and submits see them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::capability::Capabilities;
use crate::id::{Partition, RequestId};
use crate::name::{Lane, Namespace, ResourceName, WorkerInstanceId};
use crate::record::Version;
use crate::state::Worker;
use crate::time::{Millis, Time};

/// What sort of thing a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ResourceKind {
    /// The state of a lane.
    Lane,
    /// A registered worker.
    Worker,
}

impl ResourceKind {
    /// Every kind.
    pub const ALL: [ResourceKind; 2] = [ResourceKind::Lane, ResourceKind::Worker];

    /// The word in keys.
    pub const fn as_str(self) -> &'static str {
        match self {
            ResourceKind::Lane => "lane",
            ResourceKind::Worker => "worker",
        }
    }

    /// The kind of this word.
    pub fn parse(word: &str) -> Option<ResourceKind> {
        ResourceKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The name of a resource and where it lies.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceKey {
    /// The partition.
    pub partition: Partition,
    /// What sort of thing.
    pub kind: ResourceKind,
    /// The tenant.
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
    /// The state of a lane.
    Lane(LaneState),
    /// A registered worker.
    Worker(Registration),
}

impl Resource {
    /// When time next does something to it.
    pub fn timer(&self) -> Option<Time> {
        match &self.body {
            Body::Lane(lane) => lane.spread_by,
            Body::Worker(worker) => Some(worker.until()),
        }
    }

    /// The state of a lane, if that is what it is.
    pub fn as_lane(&self) -> Option<&LaneState> {
        match &self.body {
            Body::Lane(lane) => Some(lane),
            Body::Worker(_) => None,
        }
    }

    /// A worker, if that is what it is.
    pub fn as_worker(&self) -> Option<&Registration> {
        match &self.body {
            Body::Worker(worker) => Some(worker),
            Body::Lane(_) => None,
        }
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
    /// When it was last heard of.
    pub heard_at: Time,
}

impl Registration {
    /// When it counts as gone unless it is heard of.
    pub fn until(&self) -> Time {
        self.heard_at + self.ttl
    }

    /// Whether it serves `lane`.
    pub fn serves(&self, lane: &Lane) -> bool {
        self.lanes.contains(lane)
    }
}

/// What an operator has said of a lane.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneState {
    /// Nothing of it is claimed.
    pub paused: bool,
    /// Nothing new is submitted to it.
    pub draining: bool,
    /// Why, for people.
    pub reason: Option<Box<str>>,
    /// When this was said.
    pub since: Time,
    /// Grows with every change: a copy never goes back to an earlier one.
    pub generation: u64,
    /// Not every partition has this yet: somebody looks to it by then. Only the home has such a
    /// moment.
    pub spread_by: Option<Time>,
}

impl LaneState {
    /// Whether claims and submits go on as if nothing had been said.
    pub fn is_open(&self) -> bool {
        !self.paused && !self.draining
    }
}
