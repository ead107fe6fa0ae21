//! How SQL stores write records, attempts and resources: one byte that numbers the format, then MessagePack in
//! its compact form, fields in the order of their declaration.
//!
//! The bytes are a stored format. A test pins them; a change of the types needs a new number and a
//! way to read the old one. Format 1 lacks the count of elements at the end of a record, format 2 what
//! it knows of its journal, format 3 its suspensions and waitpoints, format 4 flows and their members, and
//! in an event who did it.

use ff_core::record::Attempt;
use ff_core::{Execution, ExecutionId, Resource, ResourceKey};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Stored bytes that cannot be what was written: whose they are, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(pub String);

/// The format that is written.
const FORMAT: u8 = 5;

/// Replaces the contents of `buffer` by the encoded `value`.
pub fn encode(value: &impl Serialize, buffer: &mut Vec<u8>) -> Result<(), Unreadable> {
    buffer.clear();
    buffer.push(FORMAT);
    rmp_serde::encode::write(buffer, value).map_err(|error| Unreadable(error.to_string()))
}

/// Decodes `bytes`; an error says why that is impossible.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match bytes.split_first() {
        Some((1 | 2 | 3 | 4 | &FORMAT, value)) => {
            rmp_serde::from_slice(value).map_err(|error| error.to_string())
        }
        Some((format, _)) => Err(format!("format {format} is unknown to this release")),
        None => Err("nothing is stored".into()),
    }
}

/// The record of `id`.
pub fn record(id: ExecutionId, bytes: &[u8]) -> Result<Execution, Unreadable> {
    match decode::<Execution>(bytes) {
        Ok(record) if record.id == id => Ok(record),
        Ok(record) => Err(Unreadable(format!("execution {id}: says it is {}", record.id))),
        Err(why) => Err(Unreadable(format!("execution {id}: {why}"))),
    }
}

/// Attempt `number` of `owner`, stored next to it.
pub fn attempt(owner: ExecutionId, number: u64, bytes: &[u8]) -> Result<Attempt, Unreadable> {
    let why = match decode::<Attempt>(bytes) {
        Ok(attempt) if u64::from(attempt.number) == number => return Ok(attempt),
        Ok(_) => "has another number".to_owned(),
        Err(why) => why,
    };
    Err(Unreadable(format!("attempt {number} of {owner}: {why}")))
}

/// The resource of `key`.
pub fn resource(key: &ResourceKey, bytes: &[u8]) -> Result<Resource, Unreadable> {
    match decode::<Resource>(bytes) {
        Ok(resource) if resource.key == *key => Ok(resource),
        Ok(resource) => Err(Unreadable(format!("{key:?}: says it is {:?}", resource.key))),
        Err(why) => Err(Unreadable(format!("{key:?}: {why}"))),
    }
}
