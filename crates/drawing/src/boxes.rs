//! What is drawn: a box for each node, or one for many where there are more than fit.

use std::collections::BTreeMap;

use ff_core::PublicState;

use crate::graph::Graph;

/// Most layers that are drawn.
pub(crate) const LAYERS: usize = 40;
/// Of a longer graph, how many layers are drawn at its beginning, at its end, and around what runs.
const STRETCH: usize = 12;
/// Most boxes on a layer.
pub(crate) const ACROSS: usize = 14;
/// Most boxes of a drawing.
pub const BOXES: usize = LAYERS * ACROSS;

/// How many nodes are in which state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    /// The states of `places`.
    pub fn of(graph: &Graph, places: impl IntoIterator<Item = usize>) -> Counts {
        let mut counts = Counts::default();
        for place in places {
            *counts.0.entry(graph.nodes()[place].word()).or_default() += 1;
        }
        counts
    }

    /// The states and how many there are of each, most first.
    pub fn most_first(&self) -> Vec<(&'static str, usize)> {
        let mut counts: Vec<_> = self.0.iter().map(|(word, count)| (*word, *count)).collect();
        counts.sort_by_key(|(word, count)| (usize::MAX - count, *word));
        counts
    }

    /// The same as text: `97 completed, 3 active`.
    pub fn text(&self) -> String {
        let each = self.most_first().into_iter();
        let each =
            each.map(|(word, count)| format!("{} {}", thousands(count), word.replace('_', " ")));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A box of the drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// The places of the nodes that it stands for; never none.
    pub(crate) places: Vec<usize>,
    /// The layer that it is drawn on.
    pub(crate) layer: usize,
    /// The layers of the graph that it stands for.
    pub(crate) depths: (usize, usize),
}

/// The boxes of `graph`, layer by layer.
pub(crate) fn cells(graph: &Graph) -> Vec<Cell> {
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); graph.layers()];
    for place in 0..graph.nodes().len() {
        layers[graph.depth(place)].push(place);
    }
    let mut cells = Vec::new();
    let (mut drawn, mut depth) = (0, 0);
    let shown = shown_layers(graph, &layers);
    while depth < layers.len() {
        if shown[depth] {
            cells.extend(of_layer(graph, &layers[depth]).into_iter().map(|places| Cell {
                places,
                layer: drawn,
                depths: (depth, depth),
            }));
            depth += 1;
        } else {
            let first = depth;
            while depth < layers.len() && !shown[depth] {
                depth += 1;
            }
            let places = layers[first..depth].concat();
            cells.push(Cell { places, layer: drawn, depths: (first, depth - 1) });
        }
        drawn += 1;
    }
    cells
}

/// Which layers are drawn node by node: all, or the first, the last, and those around what has not ended.
fn shown_layers(graph: &Graph, layers: &[Vec<usize>]) -> Vec<bool> {
    if layers.len() <= LAYERS {
        return vec![true; layers.len()];
    }
    let is_over = |place: &usize| graph.nodes()[*place].has_ended();
    let front = layers.iter().position(|layer| !layer.iter().all(is_over)).unwrap_or(0);
    let around = front.saturating_sub(STRETCH / 2)..front + STRETCH / 2;
    let is_shown = |depth: usize| {
        depth < STRETCH || depth >= layers.len() - STRETCH || around.contains(&depth)
    };
    (0..layers.len()).map(is_shown).collect()
}

/// The boxes of one layer: those that a person wants to see most, and one for the rest.
fn of_layer(graph: &Graph, layer: &[usize]) -> Vec<Vec<usize>> {
    if layer.len() <= ACROSS {
        return layer.iter().map(|place| vec![*place]).collect();
    }
    let mut ranked = layer.to_vec();
    ranked.sort_by_key(|place| (!graph.is_critical(*place), graph.nodes()[*place].rank(), *place));
    let mut rest = ranked.split_off(ACROSS - 1);
    ranked.sort_unstable();
    rest.sort_unstable();
    ranked.into_iter().map(|place| vec![place]).chain([rest]).collect()
}

/// The tone of a state: what it means for a person.
pub(crate) fn tone_of(state: Option<PublicState>) -> &'static str {
    match state {
        Some(PublicState::Completed) => "good",
        Some(PublicState::Failed | PublicState::Expired) | None => "bad",
        Some(PublicState::Active | PublicState::Resumable) => "live",
        Some(PublicState::Suspended) => "ask",
        Some(PublicState::Delayed | PublicState::RateLimited) => "warn",
        Some(PublicState::Waiting) => "calm",
        Some(PublicState::WaitingChildren) => "idle",
        Some(PublicState::Cancelled | PublicState::Skipped) => "off",
    }
}

#[cfg(test)]
mod tests {
    use ff_core::Time;

    use super::*;
    use crate::graph::tests::{node, waiting};

    #[test]
    fn a_small_graph_has_a_box_for_each_node() {
        let graph = waiting(&[&[], &[0], &[0], &[1, 2]]);
        let cells = cells(&graph);
        assert_eq!(cells.iter().map(|cell| cell.layer).collect::<Vec<_>>(), [0, 1, 1, 2]);
        assert!(cells.iter().all(|cell| cell.places.len() == 1));
    }

    #[test]
    fn a_wide_layer_shows_failures_first_and_counts_the_rest() {
        let state = |number: u32| match number {
            700 => PublicState::Failed,
            800 => PublicState::Active,
            _ => PublicState::Completed,
        };
        let nodes = (0..1_000).map(|number| node(number, &[], state(number), [None, None]));
        let graph = Graph::new(nodes.collect(), Time::from_ms(0));
        let cells = cells(&graph);
        assert_eq!(cells.len(), ACROSS);
        let alone: Vec<_> = cells[..ACROSS - 1].iter().map(|cell| cell.places[0]).collect();
        assert!(alone.contains(&700) && alone.contains(&800), "{alone:?}");
        let rest = &cells[ACROSS - 1].places;
        assert_eq!(rest.len(), 1_000 - (ACROSS - 1));
        assert_eq!(Counts::of(&graph, rest.iter().copied()).text(), "987 completed");
        assert_eq!(
            [thousands(999), thousands(1_000), thousands(1_234_567)],
            ["999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn a_long_graph_shows_its_ends_and_what_runs() {
        let nodes = (0..10_000u32).map(|number| {
            let after: Vec<u32> = number.checked_sub(1).into_iter().collect();
            let state = match number {
                0..5_000 => PublicState::Completed,
                5_000 => PublicState::Active,
                _ => PublicState::WaitingChildren,
            };
            node(number, &after, state, [None, None])
        });
        let graph = Graph::new(nodes.collect(), Time::from_ms(0));
        let cells = cells(&graph);
        assert!(cells.len() <= LAYERS, "{}", cells.len());
        assert!(cells.iter().any(|cell| cell.places == [5_000]));
        assert!(cells.iter().any(|cell| cell.places == [9_999]));
        let all: usize = cells.iter().map(|cell| cell.places.len()).sum();
        assert_eq!(all, 10_000);
    }
}
