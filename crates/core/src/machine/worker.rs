//! Workers: register, send heartbeats, leave.

use super::{Context, Decide, Facts, ReadSet, Registered, Reply, Step};
use crate::bounds;
use crate::capability::Capabilities;
use crate::id::RequestId;
use crate::name::Lane;
use crate::refusal::Refusal;
use crate::resource::{Body, Registration, Resource, ResourceKey};
use crate::state::Worker;
use crate::time::Millis;

/// Registers a worker, or changes what its registration says. A live one of another process stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// Where the registration lies.
    pub key: ResourceKey,
    /// Who.
    pub worker: Worker,
    /// The name of this registration, made by the caller and repeated with every call.
    pub session: RequestId,
    /// Which lanes it serves.
    pub lanes: Vec<Lane>,
    /// What it offers.
    pub capabilities: Capabilities,
    /// How long it may be silent.
    pub ttl: Millis,
}

impl Decide for Register {
    fn facts(&self) -> Facts<'_> {
        Facts { adds: true, ..Facts::resource(&self.key) }
    }

    fn check(&self) -> Result<(), Refusal> {
        if self.lanes.is_empty() {
            return Err(Refusal::invalid("lanes", "is empty; name at least one lane"));
        }
        Refusal::cap("lanes", self.lanes.len(), bounds::WORKER_LANES, "lanes")?;
        self.ttl.within("ttl", bounds::WORKER_TTL_MIN, bounds::WORKER_TTL_MAX).map(drop)
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let earlier = before.and_then(Resource::as_worker);
        let live = earlier.filter(|earlier| earlier.until() > context.now);
        if let Some(other) = live.filter(|live| live.session != self.session) {
            return Err(Refusal::WorkerAlive { left: other.until().since(context.now) });
        }
        let mut lanes = self.lanes.clone();
        lanes.sort_unstable();
        lanes.dedup();
        let after = Registration {
            worker: self.worker.clone(),
            session: self.session,
            lanes,
            capabilities: self.capabilities.clone(),
            ttl: self.ttl,
            registered_at: live.map_or(context.now, |live| live.registered_at),
            last_seen: context.now,
        };
        let answer = Registered { until: after.until() };
        Ok(Step::write(context.put(&self.key, before, Body::Worker(after)), answer))
    }
}

/// A registered worker says that it is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heartbeat {
    /// Where the registration lies.
    pub key: ResourceKey,
    /// The name of the registration.
    pub session: RequestId,
}

impl Decide for Heartbeat {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let live = before
            .and_then(Resource::as_worker)
            .filter(|worker| worker.session == self.session && worker.until() > context.now)
            .ok_or(Refusal::NotRegistered)?;
        let after = Registration { last_seen: context.now, ..live.clone() };
        let answer = Registered { until: after.until() };
        Ok(Step::write(context.put(&self.key, before, Body::Worker(after)), answer))
    }
}

/// A registered worker leaves. One that is not registered has left already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disconnect {
    /// Where the registration lies.
    pub key: ResourceKey,
    /// The name of the registration.
    pub session: RequestId,
}

impl Decide for Disconnect {
    fn facts(&self) -> Facts<'_> {
        Facts::resource(&self.key)
    }

    fn check(&self) -> Result<(), Refusal> {
        Ok(())
    }

    fn reads(&self) -> ReadSet {
        ReadSet::resource(&self.key)
    }

    fn apply(&self, context: &Context<'_>) -> Result<Step, Refusal> {
        let before = context.loaded.resource(&self.key);
        let mine = |resource: &&Resource| {
            resource.as_worker().is_some_and(|worker| worker.session == self.session)
        };
        Ok(match before.filter(mine) {
            Some(mine) => Step::write(context.discard(mine), Reply::Done),
            None => Step::answer(Reply::Done),
        })
    }
}
