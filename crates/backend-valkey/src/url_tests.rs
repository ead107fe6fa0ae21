//! What URLs mean, which are refused, and that none reveals a password.

use super::*;

const CANARY: &str = "hunter2-canary";

fn parsed(url: &str) -> Options {
    url.parse().unwrap_or_else(|refusal| panic!("{url}: {refusal}"))
}

fn refusal(url: &str) -> String {
    match url.parse::<Options>() {
        Ok(options) => panic!("{url} was taken as {options:?}"),
        Err(refusal) => refusal.to_string(),
    }
}

fn node(host: &str, port: u16) -> (String, u16) {
    (host.to_owned(), port)
}

#[test]
fn a_host_is_enough() {
    let options = parsed("valkey://localhost");
    assert_eq!(options.topology, Topology::Standalone);
    assert_eq!(options.nodes, [node("localhost", 6379)]);
    assert_eq!((options.tls, options.database), (Tls::Off, 0));
    assert_eq!((options.user, options.password), (None, None));
    assert_eq!(options.prefix.as_str(), "ff");
    assert_eq!((options.partitions, options.confirm_replicas), (None, 0));
    assert!(!options.accept_data_loss);
}

#[test]
fn every_part_is_understood() {
    let options = parsed(
        "valkeys://ann%40x:p%3Aq%2F@10.0.0.1:7000/3?prefix=a.b-1&partitions=8\
         &accept_data_loss=true&confirm_replicas=2&ca=/etc/my%20ca.pem",
    );
    assert_eq!(options.nodes, [node("10.0.0.1", 7000)]);
    assert_eq!(options.user.as_deref(), Some("ann@x"));
    assert_eq!(options.password.as_ref().map(Secret::reveal), Some("p:q/"));
    assert_eq!((options.database, options.prefix.as_str()), (3, "a.b-1"));
    assert_eq!((options.partitions, options.confirm_replicas), (Some(8), 2));
    assert!(options.accept_data_loss);
    assert_eq!(options.tls, Tls::Trusting("/etc/my ca.pem".into()));
}

#[test]
fn schemes_say_topology_and_protection() {
    for (scheme, topology, tls) in [
        ("valkey", Topology::Standalone, Tls::Off),
        ("redis", Topology::Standalone, Tls::Off),
        ("valkeys", Topology::Standalone, Tls::On),
        ("rediss", Topology::Standalone, Tls::On),
        ("valkey-cluster", Topology::Cluster, Tls::Off),
        ("valkeys-cluster", Topology::Cluster, Tls::On),
    ] {
        let options = parsed(&format!("{scheme}://host"));
        assert_eq!((options.topology, options.tls), (topology, tls), "{scheme}");
    }
}

#[test]
fn a_cluster_may_name_several_nodes() {
    let options = parsed("valkey-cluster://u:p@h1:1,h2,[::1]:3");
    assert_eq!(options.nodes, [node("h1", 1), node("h2", 6379), node("::1", 3)]);
    assert_eq!(options.user.as_deref(), Some("u"));
}

#[test]
fn a_password_needs_no_user() {
    let options = parsed("valkey://:secret@host");
    assert_eq!(options.user, None);
    assert_eq!(options.password, Some(Secret::new("secret")));
}

#[test]
fn a_password_that_was_not_encoded_ends_at_the_last_at_sign() {
    let options = parsed("valkey://u:p@ss/word@host:1");
    assert_eq!(options.password, Some(Secret::new("p@ss/word")));
    assert_eq!(options.nodes, [node("host", 1)]);
}

#[test]
fn anything_else_is_refused_with_an_example() {
    for (url, why) in [
        ("", "is no URL"),
        ("localhost:6379", "is no URL"),
        ("mysql://host", "unknown scheme"),
        ("unix:///tmp/valkey.sock", "Unix socket"),
        ("valkey+unix:///tmp/valkey.sock", "Unix socket"),
        ("valkey://", "bad host"),
        ("valkey://a b", "bad host"),
        ("valkey://host:0", "bad port"),
        ("valkey://host:70000", "bad port"),
        ("valkey://[::1]x", "bad host"),
        ("valkey://h1,h2", "valkey-cluster://"),
        ("valkey://user@host", "without a password"),
        ("valkey://host/one", "database"),
        ("valkey://host/-1", "database"),
        ("valkey://host/4294967295", "database"),
        ("valkey-cluster://host/1", "only database 0"),
        ("valkey://host?prefix=a:b", "prefix"),
        ("valkey://host?prefix={x}", "prefix"),
        ("valkey://host?prefix=", "prefix"),
        ("valkey://host?partitions=0", "1 to 4096"),
        ("valkey://host?partitions=4097", "1 to 4096"),
        ("valkey://host?accept_data_loss=yes", "true nor false"),
        ("valkey://host?confirm_replicas=-1", "confirm_replicas"),
        ("valkey://host?ca=/x", "without TLS"),
        ("valkeys://host?ca=", "empty ca"),
        ("valkey://u:%zz@host", "percent-encoding"),
        ("valkey://u:%f@host", "percent-encoding"),
        ("valkey://u:%ff@host", "percent-encoding"),
    ] {
        let error_text = refusal(url);
        assert!(
            error_text.contains(why) && error_text.contains("valkey://"),
            "{url}: {error_text}"
        );
    }
}

#[test]
fn an_unknown_parameter_is_refused_with_the_known_ones() {
    let error_text = refusal("valkey://host?partition=4");
    for name in ["\"partition\"", "prefix", "partitions", "accept_data_loss", "confirm_replicas"] {
        assert!(error_text.contains(name), "{error_text}");
    }
}

#[test]
fn options_print_everything_but_the_password() {
    let options = parsed(&format!("valkeys://ann:{CANARY}@host:7/2?prefix=x"));
    assert_eq!(options.to_string(), "valkeys://ann@host:7/2");
    for printed in [format!("{options}"), format!("{options:?}"), format!("{options:#?}")] {
        assert!(!printed.contains(CANARY) && printed.contains("ann"), "{printed}");
    }
}

#[test]
fn no_refusal_repeats_a_password() {
    for url in [
        format!("valkey://ann:{CANARY}@host:x"),
        format!("valkey://ann:{CANARY}@"),
        format!("valkey://ann:{CANARY}@host/x"),
        format!("valkey://ann:{CANARY}@host?x=1"),
        format!("valkey://ann:%{CANARY}@host"),
        format!("valkey://ann:1?{CANARY}@host"),
        format!("valkey://ann:1?prefix={CANARY}@host"),
        format!("valkey://ann:{CANARY}"),
        format!("ann:{CANARY}@host"),
        format!("{CANARY}://host"),
    ] {
        let error_text = refusal(&url);
        assert!(!error_text.contains(CANARY), "{url}: {error_text}");
    }
}

#[test]
fn printed_options_parse_again() {
    for url in ["valkey://host:6379", "valkeys-cluster://h1:1,[::1]:3", "valkey://host:1/5"] {
        assert_eq!(parsed(url).to_string(), url);
    }
}
