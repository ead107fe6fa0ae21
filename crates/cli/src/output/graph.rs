//! The graph of a flow in a terminal: a tree of its nodes, in which each is below the deepest that it depends on.
//!
//! Nodes that are alike share a line, and of many lines those are shown that a person wants to see most.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ff_core::{Millis, Time};
use ff_drawing::{Counts, Graph};

use super::amount::grouped;
use super::style::Style;
use super::table::Table;

/// Most lines, unless all are asked for.
pub(crate) const ROWS: usize = 200;
/// As many nodes that are alike have lines of their own.
const ALONE: usize = 4;
/// How deep a node is indented at most.
const DEEPEST: usize = 8;
/// How many of the nodes that a node depends on are named.
const NAMED: usize = 4;

/// A line: one node, several that are alike, or what is left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    places: Vec<usize>,
    name: String,
    state: String,
    waited: String,
    ran: String,
    after: String,
    critical: bool,
    /// How much a person wants to see it, least first.
    rank: u8,
}

/// The lines of all nodes, each below what it depends on; `all` gives every node its own.
pub(crate) fn rows(graph: &Graph, all: bool, now: Time) -> Vec<Row> {
    let groups = groups(graph, all);
    let mut group_of = vec![0; graph.nodes().len()];
    for (number, places) in groups.iter().enumerate() {
        places.iter().for_each(|place| group_of[*place] = number);
    }
    // Of what it depends on, the deepest; of those, the last, so that what joins comes after what it waits for.
    let parent = |places: &[usize]| {
        let upstreams = graph.upstreams(places[0]).iter();
        let deepest = upstreams.max_by_key(|place| (graph.depth(**place), **place));
        deepest.map(|place| group_of[*place])
    };
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
    let mut roots = Vec::new();
    for (number, places) in groups.iter().enumerate() {
        match parent(places).filter(|parent| *parent != number) {
            Some(parent) => children[parent].push(number),
            None => roots.push(number),
        }
    }
    let mut rows = Vec::with_capacity(groups.len());
    // What is left to write: a group, the lines left of it, and whether it is the last below its parent.
    let mut left: Vec<(usize, String, Option<bool>)> =
        roots.iter().rev().map(|root| (*root, String::new(), None)).collect();
    // A damaged graph may have a circle; nothing of it is a root.
    while let Some((group, stem, last)) = left.pop().filter(|_| rows.len() < groups.len()) {
        let branch = match last {
            None => "",
            Some(true) => "└─ ",
            Some(false) => "├─ ",
        };
        rows.push(row(graph, &groups[group], format!("{stem}{branch}"), now));
        let below = match last {
            _ if stem.chars().count() >= 3 * DEEPEST => stem.clone(),
            None => stem.clone(),
            Some(true) => format!("{stem}   "),
            Some(false) => format!("{stem}│  "),
        };
        let of = &children[group];
        let next = of.iter().enumerate().rev();
        left.extend(next.map(|(at, child)| (*child, below.clone(), Some(at + 1 == of.len()))));
    }
    rows
}

