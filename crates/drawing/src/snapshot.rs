//! What is known of a flow, read page by page, and read again as far as it can have changed.

use std::collections::BTreeMap;

use ff_core::Description;
use ff_core::flow::{FlowCounts, Phase};
use ff_core::machine::FlowPage;
use ff_core::{PublicState, Time};

use crate::graph::Graph;
use crate::node::Node;

/// A flow with all its nodes, as of the last time that it was read.
///
/// Pages on which every node has completed are not read again while the flow is in the same run: what has
/// completed stays so, also when the flow is replayed.
#[derive(Debug, Default)]
pub struct Snapshot {
    flow: Option<(Description, FlowCounts)>,
    pages: BTreeMap<u32, Page>,
}

#[derive(Debug)]
struct Page {
    nodes: Vec<Node>,
    next: Option<u32>,
    is_over: bool,
}

impl Snapshot {
    /// After which number the page that begins at `from` ends, if that need not be read again. The first page
    /// always is: the flow itself comes with it.
    pub fn kept(&self, from: u32) -> Option<u32> {
        let page = self.pages.get(&from).filter(|page| page.is_over && from > 0)?;
        page.next
    }

    /// Takes the page that begins at `from`; answers where the next one begins.
    pub fn take(&mut self, from: u32, page: FlowPage) -> Option<u32> {
        let run = |flow: &Description| flow.run.number;
        if self.flow.as_ref().is_some_and(|(known, _)| run(known) != run(&page.flow)) {
            self.pages.clear();
        }
        let nodes: Vec<_> = page.members.iter().map(Node::from).collect();
        // While a graph is built, or set back for a replay, its nodes change in ways of their own.
        let is_built = page.flow.flow.as_deref().is_some_and(|flow| flow.phase != Phase::Open);
        let is_over = is_built
            && page.next.is_some()
            && nodes.iter().all(|node| node.state == Some(PublicState::Completed));
        if page.next.is_none() {
            self.pages.split_off(&(from + 1));
        }
        self.pages.insert(from, Page { nodes, next: page.next, is_over });
        self.flow = Some((page.flow, page.counts));
        page.next
    }

    /// The flow, and what its nodes have come to, once it was read.
    pub fn flow(&self) -> Option<&(Description, FlowCounts)> {
        self.flow.as_ref()
    }

    /// Its graph.
    pub fn graph(&self, now: Time) -> Graph {
        let nodes = self.pages.values().flat_map(|page| page.nodes.iter().cloned());
        Graph::new(nodes.collect(), now)
    }
}
