//! One call from its first try to its answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use redis::{Cmd, Pipeline, Value};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::dial::Address;
use super::retry::{Advice, pauses};
use super::{Link, Node, Nodes};
use crate::error::{Fault, Kind};

/// Where a call goes.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    /// To the node that serves the slot, wherever that moves.
    Slot(u16),
    /// To this node and no other.
    Node(&'a Arc<Node>),
}

/// When a call is repeated.
enum Next {
    AtOnce,
    Later,
}

/// A call and its progress.
struct Call<'a> {
    link: &'a Link,
    command: &'a Cmd,
    target: Target<'a>,
    confirm: bool,
    by: Instant,
    /// The nodes on which the library was loaded for it.
    loaded: Vec<Address>,
    /// The node that has the key while its slot moves.
    redirected: Option<Arc<Node>>,
}

impl Link {
    pub(super) async fn run(&self, command: &Cmd, slot: u16) -> Result<Value, Fault> {
        let by = Instant::now() + self.timeout();
        self.complete(command, Target::Slot(slot), false, by).await
    }

    pub(super) async fn run_confirmed(&self, command: &Cmd, slot: u16) -> Result<Value, Fault> {
        let by = Instant::now() + self.timeout();
        self.complete(command, Target::Slot(slot), self.0.confirm_replicas > 0, by).await
    }

    pub(super) async fn run_on(
        &self,
        command: &Cmd,
        node: &Arc<Node>,
        by: Instant,
    ) -> Result<Value, Fault> {
        self.complete(command, Target::Node(node), false, by).await
    }

    async fn complete(
        &self,
        command: &Cmd,
        target: Target<'_>,
        confirm: bool,
        by: Instant,
    ) -> Result<Value, Fault> {
        let (loaded, redirected) = (Vec::new(), None);
        let mut call = Call { link: self, command, target, confirm, by, loaded, redirected };
        let mut pauses = pauses();
        let (mut outcome, mut node) = call.attempt().await;
        loop {
            let fault = match outcome {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            };
            let next = match call.prepare(&fault, node.as_ref()).await? {
                Next::AtOnce => Instant::now(),
                Next::Later => Instant::now() + pauses.pause(),
            };
            if !self.is_in_time(next, by) {
                return Err(fault);
            }
            sleep_until(next).await;
            (outcome, node) = call.attempt().await;
        }
    }
}

impl Call<'_> {
    /// One try, and the node that it went to.
    async fn attempt(&mut self) -> (Result<Value, Fault>, Option<Arc<Node>>) {
        if let Some(node) = self.redirected.take() {
            return (self.deliver(&node, true).await, Some(node));
        }
        let node = match self.target {
            Target::Node(node) => Arc::clone(node),
            Target::Slot(slot) => match self.link.0.nodes.owner(slot) {
                Ok(node) => node,
                Err(fault) => return (Err(fault), None),
            },
        };
        (self.deliver(&node, false).await, Some(node))
    }

    async fn deliver(&self, node: &Arc<Node>, asking: bool) -> Result<Value, Fault> {
        self.link.0.calls.fetch_add(1, Ordering::Relaxed);
        if !asking && !self.confirm {
            return node.send(self.command, self.by).await;
        }
        let mut commands = Pipeline::new();
        if asking {
            commands.cmd("ASKING");
        }
        commands.add_command(self.command.clone());
        if self.confirm {
            // Half of the time, so that the server times out first.
            let wait = self.link.timeout().as_millis() / 2;
            commands.cmd("WAIT").arg(self.link.0.confirm_replicas).arg(wait as u64);
        }
        let mut replies = node.send_all(&commands, self.by).await?;
        if self.confirm {
            self.confirmed(replies.pop(), node)?;
        }
        Ok(replies.pop().unwrap_or(Value::Nil))
    }

    fn confirmed(&self, reply: Option<Value>, node: &Node) -> Result<(), Fault> {
        let required = i64::from(self.link.0.confirm_replicas);
        match reply {
            Some(Value::Int(count)) if count >= required => Ok(()),
            Some(Value::Int(count)) => {
                let text = format!("{count} of {required} replicas confirmed the write in time");
                Err(Fault::new(Kind::Unconfirmed, text).at(node.address()))
            }
            _ => Err(Fault::new(Kind::Other, "WAIT gave no number").at(node.address())),
        }
    }

    /// Does what the fault advises before the call is repeated; fails when it is not to be.
    async fn prepare(&mut self, fault: &Fault, node: Option<&Arc<Node>>) -> Result<Next, Fault> {
        let nodes = &self.link.0.nodes;
        match (fault.advice(), nodes, node) {
            (Advice::Load, _, Some(node)) if !self.loaded.contains(node.address()) => {
                self.loaded.push(node.address().clone());
                self.link.load(node, self.by).await?;
                Ok(Next::AtOnce)
            }
            (Advice::Wait, ..) => Ok(Next::Later),
            // A fault of a call to one node is for its caller, which knows the keys.
            (_, Nodes::Cluster(_), _) if matches!(self.target, Target::Node(_)) => {
                Err(fault.clone())
            }
            (Advice::Relearn, ..) => {
                // Whether or not there is an answer in time.
                let _ = timeout_at(self.by, nodes.relearn()).await;
                Ok(Next::Later)
            }
            (Advice::Follow(to), Nodes::Cluster(cluster), Some(node)) => {
                let _ = timeout_at(self.by, cluster.follow(&to, node)).await;
                Ok(Next::Later)
            }
            (Advice::Ask(to), Nodes::Cluster(cluster), Some(node)) => {
                self.redirected = Some(cluster.named(&to, node));
                Ok(Next::AtOnce)
            }
            _ => Err(fault.clone()),
        }
    }
}
