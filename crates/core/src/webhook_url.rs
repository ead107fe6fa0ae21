//! The address that a webhook sends to, taken apart once and strictly.
//!
//! What a request is sent to and what was checked are the same text: there is no user, no fragment, no
//! character that two parsers could read differently. Whether a host may be reached is decided by the
//! addresses that it resolves to, with every try.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::bounds::WEBHOOK_URL_BYTES;
use crate::refusal::Refusal;

/// Where a webhook sends to: `https://HOST[:PORT][/PATH][?QUERY]`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Box<str>", into = "Box<str>")]
pub struct WebhookUrl(Box<str>);

/// What a URL says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlParts<'a> {
    /// It is `https`.
    pub secure: bool,
    /// A name, or an address; one of IPv6 without its brackets.
    pub host: &'a str,
    /// The port, which has a default.
    pub port: u16,
    /// Host and port as they are written.
    pub authority: &'a str,
    /// What is asked for: begins with `/` or `?`, or is empty.
    pub path: &'a str,
}

impl WebhookUrl {
    /// Checks `text`.
    pub fn new(text: impl Into<Box<str>>) -> Result<WebhookUrl, Refusal> {
        let text = text.into();
        Refusal::cap("url", text.len(), WEBHOOK_URL_BYTES, "bytes")?;
        match parts(&text) {
            Ok(_) => Ok(WebhookUrl(text)),
            Err(why) => Err(Refusal::invalid("url", why)),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it says.
    pub fn parts(&self) -> UrlParts<'_> {
        // It was taken apart when it was made.
        parts(&self.0).unwrap_or(UrlParts {
            secure: true,
            host: "",
            port: 443,
            authority: "",
            path: "",
        })
    }
}

fn parts(text: &str) -> Result<UrlParts<'_>, &'static str> {
    let (secure, rest) = match text.split_once("://") {
        Some(("https", rest)) => (true, rest),
        Some(("http", rest)) => (false, rest),
        _ => return Err("does not begin with https://"),
    };
    if !rest.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("has a character that is not visible ASCII; encode it with %");
    }
    if rest.contains(['#', '\\', '"', '<', '>', '^', '`', '{', '|', '}']) {
        return Err("has a fragment or a character that must be encoded with %");
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.contains('@') {
        return Err("has a user or a password; sign in by the signature of the body instead");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, port) = inner.split_once(']').ok_or("has an address without its ]")?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| "has no address in its brackets")?;
            (host, port)
        }
        None => {
            let colon = authority.find(':').unwrap_or(authority.len());
            let (host, port) = authority.split_at(colon);
            let plain =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
            if host.is_empty() || host.len() > 253 || !host.bytes().all(plain) {
                return Err("has no name of a host");
            }
            (host, port)
        }
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => Ok(if secure { 443 } else { 80 }),
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse(),
        _ => return Err("has something else than a port behind its host"),
    };
    match port {
        Ok(port) if port > 0 => Ok(UrlParts { secure, host, port, authority, path }),
        _ => Err("has no port from 1 to 65535"),
    }
}

impl TryFrom<Box<str>> for WebhookUrl {
    type Error = Refusal;

    fn try_from(text: Box<str>) -> Result<WebhookUrl, Refusal> {
        WebhookUrl::new(text)
    }
}

impl From<WebhookUrl> for Box<str> {
    fn from(url: WebhookUrl) -> Box<str> {
        url.0
    }
}

impl FromStr for WebhookUrl {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<WebhookUrl, Refusal> {
        WebhookUrl::new(text)
    }
}

impl fmt::Display for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for WebhookUrl {
    /// Its host alone: paths of webhooks are often secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WebhookUrl({})", self.parts().authority)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_url_says_where_to_send() {
        for (text, secure, host, port, path) in [
            ("https://hooks.example", true, "hooks.example", 443, ""),
            ("https://hooks.example/a?b=c", true, "hooks.example", 443, "/a?b=c"),
            ("https://hooks.example?x", true, "hooks.example", 443, "?x"),
            ("http://127.0.0.1:8080/", false, "127.0.0.1", 8080, "/"),
            ("https://[::1]:8443/x", true, "::1", 8443, "/x"),
            ("https://[2001:db8::7]", true, "2001:db8::7", 443, ""),
        ] {
            let url = WebhookUrl::new(text).unwrap();
            let parts = url.parts();
            assert_eq!(
                (parts.secure, parts.host, parts.port, parts.path),
                (secure, host, port, path)
            );
        }
    }

    #[test]
    fn what_two_parsers_could_read_differently_is_refused() {
        for text in [
            "",
            "hooks.example",
            "ftp://hooks.example",
            "HTTPS://hooks.example",
            "https://",
            "https:///path",
            "https://user@hooks.example",
            "https://good.example#@evil.example",
            "https://good.example\\@evil.example",
            "https://good.example:443:80",
            "https://good.example:",
            "https://good.example:0",
            "https://good.example:65536",
            "https://good.example:+80",
            "https://[::1",
            "https://[127.0.0.1]",
            "https://[::1]x",
            "https://a b",
            "https://a/\r\nhost: b",
            "https://größe.example",
        ] {
            assert!(WebhookUrl::new(text).is_err(), "{text:?}");
        }
        let long = format!("https://a/{}", "x".repeat(WEBHOOK_URL_BYTES));
        assert_eq!(WebhookUrl::new(long).unwrap_err().code(), crate::Code::TooLarge);
    }

    #[test]
    fn the_path_of_a_url_is_not_printed() {
        let url = WebhookUrl::new("https://hooks.example/T0/secret").unwrap();
        assert!(!format!("{url:?}").contains("secret"));
    }
}
