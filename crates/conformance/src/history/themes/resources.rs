//! Random commands on resources, and reads of them.

use ff_core::credential::{Role, Scope, SecretDigest};
use ff_core::machine::{
    Action, CopyResource, Disconnect, FeedChange, FeedEmptied, Heartbeat, IssueToken, NoteTokenUse,
    Register, ResourceSpread, RevokeToken, SetFeed, SetLane, TickResource,
};
use ff_core::placement::{QueueEntry, Score};
use ff_core::resource::Body;
use ff_core::state::State;
use ff_core::{
    Actor, Code, Execution, Lane, Namespace, Patch, RequestId, Resource, ResourceKey, ResourceKind,
    ResourceName, TokenName,
};
use ff_store::ResourceScan;

use super::Theme;
use crate::history::generate::Generator;
use crate::history::make::{self, chance, millis, one};
use crate::history::pair::View;
use crate::history::read::Read;

/// Workers register, and operators set up lanes.
pub(super) const THEME: Theme = Theme {
    name: "resources",
    histories: 300,
    least: 20,
    owns: |_| false,
    refusals: &[Code::WorkerAlive, Code::NotRegistered, Code::LaneDraining],
    kinds: &[
        (3, |g, v| Some(g.worker(v))),
        (3, |g, v| Some(g.lane(v))),
        (2, |g, v| Some(g.tick_resource(v))),
        (1, |g, v| Some(g.token(v))),
        (1, |g, v| Some(g.feed(v))),
        (1, |g, v| Some(g.webhook(v))),
        (2, |g, v| Some(g.schedule(v))),
    ],
};

impl Generator {
    /// A call of a worker about its registration.
    pub(crate) fn worker(&mut self, view: View<'_>) -> Action {
        let (rng, partitions) = (&mut self.rng, self.partitions);
        let (namespace, worker) = (make::namespace(rng), make::worker(rng));
        let mut key = ResourceKey::worker(&namespace, &worker.instance, partitions);
        if partitions > 1 && chance(rng, 40) {
            // A resource may lie anywhere; time finds it there.
            key.partition = make::partition(rng, partitions).among(partitions);
        }
        let known = view.held.resources.get(&key);
        let present = known.and_then(Resource::as_worker).map(|worker| worker.session);
        // Mostly the registered process, now and then another one.
        let another = RequestId::new(rng.u128(..3));
        let session = present.filter(|_| chance(rng, 60)).unwrap_or(another);
        match rng.u8(..10) {
            0..5 => Register {
                key,
                worker,
                session,
                lanes: one(rng, &[&["default"][..], &["slow", "default", "slow"], &[]])
                    .iter()
                    .map(|lane| Lane::new(*lane).unwrap())
                    .collect(),
                capabilities: make::offers(rng),
                ttl: millis(rng, &[1_000, 10_000, 600_000, 1]),
            }
            .into(),
            5..8 => Heartbeat { key, session }.into(),
            _ => Disconnect { key, session }.into(),
        }
    }

    /// An update of a lane by an operator; mostly to resume it.
    pub(crate) fn lane(&mut self, view: View<'_>) -> Action {
        let granted = |record: &Execution| matches!(record.state, State::Granted { .. });
        let granted = chance(&mut self.rng, 50).then(|| self.some(view, granted)).flatten();
        let (rng, partitions) = (&mut self.rng, self.partitions);
        let (namespace, lane) = match granted {
            // Its worker may find the lane closed.
            Some(record) => (record.spec.namespace.clone(), record.spec.lane.clone()),
            None => (make::namespace(rng), make::lane(rng)),
        };
        let key = ResourceKey::lane(&namespace, &lane, partitions);
        let known = view.held.resources.get(&key);
        let state = known.and_then(Resource::as_lane).cloned().unwrap_or_default();
        match rng.u8(..if partitions == 1 { 12 } else { 16 }) {
            0..9 => {
                // A closed lane is soon opened again: nothing else happens in between.
                let close = state.is_open() && chance(rng, 50);
                let which = rng.u8(..4);
                let paused = Some(close && which < 3).filter(|_| chance(rng, 90));
                let draining = Some(close && which > 1).filter(|_| chance(rng, 90));
                let reason = one(rng, &[None, Some("rest"), Some("")]).map(Into::into);
                // With a limit, all executions of a lane need admission, so it is soon removed.
                let max_active = match (state.max_active, rng.u8(..10)) {
                    (Some(_), 0..7) => Patch::Clear,
                    (_, 7..9) => Patch::Set(one(rng, &[1, 2, 3])),
                    _ => Patch::Unset,
                };
                let aside = &mut make::aside(rng);
                let defaults = match (&state.defaults, aside.u8(..10)) {
                    (Some(_), 0..4) => Patch::Clear,
                    (_, 4..7) => Patch::Set(Box::new(make::defaults(aside))),
                    _ => Patch::Unset,
                };
                let spread = chance(rng, 30);
                SetLane { key, paused, draining, max_active, defaults, reason, spread }.into()
            }
            9 | 12.. => {
                let mut state = state;
                state.generation = (state.generation + rng.u64(..3)).saturating_sub(1);
                state.paused = chance(rng, 20);
                let anywhere = make::partition(rng, partitions).among(partitions);
                let at = granted.map_or(anywhere, |record| view.partition(record.id));
                CopyResource { key: key.copy_in(at), body: Box::new(Body::Lane(state)) }.into()
            }
            _ => {
                let generation = state.generation + u64::from(chance(rng, 20));
                ResourceSpread { key, generation }.into()
            }
        }
    }

