//! How records and attempts are written: fixed numbers first, then short sections, so that both
//! Rust and the functions on the server read and write them without a parser.
//!
//! The bytes are a stored format, numbered by their first byte. `lua/lib/record.lua` is the other
//! reader and writer; every random history compares the two.

mod attempt;
mod bytes;
mod glance;
mod inline;
mod record;

use bytes::Short;
use ff_core::{LeaseId, Refusal, RequestId, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use attempt::{COMPLETED, decode as attempt, encode as encode_attempt};
pub(crate) use bytes::Packer;
pub(crate) use glance::Glance;
pub(crate) use inline::{INLINE, Inline};
pub(crate) use record::{
    FENCE, FENCE_AT, FORMAT, INPUT_AT, LIMITS_AT, NO_SCORE, SCORE_AT, StateCode, Stored,
    admission_name, completed, encode, held_by, outcome_detail, whys,
};

/// Why stored bytes are not what they should be.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(String);

impl Unreadable {
    pub(crate) fn new(why: impl Into<String>) -> Unreadable {
        Unreadable(why.into())
    }
}

impl From<Short> for Unreadable {
    fn from(short: Short) -> Unreadable {
        Unreadable(short.to_string())
    }
}

impl From<Refusal> for Unreadable {
    fn from(refusal: Refusal) -> Unreadable {
        Unreadable(refusal.to_string())
    }
}

fn time(ms: u64) -> Time {
    Time::from_ms(ms)
}

/// A time that may be absent; no stored time is the epoch itself.
fn maybe_time(ms: u64) -> Option<Time> {
    (ms != 0).then(|| Time::from_ms(ms))
}

fn ms(time: Option<Time>) -> u64 {
    time.map_or(0, Time::as_ms)
}

fn word<T: std::str::FromStr<Err = Refusal>>(bytes: &[u8]) -> Result<T, Unreadable> {
    Ok(text(bytes)?.parse()?)
}

fn text(bytes: &[u8]) -> Result<&str, Unreadable> {
    std::str::from_utf8(bytes).map_err(|_| Unreadable::new("a text is not UTF-8"))
}

pub(crate) fn pack_lease(packer: &mut Packer, lease: LeaseId) {
    packer.raw(lease.request.as_bytes());
    packer.number::<2>(lease.index.into());
}

fn lease(bytes: &[u8]) -> Result<LeaseId, Unreadable> {
    let (request, index) = bytes.split_at_checked(16).ok_or(Short)?;
    let request = RequestId::new(u128::from_be_bytes(request.try_into().map_err(|_| Short)?));
    let index = u16::from_be_bytes(index.try_into().map_err(|_| Short)?);
    Ok(LeaseId { request, index })
}

/// A value as MessagePack; nothing is no bytes.
fn pack_value<T: Serialize>(value: Option<&T>) -> Result<Vec<u8>, Unreadable> {
    match value {
        None => Ok(Vec::new()),
        Some(value) => rmp_serde::to_vec(value).map_err(|error| Unreadable(error.to_string())),
    }
}

fn value<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<T>, Unreadable> {
    match bytes {
        [] => Ok(None),
        bytes => {
            rmp_serde::from_slice(bytes).map(Some).map_err(|error| Unreadable(error.to_string()))
        }
    }
}

/// The stored number of `one`.
fn number_of<T: PartialEq + std::fmt::Debug>(all: &[T], one: &T) -> Result<u64, Unreadable> {
    let number = all.iter().position(|other| other == one);
    number
        .map(|number| number as u64)
        .ok_or_else(|| Unreadable::new(format!("{one:?} has no number")))
}

fn variant<T: Clone>(all: &[T], number: u64) -> Result<T, Unreadable> {
    let one = usize::try_from(number).ok().and_then(|number| all.get(number));
    one.cloned().ok_or_else(|| Unreadable::new(format!("nothing has the number {number}")))
}
