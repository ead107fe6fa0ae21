//! The nodes of a cluster and the slots that each serves, as last learned.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock};
use std::time::Duration;

use ff_store::StoreError;
use redis::Cmd;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::dial::{Address, Dial};
use super::node::Node;
use super::slot::SLOTS;
use super::slots::{Range, parse};
use crate::error::{Fault, Kind, Redirect};

/// The map is requested again at most this often.
const FRESH: Duration = Duration::from_millis(100);

/// How long one node may take to send the map.
const MAP_TIMEOUT: Duration = Duration::from_secs(1);

/// How many nodes without slots are remembered, so that their connections are kept.
const MAX_SLOTLESS: usize = 16;

/// No node serves the slot.
const UNSERVED: u16 = u16::MAX;

/// A cluster.
pub(crate) struct Cluster {
    dial: Arc<Dial>,
    seeds: Vec<Address>,
    map: RwLock<Arc<Map>>,
    /// Nodes that serve no slot yet, though some are moving to them.
    slotless: StdMutex<Vec<Arc<Node>>>,
    /// When the map was last learned. The holder of the lock is requesting it.
    learned_at: Mutex<Option<Instant>>,
}

#[derive(Clone)]
struct Map {
    owners: Box<[u16]>,
    nodes: Vec<Arc<Node>>,
}

impl Cluster {
    /// Learns the map from the first of `seeds` that answers.
    pub(crate) async fn connect(
        seeds: Vec<Address>,
        dial: Arc<Dial>,
        by: Instant,
    ) -> Result<Cluster, StoreError> {
        let map = Map { owners: vec![UNSERVED; SLOTS].into(), nodes: Vec::new() };
        let map = RwLock::new(Arc::new(map));
        let (slotless, learned_at) = (StdMutex::default(), Mutex::new(None));
        let cluster = Cluster { dial, seeds, map, slotless, learned_at };
        let mut failure = None;
        for seed in &cluster.seeds {
            let node = Node::of_many(seed.clone(), Arc::clone(&cluster.dial));
            let map_of_seed = async {
                node.open().await?;
                cluster.learn_from(&node, by).await
            };
            match map_of_seed.await {
                Ok(()) => return Ok(cluster),
                Err(fault) if fault.kind == Kind::NoCluster => {
                    return Err(StoreError::Incompatible(format!(
                        "{seed} is not part of a cluster; begin the URL with valkey://"
                    )));
                }
                Err(fault) => failure = Some(fault),
            }
        }
        Err(failure.unwrap_or_else(|| Fault::new(Kind::Unreached, "no node was named")).into())
    }

    /// The node that serves `slot`.
    pub(crate) fn owner(&self, slot: u16) -> Result<Arc<Node>, Fault> {
        let map = self.map();
        match map.nodes.get(usize::from(map.owners[usize::from(slot)])) {
            Some(node) => Ok(Arc::clone(node)),
            None => {
                let text = format!("slot {slot} is served by no node");
                Err(Fault::new(Kind::ClusterDown, text))
            }
        }
    }

    /// Every primary that serves a slot.
    pub(crate) fn primaries(&self) -> Vec<Arc<Node>> {
        self.map().nodes.clone()
    }

    /// Whether there is no connection to some primary.
    pub(crate) fn any_away(&self) -> bool {
        self.map().nodes.iter().any(|node| node.is_away())
    }

    /// The node a redirect names, which may be one that was not known.
    pub(crate) fn named(&self, to: &Redirect, from: &Node) -> Arc<Node> {
        let host = if to.host.is_empty() { &from.address().host } else { &to.host };
        let address = Address { host: host.clone(), port: to.port };
        let is_it = |node: &&Arc<Node>| *node.address() == address;
        if let Some(node) = self.map().nodes.iter().find(is_it) {
            return Arc::clone(node);
        }
        let mut slotless = self.slotless.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(node) = slotless.iter().find(is_it) {
            return Arc::clone(node);
        }
        let node = Node::of_many(address, Arc::clone(&self.dial));
        if slotless.len() == MAX_SLOTLESS {
            slotless.remove(0);
        }
        slotless.push(Arc::clone(&node));
        node
    }

