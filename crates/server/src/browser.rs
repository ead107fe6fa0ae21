//! Protects a server that requires no token from web pages.
//!
//! Such a server listens on loopback, where every browser on the machine reaches it. A page may make
//! its domain resolve to 127.0.0.1, or post a form to it: the first is visible in `Host`, the
//! second in `Origin`. Every request that changes something also has to be JSON, which no form can
//! send.
//!
//! The form of the approval page is the one exception to both. Whoever can post it knows the signed
//! link, which is all the permission that it takes, so a page of another origin gains nothing by it.
//! Its browser sends `Origin: null`, because the page passes its address on to nobody, and says in
//! `Sec-Fetch-Site`, which no page can set, that the form is the server's own.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::error::ApiError;

/// Refuses a request that a web page of another origin may have made.
pub(crate) fn check(request: &Request) -> Result<(), ApiError> {
    let host = host(request.headers());
    let target = request.uri().authority();
    let Some(host) = host.filter(|host| is_loopback(host) && target.is_none_or(is_loopback)) else {
        return Err(forbidden(
            "host_not_allowed",
            "a server without a token answers only to localhost, 127.0.0.1 and [::1]; name it so, \
             or start it with FF_TOKEN",
        ));
    };
    match request.headers().get(header::ORIGIN) {
        Some(origin) if !is_own(origin, &host) && !is_own_form(request, origin) => Err(forbidden(
            "origin_not_allowed",
            "a server without a token takes nothing from web pages of other origins; start it with \
             FF_TOKEN",
        )),
        _ => Ok(()),
    }
}

/// Whether a browser says that one of the server's own pages made the request. No page can set either
/// header, and one of another origin is named by it.
pub(crate) fn is_from_own_page(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(|site| site == "same-origin");
    let own = host(headers).zip(headers.get(header::ORIGIN));
    let own = own.map(|(host, origin)| is_own(origin, &host));
    match (own, site) {
        (Some(own), site) => own && site.unwrap_or(true),
        (None, site) => site.unwrap_or(false),
    }
}

/// The one `Host` of the request.
fn host(headers: &HeaderMap) -> Option<Authority> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => Authority::try_from(host.as_bytes()).ok(),
        _ => None,
    }
}

fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    !authority.as_str().contains('@')
        && (host.eq_ignore_ascii_case("localhost")
            || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()))
}

/// Whether `origin` is the server itself, under the `Host` of the request.
fn is_own(origin: &HeaderValue, host: &Authority) -> bool {
    let origin = origin.to_str().unwrap_or("");
    let own = |scheme: &str| {
        origin.strip_prefix(scheme).is_some_and(|rest| rest.eq_ignore_ascii_case(host.as_str()))
    };
    own("http://") || own("https://")
}

/// Whether this is the form of the approval page, posted from that page.
fn is_own_form(request: &Request, origin: &HeaderValue) -> bool {
    let site = request.headers().get("sec-fetch-site");
    request.method() == Method::POST
        && request.uri().path().starts_with("/approve/")
        && origin == "null"
        && site.is_some_and(|site| site == "same-origin")
}

fn forbidden(code: &'static str, detail: &str) -> ApiError {
    ApiError::http(StatusCode::FORBIDDEN, code, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn checked(target: &str, headers: &[(&str, &str)]) -> Result<(), &'static str> {
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(Body::empty()).unwrap()).map_err(|error| error.code)
    }

    #[test]
    fn only_loopback_names_are_accepted() {
        for host in
            ["localhost", "LocalHost:1", "127.0.0.1", "127.9.9.9:7272", "[::1]", "[::1]:7272"]
        {
            assert_eq!(checked("/", &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:7272",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost@evil.example",
            "evil@localhost",
            "192.0.2.1",
            "0.0.0.0",
            "[::]",
            "[2001:db8::1]:7272",
            "localhost, evil.example",
        ] {
            assert_eq!(checked("/", &[("host", host)]), Err("host_not_allowed"), "{host}");
        }
        assert_eq!(checked("/", &[]), Err("host_not_allowed"));
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(checked("/", &twice), Err("host_not_allowed"));
        let proxied = checked("http://evil.example/", &[("host", "localhost")]);
        assert_eq!(proxied, Err("host_not_allowed"));
    }

    #[test]
    fn a_form_is_taken_from_own_pages_only() {
        let from = |headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            map.insert(header::HOST, "ff.example:7272".parse().unwrap());
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            is_from_own_page(&map)
        };
        let (own, other) = ("https://ff.example:7272", "https://evil.example");
        assert!(from(&[("origin", own)]));
        assert!(from(&[("origin", own), ("sec-fetch-site", "same-origin")]));
        assert!(from(&[("sec-fetch-site", "same-origin")]));
        assert!(!from(&[]));
        assert!(!from(&[("origin", other)]));
        assert!(!from(&[("origin", other), ("sec-fetch-site", "same-origin")]));
        assert!(!from(&[("origin", "null")]));
        assert!(!from(&[("origin", "null"), ("sec-fetch-site", "cross-site")]));
        for site in ["cross-site", "same-site", "none"] {
            assert!(!from(&[("sec-fetch-site", site)]), "{site}");
            assert!(!from(&[("origin", own), ("sec-fetch-site", site)]), "{site}");
        }
    }

    #[test]
    fn only_the_servers_own_origin_is_accepted() {
        let own = |origin| checked("/", &[("host", "localhost:7272"), ("origin", origin)]);
        for origin in ["http://localhost:7272", "https://LOCALHOST:7272"] {
            assert_eq!(own(origin), Ok(()), "{origin}");
        }
        for origin in [
            "",
            "null",
            "http://evil.example",
            "http://localhost:3000",
            "http://127.0.0.1:7272",
            "http://localhost:7272.evil.example",
            "localhost:7272",
        ] {
            assert_eq!(own(origin), Err("origin_not_allowed"), "{origin}");
        }
    }
}
