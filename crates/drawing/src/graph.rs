//! A graph: nodes, what each depends on, how deep each is, and the critical path.

use std::collections::HashMap;

use ff_core::Time;

use crate::node::Node;

/// The nodes of a flow with their edges.
#[derive(Debug, Clone)]
pub struct Graph {
    nodes: Vec<Node>,
    /// The places of the nodes that each depends on.
    upstreams: Vec<Vec<usize>>,
    depths: Vec<usize>,
    critical: Vec<bool>,
    path: Vec<usize>,
    edges: usize,
}

impl Graph {
    /// The graph of `nodes` at `now`. An edge from a node that is not there is left out.
    pub fn new(nodes: Vec<Node>, now: Time) -> Graph {
        let places: HashMap<u32, usize> =
            nodes.iter().enumerate().map(|(place, node)| (node.number, place)).collect();
        let upstreams: Vec<Vec<usize>> = nodes
            .iter()
            .map(|node| {
                node.after.iter().filter_map(|number| places.get(number).copied()).collect()
            })
            .collect();
        let depths = depths(&upstreams);
        let path = critical_path(&nodes, &upstreams, now);
        let mut critical = vec![false; nodes.len()];
        path.iter().for_each(|place| critical[*place] = true);
        let edges = upstreams.iter().map(Vec::len).sum();
        Graph { nodes, upstreams, depths, critical, path, edges }
    }

    /// The nodes, in the order of their numbers.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many edges it has.
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// The places of what the node at `place` depends on.
    pub fn upstreams(&self, place: usize) -> &[usize] {
        &self.upstreams[place]
    }

    /// How many nodes are before the one at `place`, on the longest way to it.
    pub fn depth(&self, place: usize) -> usize {
        self.depths[place]
    }

    /// Whether the node at `place` is on the critical path.
    pub fn is_critical(&self, place: usize) -> bool {
        self.critical[place]
    }

    /// The places of the nodes on the critical path, first to last: the chain of nodes that decided when the
    /// flow ended, or what it waits for now.
    pub fn critical_path(&self) -> &[usize] {
        &self.path
    }

    /// How many layers it has.
    pub fn layers(&self) -> usize {
        self.depths.iter().max().map_or(0, |deepest| deepest + 1)
    }
}

/// How many nodes are before each. What a circle of a damaged graph holds back stays where it was found.
fn depths(upstreams: &[Vec<usize>]) -> Vec<usize> {
    let mut following: Vec<Vec<usize>> = vec![Vec::new(); upstreams.len()];
    for (place, of) in upstreams.iter().enumerate() {
        of.iter().for_each(|upstream| following[*upstream].push(place));
    }
    let mut left: Vec<usize> = upstreams.iter().map(Vec::len).collect();
    let mut depths = vec![0; upstreams.len()];
    let mut free: Vec<usize> = (0..upstreams.len()).filter(|place| left[*place] == 0).collect();
    while let Some(place) = free.pop() {
        for next in &following[place] {
            depths[*next] = depths[*next].max(depths[place] + 1);
            left[*next] -= 1;
            if left[*next] == 0 {
                free.push(*next);
            }
        }
    }
    depths
}

/// It ends with the node that ended last, or one that still runs; before each node is the upstream of it that
/// ended last. Of those that end together, the first.
fn critical_path(nodes: &[Node], upstreams: &[Vec<usize>], now: Time) -> Vec<usize> {
    let last = |among: &mut dyn Iterator<Item = (Time, usize)>| {
        let last = among.max_by_key(|(end, place)| (*end, usize::MAX - place));
        last.map(|(_, place)| place)
    };
    let end = |node: &Node| node.ended.or(node.started.map(|_| now));
    let mut ends = (0..nodes.len()).filter_map(|place| Some((end(&nodes[place])?, place)));
    let mut path = Vec::new();
    let mut at = last(&mut ends);
    // A graph has no circles; one that is damaged may.
    while let Some(place) = at.filter(|_| path.len() < nodes.len()) {
        path.push(place);
        let of = upstreams[place].iter();
        at = last(&mut of.filter_map(|upstream| Some((nodes[*upstream].ended?, *upstream))));
    }
    path.reverse();
    path
}

#[cfg(test)]
pub(crate) mod tests {
    use ff_core::{NodeName, PublicState};

    use super::*;

    /// A node that depends on `after`, in `state`; it started and ended at these seconds.
    pub(crate) fn node(
        number: u32,
        after: &[u32],
        state: PublicState,
        at: [Option<u64>; 2],
    ) -> Node {
        let at = at.map(|at| at.map(|seconds| Time::from_ms(seconds * 1_000)));
        Node {
            number,
            name: NodeName::new(format!("node-{number}")).unwrap(),
            after: after.to_vec(),
            id: None,
            state: Some(state),
            released: at[0],
            started: at[0],
            ended: at[1],
        }
    }

    pub(crate) fn waiting(edges: &[&[u32]]) -> Graph {
        let nodes = edges.iter().enumerate().map(|(number, after)| {
            node(number as u32, after, PublicState::WaitingChildren, [None, None])
        });
        Graph::new(nodes.collect(), Time::from_ms(0))
    }

    #[test]
    fn a_node_is_below_all_that_it_depends_on() {
        let graph = waiting(&[&[], &[0], &[0, 1], &[], &[2, 3]]);
        assert_eq!((0..5).map(|place| graph.depth(place)).collect::<Vec<_>>(), [0, 1, 2, 0, 3]);
        assert_eq!((graph.layers(), graph.edges()), (4, 5));
        let unknown = waiting(&[&[], &[9]]);
        assert_eq!((unknown.layers(), unknown.edges()), (1, 0));
    }

    #[test]
    fn a_circle_is_no_endless_loop() {
        let circle = waiting(&[&[2], &[0], &[1], &[]]);
        assert_eq!(circle.layers(), 1);
        assert_eq!(waiting(&[&[0]]).layers(), 1);
    }

    #[test]
    fn the_critical_path_is_the_chain_that_ended_last() {
        let done = |number, after: &[u32], from, to| {
            node(number, after, PublicState::Completed, [Some(from), Some(to)])
        };
        let nodes = vec![
            done(0, &[], 0, 1),
            done(1, &[0], 1, 9),
            done(2, &[0], 1, 3),
            done(3, &[1, 2], 9, 10),
        ];
        let graph = Graph::new(nodes.clone(), Time::from_ms(20_000));
        assert_eq!(graph.critical_path(), [0, 1, 3]);
        assert!(graph.is_critical(1) && !graph.is_critical(2));
        // What still runs is what the flow waits for.
        let mut running = nodes;
        running[2] = node(2, &[0], PublicState::Active, [Some(2), None]);
        assert_eq!(Graph::new(running, Time::from_ms(20_000)).critical_path(), [0, 2]);
    }
}
