//! The parts of a page: each is rendered alone, so that a live view sends only what has changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use askama::Template;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// The id of its element.
    pub(super) id: &'static str,
    /// What is in the element.
    pub(super) html: String,
    /// Differs when more has changed than how long ago something was.
    pub(super) key: String,
    /// Whether it is sent when it changes; a form that a person fills in is not.
    pub(super) live: bool,
}

impl Part {
    /// The part that `template` writes. One that fails to is left empty; it writes to memory.
    pub(super) fn new(id: &'static str, template: &impl Template) -> Part {
        let html = template.render().unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        for piece in timeless(&html) {
            piece.hash(&mut hasher);
        }
        Part { id, key: format!("{:016x}", hasher.finish()), html, live: true }
    }

    /// The same, of a part that stays as it is while the page is open.
    pub(super) fn still(id: &'static str, template: &impl Template) -> Part {
        Part { live: false, ..Part::new(id, template) }
    }
}

/// What is not the text of a `time` element. The attributes, which say the moment, are included.
fn timeless(html: &str) -> impl Iterator<Item = &str> {
    html.split("<time ").enumerate().flat_map(|(number, piece)| {
        let tag_ends = if number > 0 { piece.find('>') } else { None };
        match tag_ends.zip(piece.find("</time>")) {
            Some((tag, end)) if tag < end => [&piece[..tag], &piece[end..]],
            _ => [piece, ""],
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_a_time_is_no_change() {
        let pieces = |html: &'static str| timeless(html).collect::<String>();
        let one = pieces("<p>x <time datetime=\"1\">3s ago</time> <b>y</b></p>");
        let two = pieces("<p>x <time datetime=\"1\">4s ago</time> <b>y</b></p>");
        assert_eq!(one, two);
        assert!(one.contains("datetime=\"1\"") && one.contains("<b>y</b>"));
        assert_ne!(one, pieces("<p>x <time datetime=\"2\">3s ago</time> <b>y</b></p>"));
        assert_ne!(one, pieces("<p>x <time datetime=\"1\">3s ago</time> <b>z</b></p>"));
    }
}
