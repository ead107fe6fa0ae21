//! The drawing: boxes and lines with their places, from left to right.

use crate::boxes::{Cell, cells};
use crate::graph::Graph;
pub use crate::lines::EDGES;
use crate::lines::Lines;
use crate::order::order;
use crate::places::{PITCH, middles};

/// How wide a box is.
pub(crate) const WIDTH: f64 = 176.0;
/// How high a box is.
pub(crate) const HEIGHT: f64 = 44.0;
/// How far the layers are apart.
const GAP: f64 = 56.0;
/// What is left free around everything.
const MARGIN: f64 = 8.0;

/// A graph with a place for everything.
#[derive(Debug, Clone)]
pub struct Drawing {
    pub(crate) boxes: Vec<Placed>,
    pub(crate) paths: Vec<Path>,
    pub(crate) width: f64,
    pub(crate) height: f64,
    left_out: usize,
}

/// A box with its upper left corner.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) cell: Cell,
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// A line through these points.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) critical: bool,
}

impl Drawing {
    /// Draws `graph`.
    pub fn new(graph: &Graph) -> Drawing {
        let cells = cells(graph);
        let lines = Lines::new(graph, &cells);
        let layers = order(&lines);
        let middle = middles(&lines, &layers);
        let left = |layer: usize| MARGIN + layer as f64 * (WIDTH + GAP);
        let height = |item: usize| MARGIN + middle[item];
        let paths = lines.routes.iter().map(|(edge, route)| {
            let mut points = vec![(left(lines.layer[route[0]]) + WIDTH, height(route[0]))];
            for item in &route[1..route.len() - 1] {
                let x = left(lines.layer[*item]);
                points.extend([(x, height(*item)), (x + WIDTH, height(*item))]);
            }
            points
                .push((left(lines.layer[route[route.len() - 1]]), height(route[route.len() - 1])));
            Path { points, critical: edge.critical }
        });
        let paths = paths.collect();
        let width = match layers.len() {
            0 => 2.0 * MARGIN,
            count => left(count - 1) + WIDTH + MARGIN,
        };
        let lowest = middle.iter().copied().fold(0.0, f64::max) + PITCH / 2.0;
        let boxes = cells.into_iter().enumerate().map(|(number, cell)| {
            let (x, y) = (left(cell.layer), height(number) - HEIGHT / 2.0);
            Placed { cell, x, y }
        });
        Drawing {
            boxes: boxes.collect(),
            paths,
            width,
            height: lowest + 2.0 * MARGIN,
            left_out: lines.left_out,
        }
    }

    /// How many boxes it has.
    pub fn boxes(&self) -> usize {
        self.boxes.len()
    }

    /// How many edges between boxes it leaves out, because there are more than [`EDGES`].
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use ff_core::{PublicState, Time};

    use super::*;
    use crate::boxes::BOXES;
    use crate::graph::tests::{node, waiting};

    /// No two boxes overlap, everything is inside, and every line goes to the right.
    fn check(drawing: &Drawing) {
        assert!(drawing.boxes.len() <= BOXES && drawing.paths.len() <= EDGES);
        for (number, one) in drawing.boxes.iter().enumerate() {
            assert!(one.x >= 0.0 && one.y >= 0.0, "{one:?}");
            assert!(one.x + WIDTH <= drawing.width && one.y + HEIGHT <= drawing.height, "{one:?}");
            let over = drawing.boxes[number + 1..].iter().find(|other| {
                other.cell.layer == one.cell.layer && (one.y - other.y).abs() < HEIGHT
            });
            assert!(over.is_none(), "{one:?} is over {over:?}");
        }
        for path in &drawing.paths {
            assert!(path.points.windows(2).all(|pair| pair[0].0 < pair[1].0), "{path:?}");
            assert!(
                path.points.iter().all(|(_, y)| (0.0..=drawing.height).contains(y)),
                "{path:?}"
            );
        }
    }

    #[test]
    fn a_diamond_is_symmetric() {
        let drawing = Drawing::new(&waiting(&[&[], &[0], &[0], &[1, 2]]));
        check(&drawing);
        let y: Vec<_> = drawing.boxes.iter().map(|placed| placed.y).collect();
        assert_eq!(y[0], y[3]);
        assert!((y[0] - (y[1] + y[2]) / 2.0).abs() < 0.5, "{y:?}");
        assert_eq!(drawing.paths.len(), 4);
    }

    #[test]
    fn a_chain_is_a_straight_line() {
        let drawing = Drawing::new(&waiting(&[&[], &[0], &[1], &[2]]));
        check(&drawing);
        assert!(drawing.boxes.iter().all(|placed| placed.y == drawing.boxes[0].y));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let drawing = Drawing::new(&waiting(&[]));
        assert_eq!((drawing.boxes(), drawing.left_out()), (0, 0));
    }

    #[test]
    fn random_graphs_have_a_place_for_everything() {
        let states = PublicState::ALL;
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let count = random.u32(1..120);
            let nodes = (0..count).map(|number| {
                let upstreams = random.u32(0..4).min(number);
                let mut after: Vec<u32> = (0..upstreams).map(|_| random.u32(0..number)).collect();
                after.sort_unstable();
                after.dedup();
                let at = [Some(0), Some(random.u64(1..50))];
                node(number, &after, states[random.usize(..states.len())], at)
            });
            let graph = Graph::new(nodes.collect(), Time::from_ms(60_000));
            let drawing = Drawing::new(&graph);
            check(&drawing);
            let drawn: usize = drawing.boxes.iter().map(|placed| placed.cell.places.len()).sum();
            assert_eq!(drawn, count as usize, "seed {seed}");
        }
    }

    #[test]
    fn the_greatest_graphs_have_small_drawings() {
        // As many nodes and edges as a flow may have: wide, dense, and long.
        let shapes: [fn(u32) -> Vec<u32>; 3] = [
            |number| match number {
                0 => vec![],
                9_999 => (1..9_999).collect(),
                _ => vec![0],
            },
            |number| (number.saturating_sub(15)..number.saturating_sub(5)).collect(),
            |number| number.checked_sub(1).into_iter().collect(),
        ];
        for shape in shapes {
            let nodes = (0..10_000)
                .map(|number| node(number, &shape(number), PublicState::Waiting, [None, None]));
            let drawing = Drawing::new(&Graph::new(nodes.collect(), Time::from_ms(0)));
            check(&drawing);
            assert!(drawing.boxes() > 3, "{}", drawing.boxes());
        }
    }
}
