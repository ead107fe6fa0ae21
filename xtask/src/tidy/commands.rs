//! A command states its facts in its own file in `ff-core`: nothing else lists commands.

use std::collections::BTreeSet;

use super::{Finding, source::Source};

/// How many different commands a file may name.
const MOST: usize = 3;

/// Where more may be named: the machine itself, the functions that a few commands have on Valkey, and
/// the bugs that are planted into single commands.
const FREE: &[&str] = &[
    "crates/core/",
    "crates/backend-valkey/src/fast_path/",
    "crates/conformance/tests/memory/planted/",
];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    if !source.has_extension(&["rs"]) || FREE.iter().any(|free| source.path.starts_with(free)) {
        return Vec::new();
    }
    let mut named = BTreeSet::new();
    let all = source.lines().flat_map(|(number, line)| variants(line).map(move |it| (number, it)));
    for (number, variant) in all {
        named.insert(variant);
        if named.len() > MOST {
            let message = format!(
                "names more than {MOST} variants of `Action`; ask `Action::facts`, or state a new \
                 fact in each command's own file"
            );
            return vec![Finding::new(number, message)];
        }
    }
    Vec::new()
}

/// The variants of `Action` that a line names.
fn variants(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("Action::").filter_map(|(at, path)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let rest = &line[at + path.len()..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let is_variant = rest.starts_with(char::is_uppercase) && !line[..at].ends_with(is_part);
        is_variant.then_some(&rest[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &str = "crates/backend-sqlite/src/writer.rs";

    /// A match over these commands, one line each after the first.
    fn matching(names: &[&str]) -> String {
        let arms = names.iter().map(|name| format!("    Action::{name}(_) => 0,\n"));
        format!("match action {{\n{}    _ => 1,\n}}\n", arms.collect::<String>())
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).iter().map(|found| found.line).collect()
    }

    #[test]
    fn a_list_of_commands_is_caught_where_it_grows_too_long() {
        let text = matching(&["Submit", "Claim", "Renew", "Fail", "Delay"]);
        assert_eq!(lines(PLACE, &text), [5]);
    }

    #[test]
    fn commands_on_one_line_are_counted_too() {
        let text = ["Submit", "Claim", "Renew", "Fail"].map(|name| format!("Action::{name}(_)"));
        assert_eq!(lines(PLACE, &text.join(" | ")), [1]);
    }

    #[test]
    fn a_few_commands_may_be_named_and_more_than_once() {
        let text = matching(&["Submit", "Claim", "Renew", "Submit", "Claim"]);
        assert_eq!(lines(PLACE, &text), [0; 0]);
    }

    #[test]
    fn other_types_and_functions_are_not_commands() {
        let other = ["DueAction::A", "DueAction::B", "MyAction::C", "Action::from", "Action::D"];
        assert_eq!(lines(PLACE, &other.join("\n")), [0; 0]);
    }

    #[test]
    fn the_machine_the_fast_path_and_planted_bugs_may_name_all() {
        let text = matching(&["Submit", "Claim", "Renew", "Fail", "Delay"]);
        for free in FREE {
            assert_eq!(lines(&format!("{free}mod.rs"), &text), [0; 0], "{free}");
        }
        assert_eq!(lines("crates/backend-valkey/src/store.rs", &text), [5]);
    }
}
