//! Options as a URL: `postgres://[user[:password]@]host[:port][,...]/database[?name=value&...]`.

use std::str::FromStr;

use ff_core::Refusal;

use crate::options::{CONNECT_TIMEOUT, CONNECTIONS, Options, Schema, Tls};

/// The known parameters.
const PARAMETERS: &str = "schema, readers, writers, accept_data_loss, sslmode and ca";

impl FromStr for Options {
    type Err = Refusal;

    fn from_str(url: &str) -> Result<Options, Refusal> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        if query.contains('@') {
            // It may be the rest of a password with a question mark in it: none of it is repeated.
            return Err(bad(
                "has an @ after the ?; write @ as %40 and ? as %3F in a password or path",
            ));
        }
        let mut server: tokio_postgres::Config =
            base.parse().map_err(|_| bad("is not understood"))?;
        if server.get_hosts().is_empty() {
            return Err(bad("names no host"));
        }
        if server.get_dbname().is_none_or(str::is_empty) {
            return Err(bad("names no database"));
        }
        server
            .application_name("flowfabric")
            .connect_timeout(CONNECT_TIMEOUT)
            .target_session_attrs(tokio_postgres::config::TargetSessionAttrs::ReadWrite);
        let mut options = Options::at(server);
        let mut ca = None;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameter(&mut options, &mut ca, name, value)?;
        }
        match (ca, &options.tls) {
            (None, _) => {}
            (Some(_), Tls::Off) => {
                return Err(bad(
                    "trusts a certificate authority without TLS; add sslmode=verify-full",
                ));
            }
            (Some(ca), _) => options.tls = Tls::Trusting(ca.into()),
        }
        Ok(options)
    }
}

fn parameter(
    options: &mut Options,
    ca: &mut Option<String>,
    name: &str,
    value: &str,
) -> Result<(), Refusal> {
    match name {
        "schema" => options.schema = Schema::new(value)?,
        "readers" => options.readers = connections(name, value)?,
        "writers" => options.writers = connections(name, value)?,
        "accept_data_loss" => {
            options.accept_data_loss = match value {
                "true" => true,
                "false" => false,
                _ => return Err(bad("has accept_data_loss neither true nor false")),
            }
        }
        "sslmode" => {
            options.tls = match value {
                "disable" => Tls::Off,
                // Certificates are always checked, so one mode is left of libpq's three.
                "verify-full" => Tls::On,
                _ => return Err(bad("has an sslmode other than disable and verify-full")),
            }
        }
        "ca" if value.is_empty() => {
            return Err(bad("has an empty ca; give the path of a PEM file"));
        }
        "ca" => *ca = Some(decoded(value)?),
        _ => {
            return Err(bad(&format!(
                "has the unknown parameter {name:?}; known are {PARAMETERS}"
            )));
        }
    }
    Ok(())
}

fn connections(name: &str, value: &str) -> Result<usize, Refusal> {
    match value.parse() {
        Ok(count) if (1..=CONNECTIONS).contains(&count) => Ok(count),
        _ => Err(bad(&format!("has {name} out of 1 to {CONNECTIONS}"))),
    }
}

/// Undoes percent-encoding.
fn decoded(text: &str) -> Result<String, Refusal> {
    let wrong = || bad("has a bad percent-encoding; write % itself as %25");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => {
                let value = digit(rest.next()).zip(digit(rest.next()));
                value
                    .and_then(|(high, low)| u8::try_from(high * 16 + low).ok())
                    .ok_or_else(wrong)?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// A refusal never repeats the part before the at sign.
fn bad(what: &str) -> Refusal {
    let example = "postgres://user:password@localhost:5432/app?schema=flowfabric";
    Refusal::invalid("store", format!("{what}; an example is {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_url_is_understood() {
        for (url, shown) in [
            ("postgres://localhost/app", "postgres://localhost:5432/app"),
            ("postgresql://me:x%40y@db:6000/app", "postgres://me@db:6000/app"),
            ("postgres://me@a:1,b:2/app?schema=work", "postgres://me@a:1,b:2/app?schema=work"),
        ] {
            assert_eq!(url.parse::<Options>().unwrap().to_string(), shown, "{url}");
        }
        let url = "postgres://db/app?readers=3&writers=1&accept_data_loss=true&sslmode=verify-full&ca=/a%20b";
        let options: Options = url.parse().unwrap();
        assert_eq!((options.readers, options.writers, options.accept_data_loss), (3, 1, true));
        assert_eq!(options.tls, Tls::Trusting("/a b".into()));
    }

    #[test]
    fn anything_else_is_refused_with_an_example_and_without_the_password() {
        for url in [
            "postgres://",
            "postgres://me:hunter2@/app",
            "postgres://me:hunter2@db",
            "postgres://me:hunter2@db/app?pool=3",
            "postgres://me:hunter2@db/app?schema=Work",
            "postgres://me:hunter2@db/app?schema=pg_x",
            "postgres://me:hunter2@db/app?schema=a;b",
            "postgres://me:hunter2@db/app?readers=0",
            "postgres://me:hunter2@db/app?sslmode=require",
            "postgres://me:hunter2@db/app?ca=/x",
            "postgres://me:hun?ter2@db/app",
        ] {
            let refusal = url.parse::<Options>().unwrap_err().to_string();
            assert!(!refusal.contains("hunter2") && !refusal.contains("ter2"), "{refusal}");
            assert!(
                refusal.contains("give") || refusal.contains("postgres://"),
                "{url}: {refusal}"
            );
        }
    }
}
