//! HTML that the server writes: everything but its own markup is escaped, and every page has headers
//! that keep it from being framed, sniffed or told to others.

use std::fmt::{self, Write};

use askama::filters::{Escaper, Safe};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Markup that this program wrote: templates write it as it is, and escape everything else.
pub(crate) type Markup = Safe<String>;

/// Makes text safe inside an element and inside a quoted attribute.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Escape;

impl Escaper for Escape {
    fn write_escaped_str<W: Write>(&self, mut to: W, text: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, character) in text.char_indices() {
            let mut buffer = [0; 4];
            let instead = match character {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                '\'' => "&#39;",
                '\n' | '\t' => continue,
                // What a terminal or a browser would act on is shown as a picture of itself.
                '\0'..=' ' if character != ' ' => picture(character).encode_utf8(&mut buffer),
                '\u{7f}' => "\u{2421}",
                // These turn the direction of what follows, or are invisible controls.
                '\u{80}'..='\u{9f}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' => "\u{fffd}",
                _ => continue,
            };
            to.write_str(&text[plain..at])?;
            to.write_str(instead)?;
            plain = at + character.len_utf8();
        }
        to.write_str(&text[plain..])
    }
}

/// The picture that Unicode has of a control character.
fn picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or('\u{fffd}')
}

/// A page with this policy. `referrer` says who learns its address.
pub(crate) fn page(
    status: StatusCode,
    html: String,
    policy: &str,
    referrer: &'static str,
) -> Response {
    let mut response = (status, html).into_response();
    let headers = response.headers_mut();
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, html);
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static(referrer));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    let opener = HeaderName::from_static("cross-origin-opener-policy");
    headers.insert(opener, HeaderValue::from_static("same-origin"));
    if let Ok(policy) = HeaderValue::from_str(policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response.extensions_mut().insert(Written);
    response
}

/// Marks a response whose body and policy are its own, also when it says no.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written;

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(text: &str) -> String {
        let mut written = String::new();
        Escape.write_escaped_str(&mut written, text).unwrap();
        written
    }

    #[test]
    fn no_text_ends_an_element_or_an_attribute() {
        for text in [
            "</p><script>alert(1)</script>",
            "\" onload=\"x",
            "' x='",
            "<!--",
            "]]>",
            "`<svg/onload=x>",
        ] {
            assert!(!escaped(text).contains(['<', '>', '"', '\'']), "{text}");
        }
        assert_eq!(escaped("a & b &amp;"), "a &amp; b &amp;amp;");
        assert_eq!(escaped("grün 🙂\n\tend"), "grün 🙂\n\tend");
    }

    #[test]
    fn no_text_turns_the_page_or_reaches_a_terminal_as_a_command() {
        assert_eq!(escaped("a\u{202e}b\u{2066}c\u{9b}d"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
        assert_eq!(escaped("\u{1b}[31mred\0\r\u{7f}"), "␛[31mred␀␍␡");
    }

    #[test]
    fn templates_never_switch_the_escaping_off() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/dashboard/templates");
        let mut seen = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            for forbidden in
                ["|safe", "| safe", "|escape", "| escape", "|e(", "style=", "onclick", "<script>"]
            {
                assert!(!text.contains(forbidden), "{forbidden} in {}", path.display());
            }
            seen += 1;
        }
        assert!(seen > 5, "only {seen} templates were found");
    }
}
