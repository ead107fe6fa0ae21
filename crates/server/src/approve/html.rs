//! Writes HTML. Only literals of this program are written as they are; everything else is escaped.

use askama::filters::Escaper;

use crate::html::Escape;

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds markup of this program.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Adds text, escaped for an element and for a quoted attribute.
    pub(super) fn text(&mut self, text: &str) -> &mut Html {
        // Writing to a string does not fail.
        let _ = Escape.write_escaped_str(&mut self.0, text);
        self
    }

    /// The page.
    pub(super) fn finish(self) -> String {
        self.0
    }
}
