//! Text of others on a person's terminal: what a worker or an operator said cannot move the cursor,
//! change colours or break a column.

/// `text` on one line, at most `most` characters: the middle goes first, because a program says at
/// the end what went wrong.
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
    fn lines_keep_their_breaks_only() {
        assert_eq!(lines("a\r\nb\x1b[0m\n\n", "  "), "a\n  b\u{fffd}[0m");
    }
}
