//! The order of what is on a layer: by the barycentre of its neighbours, in a fixed number of passes.

use crate::lines::Lines;

/// How often the layers are ordered down and up.
const PASSES: usize = 4;

/// The items of each layer, in their order. Few lines cross.
pub(crate) fn order(lines: &Lines) -> Vec<Vec<usize>> {
    let count = lines.layer.iter().max().map_or(0, |last| last + 1);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (item, layer) in lines.layer.iter().enumerate() {
        layers[*layer].push(item);
    }
    let mut best = (crossings(lines, &layers), layers.clone());
    for pass in 0..PASSES {
        let mut position = positions(&layers, lines.items.len());
        let down = pass % 2 == 0;
        let sequence: Vec<usize> =
            if down { (1..count).collect() } else { (0..count.saturating_sub(1)).rev().collect() };
        let neighbours = if down { &lines.before } else { &lines.after };
        for layer in sequence {
            sort(&mut layers[layer], neighbours, &mut position);
        }
        let crossed = crossings(lines, &layers);
        if crossed < best.0 {
            best = (crossed, layers.clone());
        }
    }
    best.1
}

fn positions(layers: &[Vec<usize>], items: usize) -> Vec<f64> {
    let mut position = vec![0.0; items];
    for layer in layers {
        layer.iter().enumerate().for_each(|(at, item)| position[*item] = at as f64);
    }
    position
}

/// Orders one layer by the mean position of the neighbours; what has none stays where it is.
fn sort(layer: &mut [usize], neighbours: &[Vec<usize>], position: &mut [f64]) {
    let mut keyed: Vec<(f64, usize)> = layer
        .iter()
        .map(|item| match neighbours[*item].as_slice() {
            [] => (position[*item], *item),
            of => (of.iter().map(|one| position[*one]).sum::<f64>() / of.len() as f64, *item),
        })
        .collect();
    keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (at, (_, item)) in keyed.into_iter().enumerate() {
        layer[at] = item;
        position[item] = at as f64;
    }
}

/// How many lines between neighbouring layers cross: inversions, counted with a tree of sums.
fn crossings(lines: &Lines, layers: &[Vec<usize>]) -> u64 {
    let position = positions(layers, lines.items.len());
    let mut crossed = 0;
    for layer in layers {
        let mut ends: Vec<(usize, usize)> = Vec::new();
        for item in layer {
            ends.extend(
                lines.after[*item]
                    .iter()
                    .map(|next| (position[*item] as usize, position[*next] as usize)),
            );
        }
        ends.sort_unstable();
        let widest = ends.iter().map(|(_, to)| to + 1).max().unwrap_or(0);
        let mut sums = vec![0u64; widest + 1];
        for (seen, (_, to)) in ends.iter().enumerate() {
            let mut at = to + 1;
            let mut not_after = 0;
            while at > 0 {
                not_after += sums[at];
                at &= at - 1;
            }
            crossed += seen as u64 - not_after;
            at = to + 1;
            while at <= widest {
                sums[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
    }
    crossed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::cells;
    use crate::graph::tests::waiting;

    fn crossed(edges: &[&[u32]]) -> (u64, u64) {
        let graph = waiting(edges);
        let lines = Lines::new(&graph, &cells(&graph));
        let ordered = order(&lines);
        let count = lines.layer.iter().max().unwrap() + 1;
        let mut plain = vec![Vec::new(); count];
        lines.layer.iter().enumerate().for_each(|(item, layer)| plain[*layer].push(item));
        (crossings(&lines, &plain), crossings(&lines, &ordered))
    }

    #[test]
    fn lines_that_need_not_cross_do_not() {
        // Two pairs whose ends are named the other way round.
        assert_eq!(crossed(&[&[], &[], &[1], &[0]]), (1, 0));
        // A line over three layers goes around what is between.
        assert_eq!(crossed(&[&[], &[], &[1], &[2], &[0, 3]]).1, 0);
        // Each of two with each of two: one crossing cannot be avoided.
        assert_eq!(crossed(&[&[], &[], &[0, 1], &[0, 1]]), (1, 1));
    }
}
