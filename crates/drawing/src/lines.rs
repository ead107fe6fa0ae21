//! The edges that are drawn, each led through the layers between its ends.

use std::collections::BTreeMap;

use crate::boxes::Cell;
use crate::graph::Graph;

/// Most edges that are drawn. Those of the critical path are drawn first.
pub const EDGES: usize = 1_500;
/// Most bends of all edges together; edges beyond them go straight.
const BENDS: usize = 4_000;

/// An edge between two boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) critical: bool,
}

/// What has a place on a layer: a box, or the bend of an edge that passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Item {
    Cell(usize),
    Bend,
}

/// The layers, what is on them, and how that is connected.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Everything that has a place.
    pub(crate) items: Vec<Item>,
    /// The layer of each.
    pub(crate) layer: Vec<usize>,
    /// What each is connected with on the layer before it, and after it.
    pub(crate) before: Vec<Vec<usize>>,
    pub(crate) after: Vec<Vec<usize>>,
    /// The edges, each with the items that it goes through.
    pub(crate) routes: Vec<(Edge, Vec<usize>)>,
    /// How many edges between boxes are not drawn.
    pub(crate) left_out: usize,
}

impl Lines {
    /// The edges of `graph` between `cells`.
    pub(crate) fn new(graph: &Graph, cells: &[Cell]) -> Lines {
        let mut edges = edges(graph, cells);
        let left_out = edges.len().saturating_sub(EDGES);
        edges.sort_by_key(|edge| (!edge.critical, edge.from, edge.to));
        edges.truncate(EDGES);
        let mut lines = Lines { left_out, ..Lines::default() };
        for (number, cell) in cells.iter().enumerate() {
            lines.add(Item::Cell(number), cell.layer);
        }
        let mut bends = 0;
        for edge in edges {
            let (from, to) = (cells[edge.from].layer, cells[edge.to].layer);
            let between = to - from - 1;
            let mut route = vec![edge.from];
            if bends + between <= BENDS {
                bends += between;
                route.extend((from + 1..to).map(|layer| lines.add(Item::Bend, layer)));
            }
            route.push(edge.to);
            for pair in route.windows(2) {
                if lines.layer[pair[1]] == lines.layer[pair[0]] + 1 {
                    lines.after[pair[0]].push(pair[1]);
                    lines.before[pair[1]].push(pair[0]);
                }
            }
            lines.routes.push((edge, route));
        }
        lines
    }

    fn add(&mut self, item: Item, layer: usize) -> usize {
        self.items.push(item);
        self.layer.push(layer);
        self.before.push(Vec::new());
        self.after.push(Vec::new());
        self.items.len() - 1
    }
}

/// The edges between different boxes, each once.
fn edges(graph: &Graph, cells: &[Cell]) -> Vec<Edge> {
    let mut cell_of = vec![0; graph.nodes().len()];
    for (number, cell) in cells.iter().enumerate() {
        cell.places.iter().for_each(|place| cell_of[*place] = number);
    }
    let mut edges: BTreeMap<(usize, usize), bool> = BTreeMap::new();
    for place in 0..graph.nodes().len() {
        for upstream in graph.upstreams(place) {
            let (from, to) = (cell_of[*upstream], cell_of[place]);
            // A graph has edges down only; one that is damaged may not.
            if cells[from].layer < cells[to].layer {
                edges.entry((from, to)).or_default();
            }
        }
    }
    for pair in graph.critical_path().windows(2) {
        if let Some(critical) = edges.get_mut(&(cell_of[pair[0]], cell_of[pair[1]])) {
            *critical = true;
        }
    }
    edges.into_iter().map(|((from, to), critical)| Edge { from, to, critical }).collect()
}
