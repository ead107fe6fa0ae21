//! A drawing as SVG.

use std::fmt::Write;

use ff_core::{PublicState, Time};

use crate::boxes::{Counts, thousands, tone_of};
use crate::graph::Graph;
use crate::layout::{Drawing, HEIGHT, Path, Placed, WIDTH};
use crate::node::Node;

/// Most characters of a name that fit into a box.
const NAME: usize = 18;
/// Most characters of the line below.
const WHAT: usize = 26;

/// Colours of a drawing that stands alone. A page has its own.
const STYLE: &str = "svg{color-scheme:light dark;background:#fff;font-family:system-ui,sans-serif}\
.edge{fill:none;stroke:#b6c0cf;stroke-width:1.5}.tip{fill:#b6c0cf}.edge.critical{stroke:#2563eb;stroke-width:2.5}.tip.critical{fill:#2563eb}\
.plate{fill:#fff;stroke:#c9d1dd}.many .plate{stroke-dasharray:4 3}.critical>.plate{stroke:#2563eb;stroke-width:2}\
.name{font-size:13px;font-weight:600;fill:#12161d}.what{font-size:11px;fill:#5a6577}\
.good .bar{fill:#137a43}.bad .bar{fill:#b3261e}.live .bar{fill:#2563eb}.ask .bar{fill:#6b3fc4}.warn .bar{fill:#8f5a00}\
.calm .bar{fill:#4d586a}.idle .bar{fill:#c9d1dd}.off .bar{fill:#97a3b6}.bad .what{fill:#b3261e}\
@media(prefers-color-scheme:dark){svg{background:#131922}.edge{stroke:#46546a}.tip{fill:#46546a}\
.plate{fill:#131922;stroke:#364254}.name{fill:#e6ebf2}.what{fill:#97a3b6}.edge.critical,.critical>.plate{stroke:#6ea0ff}.tip.critical{fill:#6ea0ff}\
.good .bar{fill:#63d297}.bad .bar{fill:#ff8f86}.live .bar{fill:#6ea0ff}.ask .bar{fill:#b79bff}.warn .bar{fill:#f0b653}\
.bad .what{fill:#ff8f86}}";

/// The tone of a state: the class of what is drawn of it, by what it means for a person.
pub fn tone(state: Option<PublicState>) -> &'static str {
    tone_of(state)
}

/// How a drawing is written.
pub struct Svg<'a> {
    /// What is drawn.
    pub graph: &'a Graph,
    /// Where to.
    pub drawing: &'a Drawing,
    /// When.
    pub now: Time,
    /// The address of the page of a node, if nodes have one.
    pub link: &'a dyn Fn(&Node) -> Option<String>,
    /// Whether it stands alone and brings its style along; else that of its page holds.
    pub alone: bool,
}

impl Svg<'_> {
    /// The text. Nothing in it comes from a user without being escaped.
    pub fn write(&self) -> String {
        let Drawing { width, height, .. } = *self.drawing;
        let mut text = String::new();
        let _ = write!(
            text,
            "<svg{} class=\"graph\" width=\"{width}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width} {height:.0}\" role=\"group\" aria-label=\"graph of {}\">",
            if self.alone { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" },
            self.count()
        );
        if self.alone {
            let _ = write!(text, "<style>{STYLE}</style>");
        }
        text.push_str("<defs>");
        for (id, class) in [("tip", "tip"), ("critical-tip", "tip critical")] {
            let _ = write!(
                text,
                "<marker id=\"{id}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" \
                 markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">\
                 <path class=\"{class}\" d=\"M0 0 8 4 0 8z\"/></marker>"
            );
        }
        text.push_str("</defs>");
        let (critical, plain): (Vec<_>, Vec<_>) =
            self.drawing.paths.iter().partition(|path| path.critical);
        plain.into_iter().chain(critical).for_each(|path| line(&mut text, path));
        self.drawing.boxes.iter().for_each(|placed| self.placed(&mut text, placed));
        text.push_str("</svg>");
        text
    }

    fn count(&self) -> String {
        match self.graph.nodes().len() {
            1 => "1 node".to_owned(),
            count => format!("{count} nodes"),
        }
    }

    fn placed(&self, text: &mut String, placed: &Placed) {
        match placed.cell.places.as_slice() {
            [place] => self.node(text, placed, *place),
            _ => self.many(text, placed),
        }
    }

    fn node(&self, text: &mut String, placed: &Placed, place: usize) {
        let node = &self.graph.nodes()[place];
        let word = node.word().replace('_', " ");
        let ran = node.ended.and(node.ran(self.now)).map(|span| span.rounded().to_string());
        let what = match &ran {
            Some(ran) => format!("{word} · {ran}"),
            None => word.clone(),
        };
        let link = (self.link)(node);
        if let Some(link) = &link {
            let _ = write!(text, "<a href=\"{}\">", escaped(link));
        }
        let waited = node.started.and(node.waited(self.now)).map(|span| span.rounded());
        let mut title = format!("{}: {word}", node.name);
        let _ = waited.map(|waited| write!(title, ", waited {waited}"));
        let _ = ran.map(|ran| write!(title, ", ran {ran}"));
        let critical = if self.graph.is_critical(place) { " critical" } else { "" };
        if self.graph.is_critical(place) {
            title.push_str("; on the critical path");
        }
        let class = format!("node {}{critical}", tone_of(node.state));
        boxed(text, placed, &class, &title, &shortened(node.name.as_str(), NAME), &what);
        if link.is_some() {
            text.push_str("</a>");
        }
    }

    fn many(&self, text: &mut String, placed: &Placed) {
        let cell = &placed.cell;
        let counts = Counts::of(self.graph, cell.places.iter().copied());
        let critical = cell.places.iter().any(|place| self.graph.is_critical(*place));
        let worst = cell.places.iter().map(|place| &self.graph.nodes()[*place]);
        let worst = worst.min_by_key(|node| node.rank()).and_then(|node| node.state);
        let class =
            format!("node many {}{}", tone_of(worst), if critical { " critical" } else { "" });
        let name = format!("{} more nodes", thousands(cell.places.len()));
        let mut title = format!("{name}: {}", counts.text());
        if cell.depths.0 < cell.depths.1 {
            let _ = write!(title, "; layers {} to {}", cell.depths.0 + 1, cell.depths.1 + 1);
        }
        boxed(text, placed, &class, &title, &name, &counts.text());
    }
}

