//! What metrics need of a completed execution, read from its bytes without decoding all of it.

use ff_core::{Kind, Lane, Time};

use super::bytes::{Short, Unpacker};
use super::format::{self, limits};
use super::{Unreadable, attempt, word};

/// The few facts about a completed execution that metrics and settlements need.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Glance {
    pub(crate) lane: Lane,
    pub(crate) kind: Kind,
    /// When its newest attempt was first claimed.
    pub(crate) started: Time,
    /// Budgets and quotas have admitted it.
    pub(crate) is_admitted: bool,
}

impl Glance {
    /// Reads the few fields from `bytes`, skipping all others.
    pub(crate) fn at(bytes: &[u8]) -> Result<Glance, Unreadable> {
        let mut from = Unpacker(bytes);
        let fields = format::Record::unpack(&mut from)?;
        Ok(Glance {
            lane: word(fields.lane)?,
            kind: word(first_text(from.0)?)?,
            started: attempt::started(fields.attempt)?,
            is_admitted: fields.limits & limits::ADMITTED != 0,
        })
    }
}

/// The text with which a list begins in MessagePack: one byte for the list, one or two for the text.
fn first_text(list: &[u8]) -> Result<&[u8], Short> {
    let mut from = Unpacker(list);
    from.raw(1)?;
    match from.number::<1>()? {
        short @ 0xa0..=0xbf => from.raw(short as usize & 0x1f),
        0xd9 => from.bytes::<1>(),
        _ => Err(Short),
    }
}
