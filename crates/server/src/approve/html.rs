//! Writes HTML. Only literals of this program are written as they are; everything else is escaped.

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
        for character in text.chars() {
            match character {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // A browser replaces these or turns the direction of what follows.
                '\0' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                    self.0.push('\u{fffd}');
                }
                other => self.0.push(other),
            }
        }
        self
    }

    /// The page.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> String {
        let mut html = Html::default();
        html.raw("<p title=\"").text(text).raw("\">");
        html.finish()
    }

    #[test]
    fn no_text_ends_an_element_or_an_attribute() {
        for text in
            ["</p><script>alert(1)</script>", "\" onload=\"x", "' x='", "&lt;", "<!--", "]]>"]
        {
            let page = written(text);
            let inside = page.strip_prefix("<p title=\"").unwrap().strip_suffix("\">").unwrap();
            assert!(!inside.contains(['<', '>', '"', '\'']), "{page}");
        }
        assert_eq!(written("a & b"), "<p title=\"a &amp; b\">");
        assert_eq!(written("grün 🙂\n"), "<p title=\"grün 🙂\n\">");
    }

    #[test]
    fn no_text_turns_the_direction_of_the_page() {
        assert_eq!(written("a\u{202e}b\0c"), "<p title=\"a\u{fffd}b\u{fffd}c\">");
    }
}