/// The nodes, those together that are alike: on one layer, in one state, with names that differ in their digits,
/// after nodes of which the same is true. What is on the critical path is alone.
fn groups(graph: &Graph, all: bool) -> Vec<Vec<usize>> {
    if all {
        return (0..graph.nodes().len()).map(|place| vec![place]).collect();
    }
    let families: Vec<String> =
        graph.nodes().iter().map(|node| family(node.name.as_str())).collect();
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (place, node) in graph.nodes().iter().enumerate() {
        let after: BTreeSet<&str> =
            graph.upstreams(place).iter().map(|upstream| families[*upstream].as_str()).collect();
        let alone = graph.is_critical(place).then_some(place);
        let key = (graph.depth(place), families[place].as_str(), node.word(), after, alone);
        alike.entry(key).or_default().push(place);
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for places in alike.into_values() {
        match places.len() > ALONE {
            true => groups.push(places),
            false => groups.extend(places.into_iter().map(|place| vec![place])),
        }
    }
    groups.sort_unstable();
    groups
}

/// A name with a star for each run of digits.
fn family(name: &str) -> String {
    let mut family = String::with_capacity(name.len());
    for character in name.chars() {
        match character.is_ascii_digit() {
            true if family.ends_with('*') => {}
            true => family.push('*'),
            false => family.push(character),
        }
    }
    family
}

fn row(graph: &Graph, places: &[usize], stem: String, now: Time) -> Row {
    let nodes = || places.iter().map(|place| &graph.nodes()[*place]);
    let first = &graph.nodes()[places[0]];
    let longest = |spans: &mut dyn Iterator<Item = Millis>| match (spans.max(), places.len()) {
        (None, _) => "-".to_owned(),
        (Some(span), 1) => span.rounded().to_string(),
        (Some(span), _) => format!("≤{}", span.rounded()),
    };
    let name = match places.len() {
        1 => first.name.to_string(),
        count => format!("{} ({} nodes)", family(first.name.as_str()), grouped(count as u64)),
    };
    Row {
        name: format!("{stem}{name}"),
        state: first.word().to_owned(),
        waited: longest(&mut nodes().filter_map(|node| node.waited(now))),
        ran: longest(&mut nodes().filter_map(|node| node.ran(now))),
        after: after(graph, places),
        critical: graph.is_critical(places[0]),
        rank: match first.rank() {
            // What has ended well is shown for the critical path alone.
            5 if graph.is_critical(places[0]) => 4,
            rank => rank,
        },
        places: places.to_vec(),
    }
}

/// What it depends on.
fn after(graph: &Graph, places: &[usize]) -> String {
    let name = |place: &usize| graph.nodes()[*place].name.as_str();
    let upstreams = graph.upstreams(places[0]);
    if places.len() > 1 {
        let mut names: HashMap<String, usize> = HashMap::new();
        upstreams.iter().for_each(|place| *names.entry(family(name(place))).or_default() += 1);
        let mut names: Vec<_> = names.into_keys().collect();
        names.sort_unstable();
        names.truncate(NAMED);
        return names.join(", ");
    }
    let named: Vec<_> = upstreams.iter().take(NAMED).map(name).collect();
    match upstreams.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), grouped(more as u64)),
    }
}

/// At most `most` of the lines: those that a person wants to see most, and a count of what is between them.
pub(crate) fn most(graph: &Graph, rows: Vec<Row>, most: usize) -> Vec<Row> {
    if rows.len() <= most {
        return rows;
    }
    let mut ranked: Vec<usize> = (0..rows.len()).collect();
    ranked.sort_by_key(|at| (rows[*at].rank, *at));
    // There may be a gap before each, and after the last.
    ranked.truncate((most.max(1) - 1) / 2);
    let shown: BTreeSet<usize> = ranked.into_iter().collect();
    let mut chosen = Vec::new();
    let mut gap: Vec<usize> = Vec::new();
    for (at, row) in rows.into_iter().enumerate() {
        if !shown.contains(&at) {
            gap.extend(row.places);
            continue;
        }
        chosen.extend(left_out(graph, std::mem::take(&mut gap)));
        chosen.push(row);
    }
    chosen.extend(left_out(graph, gap));
    chosen
}

fn left_out(graph: &Graph, places: Vec<usize>) -> Option<Row> {
    let count = grouped(places.len() as u64);
    let counts = Counts::of(graph, places.iter().copied()).text();
    (!places.is_empty())
        .then(|| Row { name: format!("… {count} more: {counts}"), ..Row::default() })
}

/// The lines as a table, cut where a terminal has fewer columns.
pub(crate) fn table(rows: &[Row], columns: Option<usize>, style: Style) -> String {
    let heading = ["  NODE", "STATE", "WAITED", "RAN", "AFTER"];
    let mut table = Table::new(heading, 1).numbers(&[2, 3]).fit(&[4], columns);
    let room = columns.map_or(usize::MAX, |columns| room(rows, columns));
    for row in rows {
        let mark = if row.critical { "*" } else { " " };
        let Row { name, state, waited, ran, after, .. } = row.clone();
        table.row([cut(format!("{mark} {name}"), room), state, waited, ran, after]);
    }
    table.show(style)
}

