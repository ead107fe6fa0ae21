//! What is told of a completion, read from the bytes of a record without the rest of it.

use ff_core::{Kind, Lane, Time};

use super::bytes::{Short, Unpacker};
use super::record::{ADMITTED, FENCE_AT, LIMITS_AT};
use super::{Unreadable, attempt, word};

/// The little of a held record that is told of its completion.
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
    /// Reads what lies in `bytes`, passing over all else.
    pub(crate) fn at(bytes: &[u8]) -> Result<Glance, Unreadable> {
        let mut from = Unpacker(bytes);
        from.raw(LIMITS_AT)?;
        let is_admitted = from.number::<1>()? >= ADMITTED;
        from.raw(FENCE_AT - LIMITS_AT - 1 + 6 + 4)?;
        from.bytes::<1>()?;
        from.bytes::<1>()?;
        let started = attempt::started(from.bytes::<2>()?)?;
        from.bytes::<2>()?;
        from.bytes::<2>()?;
        for _ in 0..3 {
            from.bytes::<1>()?;
        }
        from.raw(2 + 6 + 6 + 4 + 4 + 8)?;
        let lane = word(from.bytes::<1>()?)?;
        from.bytes::<1>()?;
        for _ in 0..3 {
            from.bytes::<2>()?;
        }
        let kind = word(first_text(from.0)?)?;
        Ok(Glance { lane, kind, started, is_admitted })
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
