//! A graph as it is submitted: its nodes, checked as a whole and numbered.
//!
//! Edges are declared with their downstream node. A graph is refused as a whole, and the refusal names the
//! node at fault.

use std::collections::HashMap;

use crate::bounds::{FLOW_EDGES, FLOW_NODES, FLOW_SLICE};
use crate::digest::Digest;
use crate::flow::{OnFailure, Rest};
use crate::id::{ExecutionId, Partition};
use crate::limits::ExecutionLimits;
use crate::machine::{FlowNode, FlowSpec, Submit, SubmitFlow};
use crate::name::{IdempotencyKey, Lane, Namespace, NodeName};
use crate::record::Tags;
use crate::refusal::Refusal;
use crate::time::Millis;

/// A flow as its submitter describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowSubmission {
    /// The id, made by the caller and repeated when it retries.
    pub id: ExecutionId,
    /// The tenant.
    pub namespace: Namespace,
    /// The queue of nodes that name none.
    pub lane: Lane,
    /// Labels of the flow, which its nodes inherit.
    pub tags: Tags,
    /// The priority of nodes that have none of their own.
    pub priority: i16,
    /// Budgets and quotas that every node spends from and counts against, too.
    pub limits: ExecutionLimits,
    /// The caller's own name for it: the same name with the same body is the same flow.
    pub key: Option<IdempotencyKey>,
    /// How long it may take.
    pub deadline: Option<Millis>,
    /// How long it and its members stay readable after its end.
    pub retention: Option<Millis>,
    /// The graph.
    pub nodes: Vec<NodeSpec>,
}

/// One node of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSpec {
    /// Its name, unique in the graph.
    pub name: NodeName,
    /// The work. Its id and namespace are the flow's to say, and it has no idempotency key.
    pub work: Submit,
    /// The nodes that it depends on.
    pub after: Vec<NodeName>,
    /// How many of them must succeed.
    pub join: Join,
    /// What it does when too many do not.
    pub on_failure: OnFailure,
    /// What becomes of those that it does not need any more.
    pub rest: Rest,
}

/// How many upstreams of a node must succeed before it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Join {
    /// Every one.
    #[default]
    All,
    /// At least one.
    Any,
    /// At least so many.
    Quorum(u32),
}

impl FlowSubmission {
    /// A flow with every default and this graph.
    pub fn new(id: ExecutionId, nodes: Vec<NodeSpec>) -> FlowSubmission {
        FlowSubmission {
            id,
            namespace: Namespace::default(),
            lane: Lane::default(),
            tags: Tags::new(),
            priority: 0,
            limits: ExecutionLimits::default(),
            key: None,
            deadline: None,
            retention: None,
            nodes,
        }
    }

    /// The commands that submit it, in order, to a store of this many partitions: one if the graph is
    /// small, else slices of it.
    pub fn into_commands(self, partitions: u16) -> Result<Vec<SubmitFlow>, Refusal> {
        self.into_slices(partitions, FLOW_SLICE)
    }

    /// The same in slices of at most so many nodes.
    pub fn into_slices(self, partitions: u16, most: usize) -> Result<Vec<SubmitFlow>, Refusal> {
        let graph = Graph::of(&self.nodes)?;
        let digest = self.digest(&graph);
        let partition = self.id.partition().among(partitions);
        let spec = FlowSpec {
            id: self.id,
            namespace: self.namespace.clone(),
            lane: self.lane.clone(),
            tags: self.tags.clone(),
            priority: self.priority,
            key: self.key.clone(),
            deadline: self.deadline,
            retention: self.retention,
            size: self.nodes.len() as u32,
            digest,
        };
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for (number, node) in self.nodes.into_iter().enumerate() {
            let after = graph.after[number].clone();
            let work = inherited(node.work, &spec, &self.limits)
                .map_err(|refusal| at_node(&node.name, &refusal))?;
            let needs = match node.join {
                Join::All => after.len() as u32,
                Join::Any => u32::from(!after.is_empty()),
                Join::Quorum(count) => count,
            };
            nodes.push(FlowNode {
                name: node.name,
                work,
                needs,
                after,
                next: graph.next[number].clone(),
                on_failure: node.on_failure,
                rest: node.rest,
            });
        }
        let roots = (0..spec.size).filter(|number| graph.after[*number as usize].is_empty());
        Ok(sliced(spec, nodes, roots.collect(), partition, most))
    }

    /// The fingerprint of all that was submitted but the id.
    fn digest(&self, graph: &Graph) -> Digest {
        Digest::of(|fields| {
            fields.text(self.namespace.as_str());
            fields.text(self.lane.as_str());
            fields.number(self.tags.len() as u64);
            for (key, value) in &self.tags {
                fields.text(key.as_str());
                fields.text(value.as_str());
            }
            fields.number(i64::from(self.priority) as u64);
            self.limits.fingerprint(fields);
            fields.text(self.key.as_ref().map_or("", IdempotencyKey::as_str));
            fields.maybe(self.deadline.map(Millis::get));
            fields.maybe(self.retention.map(Millis::get));
            for (node, after) in self.nodes.iter().zip(&graph.after) {
                fields.text(node.name.as_str());
                fields.number(node.work.digest().get());
                fields.number(after.len() as u64);
                after.iter().for_each(|number| fields.number((*number).into()));
                let (join, count) = match node.join {
                    Join::All => (0, 0),
                    Join::Any => (1, 0),
                    Join::Quorum(count) => (2, count),
                };
                fields.number(join);
                fields.number(count.into());
                fields.text(node.on_failure.as_str());
                fields.text(node.rest.as_str());
            }
        })
    }
}