    /// A change of a feed: by a reader, by an operator, or to a copy of it. Mostly it is on afterwards.
    pub(crate) fn feed(&mut self, view: View<'_>) -> Action {
        let (rng, partitions) = (&mut self.rng, self.partitions);
        let key = ResourceKey::feed(&make::namespace(rng), partitions);
        let known = view.held.resources.get(&key).and_then(Resource::as_feed);
        let mut state = known.cloned().unwrap_or_default();
        match rng.u8(..10) {
            0..3 => SetFeed { key, change: FeedChange::Read, partitions }.into(),
            3..6 => {
                let change = FeedChange::Set {
                    on: one(rng, &[None, Some(true), Some(true), Some(false)]),
                    retention: chance(rng, 40).then(|| millis(rng, &[1_000, 60_000, 1])),
                    most: one(rng, &[None, Some(1), Some(100), Some(0)]),
                };
                SetFeed { key, change, partitions }.into()
            }
            6..8 => {
                state.generation = (state.generation + rng.u64(..3)).saturating_sub(1);
                state.on |= chance(rng, 80);
                let at = make::partition(rng, partitions).among(partitions);
                CopyResource { key: key.copy_in(at), body: Box::new(Body::Feed(state)) }.into()
            }
            8 => ResourceSpread { key, generation: state.generation }.into(),
            _ => FeedEmptied { key, generation: state.generation }.into(),
        }
    }

    /// A call about a token: a few names, so that they meet.
    pub(crate) fn token(&mut self, view: View<'_>) -> Action {
        let (rng, partitions) = (&mut self.rng, self.partitions);
        let name = TokenName::new(one(rng, &["ci", "deploy"])).unwrap();
        let (key, by) = (ResourceKey::credential(&name, partitions), Actor::local());
        let known = view.held.resources.get(&key).and_then(Resource::as_credential);
        // Mostly another secret for the same role, which alone is accepted while one is live.
        let role = known.map(|known| known.role).filter(|_| chance(rng, 80));
        match rng.u8(..10) {
            0..5 => {
                let namespaces = [make::namespace(rng)].into();
                let scope = known.map(|known| known.scope.clone()).filter(|_| chance(rng, 80));
                let mut digest = [0; 32];
                rng.fill(&mut digest);
                IssueToken {
                    key,
                    role: role.unwrap_or_else(|| one(rng, Role::ALL)),
                    scope: scope.unwrap_or(Scope::Only(namespaces)),
                    digest: SecretDigest::new(digest),
                    ttl: chance(rng, 50).then(|| millis(rng, &[1_000, 60_000, 1])),
                    by,
                }
                .into()
            }
            5..8 => RevokeToken { key, number: one(rng, &[None, Some(1), Some(2)]), by }.into(),
            _ => NoteTokenUse { key }.into(),
        }
    }

    /// A resource that has a due timer, mostly.
    pub(crate) fn tick_resource(&mut self, view: View<'_>) -> Action {
        let timers = view.held.resource_timers.iter();
        let due: Vec<_> = timers.filter(|(_, at)| **at <= view.now).map(|(key, _)| key).collect();
        let key = match due.is_empty() {
            false => one(&mut self.rng, &due).clone(),
            true => match make::one_of(&mut self.rng, &view.held.resources) {
                Some((key, _)) => key.clone(),
                None => {
                    let lane = make::lane(&mut self.rng);
                    ResourceKey::lane(&make::namespace(&mut self.rng), &lane, self.partitions)
                }
            },
        };
        TickResource { key }.into()
    }

    /// A range of resources.
    pub(crate) fn scan(&mut self) -> ResourceScan {
        let rng = &mut self.rng;
        let after = one(rng, &[None, Some("ada-1"), Some("default"), Some("a")]);
        ResourceScan {
            namespace: make::namespace(rng),
            kind: one(rng, ResourceKind::ALL),
            after: after.map(|name| ResourceName::new(name).unwrap()),
            limit: one(rng, &[1, 2, 100]),
        }
    }

    /// The queue position of an execution.
    pub(crate) fn place(&mut self, view: View<'_>) -> Option<Read> {
        let record = self.some(view, |record| matches!(record.state, State::Queued { .. }))?;
        let namespace: Namespace = record.spec.namespace.clone();
        let place = QueueEntry {
            namespace,
            lane: record.spec.lane.clone(),
            class: record.spec.requires.clone(),
            score: Score::of(record.priority, record.queued_at),
        };
        Some(Read::Ahead { place, id: record.id })
    }
}
