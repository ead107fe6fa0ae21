//! How records and attempts are written: fixed numbers first, then short sections, so that both
//! Rust and the functions on the server read and write them without a parser.
//!
//! The bytes are a stored format, numbered by their first byte, and defined in `build/format.rs`.
//! `lua/lib/record.lua` is the other reader and writer; every random history compares the two.

mod attempt;
mod bytes;
mod element;
mod event;
pub(crate) mod format;
mod glance;
mod held;
mod inline;
mod member;
#[cfg(test)]
mod pinned;
mod record;
mod state;

use bytes::Short;
use ff_core::{LeaseId, Refusal, RequestId, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use attempt::{completed as completed_attempt, decode as attempt};
pub(crate) use bytes::{Packer, Unpacker};
pub(crate) use element::{element, pack_elements};
pub(crate) use event::{decode as event, encode as encode_event};
pub(crate) use glance::Glance;
pub(crate) use held::{admission_name, completed, held_by};
pub(crate) use inline::{INLINE, Inline};
pub(crate) use record::{FORMAT, NO_SCORE, Stored, encode};
pub(crate) use state::{outcome_detail, whys};

/// Why stored bytes cannot be decoded.
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

/// The random bits of a version that is written with this randomness.
pub(crate) fn salt(entropy: u64) -> [u8; 4] {
    (entropy as u32).to_be_bytes()
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

/// The id of a lease, in the layout of the record.
fn lease_bytes(lease: LeaseId) -> [u8; format::LEASE] {
    let mut packer = Packer::default();
    let (request, index) = (*lease.request.as_bytes(), lease.index.into());
    format::Lease { request, index }.pack(&mut packer);
    packer.fixed()
}

/// The lease that `bytes` name.
fn lease(bytes: &[u8]) -> Result<LeaseId, Unreadable> {
    let mut from = Unpacker(bytes);
    let format::Lease { request, index } = format::Lease::unpack(&mut from)?;
    let index = u16::try_from(index).map_err(|_| Short)?;
    match from.0 {
        [] => Ok(LeaseId { request: RequestId::new(u128::from_be_bytes(request)), index }),
        _ => Err(Unreadable::new("the name of a lease is too long")),
    }
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
