//! A graph in the language of Graphviz: every node and every edge.

use std::collections::HashMap;
use std::fmt::Write;

use ff_core::Time;

use crate::boxes::tone_of;
use crate::graph::Graph;

/// The graph as DOT, for `dot -Tsvg`.
pub fn dot(graph: &Graph, now: Time) -> String {
    let mut text =
        "digraph flow {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"];\n"
            .to_owned();
    for (place, node) in graph.nodes().iter().enumerate() {
        let word = node.word().replace('_', " ");
        let what = match node.ended.and(node.ran(now)) {
            Some(ran) => format!("{word}, {}", ran.rounded()),
            None => word,
        };
        let pen = if graph.is_critical(place) { ", color=\"#2563eb\", penwidth=2" } else { "" };
        let _ = writeln!(
            text,
            "  n{} [label=\"{}\\n{}\", fillcolor=\"{}\"{pen}];",
            node.number,
            quoted(node.name.as_str()),
            quoted(&what),
            colour(tone_of(node.state)),
        );
    }
    let path: HashMap<_, _> =
        graph.critical_path().windows(2).map(|pair| (pair[1], pair[0])).collect();
    for (place, node) in graph.nodes().iter().enumerate() {
        for upstream in graph.upstreams(place) {
            let pen = match path.get(&place) == Some(upstream) {
                true => " [color=\"#2563eb\", penwidth=2]",
                false => "",
            };
            let from = graph.nodes()[*upstream].number;
            let _ = writeln!(text, "  n{from} -> n{}{pen};", node.number);
        }
    }
    text.push_str("}\n");
    text
}

fn colour(tone: &str) -> &'static str {
    match tone {
        "good" => "#e4f5eb",
        "bad" => "#fdebe9",
        "live" => "#e8effd",
        "ask" => "#f0eafc",
        "warn" => "#fdf1dc",
        _ => "#f4f6f9",
    }
}

/// Text inside quotes.
fn quoted(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '"' | '\\' => safe.extend(['\\', character]),
            other if other.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use ff_core::PublicState;

    use super::*;
    use crate::graph::tests::node;

    #[test]
    fn every_node_and_edge_is_there() {
        let nodes = vec![
            node(0, &[], PublicState::Completed, [Some(1), Some(3)]),
            node(1, &[0], PublicState::Failed, [Some(3), Some(4)]),
            node(2, &[0], PublicState::Completed, [Some(3), Some(3)]),
        ];
        let text = dot(&Graph::new(nodes, Time::from_ms(9_000)), Time::from_ms(9_000));
        assert!(text.contains("n0 [label=\"node-0\\ncompleted, 2s\""), "{text}");
        assert!(text.contains("n0 -> n1 [color=") && text.contains("n0 -> n2;"), "{text}");
        assert_eq!(text.matches("->").count(), 2);
        assert_eq!(quoted("a\"b\\c\nd"), "a\\\"b\\\\c d");
    }
}
