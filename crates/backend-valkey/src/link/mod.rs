//! The link to the server or servers: connections, routing, repetition.
//!
//! One connection per node carries every command, so that many callers share its round trips.
//! Subscriptions have separate connections. A command that was certainly not run is repeated
//! until the request timeout; one whose answer was lost is answered as unavailable, and the caller
//! repeats it.

mod call;
mod cluster;
mod dial;
mod each;
mod load;
mod node;
mod retry;
mod servers;
mod slot;
mod slots;
mod subscribe;
mod subscriber;
#[cfg(test)]
mod tests;
mod tls;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ff_store::StoreError;
use redis::{Cmd, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::error::Fault;
use crate::keys;
use crate::library::Library;
use crate::options::{Options, Topology};
use crate::startup;
use cluster::Cluster;
use dial::{Address, Dial};
pub(crate) use each::Answers;
pub(crate) use node::Node;
use retry::Advice;
pub(crate) use servers::Servers;
pub(crate) use subscribe::{Channels, SubscriptionEvent};

/// An argument of a function.
pub(crate) type Arg<'a> = Cow<'a, [u8]>;

/// The link to a store. Clones share it.
#[derive(Clone)]
pub(crate) struct Link(Arc<Shared>);

struct Shared {
    nodes: Nodes,
    dial: Arc<Dial>,
    library: Library,
    prefix: String,
    confirm_replicas: u32,
    calls: AtomicU64,
}

/// Where commands go.
enum Nodes {
    Single(Arc<Node>),
    Cluster(Arc<Cluster>),
}

impl Link {
    /// Connects, checks that the server can hold a store, and loads the library on every primary.
    pub(crate) async fn connect(options: &Options, library: Library) -> Result<Link, StoreError> {
        let dial = Arc::new(Dial::new(options)?);
        let nodes = Nodes::connect(options, &dial).await?;
        if let Nodes::Single(node) = &nodes {
            node.open().await?;
        }
        let prefix = options.prefix.as_str().to_owned();
        let link = Link(Arc::new(Shared {
            nodes,
            dial,
            library,
            prefix,
            confirm_replicas: options.confirm_replicas,
            calls: AtomicU64::new(0),
        }));
        for node in link.0.nodes.primaries() {
            startup::check(&link, &node, options).await?;
            link.load(&node, Instant::now() + link.timeout()).await?;
        }
        Ok(link)
    }

    /// One function call, routed by its one key. An error of a function of the library with a code
    /// that begins with `FF_` is a reply: `Value::ServerError`.
    pub(crate) async fn call(
        &self,
        verb: &'static str,
        key: &str,
        args: &[Arg<'_>],
    ) -> Result<Value, StoreError> {
        let command = self.function(verb, key, args);
        Ok(self.run(&command, slot::of(key.as_bytes())).await?)
    }

    /// Like [`Link::call`], and answers only once as many replicas as the options require have what
    /// it wrote. When fewer have it in time the answer is unavailable: the write stays on the
    /// primary.
    pub(crate) async fn call_confirmed(
        &self,
        verb: &'static str,
        key: &str,
        args: &[Arg<'_>],
    ) -> Result<Value, StoreError> {
        let command = self.function(verb, key, args);
        Ok(self.run_confirmed(&command, slot::of(key.as_bytes())).await?)
    }

    /// A read-only function over many partitions: one call per primary that serves some of `keys`,
    /// with those keys. The answers are in no order. The function carries `allow-cross-slot-keys`.
    pub(crate) async fn call_each(
        &self,
        verb: &'static str,
        keys: &[String],
        args: &[Arg<'_>],
    ) -> Result<Vec<Value>, StoreError> {
        Ok(self.run_each(verb, keys, args).await?)
    }

    /// Like [`Link::call_each`], for a caller that can continue with some answers: primaries that
    /// do not answer soon are left out. Fails if none answers.
    pub(crate) async fn call_some(
        &self,
        verb: &'static str,
        keys: &[String],
        args: &[Arg<'_>],
    ) -> Result<Answers, StoreError> {
        Ok(self.run_some(verb, keys, args).await?)
    }

    /// Like [`Link::call_confirmed`], with the fault by name.
    pub(crate) async fn try_call_confirmed(
        &self,
        verb: &'static str,
        key: &str,
        args: &[Arg<'_>],
    ) -> Result<Value, Fault> {
        let command = self.function(verb, key, args);
        self.run_confirmed(&command, slot::of(key.as_bytes())).await
    }

    /// A plain command, routed by its first argument, which is its key if it has one.
    pub(crate) async fn send(&self, command: Cmd) -> Result<Value, StoreError> {
        Ok(self.run(&command, slot_of(&command)).await?)
    }

    /// Like [`Link::send`], and answers once as many replicas as the options require have what it wrote.
    pub(crate) async fn send_confirmed(&self, command: Cmd) -> Result<Value, StoreError> {
        Ok(self.run_confirmed(&command, slot_of(&command)).await?)
    }

    /// Everything published on these channels from now on. It continues until the receiver is dropped.
    pub(crate) fn subscribe(&self, channels: Vec<String>) -> mpsc::Receiver<SubscriptionEvent> {
        // With nobody to change them, the channels stay.
        let (_, wanted) = watch::channel(channels.into_iter().collect());
        subscribe::start(self, wanted)
    }

    /// The same for channels that change: what is published on those that are wanted at the time.
    pub(crate) fn follow(
        &self,
        wanted: watch::Receiver<Channels>,
    ) -> mpsc::Receiver<SubscriptionEvent> {
        subscribe::start(self, wanted)
    }

    /// The prefix of every key.
    pub(crate) fn prefix(&self) -> &str {
        &self.0.prefix
    }

    /// Whether a call must keep to one slot.
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.0.nodes, Nodes::Cluster(_))
    }

    /// How many commands were sent for callers, repetitions included.
    #[allow(dead_code, reason = "tests measure by it what a call costs")]
    pub(crate) fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// A command to one node.
    pub(crate) async fn ask(&self, node: &Arc<Node>, command: &Cmd) -> Result<Value, StoreError> {
        Ok(self.run_on(command, node, Instant::now() + self.timeout()).await?)
    }

    /// How long a call may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.0.dial.request_timeout()
    }

    /// Whether a try that begins at `start` can be answered by `by`: one that is cut short
    /// leaves its outcome unknown.
    fn is_in_time(&self, start: Instant, by: Instant) -> bool {
        start + self.timeout() / 10 < by
    }

    /// Loads the library on a node, which may still be loading its data.
    async fn load(&self, node: &Arc<Node>, by: Instant) -> Result<(), Fault> {
        let mut pauses = retry::pauses();
        loop {
            let outcome = node.load(&self.0.library, node.loads(), by).await;
            let next = Instant::now() + pauses.pause();
            match outcome {
                Err(fault) if fault.advice() == Advice::Wait && self.is_in_time(next, by) => {
                    sleep_until(next).await
                }
                outcome => return outcome,
            }
        }
    }

    /// In a cluster a second key of a partition is declared, which never exists either: while a
    /// slot is moving to another node key by key, the server then answers TRYAGAIN instead of
    /// running the function where only some of the keys are.
    fn function(&self, verb: &'static str, key: &str, args: &[Arg<'_>]) -> Cmd {
        let name = self.0.library.function(verb);
        let bytes = name.len() + 64 + args.iter().map(|arg| arg.len()).sum::<usize>();
        let mut command = Cmd::with_capacity(5 + args.len(), bytes);
        command.arg("FCALL").arg(name);
        let second = match self.0.nodes {
            Nodes::Cluster(_) => keys::second_route_key(key),
            Nodes::Single(_) => None,
        };
        match second {
            Some(second) => command.arg(2).arg(key).arg(second),
            None => command.arg(1).arg(key),
        };
        for arg in args {
            command.arg(&**arg);
        }
        command
    }
}

/// Where a plain command goes: to the slot of its first argument.
fn slot_of(command: &Cmd) -> u16 {
    match command.args_iter().nth(1) {
        Some(redis::Arg::Simple(key)) => slot::of(key),
        _ => 0,
    }
}

impl Nodes {
    /// The server, or the cluster of the named nodes.
    async fn connect(options: &Options, dial: &Arc<Dial>) -> Result<Nodes, StoreError> {
        let addresses = options.nodes.iter();
        let mut addresses =
            addresses.map(|(host, port)| Address { host: host.clone(), port: *port });
        Ok(match options.topology {
            Topology::Standalone => {
                let no_host = || StoreError::Incompatible("the options name no host".into());
                Nodes::Single(Node::new(addresses.next().ok_or_else(no_host)?, Arc::clone(dial)))
            }
            Topology::Cluster => {
                let by = Instant::now() + options.connect_timeout;
                let cluster = Cluster::connect(addresses.collect(), Arc::clone(dial), by).await?;
                Nodes::Cluster(Arc::new(cluster))
            }
        })
    }

    fn primaries(&self) -> Vec<Arc<Node>> {
        match self {
            Nodes::Single(node) => vec![Arc::clone(node)],
            Nodes::Cluster(cluster) => cluster.primaries(),
        }
    }

    fn owner(&self, slot: u16) -> Result<Arc<Node>, Fault> {
        match self {
            Nodes::Single(node) => Ok(Arc::clone(node)),
            Nodes::Cluster(cluster) => cluster.owner(slot),
        }
    }

    async fn relearn(&self) {
        if let Nodes::Cluster(cluster) = self {
            cluster.relearn().await;
        }
    }

    fn any_away(&self) -> bool {
        match self {
            Nodes::Single(_) => false,
            Nodes::Cluster(cluster) => cluster.any_away(),
        }
    }

    /// Learns the map while the caller continues.
    fn relearn_soon(&self) {
        if let Nodes::Cluster(cluster) = self {
            let cluster = Arc::clone(cluster);
            tokio::spawn(async move { cluster.relearn().await });
        }
    }
}
