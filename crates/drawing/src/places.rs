//! Where everything is: each item near the middle of its neighbours, none over another.

use crate::lines::{Item, Lines};

/// How often places are improved.
const PASSES: usize = 8;
/// How high a box is, with the gap to the next.
pub(crate) const PITCH: f64 = 58.0;
/// How much room an edge that passes takes.
const BEND: f64 = 16.0;

/// The middle of each item, from top to bottom.
pub(crate) fn middles(lines: &Lines, layers: &[Vec<usize>]) -> Vec<f64> {
    let mut middle = vec![0.0; lines.items.len()];
    for layer in layers {
        let mut at = 0.0;
        for item in layer {
            let room = room(lines, *item);
            middle[*item] = at + room / 2.0;
            at += room;
        }
    }
    for pass in 0..PASSES {
        let down = pass % 2 == 0;
        let neighbours = if down { &lines.before } else { &lines.after };
        let mut step = |layer: &Vec<usize>| {
            let wanted: Vec<f64> = layer
                .iter()
                .map(|item| match neighbours[*item].as_slice() {
                    [] => middle[*item],
                    of => of.iter().map(|one| middle[*one]).sum::<f64>() / of.len() as f64,
                })
                .collect();
            for (item, place) in layer.iter().zip(apart(lines, layer, &wanted)) {
                middle[*item] = place;
            }
        };
        match down {
            true => layers.iter().for_each(&mut step),
            false => layers.iter().rev().for_each(&mut step),
        }
    }
    let top = |item: usize| middle[item] - room(lines, item) / 2.0;
    let least = (0..middle.len()).map(top).fold(f64::INFINITY, f64::min);
    middle.iter().map(|place| place - least).collect()
}

fn room(lines: &Lines, item: usize) -> f64 {
    match lines.items[item] {
        Item::Cell(_) => PITCH,
        Item::Bend => BEND,
    }
}

/// The places nearest to those that are wanted, in the same order and far enough apart: neighbours that would
/// overlap move together as a block, to the mean of what they want.
fn apart(lines: &Lines, layer: &[usize], wanted: &[f64]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(layer.len());
    let mut at = 0.0;
    for (number, item) in layer.iter().enumerate() {
        if number > 0 {
            at += (room(lines, layer[number - 1]) + room(lines, *item)) / 2.0;
        }
        offsets.push(at);
    }
    // Blocks of items, each with the sum of where its items want it to be.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (place, offset) in wanted.iter().zip(&offsets) {
        let mut block = (place - offset, 1);
        while let Some(&(sum, count)) = blocks.last() {
            if sum / count as f64 <= block.0 / block.1 as f64 {
                break;
            }
            blocks.pop();
            block = (block.0 + sum, block.1 + count);
        }
        blocks.push(block);
    }
    let starts =
        blocks.iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / *count as f64, *count));
    starts.zip(&offsets).map(|(start, offset)| start + offset).collect()
}
