//! Options as a URL: `valkey://[user[:password]@]host[:port][/database][?name=value&...]`.

use std::str::FromStr;

use ff_core::Refusal;
use ff_core::bounds::PARTITIONS;

use crate::options::{Options, Prefix, Secret, Tls, Topology};

const DEFAULT_PORT: u16 = 6379;

/// The known parameters.
const PARAMETERS: &str = "prefix, partitions, accept_data_loss, confirm_replicas and ca";

impl FromStr for Options {
    type Err = Refusal;

    fn from_str(url: &str) -> Result<Options, Refusal> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| bad("is no URL"))?;
        let (topology, secure) = scheme_of(scheme)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if query.contains('@') {
            // It may be the rest of a password with a question mark in it: none of it is repeated.
            return Err(bad(
                "has an @ after the ?; write @ as %40 and ? as %3F in a password or path",
            ));
        }
        // A password may hold a slash or an at sign that was not encoded: the last at sign ends it.
        let (login, rest) = match rest.rsplit_once('@') {
            Some((login, rest)) => (Some(login), rest),
            None => (None, rest),
        };
        let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
        let nodes = hosts.split(',').map(node).collect::<Result<Vec<_>, _>>()?;
        let mut options = match (topology, <[_; 1]>::try_from(nodes)) {
            (Topology::Standalone, Ok([(host, port)])) => Options::standalone(host, port),
            (Topology::Standalone, Err(_)) => {
                return Err(bad(
                    "names several hosts; those of a cluster go with valkey-cluster://",
                ));
            }
            (Topology::Cluster, Ok([node])) => Options::cluster(vec![node]),
            (Topology::Cluster, Err(nodes)) => Options::cluster(nodes),
        };
        if secure {
            options.tls = Tls::On;
        }
        if let Some(login) = login {
            log_in(&mut options, login)?;
        }
        if !database.is_empty() {
            options.database = database_of(topology, database)?;
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameter(&mut options, name, &decoded(value)?)?;
        }
        Ok(options)
    }
}

fn scheme_of(scheme: &str) -> Result<(Topology, bool), Refusal> {
    match scheme {
        "valkey" | "redis" => Ok((Topology::Standalone, false)),
        "valkeys" | "rediss" => Ok((Topology::Standalone, true)),
        "valkey-cluster" | "redis-cluster" => Ok((Topology::Cluster, false)),
        "valkeys-cluster" | "rediss-cluster" => Ok((Topology::Cluster, true)),
        "unix" | "valkey+unix" | "redis+unix" => {
            Err(bad("names a Unix socket, which is not supported; give the server's TCP address"))
        }
        _ => Err(bad("has an unknown scheme")),
    }
}

fn node(text: &str) -> Result<(String, u16), Refusal> {
    // An IPv6 address has brackets because of its colons.
    let (host, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => {
            (host, Some(rest.strip_prefix(':').ok_or_else(|| bad("has a bad host"))?))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let allowed =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':' | b'%');
    if host.is_empty() || !host.bytes().all(allowed) {
        return Err(bad("has a bad host"));
    }
    let port = match port {
        None => DEFAULT_PORT,
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(bad("has a bad port")),
        },
    };
    Ok((host.to_owned(), port))
}

fn log_in(options: &mut Options, login: &str) -> Result<(), Refusal> {
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    let user = decoded(user)?;
    options.user = (!user.is_empty()).then_some(user);
    options.password = match password {
        Some(password) => Some(Secret::new(decoded(password)?)),
        None => None,
    };
    if options.user.is_some() && options.password.is_none() {
        return Err(bad("names a user without a password; give user:password@"));
    }
    Ok(())
}

fn database_of(topology: Topology, text: &str) -> Result<u32, Refusal> {
    match (topology, text.parse()) {
        (_, Ok(0)) => Ok(0),
        (Topology::Cluster, Ok(_)) => Err(bad("names a database; a cluster has only database 0")),
        // The server counts databases in 31 bits.
        (Topology::Standalone, Ok(database)) if database <= i32::MAX as u32 => Ok(database),
        _ => Err(bad("has a database that is not a number")),
    }
}

fn parameter(options: &mut Options, name: &str, value: &str) -> Result<(), Refusal> {
    match name {
        "prefix" => {
            let wrong = |_| bad("has a prefix that is no name: letters, digits, _ - and .");
            options.prefix = Prefix::new(value).map_err(wrong)?;
        }
        "partitions" => match value.parse() {
            Ok(count) if (1..=PARTITIONS).contains(&count) => options.partitions = Some(count),
            _ => return Err(bad(&format!("has partitions out of 1 to {PARTITIONS}"))),
        },
        "accept_data_loss" => {
            options.accept_data_loss = match value {
                "true" => true,
                "false" => false,
                _ => return Err(bad("has accept_data_loss neither true nor false")),
            }
        }
        "confirm_replicas" => {
            let most = || bad("has confirm_replicas out of 0 to 100");
            options.confirm_replicas =
                value.parse().ok().filter(|count| *count <= 100).ok_or_else(most)?;
        }
        "ca" if options.tls == Tls::Off => {
            return Err(bad(
                "trusts a certificate authority without TLS; begin it with valkeys://",
            ));
        }
        "ca" if value.is_empty() => {
            return Err(bad("has an empty ca; give the path of a PEM file"));
        }
        "ca" => options.tls = Tls::Trusting(value.into()),
        _ => {
            return Err(bad(&format!(
                "has the unknown parameter {name:?}; known are {PARAMETERS}"
            )));
        }
    }
    Ok(())
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> Result<String, Refusal> {
    let wrong = || bad("has a bad percent-encoding; write % itself as %25");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next()), digit(rest.next()));
        let value = high.zip(low).map(|(high, low)| high * 16 + low);
        bytes.push(value.and_then(|value| u8::try_from(value).ok()).ok_or_else(wrong)?);
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// A refusal never repeats the part before the at sign.
fn bad(what: &str) -> Refusal {
    let example = "valkey://user:password@localhost:6379/0?prefix=ff";
    Refusal::invalid("store", format!("{what}; an example is {example}"))
}

#[cfg(test)]
#[path = "url_tests.rs"]
mod tests;
