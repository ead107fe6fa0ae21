//! Untrusted text on a terminal: the text of a worker or an operator cannot move the cursor,
//! change colours or break a column.

/// `text` on one line, at most `most` characters: the middle is cut, because a program prints
/// its error last.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let words: Vec<_> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let surplus = line.chars().count().saturating_sub(most);
    if surplus == 0 {
        return line;
    }
    let head: String = line.chars().take(most / 3).collect();
    let tail: String = line.chars().skip(most / 3 + surplus + 1).collect();
    format!("{head}…{tail}")
}

/// `text` on one line, at most `most` characters: the end is cut.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    let line = one_line(text, usize::MAX);
    if line.chars().count() <= most {
        return line;
    }
    let head: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

/// `text` in lines of at most `columns` characters, if given, broken between words.
pub(crate) fn wrapped(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        lines.push(String::new());
        for word in line.split(' ') {
            let last = lines.last().map_or(0, |last| last.chars().count());
            if last > 0 && last + 1 + word.chars().count() > columns {
                lines.push(String::new());
            }
            if let Some(last) = lines.last_mut() {
                let gap = if last.is_empty() { "" } else { " " };
                last.push_str(&format!("{gap}{word}"));
            }
        }
    }
    lines.join("\n")
}

/// `text` with its line breaks, each followed by `indent`, and without other control characters.
pub(crate) fn lines(text: &str, indent: &str) -> String {
    let clean = text.trim_end().replace("\r\n", "\n").replace('\t', "    ");
    let shown = clean.chars().map(|c| match c {
        '\n' => format!("\n{indent}"),
        c if c.is_control() => '\u{fffd}'.to_string(),
        c => c.to_string(),
    });
    shown.collect()
}

/// What a program printed, for a terminal: line breaks and tabs stay, every other control character is
/// shown and not obeyed, and what is no text is replaced.
pub(crate) fn harmless(bytes: &[u8]) -> String {
    let shown = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let shown = shown.chars().map(|c| match c {
        '\n' | '\t' => c,
        // The pictures of control characters begin there.
        c if c < ' ' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        c if c.is_control() || is_bidi(c) => '\u{fffd}',
        c => c,
    });
    shown.collect()
}

/// Whether a character changes the direction of the text after it.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_breaks_and_no_escapes() {
        assert_eq!(one_line("a\n\tb  \x1b[31mc\n", 80), "a b [31mc");
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "ab…efg");
        assert_eq!(one_line("größer", 4), "g…er");
        assert_eq!(one_line("größer", 1), "…");
        assert_eq!(one_line("", 4), "");
    }

    #[test]
    fn the_beginning_stays_when_the_end_is_cut() {
        assert_eq!(beginning("waits for a worker", 18), "waits for a worker");
        assert_eq!(beginning("waits for a worker", 11), "waits for…");
        assert_eq!(beginning("größer", 4), "grö…");
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three\nfour", Some(7)), "one two\nthree\nfour");
        assert_eq!(wrapped("one two", Some(2)), "one\ntwo", "a word is never broken");
        assert_eq!(wrapped("one two", None), "one two");
    }

    #[test]
    fn what_a_program_prints_cannot_change_the_terminal() {
        assert_eq!(harmless(b"a\tb\r\nc\n"), "a\tb\nc\n");
        assert_eq!(harmless(b"\x1b[31mred\x1b]0;title\x07\r"), "␛[31mred␛]0;title␇␍");
        assert_eq!(harmless(b"\xff\xc2\x9b"), "\u{fffd}\u{fffd}", "a C1 control, and no text");
        assert_eq!(harmless("\u{202e}abc\u{7f}".as_bytes()), "\u{fffd}abc\u{fffd}");
    }

    #[test]
    fn lines_keep_their_breaks_only() {
        assert_eq!(lines("a\r\nb\x1b[0m\n\n", "  "), "a\n  b\u{fffd}[0m");
    }
}
