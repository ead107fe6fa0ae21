//! Reads the input of an execution: JSON text or raw bytes, from the command line, a file or
//! stdin.

use std::fs::File;
use std::io::{self, Read};

use ff_api::http::Object;
use ff_core::bounds::PAYLOAD_BYTES;
use ff_core::payload::ContentType;
use ff_core::{Payload, Refusal};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::error::Error;
use crate::yaml;

/// Most bytes of a graph, which is what a server takes.
const GRAPH_BYTES: usize = 8 << 20;

/// JSON text, kept as the bytes it came in after a syntax check.
pub(crate) fn json(source: &str) -> Result<Payload, Error> {
    const FLAG: &str = "--input";
    let bytes = match located(source) {
        Some(place) => read(place, FLAG)?,
        None => source.as_bytes().to_vec(),
    };
    within_limit(&bytes)?;
    check_json(&bytes).map_err(|why| {
        let help = "give JSON, @FILE or - for stdin, or other bytes with --input-raw";
        Error::usage(FLAG, format!("--input is not JSON: {why}; {help}"))
    })?;
    Ok(Payload::json(bytes))
}

/// Bytes, kept as they are.
pub(crate) fn raw(source: &str, content_type: ContentType) -> Result<Payload, Error> {
    const FLAG: &str = "--input-raw";
    let Some(place) = located(source) else {
        return Err(Error::usage(FLAG, "--input-raw takes @FILE, or - for stdin"));
    };
    let bytes = read(place, FLAG)?;
    within_limit(&bytes)?;
    Ok(Payload { content_type, bytes: bytes.into() })
}

/// A graph, from a file or from stdin.
pub(crate) fn graph<T: DeserializeOwned>(source: &str) -> Result<T, Error> {
    const ARG: &str = "FILE";
    let place = if source == "-" { Place::Stdin } else { Place::File(source) };
    let bytes = read_up_to(place, ARG, GRAPH_BYTES)?;
    if bytes.len() > GRAPH_BYTES {
        let why = format!("FILE has more than {GRAPH_BYTES} bytes; make the inputs smaller");
        return Err(Error::usage(ARG, why));
    }
    let wrong = |why: String| {
        Error::usage(ARG, format!("FILE is not understood: {why}; see `ff flow submit --help`"))
    };
    if !is_yaml(source, &bytes) {
        let graph = serde_json::from_slice::<Object<T>>(&bytes);
        return graph.map(|Object(graph)| graph).map_err(|error| wrong(error.to_string()));
    }
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| wrong(format!("byte {} is not UTF-8", error.valid_up_to() + 1)))?;
    let json = yaml::to_json(text, GRAPH_BYTES).map_err(wrong)?;
    // Inputs are kept as their text, in which the lines of the file have no place.
    if let Ok(Object(graph)) = serde_json::from_str::<Object<T>>(&json.replace('\n', "")) {
        return Ok(graph);
    }
    serde_json::from_str::<Object<T>>(&json).map(|Object(graph)| graph).map_err(|error| {
        // The line is that of the YAML; the column is not.
        let why = error.to_string();
        wrong(why.rsplit_once(" column ").map_or(why.clone(), |(why, _)| why.to_owned()))
    })
}

/// Whether a graph is YAML: its name says so, or it says nothing and no object begins the text.
fn is_yaml(name: &str, bytes: &[u8]) -> bool {
    let ends = |ending: &str| name.to_ascii_lowercase().ends_with(ending);
    match (ends(".yaml") || ends(".yml"), ends(".json")) {
        (true, _) => true,
        (_, true) => false,
        _ => bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{'),
    }
}

/// The syntax error of `bytes` as JSON, and where it is.
pub(crate) fn check_json(bytes: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8", error.valid_up_to() + 1))?;
    serde_json::from_str::<IgnoredAny>(text).map(drop).map_err(|error| error.to_string())
}

/// Where bytes are read from.
#[derive(Clone, Copy)]
enum Place<'a> {
    Stdin,
    File(&'a str),
}

/// The place that `@FILE` or `-` names.
fn located(source: &str) -> Option<Place<'_>> {
    match source.strip_prefix('@') {
        Some(path) => Some(Place::File(path)),
        None => (source == "-").then_some(Place::Stdin),
    }
}

/// Reads at most one byte more than is accepted.
fn read(place: Place<'_>, flag: &'static str) -> Result<Vec<u8>, Error> {
    read_up_to(place, flag, PAYLOAD_BYTES)
}

fn read_up_to(place: Place<'_>, flag: &'static str, most: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let most = most as u64 + 1;
    let (name, result) = match place {
        Place::Stdin => ("stdin", io::stdin().lock().take(most).read_to_end(&mut bytes)),
        Place::File(path) => {
            let file = File::open(path);
            (path, file.and_then(|file| file.take(most).read_to_end(&mut bytes)))
        }
    };
    result.map_err(|error| Error::usage(flag, format!("{flag} cannot read {name}: {error}")))?;
    Ok(bytes)
}

fn within_limit(bytes: &[u8]) -> Result<(), Refusal> {
    match bytes.len() > PAYLOAD_BYTES {
        false => Ok(()),
        true => Err(Refusal::TooLarge {
            field: "input",
            got: bytes.len(),
            most: PAYLOAD_BYTES,
            unit: "bytes",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_any_shape_is_kept_as_it_came() {
        for text in ["null", "-5", " {\"b\": 1, \"a\": [ ]}\n", "\"@x\"", "1e400"] {
            let payload = json(text).unwrap();
            assert_eq!(payload.bytes, text);
            assert_eq!(payload.content_type, ContentType::json());
        }
    }

    #[test]
    fn bad_json_is_refused_with_its_place() {
        for bad in ["", "{", "{a:1}", "[1,]", "nan", "1 2", "'x'"] {
            let message = json(bad).unwrap_err().to_string();
            assert!(message.contains("--input") && message.contains("column"), "{message}");
        }
        assert_eq!(check_json(b"\"\xff\"").unwrap_err(), "byte 2 is not UTF-8");
    }

    #[test]
    fn deep_nesting_is_no_danger() {
        let deep = "[".repeat(100_000);
        assert!(check_json(deep.as_bytes()).is_err());
        let closed = format!("{deep}{}", "]".repeat(100_000));
        // Refused or accepted, but answered.
        let _ = check_json(closed.as_bytes());
    }

    #[test]
    fn raw_bytes_come_from_a_place() {
        let message = raw("hello", ContentType::default()).unwrap_err().to_string();
        assert!(message.contains("@FILE"), "{message}");
        let message = raw("@/no/such/file", ContentType::default()).unwrap_err().to_string();
        assert!(message.contains("--input-raw cannot read /no/such/file"), "{message}");
    }
}
