//! Which addresses a webhook may reach.
//!
//! By default only `https` and only addresses of the public internet: what a tenant names must not make a
//! server talk to its own machine or network. A name is resolved once per try, every address that it has
//! is checked, and the connection is made to what was checked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ff_core::Refusal;
use ff_core::webhook_url::WebhookUrl;

/// How long a name may take to resolve.
const RESOLVE: Duration = Duration::from_secs(5);

/// How many addresses of a name are considered.
const ADDRESSES: usize = 16;

/// What webhooks of a process may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// `https` to public addresses.
    #[default]
    Public,
    /// Also plain `http`, this machine and private networks: for development, or where every operator of a
    /// namespace is trusted. Addresses of a link, where clouds answer for credentials, never.
    Private,
}

impl Reach {
    /// Whether a webhook may connect to `address`.
    pub fn has(self, address: IpAddr) -> bool {
        let range = range_of(address);
        range == Range::Public || (range == Range::Private && self == Reach::Private)
    }

    /// The addresses that `url` may be reached at, now.
    pub async fn resolve(self, url: &WebhookUrl) -> Result<Vec<SocketAddr>, Refusal> {
        let parts = url.parts();
        if !parts.secure && self == Reach::Public {
            return Err(refused("is not https, and this server sends to nothing else"));
        }
        let looking = tokio::net::lookup_host((parts.host, parts.port));
        let found: Vec<_> = match tokio::time::timeout(RESOLVE, looking).await {
            Ok(Ok(found)) => found.take(ADDRESSES).collect(),
            Ok(Err(_)) | Err(_) => Vec::new(),
        };
        if found.is_empty() {
            return Err(refused("has a host that does not resolve to an address"));
        }
        if !found.iter().all(|address| self.has(address.ip())) {
            return Err(refused("has a host on a private or reserved address"));
        }
        Ok(found)
    }
}

fn refused(why: &'static str) -> Refusal {
    Refusal::TargetRefused { why }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    Public,
    /// This machine, or a network of its own.
    Private,
    /// A link, many machines, none, or nothing that is in use.
    Never,
}

fn range_of(address: IpAddr) -> Range {
    match address {
        IpAddr::V4(address) => range_of_v4(address),
        IpAddr::V6(address) => range_of_v6(address),
    }
}

fn range_of_v4(address: Ipv4Addr) -> Range {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        (127, ..) | (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => {
            Range::Private
        }
        // Links, this network, protocols, documentation, benchmarks, multicast, reserved.
        (0 | 224..=255, ..)
        | (169, 254, _)
        | (192, 0, 0 | 2)
        | (192, 88, 99)
        | (198, 18..=19, _)
        | (198, 51, 100)
        | (203, 0, 113) => Range::Never,
        _ => Range::Public,
    }
}

fn range_of_v6(address: Ipv6Addr) -> Range {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let within = |high: u16, low: u16| {
        let ([w, x], [y, z]) = (high.to_be_bytes(), low.to_be_bytes());
        range_of_v4(Ipv4Addr::new(w, x, y, z))
    };
    match (a, b) {
        _ if address.is_loopback() => Range::Private,
        // An address of IPv4 in another form is what it is in its own.
        (0, 0) if (c, d, e) == (0, 0, 0) && f == 0xffff => within(g, h),
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => within(g, h),
        (0x2002, high) => within(high, c),
        // Unique local addresses.
        (0xfc00..=0xfdff, _) => Range::Private,
        // Documentation, tunnels.
        (0x2001, 0..=0x01ff | 0x0db8) | (0x3fff, 0..=0x0fff) => Range::Never,
        // What is assigned to the public internet.
        (0x2000..=0x3fff, _) => Range::Public,
        _ => Range::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_reached_by_default() {
        for address in
            ["1.1.1.1", "93.184.216.34", "100.63.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]
        {
            assert!(Reach::Public.has(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "127.8.9.1",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:c0a8:101::1",
            "2001::1",
            "2001:db8::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!Reach::Public.has(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn private_networks_are_reached_where_that_is_allowed_and_links_never() {
        for address in ["127.0.0.1", "10.0.0.1", "192.168.1.1", "::1", "fd12::1", "8.8.8.8"] {
            assert!(Reach::Private.has(address.parse().unwrap()), "{address}");
        }
        for address in
            ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "0.0.0.0", "ff02::1"]
        {
            assert!(!Reach::Private.has(address.parse().unwrap()), "{address}");
        }
    }

    #[tokio::test]
    async fn a_host_is_judged_by_what_it_resolves_to() {
        let resolve = |reach: Reach, url: &str| {
            let url = WebhookUrl::new(url).unwrap();
            async move { reach.resolve(&url).await }
        };
        // Other ways to write 127.0.0.1 resolve to it, or to nothing.
        for url in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://localhost/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "http://1.1.1.1/",
        ] {
            let refused = resolve(Reach::Public, url).await.unwrap_err();
            assert_eq!(refused.code(), ff_core::Code::TargetRefused, "{url}");
        }
        assert!(resolve(Reach::Private, "http://127.0.0.1:81/").await.is_ok());
        assert!(resolve(Reach::Public, "https://1.1.1.1/").await.is_ok());
        assert!(resolve(Reach::Private, "https://169.254.169.254/").await.is_err());
    }
}