    /// Records where a slot has moved and learns from its new owner what else has.
    pub(crate) async fn follow(&self, to: &Redirect, from: &Node) {
        let node = self.named(to, from);
        self.moved(to.slot, Arc::clone(&node));
        let mut learned_at = self.learned_at.lock().await;
        if learned_at.is_none_or(|learned_at| learned_at.elapsed() >= FRESH) {
            if let Err(fault) = self.learn_from(&node, Instant::now() + MAP_TIMEOUT).await {
                tracing::debug!(error = fault.text, "a new owner does not send the map");
            }
            *learned_at = Some(Instant::now());
        }
    }

    /// Records that `node` serves `slot`.
    fn moved(&self, slot: u16, node: Arc<Node>) {
        let mut current = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let map = Arc::make_mut(&mut current);
        let index = match map.nodes.iter().position(|known| Arc::ptr_eq(known, &node)) {
            Some(index) => index,
            None => {
                map.nodes.push(node);
                map.nodes.len() - 1
            }
        };
        if let Some(owner) = map.owners.get_mut(usize::from(slot)) {
            *owner = index as u16;
        }
    }

    /// Requests the map, unless it was just learned. When no node answers the old map stays.
    pub(crate) async fn relearn(&self) {
        let mut learned_at = self.learned_at.lock().await;
        if learned_at.is_some_and(|learned_at| learned_at.elapsed() < FRESH) {
            return;
        }
        let mut nodes = self.primaries();
        fastrand::shuffle(&mut nodes);
        let seeds =
            self.seeds.iter().filter(|seed| !nodes.iter().any(|node| node.address() == *seed));
        let seeds: Vec<_> =
            seeds.map(|seed| Node::of_many(seed.clone(), Arc::clone(&self.dial))).collect();
        nodes.extend(seeds);
        for node in nodes {
            match self.learn_from(&node, Instant::now() + MAP_TIMEOUT).await {
                Ok(()) => break,
                Err(fault) => tracing::debug!(error = fault.text, "a node does not send the map"),
            }
        }
        *learned_at = Some(Instant::now());
    }

    async fn learn_from(&self, node: &Arc<Node>, by: Instant) -> Result<(), Fault> {
        let mut command = Cmd::new();
        command.arg("CLUSTER").arg("SLOTS");
        let reply = node.send(&command, by).await?;
        let ranges = parse(reply, &node.address().host)
            .filter(|ranges| !ranges.is_empty())
            .ok_or_else(|| Fault::new(Kind::ClusterDown, "no slot is served").at(node.address()))?;
        self.adopt(ranges, node);
        Ok(())
    }

    /// Makes `ranges` the map; nodes that stay keep their connections.
    fn adopt(&self, ranges: Vec<Range>, source: &Arc<Node>) {
        let mut current = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let mut known: HashMap<_, _> =
            current.nodes.iter().map(|node| (node.address().clone(), Arc::clone(node))).collect();
        let slotless = self.slotless.lock().unwrap_or_else(PoisonError::into_inner);
        for node in slotless.iter().chain([source]) {
            known.insert(node.address().clone(), Arc::clone(node));
        }
        drop(slotless);
        let mut map = Map { owners: vec![UNSERVED; SLOTS].into(), nodes: Vec::new() };
        let mut places = HashMap::new();
        for range in ranges {
            let place = *places.entry(range.primary.clone()).or_insert_with(|| {
                let new = || Node::of_many(range.primary.clone(), Arc::clone(&self.dial));
                map.nodes.push(known.get(&range.primary).cloned().unwrap_or_else(new));
                (map.nodes.len() - 1) as u16
            });
            if let Some(owners) = map.owners.get_mut(range.slots) {
                owners.fill(place);
            }
        }
        *current = Arc::new(map);
    }

    fn map(&self) -> Arc<Map> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }
}
