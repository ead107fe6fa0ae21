//! The paths of requests.

use ff_core::{Lane, Namespace};
use ff_store::listing::Listing;

pub(super) fn lane_path(namespace: &Namespace, lane: &Lane) -> String {
    format!("/v1/lanes/{lane}?namespace={namespace}")
}

/// One page of what has a name.
pub(super) fn page_path(
    what: &str,
    namespace: &Namespace,
    after: Option<&str>,
    limit: usize,
) -> String {
    let cursor = after.map(|after| format!("&cursor={after}")).unwrap_or_default();
    format!("/v1/{what}?namespace={namespace}&limit={limit}{cursor}")
}

pub(super) fn list_path(listing: &Listing) -> String {
    let filter = &listing.filter;
    let what = if filter.flows { "flows" } else { "executions" };
    let mut path = format!("/v1/{what}?namespace={}&limit={}", listing.namespace, listing.limit);
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            path.push_str(&format!("&{name}={}", percent(&value)));
        }
    };
    add("lane", filter.lane.as_ref().map(ToString::to_string));
    add("kind", filter.kind.as_ref().map(ToString::to_string));
    let standings: Vec<_> = filter.state_filters().iter().map(ToString::to_string).collect();
    add("state", (!standings.is_empty()).then(|| standings.join(",")));
    add("reason", filter.suspended_for.map(|reason| reason.to_string()));
    add("tags", (!filter.tags.is_empty()).then(|| crate::http::write_tags(&filter.tags)));
    add("from", filter.from.map(|at| crate::Timestamp(at).to_string()));
    add("to", filter.to.map(|at| crate::Timestamp(at).to_string()));
    add("cursor", listing.after.as_ref().map(ToString::to_string));
    path
}

/// `text` with everything but unreserved characters percent-encoded.
pub(super) fn percent(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(byte.into());
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