/// The work of a node with what it inherits from its flow.
fn inherited(work: Submit, spec: &FlowSpec, limits: &ExecutionLimits) -> Result<Submit, Refusal> {
    let mut work = Submit { namespace: spec.namespace.clone(), ..work };
    if work.key.is_some() {
        let why = "is not for a node; give the flow one";
        return Err(Refusal::invalid("idempotency_key", why));
    }
    for (key, value) in &spec.tags {
        work.tags.entry(key.clone()).or_insert_with(|| value.clone());
    }
    work.limits.budgets.extend(limits.budgets.iter().cloned());
    work.limits.quotas.extend(limits.quotas.iter().cloned());
    for (dimension, amount) in &limits.estimate {
        work.limits.estimate.entry(dimension.clone()).or_insert(*amount);
    }
    work.check_input()?;
    Ok(work)
}

/// The commands that create these nodes: as many in one as it takes.
fn sliced(
    spec: FlowSpec,
    nodes: Vec<FlowNode>,
    roots: Vec<u32>,
    partition: Partition,
    most: usize,
) -> Vec<SubmitFlow> {
    let mut slices: Vec<SubmitFlow> = Vec::new();
    let (mut bytes, mut first) = (0, 0);
    for node in nodes {
        let own = node.work.input.bytes.len() + node.after.len() * 4 + node.next.len() * 4;
        bytes += own;
        let is_full =
            |slice: &SubmitFlow| slice.nodes.len() >= most || bytes > crate::bounds::BATCH_BYTES;
        if slices.last().is_none_or(is_full) {
            bytes = own;
            let flow = spec.clone();
            slices.push(SubmitFlow {
                flow,
                partition,
                first,
                nodes: Vec::new(),
                roots: Vec::new(),
            });
        }
        first += 1;
        if let Some(slice) = slices.last_mut() {
            slice.nodes.push(node);
        }
    }
    if slices.len() > 1 {
        slices[0].roots = roots;
    }
    slices
}

fn at_node(name: &NodeName, refusal: &Refusal) -> Refusal {
    Refusal::invalid("nodes", format!("has node {name}, whose {refusal}"))
}

/// The edges of a graph, by the numbers of its nodes, which are their places.
struct Graph {
    after: Vec<Vec<u32>>,
    next: Vec<Vec<u32>>,
}

impl Graph {
    fn of(nodes: &[NodeSpec]) -> Result<Graph, Refusal> {
        if nodes.is_empty() {
            return Err(Refusal::invalid("nodes", "is empty; give a flow at least one node"));
        }
        Refusal::cap("nodes", nodes.len(), FLOW_NODES, "nodes")?;
        Refusal::cap("nodes", nodes.iter().map(|n| n.after.len()).sum(), FLOW_EDGES, "edges")?;
        let mut numbers = HashMap::with_capacity(nodes.len());
        for (number, node) in nodes.iter().enumerate() {
            if numbers.insert(&node.name, number as u32).is_some() {
                return Err(wrong(node, "is there twice; give each node a name of its own"));
            }
        }
        let mut graph =
            Graph { after: vec![Vec::new(); nodes.len()], next: vec![Vec::new(); nodes.len()] };
        for (number, node) in nodes.iter().enumerate() {
            for name in &node.after {
                let Some(upstream) = numbers.get(name) else {
                    let why = format!("depends on {name}, which is no node of the flow");
                    return Err(wrong(node, &why));
                };
                graph.after[number].push(*upstream);
                graph.next[*upstream as usize].push(number as u32);
            }
            let mut once = graph.after[number].clone();
            once.sort_unstable();
            once.dedup();
            if once.len() != node.after.len() {
                return Err(wrong(node, "depends on a node twice; name each once"));
            }
            if let Join::Quorum(count) = node.join
                && (count == 0 || count as usize > node.after.len())
            {
                let of = node.after.len();
                let why = format!("needs {count} of the {of} nodes that it depends on");
                return Err(wrong(node, &why));
            }
        }
        match graph.circle() {
            None => Ok(graph),
            Some(number) => {
                let why = "depends on itself, directly or through others; break the circle";
                Err(wrong(&nodes[number], why))
            }
        }
    }

    /// A node that depends on itself, if one does: what is left when nodes whose upstreams are all gone
    /// have been taken away, one after the other.
    fn circle(&self) -> Option<usize> {
        let mut waits: Vec<_> = self.after.iter().map(Vec::len).collect();
        let mut free: Vec<_> = (0..waits.len()).filter(|number| waits[*number] == 0).collect();
        while let Some(number) = free.pop() {
            for next in &self.next[number] {
                let next = *next as usize;
                waits[next] -= 1;
                if waits[next] == 0 {
                    free.push(next);
                }
            }
        }
        // What only follows a circle is not on it: going upstream among what is left ends on one.
        let mut at = waits.iter().position(|waits| *waits > 0)?;
        for _ in 0..waits.len() {
            let left = |upstream: &&u32| waits[**upstream as usize] > 0;
            at = self.after[at].iter().find(left).map_or(at, |upstream| *upstream as usize);
        }
        Some(at)
    }
}

fn wrong(node: &NodeSpec, why: &str) -> Refusal {
    Refusal::invalid("nodes", format!("has node {}, which {why}", node.name))
}
