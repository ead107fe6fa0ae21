//! How records and attempts are written: one byte that numbers the format, then MessagePack in
//! its compact form, fields in the order of their declaration.
//!
//! The bytes are a stored format. A test pins them; a change of the types needs a new number and a
//! way to read the old one. Format 1 lacks the count of elements at the end of a record, format 2 what
//! it knows of its journal, format 3 its suspensions and waitpoints, format 4 flows and their members.

use ff_core::{Execution, ExecutionId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Fault;

/// The format that is written.
const FORMAT: u8 = 5;

/// Replaces the contents of `buffer` by the encoded `value`.
pub(crate) fn encode(value: &impl Serialize, buffer: &mut Vec<u8>) -> Result<(), Fault> {
    buffer.clear();
    buffer.push(FORMAT);
    rmp_serde::encode::write(buffer, value).map_err(|error| Fault::Unreadable(error.to_string()))
}

/// Decodes `bytes`; an error says why that is impossible.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match bytes.split_first() {
        Some((1 | 2 | 3 | 4 | &FORMAT, value)) => {
            rmp_serde::from_slice(value).map_err(|error| error.to_string())
        }
        Some((format, _)) => Err(format!("format {format} is unknown to this release")),
        None => Err("nothing is stored".into()),
    }
}

/// The record of `id`.
pub(crate) fn record(id: ExecutionId, bytes: &[u8]) -> Result<Execution, Fault> {
    match decode::<Execution>(bytes) {
        Ok(record) if record.id == id => Ok(record),
        Ok(record) => Err(Fault::Unreadable(format!("execution {id}: says it is {}", record.id))),
        Err(why) => Err(Fault::Unreadable(format!("execution {id}: {why}"))),
    }
}