fn boxed(text: &mut String, placed: &Placed, class: &str, title: &str, name: &str, what: &str) {
    let Placed { x, y, .. } = *placed;
    let _ = write!(
        text,
        "<g class=\"{class}\"><title>{}</title>\
         <rect class=\"plate\" x=\"{x}\" y=\"{y:.1}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\
         <rect class=\"bar\" x=\"{}\" y=\"{:.1}\" width=\"4\" height=\"{}\" rx=\"2\"/>\
         <text class=\"name\" x=\"{}\" y=\"{:.1}\">{}</text>\
         <text class=\"what\" x=\"{}\" y=\"{:.1}\">{}</text></g>",
        escaped(title),
        x + 6.0,
        y + 8.0,
        HEIGHT - 16.0,
        x + 18.0,
        y + 19.0,
        escaped(name),
        x + 18.0,
        y + 34.0,
        escaped(&shortened(what, WHAT)),
    );
}

/// A curve that leaves and arrives level.
fn line(text: &mut String, path: &Path) {
    let (class, tip) =
        if path.critical { ("edge critical", "critical-tip") } else { ("edge", "tip") };
    let Some(((x, y), rest)) = path.points.split_first() else { return };
    let _ = write!(text, "<path class=\"{class}\" marker-end=\"url(#{tip})\" d=\"M{x} {y:.1}");
    let (mut x, mut y) = (*x, *y);
    for (to_x, to_y) in rest {
        match (y - to_y).abs() < 0.05 {
            true => {
                let _ = write!(text, "H{to_x}");
            }
            false => {
                let middle = (x + to_x) / 2.0;
                let _ = write!(text, "C{middle} {y:.1} {middle} {to_y:.1} {to_x} {to_y:.1}");
            }
        }
        (x, y) = (*to_x, *to_y);
    }
    text.push_str("\"/>");
}

/// The beginning and the end of `text`, if it is longer than `most` characters: names often differ at their end.
fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let end = most / 3;
    let start: String = text.chars().take(most - end - 1).collect();
    let end: String = text.chars().skip(count - end).collect();
    format!("{start}…{end}")
}

/// Text that is safe inside an element and inside a quoted attribute, and that turns nothing around.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                safe.push('\u{fffd}');
            }
            other if other.is_control() => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::node;

    fn svg(nodes: Vec<Node>, alone: bool) -> String {
        let now = Time::from_ms(100_000);
        let graph = Graph::new(nodes, now);
        let drawing = Drawing::new(&graph);
        let link = |node: &Node| (!alone).then(|| format!("/executions/{}?a&b", node.number));
        Svg { graph: &graph, drawing: &drawing, now, link: &link, alone }.write()
    }

    #[test]
    fn a_box_says_what_it_is_in_words() {
        let nodes = vec![
            node(0, &[], PublicState::Completed, [Some(1), Some(3)]),
            node(1, &[0], PublicState::Active, [Some(3), None]),
        ];
        let text = svg(nodes, false);
        for part in [
            "aria-label=\"graph of 2 nodes\"",
            ">completed · 2s<",
            ">active<",
            "<a href=\"/executions/0?a&amp;b\">",
            "class=\"node live critical\"",
            "class=\"edge critical\"",
            "on the critical path",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        let elsewhere = ["<style>", " style=", "://"];
        assert!(!elsewhere.iter().any(|part| text.contains(part)), "{text}");
    }

    #[test]
    fn a_drawing_that_stands_alone_has_its_style_and_no_links() {
        let text = svg(vec![node(0, &[], PublicState::Waiting, [None, None])], true);
        assert!(text.contains("<style>") && !text.contains("<a "), "{text}");
    }

    #[test]
    fn no_text_ends_an_element_or_an_attribute() {
        for text in ["</text><script>", "\" onload=\"x", "' x='", "a\u{202e}b\u{0}\u{1b}[31m\u{9b}"]
        {
            let safe = escaped(text);
            assert!(
                !safe.contains(['<', '>', '"', '\'', '\u{202e}', '\0', '\u{1b}', '\u{9b}']),
                "{safe}"
            );
        }
        assert_eq!(escaped("a&b"), "a&amp;b");
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(shortened("short", 9), "short");
        assert_eq!(shortened("download-customer-17", 12), "downloa…r-17");
        assert_eq!(shortened("üüüüüüüüüü", 7), "üüüü…üü");
    }
}