/// How many characters names have, where a line has so many: three fifths of what the times and states leave, or
/// more if what they depend on is short.
fn room(rows: &[Row], columns: usize) -> usize {
    let widest = |of: fn(&Row) -> &str, heading: usize| {
        rows.iter().map(|row| of(row).chars().count()).max().unwrap_or(0).max(heading)
    };
    let others = widest(|row| &row.state, 5) + widest(|row| &row.waited, 6);
    let left = columns.saturating_sub(others + widest(|row| &row.ran, 3) + 8);
    (left * 3 / 5).max(left.saturating_sub(widest(|row| &row.after, 5))).max(8)
}

/// The first characters of a name, with the lines before it.
fn cut(name: String, most: usize) -> String {
    match name.chars().count() > most {
        true => name.chars().take(most - 1).chain(['…']).collect(),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use ff_core::{NodeName, PublicState};
    use ff_drawing::Node;

    use super::*;

    const NOW: Time = Time::from_ms(60_000);

    fn node(number: u32, name: &str, after: &[u32], state: PublicState) -> Node {
        let has_run = state == PublicState::Completed;
        let at = |seconds: u64| has_run.then(|| Time::from_ms(seconds * 1_000));
        Node {
            number,
            name: NodeName::new(name).unwrap(),
            after: after.to_vec(),
            id: None,
            state: Some(state),
            released: at(0),
            started: at(1),
            ended: at(3),
        }
    }

    fn shown(nodes: Vec<Node>, all: bool, columns: Option<usize>) -> String {
        let graph = Graph::new(nodes, NOW);
        let rows = most(&graph, rows(&graph, all, NOW), ROWS);
        table(&rows, columns, Style::PLAIN)
    }

    #[test]
    fn a_diamond_is_a_tree_with_its_edges_named() {
        use PublicState::{Completed, WaitingChildren};
        let nodes = vec![
            node(0, "a", &[], Completed),
            node(1, "b", &[0], Completed),
            node(2, "c", &[0], WaitingChildren),
            node(3, "d", &[1, 2], WaitingChildren),
        ];
        let meant = "  NODE         STATE             WAITED  RAN  AFTER\n\
                     \x20 a            completed             1s   2s\n\
                     \x20 ├─ b         completed             1s   2s  a\n\
                     \x20 └─ c         waiting_children       -    -  a\n\
                     \x20    └─ d      waiting_children       -    -  b, c\n";
        let text = shown(nodes, false, None);
        let lines = |text: &str| {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().map(words).collect::<Vec<_>>()
        };
        let plain = text.replace('*', " ");
        assert_eq!(lines(&plain), lines(meant), "{text}");
    }

    #[test]
    fn a_hundred_that_are_alike_share_a_line() {
        let mut nodes = vec![node(0, "split", &[], PublicState::Completed)];
        nodes.extend((1..=100).map(|n| {
            let state = if n > 97 { PublicState::Active } else { PublicState::Waiting };
            node(n, &format!("map-{n}"), &[0], state)
        }));
        nodes.push(node(
            101,
            "reduce",
            &(1..=100).collect::<Vec<_>>(),
            PublicState::WaitingChildren,
        ));
        let text = shown(nodes.clone(), false, Some(80));
        assert!(text.contains("map-* (97 nodes)") && text.contains("map-98"), "{text}");
        assert!(
            text.contains("map-1, map-2, map-3, map-4 and 96 more") || text.contains('…'),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.lines().count(), 7, "{text}");
        assert_eq!(shown(nodes, true, None).lines().count(), 103);
    }

    #[test]
    fn a_long_chain_shows_what_runs_and_counts_the_rest() {
        let nodes = (0..10_000u32).map(|n| {
            let after: Vec<u32> = n.checked_sub(1).into_iter().collect();
            let state = match n {
                0..5_000 => PublicState::Completed,
                5_000 => PublicState::Active,
                _ => PublicState::WaitingChildren,
            };
            node(n, &format!("{}{n}", "x".repeat((n % 7) as usize)), &after, state)
        });
        let graph = Graph::new(nodes.collect(), NOW);
        let rows = most(&graph, rows(&graph, false, NOW), 20);
        assert!(rows.len() <= 20, "{}", rows.len());
        let text = table(&rows, Some(80), Style::PLAIN);
        assert!(text.contains("active") && text.contains("more: "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
