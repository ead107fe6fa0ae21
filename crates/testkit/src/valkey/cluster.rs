//! A cluster of servers on this machine.

use std::{collections::BTreeSet, sync::OnceLock, time::Duration};

use super::{Config, Reply, Server};
use crate::wait;

/// How many hash slots a cluster has.
const SLOTS: usize = 16_384;

/// How long the nodes may take to agree. A server that starts as a primary refuses writes for
/// two seconds, and a failover begins after the node timeout of two seconds.
const AGREE_LIMIT: Duration = Duration::from_secs(30);

/// A running cluster: first its primaries in the order of their slots, then their replicas. It
/// ends like its [`Server`]s.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Server>,
    primaries: usize,
}

impl Cluster {
    /// The cluster of three primaries that all tests of this process share.
    pub fn shared() -> &'static Cluster {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Cluster::start(3, 0))
    }

    /// Starts a cluster and waits until every node serves. The append-only files are written,
    /// and left to the system to sync.
    ///
    /// # Panics
    ///
    /// When a node does not start or the nodes do not agree in time.
    pub fn start(primaries: usize, replicas_each: usize) -> Cluster {
        Self::start_with(primaries, replicas_each, Config::default().with("appendfsync", "no"))
    }

    /// Starts a cluster whose nodes have this configuration too.
    ///
    /// # Panics
    ///
    /// As [`Cluster::start`] does.
    pub fn start_with(primaries: usize, replicas_each: usize, config: Config) -> Cluster {
        let config = config
            .with("cluster-enabled", "yes")
            .with("cluster-node-timeout", "2000")
            .with("cluster-allow-replica-migration", "no")
            .with("repl-diskless-sync-delay", "0");
        let count = primaries * (1 + replicas_each);
        let nodes = (0..count).map(|_| Server::start(config.clone())).collect();
        let cluster = Cluster { nodes, primaries };
        cluster.assign_slots();
        cluster.introduce();
        cluster.attach_replicas();
        cluster.wait_ok();
        cluster
    }

    /// The URL of a store on the cluster: all its nodes.
    pub fn url(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(Server::address).collect();
        format!("valkey-cluster://{}", addresses.join(","))
    }

    /// Every node.
    pub fn nodes(&self) -> &[Server] {
        &self.nodes
    }

    /// The slot of a key.
    pub fn slot_of(&self, key: &str) -> u16 {
        let reply = self.nodes[0].order(&["CLUSTER", "KEYSLOT", key]);
        match reply {
            Reply::Number(slot) => u16::try_from(slot).expect("a slot is below 16,384"),
            other => panic!("a slot is a number, not {other:?}"),
        }
    }

    /// The primary that serves the slot, when every node that runs agrees on it.
    ///
    /// # Panics
    ///
    /// When they do not agree in time.
    pub fn primary_of(&self, slot: u16) -> &Server {
        self.wait_for_primary(slot, |_| true)
    }

    /// Waits until a node other than `former` serves the slot, as after a failover.
    ///
    /// # Panics
    ///
    /// When there is none in time.
    pub fn successor_of(&self, former: &Server, slot: u16) -> &Server {
        self.wait_for_primary(slot, |port| port != former.port())
    }

    /// Waits until every running node serves, and each knows all others.
    ///
    /// # Panics
    ///
    /// When it takes too long.
    pub fn wait_ok(&self) {
        let ok = wait::until(AGREE_LIMIT, || self.is_ok().then_some(()));
        assert!(ok.is_some(), "the cluster is not ready in time: {}", self.described());
    }

    pub(super) fn wait_for_primary(&self, slot: u16, right: impl Fn(u16) -> bool) -> &Server {
        let agreed = wait::until(AGREE_LIMIT, || {
            let answers = self.running().map(|node| primary_seen_by(node, slot));
            let seen: BTreeSet<Option<u16>> = answers.collect();
            let [Some(port)] = Vec::from_iter(seen)[..] else { return None };
            right(port).then(|| self.nodes.iter().find(|node| node.port() == port))?
        });
        agreed.unwrap_or_else(|| panic!("no primary of slot {slot} in time: {}", self.described()))
    }

    fn running(&self) -> impl Iterator<Item = &Server> {
        self.nodes.iter().filter(|node| node.runs())
    }

    fn assign_slots(&self) {
        for (index, node) in self.nodes.iter().enumerate() {
            // Different epochs from the start: otherwise the nodes first negotiate which is older.
            node.order(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
        }
        for (index, node) in self.nodes[..self.primaries].iter().enumerate() {
            let first = SLOTS * index / self.primaries;
            let last = SLOTS * (index + 1) / self.primaries - 1;
            node.order(&["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &last.to_string()]);
        }
    }

    /// Every pair is introduced, instead of waiting for gossip to spread.
    fn introduce(&self) {
        for (index, node) in self.nodes.iter().enumerate() {
            for other in &self.nodes[index + 1..] {
                let bus = other.order(&["CONFIG", "GET", "cluster-port"]).list()[1].to_string();
                node.order(&["CLUSTER", "MEET", "127.0.0.1", &other.port().to_string(), &bus]);
            }
        }
    }

    fn attach_replicas(&self) {
        for (index, replica) in self.nodes[self.primaries..].iter().enumerate() {
            let primary = id(&self.nodes[index % self.primaries]);
            let known = wait::until(AGREE_LIMIT, || {
                replica.command(&["CLUSTER", "REPLICATE", &primary]).ok()
            });
            assert!(known.is_some(), "a replica does not know its primary: {}", self.described());
        }
    }

    fn is_ok(&self) -> bool {
        let runs: Vec<&Server> = self.running().collect();
        let is_ok = |node: &&Server| {
            let ask = |words: &[&str]| node.command(words).map_or(String::new(), |r| r.to_string());
            let nodes = ask(&["CLUSTER", "NODES"]);
            let knows = |port: u16| {
                let address = format!(" 127.0.0.1:{port}@");
                let is_well = |line: &str| !line.contains("handshake") && !line.contains("fail");
                nodes.lines().any(|line| line.contains(&address) && is_well(line))
            };
            ask(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
                && !ask(&["INFO", "replication"]).contains("master_link_status:down")
                && runs.iter().all(|other| knows(other.port()))
        };
        !runs.is_empty() && runs.iter().all(is_ok)
    }

    /// The views of the nodes, for the message of a failure.
    fn described(&self) -> String {
        let view = |node: &Server| match node.command(&["CLUSTER", "NODES"]) {
            Ok(nodes) => format!("\n{} reports:\n{nodes}", node.address()),
            Err(why) => format!("\n{}: {why}", node.address()),
        };
        self.nodes.iter().map(view).collect()
    }
}

/// A node's name in its cluster.
pub(super) fn id(node: &Server) -> String {
    node.order(&["CLUSTER", "MYID"]).to_string()
}

/// The port of the slot's primary as this node sees it.
fn primary_seen_by(node: &Server, slot: u16) -> Option<u16> {
    let reply = node.command(&["CLUSTER", "SLOTS"]).ok()?;
    reply.list().iter().find_map(|range| {
        let [Reply::Number(first), Reply::Number(last), primary, ..] = range.list() else {
            return None;
        };
        let Some(Reply::Number(port)) = primary.list().get(1) else { return None };
        (*first..=*last).contains(&i64::from(slot)).then(|| u16::try_from(*port).ok())?
    })
}
